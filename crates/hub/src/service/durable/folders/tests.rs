//! The folders of topics, whatever their names are, and at whatever moment the hub ends.

use std::time::Duration;

use super::retired::faults::{ORDER, STEPS};
use super::*;
use crate::core::HubLimits;
use crate::core::durable::Reading;
use crate::service::destroyed_topics::tests::events;

#[test]
fn each_name_has_a_file_of_its_own_that_every_file_system_takes() {
    assert_eq!(file_name("ticker-1"), "ticker-1");
    assert_eq!(file_name("../a b"), "%2e%2e%2fa%20b");
    assert_eq!(file_name("ä"), "%c3%a4");
    assert_eq!((file_name(""), file_name("%")), ("%".into(), "%25".into()));
    let long = |end: &str| file_name(&format!("{}{end}", "x".repeat(489)));
    assert_eq!(long("").len(), FILE_NAME_MAX);
    assert_ne!(long("a"), long("b"));
}

/// A folder of a hub, removed when this is dropped.
struct Data(PathBuf);

impl Data {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("floe-folders-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("topics")).unwrap();
        Self(path)
    }

    /// The folders of a hub that starts here.
    fn start(&self) -> LogFolders {
        let users = Arc::new(UserAccounts::new(HubLimits::default()));
        let store = StoreSettings::Disk(self.0.clone());
        let folders = LogFolders::new(&store, &Arc::default(), users, 1000);
        folders.prepare().unwrap();
        folders
    }

    /// The names of the folders of topics.
    fn folders(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.join("topics")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn reading() -> Reading {
    let wishes = [("floe.durable", "d"), ("floe.from", "beginning")];
    let wishes = wishes.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Reading::parse(&wishes.into()).unwrap().unwrap()
}

/// Opens the log of a topic, and appends an event. The topic has a durable subscription.
async fn fill(folders: &LogFolders, topic: &str) {
    let log = folders.open(topic, &DurableSettings::default()).unwrap();
    log.append(events(1), None).outcome.await.unwrap();
    log.reader(&reading(), None).unwrap();
    log.close();
}

/// How many events and durable subscriptions a topic has.
fn content(folders: &LogFolders, topic: &str) -> (u64, usize) {
    let log = folders.open(topic, &DurableSettings::default()).unwrap();
    let content = (log.contents().events, log.all_named().len());
    log.close();
    content
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_was_destroyed_does_not_come_back_whenever_the_hub_ends() {
    let orders: [fn(&mut Vec<PathBuf>); 3] = [
        |_| (),
        |entries| entries.reverse(),
        |entries| {
            let half = entries.len() / 2;
            entries.rotate_left(half);
        },
    ];
    for order in orders {
        ORDER.set(order);
        for is_tidied in [true, false] {
            for steps in 0.. {
                let data = Data::new("destroyed");
                let folders = data.start();
                fill(&folders, "t").await;
                fill(&folders, "other").await;
                folders.mark_destroyed("t").unwrap();
                // The store has forgotten the topic.
                STEPS.set(Some(steps));
                folders.remove("t");
                let was_ended = STEPS.replace(None) == Some(0);
                let folders = data.start();
                if is_tidied {
                    folders.tidy(|name| name == "other");
                    assert_eq!(data.folders(), ["other"], "{steps} steps");
                }
                folders.clear("t").unwrap();
                assert!(!folders.has("t"));
                assert_eq!(content(&folders, "t"), (0, 0), "{steps} steps");
                assert_eq!(content(&folders, "other"), (1, 1));
                if !was_ended {
                    assert!(steps >= 8, "{steps} steps");
                    break;
                }
            }
        }
    }
    ORDER.set(|_| ());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_whose_end_was_not_stored_goes_on() {
    let data = Data::new("marked");
    let folders = data.start();
    fill(&folders, "t").await;
    folders.mark_destroyed("t").unwrap();
    let folders = data.start();
    assert_eq!(content(&folders, "t"), (1, 1));
    folders.tidy(|name| name == "t");
    assert_eq!(content(&folders, "t"), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_that_an_earlier_hub_kept_among_the_folders_of_all_topics_moves_to_its_own() {
    let data = Data::new("nameless");
    let folders = data.start();
    for topic in ["", "log", "other"] {
        fill(&folders, topic).await;
    }
    let root = data.0.join("topics");
    // As an earlier hub left it: the parts of the topic without a name are where the folders of topics are.
    let nameless = root.join("%");
    for part in [LOG, POSITIONS] {
        fs::create_dir_all(root.join(part)).unwrap();
        for entry in fs::read_dir(nameless.join(part)).unwrap() {
            let entry = entry.unwrap();
            fs::rename(entry.path(), root.join(part).join(entry.file_name())).unwrap();
        }
    }
    fs::rename(nameless.join(NAME), root.join(NAME)).unwrap();
    fs::remove_dir_all(&nameless).unwrap();
    let folders = data.start();
    assert_eq!(data.folders(), ["%", "log", "other"]);
    for topic in ["", "log", "other"] {
        assert_eq!(content(&folders, topic), (1, 1), "{topic:?}");
    }
    folders.mark_destroyed("").unwrap();
    folders.remove("");
    assert_eq!(data.folders(), ["log", "other"]);
    // A process that removes files may be slow.
    tokio::time::timeout(Duration::from_secs(60), async {
        assert_eq!(content(&folders, "other"), (1, 1));
    })
    .await
    .unwrap();
}
