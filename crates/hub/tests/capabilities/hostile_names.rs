//! Names of topics that become folders, and what is left of topics that are gone.

use std::fs;
use std::path::{Path, PathBuf};

use floe::TypedProxy;
use floe_hub::contracts::floe::DurableTopicsProxy;
use floe_hub::{DURABLE_TOPICS, StoreSettings};

use crate::durable::{DURABLE, hub_in, publish_with, topic};
use crate::world::{Directory, Subscribers, World, publish_many, publisher, soon, subscribe};

fn topics(world: &World) -> DurableTopicsProxy {
    DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS))
}

/// A hub that keeps its topics here, and creates none by itself.
async fn plain_hub_in(directory: &Path) -> World {
    let store = StoreSettings::Disk(directory.to_owned());
    World::with(|settings| settings.store = store).await
}

#[tokio::test]
async fn a_topic_has_a_name_and_the_name_is_no_path_to_another_folder() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    publish_many(&publisher(&topic(&world, "t").await).await, 3).await;
    for name in ["", ".", "..", "../t", "a/../../t", "..\\t"] {
        let error = soon(topics(&world).create(name)).await.expect_err(name);
        let error = error.to_string();
        assert!(error.contains("use another name"), "{name:?}: {error}");
        let error = soon(world.manager.create(name)).await.expect_err(name);
        let error = error.to_string();
        assert!(error.contains("use another name"), "{name:?}: {error}");
        let dead = [
            DURABLE,
            &[("floe.attempts", "1"), ("floe.deadLetters", name)],
        ]
        .concat();
        let subscribers = Subscribers::start().await;
        let (proxy, _inbox) = subscribers.add("s");
        let qos = crate::world::qos(&dead);
        let known = topic(&world, "t").await;
        let subscribed = known.subscribe_and_get_publisher(&qos, Some(&proxy));
        soon(subscribed).await.expect_err(name);
    }
    world.shut_down().await;
    let world = hub_in(&directory.0).await;
    assert_eq!(soon(topics(&world).contents("t")).await.unwrap().events, 3);
}

#[tokio::test]
async fn topics_whose_folders_would_have_one_name_have_a_folder_each() {
    // Both are too long for the name of a folder, and the ends of their folders' names are the same.
    let [first, second] = ["1371838", "2000402"].map(|end| format!("{}{end}", ".".repeat(90)));
    let directory = Directory::new();
    let world = plain_hub_in(&directory.0).await;
    let live = format!("{}{}", ".".repeat(90), "2000402");
    assert_eq!(live, second);
    world.create(&second).await;
    soon(topics(&world).create(&first))
        .await
        .expect("a new topic");
    publish_many(&publisher(&topic(&world, &first).await).await, 2).await;
    world.shut_down().await;

    let world = plain_hub_in(&directory.0).await;
    soon(topic(&world, &second).await.destroy()).await.unwrap();
    soon(topics(&world).create(&second))
        .await
        .expect("a new topic");
    publish_many(&publisher(&topic(&world, &second).await).await, 5).await;
    world.shut_down().await;

    let world = plain_hub_in(&directory.0).await;
    let events = async |name: &str| soon(topics(&world).contents(name)).await.unwrap().events;
    assert_eq!((events(&first).await, events(&second).await), (2, 5));
    // The end of one leaves the other alone.
    soon(topic(&world, &first).await.destroy()).await.unwrap();
    assert_eq!(events(&second).await, 5);
    world.shut_down().await;
    let world = plain_hub_in(&directory.0).await;
    let contents = soon(topics(&world).contents(&second)).await.unwrap();
    assert_eq!(contents.events, 5);
}

#[tokio::test]
async fn a_new_topic_does_not_begin_with_what_is_left_of_one_that_was_destroyed() {
    let directory = Directory::new();
    for gone in [&["name"][..], &["name", "destroyed"]] {
        let world = plain_hub_in(&directory.0).await;
        soon(topics(&world).create("t")).await.expect("a new topic");
        let known = topic(&world, "t").await;
        publish_with(&publisher(&known).await, "old", &[])
            .await
            .unwrap();
        let subscribers = Subscribers::start().await;
        let (proxy, mut inbox) = subscribers.add("s");
        subscribe(&known, &proxy, DURABLE).await;
        inbox.next().await;
        let folder = directory.0.join("topics/t");
        let kept = directory.0.join("kept");
        copy(&folder, &kept);
        soon(known.destroy()).await.unwrap();
        assert!(!folder.exists());
        world.shut_down().await;
        // The hub was killed while it removed the folder.
        fs::rename(&kept, &folder).unwrap();
        fs::write(folder.join("destroyed"), "").unwrap();
        for file in gone {
            fs::remove_file(folder.join(file)).unwrap();
        }
        let world = plain_hub_in(&directory.0).await;
        soon(topics(&world).create("t")).await.expect("a new topic");
        let contents = soon(topics(&world).contents("t")).await.unwrap();
        assert_eq!(
            (contents.events, contents.subscriptions.len()),
            (0, 0),
            "{gone:?}"
        );
        soon(topic(&world, "t").await.destroy()).await.unwrap();
        world.shut_down().await;
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copied = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &copied),
            false => drop(fs::copy(&path, &copied).unwrap()),
        }
    }
}

#[tokio::test]
async fn what_the_hub_did_not_make_is_not_removed() {
    let directory = Directory::new();
    let world = plain_hub_in(&directory.0).await;
    let folder = directory.0.join("topics/t");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("thesis.tex"), "years of work").unwrap();
    let error = soon(topics(&world).create("t"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("thesis.tex") && error.contains("move it away"),
        "{error}"
    );
    assert!(folder.join("thesis.tex").exists());
    world.shut_down().await;
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_hub_keeps_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let known = topic(&world, "t").await;
    publish_many(&publisher(&known).await, 1).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&known, &proxy, DURABLE).await;
    inbox.next().await;
    world.shut_down().await;
    let mut paths: Vec<PathBuf> = vec![directory.0.clone()];
    let mut files = 0;
    while let Some(path) = paths.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{mode:o} {}", path.display());
        if path.is_dir() {
            paths.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            files += 1;
        }
    }
    assert!(files >= 6, "{files}");
}
