//! The files after changes, failures and restarts.
//!
//! - `tests/damage.rs`: files that were damaged

mod damage;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use floe_access::{Caller, Place};
use redb::TableDefinition;

use super::*;
use crate::store::file::builder;
use crate::store::{StoredCaller, StoredLink, StoredRecipient, StoredSubscription, full_disk};

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

fn open(directory: &Path) -> Disk {
    Disk::open(directory, false).unwrap()
}

fn open_error(directory: &Path) -> String {
    let opened = Disk::open(directory, false);
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

/// Opens a file again on a disk that is full while the flag is set.
fn on_filling_disk(file: &mut StoreFile, path: PathBuf, is_full: &Arc<AtomicBool>) {
    let is_full = is_full.clone();
    let open = move |path: &Path| {
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).write(true).open(path)?;
        let file = redb::backends::FileBackend::new(file)?;
        let is_full = is_full.clone();
        builder().create_with_backend(Filling { file, is_full })
    };
    file.close();
    *file = StoreFile::over(open(&path).unwrap(), path, Box::new(open));
}

fn names(topics: &[StoredTopic]) -> Vec<&str> {
    topics.iter().map(|topic| &topic.name[..]).collect()
}

#[test]
fn a_disk_that_was_full_is_written_again_once_there_is_space() {
    let directory = Directory::new("full");
    let is_full = Arc::new(AtomicBool::new(false));
    let mut disk = open(&directory.0);
    on_filling_disk(&mut disk.main, directory.0.join(MAIN), &is_full);
    disk.apply(&[Change::CreateTopic {
        topic: "before",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    is_full.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        let error = disk.apply(&[Change::CreateTopic {
            topic: "lost",
            user: None,
            is_durable: false,
        }]);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("hub.redb") && error.contains("free space"),
            "{error}"
        );
    }
    is_full.store(false, Ordering::Relaxed);
    disk.apply(&[Change::CreateTopic {
        topic: "after",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    drop(disk);
    let loaded = open(&directory.0).load().unwrap();
    assert_eq!(names(&loaded), ["before", "after"]);
}

fn create(topic: &str) -> Change<'_> {
    let (user, is_durable) = (None, false);
    Change::CreateTopic {
        topic,
        user,
        is_durable,
    }
}

/// A disk on which even opening a file needs space, as the library's files do.
#[test]
fn on_a_full_disk_topics_are_destroyed_and_the_hub_starts_but_nothing_new_is_stored() {
    let directory = Directory::new("reserve");
    let reserve = directory.0.join("reserve");
    let mut disk = open(&directory.0);
    for topic in ["a", "b", "c"] {
        disk.apply(&[create(topic)]).unwrap();
    }
    assert!(reserve.exists());
    full_disk::IS_FULL.set(true);
    disk.main.close();
    let error = disk.apply(&[create("d")]).unwrap_err();
    assert!(error.to_string().contains("free space there"), "{error}");
    assert!(reserve.exists(), "it is for what frees space");
    disk.apply(&[Change::DestroyTopic { topic: "a" }]).unwrap();
    assert!(
        !full_disk::IS_FULL.get() && reserve.exists(),
        "given up, and there again"
    );
    // Others fill the disk. At last they have taken the reserve, too.
    for (ends_in_order, has_reserve) in [(true, true), (false, true), (true, false), (false, false)]
    {
        if !ends_in_order {
            disk.main.close();
        }
        drop(disk);
        if !has_reserve {
            fs::remove_file(&reserve).unwrap();
        }
        full_disk::IS_FULL.set(true);
        let before = fs::read(directory.0.join(MAIN)).unwrap();
        disk = open(&directory.0);
        assert_eq!(names(&disk.load().unwrap()), ["b", "c"]);
        let error = disk.apply(&[create("d")]).unwrap_err();
        assert!(error.to_string().contains("free space there"), "{error}");
        assert_eq!(fs::read(directory.0.join(MAIN)).unwrap(), before);
        let destroyed = disk.apply(&[Change::DestroyTopic { topic: "?" }]);
        assert_eq!(destroyed.is_ok(), has_reserve);
        full_disk::IS_FULL.set(false);
        disk.apply(&[Change::Unsubscribe {
            topic: "b",
            subscribers: &[],
        }])
        .unwrap();
        assert!(reserve.exists());
    }
    disk.apply(&[Change::DestroyTopic { topic: "b" }]).unwrap();
    drop(disk);
    let mut disk = open(&directory.0);
    assert_eq!(names(&disk.load().unwrap()), ["c"]);
}

#[test]
fn a_change_happens_without_a_backup_which_the_next_change_writes_anew() {
    let directory = Directory::new("no-backup");
    let is_full = Arc::new(AtomicBool::new(false));
    let mut disk = open(&directory.0);
    on_filling_disk(
        disk.backup.as_mut().unwrap(),
        directory.0.join(BACKUP),
        &is_full,
    );
    is_full.store(true, Ordering::Relaxed);
    disk.apply(&[Change::CreateTopic {
        topic: "a",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    assert!(disk.backup.is_none());
    disk.apply(&[Change::CreateTopic {
        topic: "b",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    assert!(disk.backup.is_some());
    disk.apply(&[Change::CreateTopic {
        topic: "c",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    drop(disk);
    fs::remove_file(directory.0.join(MAIN)).unwrap();
    let loaded = open(&directory.0).load().unwrap();
    assert_eq!(names(&loaded), ["a", "b", "c"]);
}

#[test]
fn a_file_that_vanished_is_not_replaced_by_an_empty_one() {
    let directory = Directory::new("vanished");
    let mut disk = open(&directory.0);
    disk.main.close();
    fs::remove_dir_all(&directory.0).unwrap();
    disk.apply(&[Change::CreateTopic {
        topic: "t",
        user: None,
        is_durable: false,
    }])
    .unwrap_err();
    assert!(!directory.0.exists());
}

#[test]
fn a_topic_that_is_created_again_has_none_of_its_former_subscribers() {
    let directory = Directory::new("again");
    let mut disk = open(&directory.0);
    disk.apply(&[Change::CreateTopic {
        topic: "t",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    disk.apply(&[Change::Subscribe {
        topic: "t",
        subscription: &subscription("s:tcp -h h -p 1"),
    }])
    .unwrap();
    disk.apply(&[Change::DestroyTopic { topic: "t" }]).unwrap();
    disk.apply(&[Change::CreateTopic {
        topic: "t",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    drop(disk);
    let loaded = open(&directory.0).load().unwrap();
    assert_eq!(loaded.len(), 1);
    assert_eq!(loaded[0].recipients, []);
}

fn subscription(proxy: &str) -> StoredSubscription {
    StoredSubscription {
        subscriber: proxy.parse().unwrap(),
        user: None,
        chooser: None,
        qos: BTreeMap::from([("retryCount".to_owned(), "3".to_owned())]),
    }
}

#[test]
fn what_was_applied_is_loaded_by_the_next_process_in_the_order_of_creation() {
    let directory = Directory::new("order");
    let subscriptions = ["z -o:tcp -h h -p 1", "c/a -f f:tcp -h h -p 2 -t 5"].map(subscription);
    let mut disk = open(&directory.0);
    for topic in ["b", "a", "gone"] {
        disk.apply(&[Change::CreateTopic {
            topic,
            user: None,
            is_durable: false,
        }])
        .unwrap();
        for subscription in &subscriptions {
            disk.apply(&[Change::Subscribe {
                topic,
                subscription,
            }])
            .unwrap();
        }
    }
    let left = [subscriptions[0].subscriber.identity.clone()];
    disk.apply(&[Change::Unsubscribe {
        topic: "a",
        subscribers: &left,
    }])
    .unwrap();
    disk.apply(&[Change::DestroyTopic { topic: "gone" }])
        .unwrap();
    drop(disk);
    let loaded = open(&directory.0).load().unwrap();
    let topic = |name: &str, subscriptions: &[StoredSubscription]| StoredTopic {
        name: name.to_owned(),
        user: None,
        is_durable: false,
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
        maker: None,
    }
}

#[test]
fn links_are_kept_among_the_subscriptions_and_end_as_they_do() {
    let directory = Directory::new("links");
    let mut disk = open(&directory.0);
    for topic in ["t", "gone"] {
        disk.apply(&[Change::CreateTopic {
            topic,
            user: None,
            is_durable: false,
        }])
        .unwrap();
    }
    let local = link("IceStorm/topic.u:tcp -h h -p 1", None);
    let remote = link(
        "Other/topic.u:tcp -h h -p 2",
        Some("Other/u.link:tcp -h h -p 3"),
    );
    let subscription = subscription("s:tcp -h h -p 1");
    for topic in ["t", "gone"] {
        let link = &local;
        disk.apply(&[Change::Link { topic, link }]).unwrap();
        let subscription = &subscription;
        disk.apply(&[Change::Subscribe {
            topic,
            subscription,
        }])
        .unwrap();
        let link = &remote;
        disk.apply(&[Change::Link { topic, link }]).unwrap();
    }
    disk.apply(&[Change::DestroyTopic { topic: "gone" }])
        .unwrap();
    disk.apply(&[Change::CreateTopic {
        topic: "gone",
        user: None,
        is_durable: false,
    }])
    .unwrap();
    drop(disk);
    let mut disk = open(&directory.0);
    let loaded = disk.load().unwrap();
    let expected = [
        StoredRecipient::Link(local.clone()),
        StoredRecipient::Subscription(subscription),
        StoredRecipient::Link(remote),
    ];
    assert_eq!(loaded[0].recipients, expected);
    assert_eq!(loaded[1].recipients, []);
    let unlinked = [local.topic.identity];
    disk.apply(&[Change::Unsubscribe {
        topic: "t",
        subscribers: &unlinked,
    }])
    .unwrap();
    assert_eq!(disk.load().unwrap()[0].recipients, expected[1..]);
}

type FormerTable = TableDefinition<'static, (&'static str, &'static [u8]), (u64, &'static [u8])>;

/// Writes a file as hubs wrote it before records had checksums.
fn write_format_1(directory: &Path, links: Option<&StoredLink>) -> StoredSubscription {
    const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
    const TOPICS: TableDefinition<'_, &str, u64> = TableDefinition::new("topics");
    const SUBSCRIPTIONS: FormerTable = TableDefinition::new("subscriptions");
    const LINKS: FormerTable = TableDefinition::new("links");
    fs::create_dir_all(directory).unwrap();
    let database = builder().create(directory.join(MAIN)).unwrap();
    let transaction = database.begin_write().unwrap();
    let subscription = subscription("s:tcp -h h -p 1");
    {
        let mut meta = transaction.open_table(META).unwrap();
        meta.insert("format", 1).unwrap();
        meta.insert("next number", 5).unwrap();
        let mut topics = transaction.open_table(TOPICS).unwrap();
        topics.insert("t", 3).unwrap();
        topics.insert("u", 0).unwrap();
        let mut subscriptions = transaction.open_table(SUBSCRIPTIONS).unwrap();
        let identity = encoded(&subscription.subscriber.identity).unwrap();
        let value = encoded(&subscription).unwrap();
        subscriptions
            .insert(("t", &identity[..]), (4, &value[..]))
            .unwrap();
        if let Some(link) = links {
            let mut links = transaction.open_table(LINKS).unwrap();
            let identity = encoded(&link.topic.identity).unwrap();
            let value = encoded(link).unwrap();
            links.insert(("u", &identity[..]), (1, &value[..])).unwrap();
        }
    }
    transaction.commit().unwrap();
    subscription
}

#[test]
fn a_file_of_the_first_format_is_read_and_written_anew_with_a_backup() {
    for link in [None, Some(link("IceStorm/topic.t", None))] {
        let directory = Directory::new("format-1");
        let subscription = write_format_1(&directory.0, link.as_ref());
        let expected = [
            StoredTopic {
                name: "u".to_owned(),
                user: None,
                is_durable: false,
                recipients: link.into_iter().map(StoredRecipient::Link).collect(),
            },
            StoredTopic {
                name: "t".to_owned(),
                user: None,
                is_durable: false,
                recipients: vec![StoredRecipient::Subscription(subscription)],
            },
        ];
        let mut disk = open(&directory.0);
        assert_eq!(disk.load().unwrap(), expected);
        disk.apply(&[Change::CreateTopic {
            topic: "new",
            user: None,
            is_durable: false,
        }])
        .unwrap();
        drop(disk);
        fs::remove_file(directory.0.join(MAIN)).unwrap();
        let loaded = open(&directory.0).load().unwrap();
        assert_eq!(loaded[..2], expected);
        assert_eq!(names(&loaded), ["u", "t", "new"]);
    }
}

#[test]
fn a_file_of_the_second_format_is_read_and_written_anew() {
    let directory = Directory::new("format-2");
    let mut disk = open(&directory.0);
    disk.apply(&[Change::CreateTopic {
        topic: "t",
        user: Some("ada"),
        is_durable: true,
    }])
    .unwrap();
    let loaded = disk.load().unwrap();
    set_format(&mut disk, 2);
    drop(disk);
    let mut disk = open(&directory.0);
    assert_eq!(disk.load().unwrap(), loaded);
    for file in [&mut disk.main, disk.backup.as_mut().unwrap()] {
        assert_eq!(file.read().unwrap().format, 3);
    }
}

fn set_format(disk: &mut Disk, format: u64) {
    for file in [&mut disk.main, disk.backup.as_mut().unwrap()] {
        file.write(|transaction| {
            transaction
                .open_table(super::super::file::META)?
                .insert("format", format)?;
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_file_of_a_later_format_is_refused_with_both_formats() {
    let directory = Directory::new("format");
    let mut disk = open(&directory.0);
    set_format(&mut disk, 7);
    drop(disk);
    let error = open_error(&directory.0);
    assert!(
        error.contains("has format 7, expected at most 3"),
        "{error}"
    );
}

#[test]
fn who_has_chosen_a_topic_for_dead_letters_is_stored_with_or_without_a_user() {
    let chooser = |place| StoredCaller(Arc::new(Caller::anonymous(place)));
    let places = [Place::Here, Place::Unknown];
    for (place, user) in places.into_iter().zip([None, Some("ada".to_owned())]) {
        let directory = Directory::new("chooser");
        let mut disk = open(&directory.0);
        let stored = StoredSubscription {
            user,
            chooser: Some(chooser(place)),
            ..subscription("s:tcp -h h -p 1")
        };
        let create = Change::CreateTopic {
            topic: "t",
            user: None,
            is_durable: true,
        };
        let subscribe = Change::Subscribe {
            topic: "t",
            subscription: &stored,
        };
        disk.apply(&[create, subscribe]).unwrap();
        drop(disk);
        let loaded = open(&directory.0).load().unwrap();
        let recipients = [StoredRecipient::Subscription(stored)];
        assert_eq!(loaded[0].recipients, recipients);
    }
}
