//! Backups of a hub that goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use floe::{EncodingVersion, OperationMode, TypedProxy};
use floe_hub::contracts::floe::{
    BackupPartSeq, BackupProxy, BackupRefused, BackupRefusedError, DurableTopicsProxy,
};
use floe_hub::{BACKUP, DURABLE_TOPICS, DurableSettings, HubSettings};

use crate::durable::{DURABLE, hub_in, hub_with, topic};
use crate::world::{
    Directory, Subscribers, World, encapsulation, numbered, publish_many, publisher, soon,
    subscribe,
};

fn backup_of(world: &World) -> BackupProxy {
    BackupProxy::from_proxy(world.object(BACKUP))
}

/// The files of a backup, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Reads a backup that has begun, and asks for each answer twice.
async fn read(hub: &BackupProxy, backup: &str) -> Result<Files, BackupRefusedError> {
    let mut files = Files::new();
    read_on(hub, backup, 0, &mut files).await?;
    Ok(files)
}

async fn read_on(
    hub: &BackupProxy,
    backup: &str,
    from: i64,
    files: &mut Files,
) -> Result<(), BackupRefusedError> {
    for number in from.. {
        let parts = soon(hub.next(backup, number)).await?;
        if parts.is_empty() {
            break;
        }
        // As if it had been lost.
        assert_eq!(soon(hub.next(backup, number)).await?, parts);
        take(files, parts);
    }
    Ok(())
}

fn take(files: &mut Files, parts: BackupPartSeq) {
    for part in parts {
        let bytes = files.entry(part.file).or_default();
        bytes.resize(usize::try_from(part.offset).expect("a length"), 0);
        bytes.extend_from_slice(&part.bytes);
    }
}

fn write(files: &Files, data: &Path) {
    for (name, bytes) in files {
        let path = data.join(name);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
}

fn refused(error: BackupRefusedError) -> BackupRefused {
    match error {
        BackupRefusedError::BackupRefused(refused) => refused,
        error => panic!("expected a refusal, got {error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_during_much_publishing_has_every_event_that_was_acknowledged_before_it() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    publish_many(&publisher, 300).await;
    let busy = tokio::spawn({
        let publisher = publisher.clone();
        async move {
            loop {
                publish_many(&publisher, 100).await;
            }
        }
    });
    let hub = backup_of(&world);
    let backup = soon(hub.begin()).await.expect("a backup begins");
    let files = read(&hub, &backup).await.expect("a whole backup");
    busy.abort();
    world.shut_down().await;

    let restored = Directory::new();
    write(&files, &restored.0);
    let world = hub_in(&restored.0).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let ordered = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic(&world, "t").await, &proxy, &ordered).await;
    assert_eq!(inbox.operations(300).await, numbered(300));
}

#[tokio::test]
async fn a_log_whose_oldest_files_are_removed_during_a_backup_has_no_gap_in_it() {
    let directory = Directory::new();
    let few = |settings: &mut HubSettings| {
        let mut durable = DurableSettings::default();
        durable.retention.bytes = Some(8 << 20);
        settings.durable_topics.insert("t".to_owned(), durable);
    };
    let world = hub_with(&directory.0, few).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    let long = encapsulation(EncodingVersion::V1_1, &"x".repeat(500_000));
    let publish_long = async |count| {
        for _ in 0..count {
            let sent = publisher.invoke("long", OperationMode::Normal, &long);
            soon(sent).await.expect("it is stored");
        }
    };
    publish_long(10).await;
    let hub = backup_of(&world);
    let backup = soon(hub.begin()).await.expect("a backup begins");
    let mut files = Files::new();
    let is_of_log = |name: &String| name.starts_with("topics/t/log/");
    let mut number = 0;
    while !files.keys().any(is_of_log) {
        let parts = soon(hub.next(&backup, number)).await.expect("parts");
        take(&mut files, parts);
        number += 1;
    }
    let oldest = directory.0.join("topics/t/log/00000000000000000001.log");
    assert!(oldest.exists());
    while oldest.exists() {
        publish_long(4).await;
    }
    read_on(&hub, &backup, number, &mut files)
        .await
        .expect("the rest");
    world.shut_down().await;
    assert!(!files.contains_key("topics/t/log/00000000000000000001.log"));

    let restored = Directory::new();
    write(&files, &restored.0);
    let world = hub_with(&restored.0, few).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let contents = soon(topics.contents("t")).await.expect("a log");
    assert!(contents.first > 1 && contents.next == 11, "{contents:?}");
    assert_eq!(contents.events, contents.next - contents.first);
}

#[tokio::test]
async fn a_second_backup_is_refused_while_one_is_under_way() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let hub = backup_of(&world);
    let backup = soon(hub.begin()).await.expect("a backup begins");
    let second = refused(soon(hub.begin()).await.expect_err("one is under way"));
    assert!(
        second.reason.contains("another backup"),
        "{}",
        second.reason
    );
    // Whoever has interrupted it ends it.
    soon(hub.end("another")).await.expect("an answer");
    soon(hub.begin()).await.expect_err("it was not the other");
    soon(hub.end(&backup)).await.expect("an answer");
    let ended = refused(soon(hub.next(&backup, 0)).await.expect_err("it has ended"));
    assert!(ended.can_begin_anew);
    let backup = soon(hub.begin()).await.expect("a backup begins");
    for number in [7, -1, i64::MIN, i64::MAX] {
        let odd = soon(hub.next(&backup, number)).await;
        let odd = refused(odd.expect_err("there is no such answer")).reason;
        assert!(odd.contains(&format!("got {number}")), "{odd}");
    }
    soon(hub.end(&backup)).await.expect("an answer");
    let left: Vec<_> = fs::read_dir(&directory.0)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    let is_copy = |name: &std::ffi::OsString| name.to_string_lossy().contains("copy");
    assert!(!left.iter().any(is_copy), "{left:?}");
}

#[tokio::test]
async fn a_topic_that_is_destroyed_during_a_backup_ends_it() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let hub = backup_of(&world);
    let backup = soon(hub.begin()).await.expect("a backup begins");
    let topic = topic(&world, "t").await;
    soon(topic.destroy()).await.expect("it is destroyed");
    let ended = refused(read(&hub, &backup).await.expect_err("the topic is gone"));
    assert!(ended.can_begin_anew, "{}", ended.reason);
    let backup = soon(hub.begin()).await.expect("a new one begins");
    let files = read(&hub, &backup).await.expect("a whole backup");
    assert!(!files.contains_key("topics/t/name"));
}
