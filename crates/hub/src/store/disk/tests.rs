//! The file after changes, failures and restarts.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A directory that is deleted when this is dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("floe-hub-disk-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open_error(directory: &Path) -> String {
    let opened = Disk::open(directory);
    opened.err().expect("an error").to_string()
}

/// A file on a disk that is full while the flag is set.
#[derive(Debug)]
struct Filling {
    file: redb::backends::FileBackend,
    is_full: Arc<AtomicBool>,
}

impl Filling {
    fn check(&self) -> io::Result<()> {
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

impl redb::StorageBackend for Filling {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check().and_then(|()| self.file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check().and_then(|()| self.file.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check().and_then(|()| self.file.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

fn on_filling_disk(directory: &Path, is_full: &Arc<AtomicBool>) -> Disk {
    fs::create_dir_all(directory).unwrap();
    let is_full = is_full.clone();
    let open = move |file: &Path| {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = redb::backends::FileBackend::new(options.open(file)?)?;
        let is_full = is_full.clone();
        builder().create_with_backend(Filling { file, is_full })
    };
    let file = directory.join("hub.redb");
    Disk::over(open(&file).unwrap(), file, Box::new(open)).unwrap()
}

#[test]
fn a_disk_that_was_full_is_written_again_once_there_is_space() {
    let directory = Directory::new("full");
    let is_full = Arc::new(AtomicBool::new(false));
    let mut disk = on_filling_disk(&directory.0, &is_full);
    disk.apply(&Change::CreateTopic { topic: "before" })
        .unwrap();
    is_full.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let error = disk.apply(&Change::CreateTopic { topic: "lost" });
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("hub.redb") && error.contains("free space"),
            "{error}"
        );
    }
    is_full.store(false, Ordering::Relaxed);
    disk.apply(&Change::CreateTopic { topic: "after" }).unwrap();
    drop(disk);
    let loaded = Disk::open(&directory.0).unwrap().load().unwrap();
    let names: Vec<_> = loaded.iter().map(|topic| &topic.name).collect();
    assert_eq!(names, ["before", "after"]);
}

#[test]
fn a_file_that_vanished_is_not_replaced_by_an_empty_one() {
    let directory = Directory::new("vanished");
    let mut disk = Disk::open(&directory.0).unwrap();
    disk.database = None;
    fs::remove_dir_all(&directory.0).unwrap();
    disk.apply(&Change::CreateTopic { topic: "t" }).unwrap_err();
    assert!(!directory.0.exists());
}

#[test]
fn a_topic_that_is_created_again_has_none_of_its_former_subscribers() {
    let directory = Directory::new("again");
    let mut disk = Disk::open(&directory.0).unwrap();
    disk.apply(&Change::CreateTopic { topic: "t" }).unwrap();
    disk.apply(&Change::Subscribe {
        topic: "t",
        subscription: &subscription("s:tcp -h h -p 1"),
    })
    .unwrap();
    disk.apply(&Change::DestroyTopic { topic: "t" }).unwrap();
    disk.apply(&Change::CreateTopic { topic: "t" }).unwrap();
    drop(disk);
    let loaded = Disk::open(&directory.0).unwrap().load().unwrap();
    assert_eq!(loaded.len(), 1);
    assert_eq!(loaded[0].recipients, []);
}

fn subscription(proxy: &str) -> StoredSubscription {
    StoredSubscription {
        subscriber: proxy.parse().unwrap(),
        qos: BTreeMap::from([("retryCount".to_owned(), "3".to_owned())]),
    }
}

#[test]
fn what_was_applied_is_loaded_by_the_next_process_in_the_order_of_creation() {
    let directory = Directory::new("order");
    let subscriptions = ["z -o:tcp -h h -p 1", "c/a -f f:tcp -h h -p 2 -t 5"].map(subscription);
    let mut disk = Disk::open(&directory.0).unwrap();
    for topic in ["b", "a", "gone"] {
        disk.apply(&Change::CreateTopic { topic }).unwrap();
        for subscription in &subscriptions {
            disk.apply(&Change::Subscribe {
                topic,
                subscription,
            })
            .unwrap();
        }
    }
    let left = [subscriptions[0].subscriber.identity.clone()];
    disk.apply(&Change::Unsubscribe {
        topic: "a",
        subscribers: &left,
    })
    .unwrap();
    disk.apply(&Change::DestroyTopic { topic: "gone" }).unwrap();
    drop(disk);
    let loaded = Disk::open(&directory.0).unwrap().load().unwrap();
    let topic = |name: &str, subscriptions: &[StoredSubscription]| StoredTopic {
        name: name.to_owned(),
        recipients: subscriptions
            .iter()
            .cloned()
            .map(StoredRecipient::Subscription)
            .collect(),
    };
    assert_eq!(
        loaded,
        [topic("b", &subscriptions), topic("a", &subscriptions[1..])]
    );
}

fn link(to: &str, receiver: Option<&str>) -> StoredLink {
    StoredLink {
        topic: to.parse().unwrap(),
        receiver: receiver.map(|receiver| receiver.parse().unwrap()),
        cost: -3,
    }
}

#[test]
fn links_are_kept_among_the_subscriptions_and_end_as_they_do() {
    let directory = Directory::new("links");
    let mut disk = Disk::open(&directory.0).unwrap();
    for topic in ["t", "gone"] {
        disk.apply(&Change::CreateTopic { topic }).unwrap();
    }
    let local = link("IceStorm/topic.u:tcp -h h -p 1", None);
    let remote = link(
        "Other/topic.u:tcp -h h -p 2",
        Some("Other/u.link:tcp -h h -p 3"),
    );
    let subscription = subscription("s:tcp -h h -p 1");
    for topic in ["t", "gone"] {
        let link = &local;
        disk.apply(&Change::Link { topic, link }).unwrap();
        let subscription = &subscription;
        disk.apply(&Change::Subscribe {
            topic,
            subscription,
        })
        .unwrap();
        let link = &remote;
        disk.apply(&Change::Link { topic, link }).unwrap();
    }
    disk.apply(&Change::DestroyTopic { topic: "gone" }).unwrap();
    disk.apply(&Change::CreateTopic { topic: "gone" }).unwrap();
    drop(disk);
    let mut disk = Disk::open(&directory.0).unwrap();
    let loaded = disk.load().unwrap();
    let expected = [
        StoredRecipient::Link(local.clone()),
        StoredRecipient::Subscription(subscription),
        StoredRecipient::Link(remote),
    ];
    assert_eq!(loaded[0].recipients, expected);
    assert_eq!(loaded[1].recipients, []);
    let unlinked = [local.topic.identity];
    disk.apply(&Change::Unsubscribe {
        topic: "t",
        subscribers: &unlinked,
    })
    .unwrap();
    assert_eq!(disk.load().unwrap()[0].recipients, expected[1..]);
}

#[test]
fn a_file_of_the_time_before_links_is_opened_with_all_that_it_keeps() {
    let directory = Directory::new("before-links");
    let mut disk = Disk::open(&directory.0).unwrap();
    let subscription = subscription("s:tcp -h h -p 1");
    disk.apply(&Change::CreateTopic { topic: "t" }).unwrap();
    disk.apply(&Change::Subscribe {
        topic: "t",
        subscription: &subscription,
    })
    .unwrap();
    disk.write(|transaction| Ok(transaction.delete_table(LINKS)?))
        .unwrap();
    drop(disk);
    let mut disk = Disk::open(&directory.0).unwrap();
    let recipients = [StoredRecipient::Subscription(subscription)];
    assert_eq!(disk.load().unwrap()[0].recipients, recipients);
    let link = &link("IceStorm/topic.u", None);
    disk.apply(&Change::Link { topic: "t", link }).unwrap();
    assert_eq!(disk.load().unwrap()[0].recipients.len(), 2);
}

#[test]
fn a_file_of_another_format_is_refused_with_both_formats() {
    let directory = Directory::new("format");
    let mut disk = Disk::open(&directory.0).unwrap();
    disk.write(|transaction| {
        transaction.open_table(META)?.insert("format", 7)?;
        Ok(())
    })
    .unwrap();
    drop(disk);
    let error = open_error(&directory.0);
    assert!(error.contains("has format 7, expected 1"), "{error}");
}

#[test]
fn a_record_that_cannot_be_read_harms_no_other() {
    let directory = Directory::new("record");
    let mut disk = Disk::open(&directory.0).unwrap();
    disk.apply(&Change::CreateTopic { topic: "t" }).unwrap();
    let good = subscription("s:tcp -h h -p 1");
    disk.apply(&Change::Subscribe {
        topic: "t",
        subscription: &good,
    })
    .unwrap();
    disk.write(|transaction| {
        let mut subscriptions = transaction.open_table(SUBSCRIPTIONS)?;
        subscriptions.insert(("t", &b"x"[..]), (9, &b"\x05nonsense"[..]))?;
        Ok(())
    })
    .unwrap();
    let recipients = [StoredRecipient::Subscription(good)];
    assert_eq!(disk.load().unwrap()[0].recipients, recipients);
}

#[test]
fn a_file_that_was_cut_off_is_refused_with_what_to_do() {
    let directory = Directory::new("cut");
    let mut disk = Disk::open(&directory.0).unwrap();
    let topic = "t";
    disk.apply(&Change::CreateTopic { topic }).unwrap();
    drop(disk);
    let file = directory.0.join("hub.redb");
    let whole = fs::read(&file).unwrap();
    for len in [1, 100, 4_096, 10_000, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..len]).unwrap();
        let error = open_error(&directory.0);
        assert!(
            error.contains("move it away to begin without topics"),
            "{len}: {error}"
        );
    }
    fs::write(&file, &whole).unwrap();
    let topics = Disk::open(&directory.0).unwrap().load().unwrap();
    assert_eq!(topics.len(), 1);
}

#[test]
fn a_file_that_is_no_store_is_refused_by_name() {
    let directory = Directory::new("garbage");
    fs::create_dir_all(&directory.0).unwrap();
    fs::write(directory.0.join("hub.redb"), b"not a store").unwrap();
    let error = open_error(&directory.0);
    assert!(
        error.starts_with("cannot open \"") && error.contains("hub.redb"),
        "{error}"
    );
}
