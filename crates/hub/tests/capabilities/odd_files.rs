//! Something else than a file in the folder of a hub, files that are gone, and files that are too long.

use std::fs::{self, File};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use floe::contracts::ice_storm::TopicProxy;
use floe::{Communicator, Proxy};
use floe_hub::{Hub, HubSettings, StoreSettings};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::durable::{DURABLE, hub_in, publish_with, topic};
use crate::world::{Directory, Log, Subscribers, World, publish_many, publisher, soon, subscribe};

/// A folder of a hub with the durable topic `t`, which has an event and the subscription `d`.
async fn fill(directory: &Path) {
    let world = hub_in(directory).await;
    let topic = topic(&world, "t").await;
    publish_many(&publisher(&topic).await, 1).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, DURABLE).await;
    inbox.next().await;
    topic.unsubscribe(Some(&proxy)).await.expect("it is there");
    world.shut_down().await;
}

fn settings_of(directory: &Path) -> HubSettings {
    let mut settings = HubSettings::default();
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    settings.store = StoreSettings::Disk(directory.to_owned());
    settings
}

/// Publishes two events to the topic, which a subscriber gets by the durable subscription `d`.
async fn publish_and_receive(topic: &TopicProxy) -> (Subscribers, Proxy) {
    publish_many(&publisher(topic).await, 2).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(topic, &proxy, DURABLE).await;
    inbox.operations(2).await;
    (subscribers, proxy)
}

/// Starts a hub on a thread of its own, and ends it. Returns why it did not start.
fn start(settings: HubSettings) -> Result<(), String> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let started = runtime.block_on(async {
            let communicator = Communicator::new();
            let hub = Hub::start(&communicator, settings).await;
            let hub = hub.map_err(|error| error.to_string())?;
            hub.shutdown().await;
            communicator.shutdown().await;
            Ok(())
        });
        tell.send(started)
    });
    let started = told.recv_timeout(Duration::from_secs(60));
    started.expect("it starts, or says why it does not")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_pipe_in_the_place_of_a_file_is_named_and_nothing_waits_for_it() {
    let segment = "topics/t/log/00000000000000000001.log";
    for name in ["hub.lock", "topics/t/name", "topics/t/log/lock", segment] {
        let directory = Directory::new();
        fill(&directory.0).await;
        let path = directory.0.join(name);
        fs::remove_file(&path).expect("it is there");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("it can be made");
        let refused = start(settings_of(&directory.0)).expect_err(name);
        let file = path.file_name().and_then(|file| file.to_str());
        assert!(refused.contains(file.expect("a name")), "{refused}");
        let expected = "expected a regular file, got a named pipe: put the file in its place";
        assert!(refused.contains(expected), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_a_name_is_not_read_without_end() {
    let directory = Directory::new();
    fill(&directory.0).await;
    let name = directory.0.join("topics/t/name");
    let file = File::create(&name).expect("the test may write it");
    file.set_len(1 << 40).expect("a file with a hole");
    let refused = start(settings_of(&directory.0)).expect_err("it is too long");
    assert!(
        refused.contains("expected at most 65536 bytes, got more"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hole_of_a_terabyte_behind_a_log_is_not_searched_to_its_end() {
    let directory = Directory::new();
    fill(&directory.0).await;
    let segment = directory.0.join("topics/t/log/00000000000000000001.log");
    let file = File::options().write(true).open(&segment);
    let file = file.expect("the segment");
    file.set_len(1 << 40).expect("a file with a hole");
    start(settings_of(&directory.0)).expect("the event is there, and nothing follows");
    assert!(file.metadata().expect("it is open").len() < 1 << 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_durable_topic_whose_log_is_gone_does_not_become_another_topic_silently() {
    for gone in ["topics", "topics/t"] {
        let directory = Directory::new();
        // The settings name the topic at first, and not any more.
        fill(&directory.0).await;
        let folder = directory.0.join("topics/t").display().to_string();
        fs::remove_dir_all(directory.0.join(gone)).expect("it is there");
        let refused = start(settings_of(&directory.0)).expect_err("the log is gone");
        let expected =
            format!("expected the log of the durable topic \"t\" in \"{folder}\", got none");
        assert!(refused.starts_with(&expected), "{refused}");
        let accepted = |settings: &mut HubSettings| {
            settings.store = StoreSettings::Disk(directory.0.clone());
            settings.accept_damage = true;
        };
        let log = Log::start();
        let world = World::with(accepted).await;
        assert_eq!(log.lines_with("was gone, and begins anew").len(), 1);
        // It keeps events, as before.
        publish_and_receive(&topic(&world, "t").await).await;
        soon(world.shut_down()).await;
        start(settings_of(&directory.0)).expect("the log is there again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_became_durable_later_is_missed_too() {
    let directory = Directory::new();
    let store = StoreSettings::Disk(directory.0.clone());
    let world = World::with(|settings| settings.store = store).await;
    world.create("first").await;
    world.create("t").await;
    world.shut_down().await;
    // The settings name it now.
    fill(&directory.0).await;
    fs::remove_dir_all(directory.0.join("topics")).expect("it is there");
    let refused = start(settings_of(&directory.0)).expect_err("the log is gone");
    assert!(refused.contains("the durable topic \"t\""), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_position_does_not_take_the_place_of_the_position() {
    let directory = Directory::new();
    fill(&directory.0).await;
    let positions = directory.0.join("topics/t/positions");
    let old = fs::read(positions.join("d")).expect("a position");
    let log = Log::start();
    let world = hub_in(&directory.0).await;
    let known = topic(&world, "t").await;
    let (subscribers, proxy) = publish_and_receive(&known).await;
    world
        .info_when("t", |info| info.subscribers[0].outstanding == 0)
        .await;
    known.unsubscribe(Some(&proxy)).await.expect("it is there");
    world.shut_down().await;
    for copy in ["copy", "d-old", "a"] {
        fs::write(positions.join(copy), &old).expect("the test may write it");
    }

    let world = hub_in(&directory.0).await;
    let said = log.lines_with("is not used: it holds the position of the durable subscription");
    assert_eq!(said.len(), 3, "{said:?}");
    let known = topic(&world, "t").await;
    publish_many(&publisher(&known).await, 1).await;
    let (proxy, mut inbox) = subscribers.add("again");
    subscribe(&known, &proxy, DURABLE).await;
    inbox.operations(1).await;
    world
        .info_when("t", |info| info.subscribers[0].outstanding == 0)
        .await;
    assert!(!inbox.has_more(), "the position of the copy was used");
    world.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_refused_soon_after_the_folder_of_their_topic_was_removed() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    publish_with(&publisher, "e", &[])
        .await
        .expect("it is stored");
    fs::remove_dir_all(directory.0.join("topics")).expect("it is there");
    let begun = std::time::Instant::now();
    let refused = loop {
        if let Err(error) = publish_with(&publisher, "e", &[]).await {
            break error.to_string();
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it is stored nowhere"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(refused.contains("the event is not stored"), "{refused}");
    world.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_claims_the_largest_sequence_does_not_end_its_topic() {
    let directory = Directory::new();
    fill(&directory.0).await;
    let name = format!("topics/t/log/{}.log", u64::MAX);
    fs::write(directory.0.join(name), [7; 1000]).expect("the test may write it");
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    publish_with(&publisher, "e", &[])
        .await
        .expect("it is stored");
    world.shut_down().await;
}
