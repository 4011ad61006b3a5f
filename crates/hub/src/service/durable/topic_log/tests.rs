//! A log of a topic with a disk that is slow.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::*;
use crate::core::durable::{OvertakingNotice, PublisherNames, SavedPosition};
use crate::core::log::Retention;
use crate::core::{HubLimits, Qos};
use crate::log::{Damage, Done, LogError, Wake};
use crate::service::destroyed_topics::tests::events;
use crate::service::user_accounts::UserAccounts;

fn publishers() -> Arc<PublisherNames> {
    Arc::new(PublisherNames::new(1000))
}

#[test]
fn fewer_long_events_are_searched_but_as_many_as_may_be_under_way() {
    let count = |events, bytes| {
        searched_count(&Contents {
            events,
            bytes,
            ..Contents::default()
        })
    };
    assert_eq!(count(0, 0), SEARCHED_EVENTS);
    assert_eq!(count(100_000_000, 10 << 30), SEARCHED_EVENTS);
    assert_eq!(count(1 << 20, 16 << 30), 4096);
    assert_eq!(count(10_000, 10 << 30), SEARCHED_EVENTS_MIN);
}

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("floe-log-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_position_behind_the_end_of_its_log_is_stored_at_the_end() {
    let folder = Folder::new("behind");
    let path = folder.0.join("d");
    let behind = SavedPosition::with_pending(11, [(2, 1), (9, 1)].into_iter());
    PositionFile::create(&path, "d", None, &behind).unwrap();
    let log = TopicLog::in_memory(
        "t",
        DurableSettings::default(),
        &Arc::default(),
        publishers(),
    );
    let end = log.contents().next;
    let reader = Reader::open(log.source(), &path).unwrap();
    assert_eq!(reader.progress().next, end);
    drop(reader);
    let (_, _, stored) = PositionFile::open(&path).unwrap();
    assert_eq!(stored.next, end);
}

#[test]
fn a_file_that_may_have_the_position_is_never_written_over() {
    let folder = Folder::new("places");
    let file = folder.0.join("d");
    let place = |name| place_for(&folder.0, name);
    assert!(matches!(place("d"), Ok(PositionPlace::Free(free)) if free == file));
    std::fs::create_dir(&file).unwrap();
    assert!(place("d").is_err(), "it cannot be read");
    std::fs::remove_dir(&file).unwrap();
    std::fs::write(&file, "damaged").unwrap();
    assert!(matches!(place("d"), Ok(PositionPlace::Free(free)) if free == file));
    PositionFile::create(&file, "d", None, &SavedPosition::at(7)).unwrap();
    assert!(matches!(place("d"), Ok(PositionPlace::Taken(taken)) if taken == file));
    PositionFile::create(&file, "other", None, &SavedPosition::at(7)).unwrap();
    let second = folder.0.join("d-2");
    assert!(matches!(place("d"), Ok(PositionPlace::Free(free)) if free == second));
}

#[test]
fn readers_follow_the_level_of_their_topic() {
    let settings = |acknowledge| DurableSettings {
        acknowledge,
        ..DurableSettings::default()
    };
    let log = TopicLog::in_memory("t", settings(Level::Synced), &Arc::default(), publishers());
    let source = log.source();
    assert_eq!(source.limits(1, 1).level, Level::Synced);
    log.reconfigure(settings(Level::Written));
    assert_eq!(source.limits(1, 1).level, Level::Written);
}

#[test]
fn a_subscription_that_the_retention_is_about_to_overtake_is_named_once() {
    let folder = Folder::new("overtaken");
    let path = folder.0.join("d");
    PositionFile::create(&path, "d", None, &SavedPosition::at(1)).unwrap();
    let mut settings = DurableSettings::default();
    settings.retention.events = Some(10);
    let log = TopicLog::in_memory("t", settings, &Arc::default(), publishers());
    let reader = Reader::open(log.source(), &path).unwrap();
    let mut named = Vec::new();
    for count in 1..=30 {
        drop(log.append(events(1), None));
        let notice = reader.check_overtaking(EventTime::now());
        named.extend(notice.map(|notice| (count, notice)));
    }
    assert_eq!(named, [(8, OvertakingNotice::Near(80))]);
    assert_eq!(reader.progress().waiting, 10, "only what is there");
    reader.set_position(25);
    let notice = reader.check_overtaking(EventTime::now());
    assert_eq!(notice, Some(OvertakingNotice::Relieved));
}

/// A log that says when it is asked for a position, and answers when it may.
#[derive(Debug)]
struct SlowLog {
    log: MemoryLog,
    is_slow: AtomicBool,
    asked: Sender<()>,
    may_answer: Mutex<Receiver<()>>,
}

impl EventLog for SlowLog {
    fn append(&self, append: Append, level: Level, done: Done) {
        self.log.append(append, level, done);
    }

    fn read(&self, from: u64, limits: &ReadLimits) -> Result<ReadBatch, LogError> {
        self.log.read(from, limits)
    }

    fn locate(&self, position: Position) -> Result<u64, LogError> {
        if self.is_slow.load(Ordering::Acquire) {
            self.asked.send(()).expect("the test listens");
            let may_answer = self.may_answer.lock();
            may_answer.recv().expect("the test lets it answer");
        }
        self.log.locate(position)
    }

    fn when_readable(&self, from: u64, level: Level, wake: Wake) {
        self.log.when_readable(from, level, wake);
    }

    fn contents(&self) -> Contents {
        self.log.contents()
    }

    fn percent_kept_from(&self, from: u64, now: EventTime) -> u64 {
        self.log.percent_kept_from(from, now)
    }

    fn maintain(&self, now: EventTime) -> Result<(), LogError> {
        self.log.maintain(now)
    }

    fn set_retention(&self, retention: Retention) {
        self.log.set_retention(retention);
    }

    fn damage(&self) -> Vec<Damage> {
        self.log.damage()
    }

    fn close(&self) {
        self.log.close();
    }

    fn is_closed(&self) -> bool {
        self.log.is_closed()
    }
}

#[test]
fn other_subscriptions_are_found_while_a_new_one_waits_for_the_disk() {
    let name = format!("floe-topic-log-{}", std::process::id());
    let positions = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&positions).expect("a folder");
    let (asked, is_asked) = channel();
    let (answer, may_answer) = channel();
    let slow = Arc::new(SlowLog {
        log: MemoryLog::new(Retention::default()),
        is_slow: AtomicBool::new(false),
        asked,
        may_answer: Mutex::new(may_answer),
    });
    let catch_up = Arc::default();
    let users = Arc::new(UserAccounts::new(HubLimits::default()));
    let counts = Arc::new(LogCounts::new(users, 1000));
    let settings = DurableSettings::default();
    let log = TopicLog::open(
        "t",
        slow.clone(),
        settings,
        positions.clone(),
        &catch_up,
        counts,
    );
    let log = log.expect("it is empty");
    slow.is_slow.store(true, Ordering::Release);
    let qos = [("floe.durable".to_owned(), "d".to_owned())].into();
    let qos = Qos::parse(&qos, floe::InvocationMode::Twoway).expect("good wishes");
    let reading = qos.reading.expect("it is durable");
    let creating = std::thread::spawn({
        let log = log.clone();
        move || log.reader(&reading, None).map(drop)
    });
    is_asked.recv().expect("it waits for the disk");
    let (found, is_found) = channel();
    std::thread::spawn({
        let log = log.clone();
        move || found.send(log.all_named().len())
    });
    // The limit only ends a test that fails.
    let count = is_found.recv_timeout(Duration::from_secs(10));
    answer.send(()).expect("it waits");
    assert_eq!(count, Ok(0));
    creating.join().expect("no panic").expect("a new position");
    assert!(log.named("d").is_some());
    let _ = std::fs::remove_dir_all(positions);
}

/// Live subscribers do not wait for the disk (ADR 61). So a publisher that sends a refused event again sends it to them
/// twice, as the guide says.
#[tokio::test]
async fn an_event_that_the_log_refuses_still_goes_to_live_subscribers() {
    let log = TopicLog::in_memory(
        "t",
        DurableSettings::default(),
        &Arc::default(),
        publishers(),
    );
    log.close();
    for _ in 0..2 {
        let Appending { fresh, outcome } = log.append(events(1), None);
        assert_eq!(fresh.iter().map(Events::len).sum::<usize>(), 1);
        let refused = outcome.await.expect_err("it is closed");
        assert!(refused.to_string().contains("the event is not stored"));
    }
    assert_eq!(log.contents().events, 0);
}
