//! What every [`EventLog`] must do. Each implementor names itself at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use floe::encoding::Encoder;
use floe::forwarding::{Events, EventsBuilder};
use floe::{EncodingVersion, OperationMode};
use tokio::runtime::Runtime;

use super::*;

/// Events with these payloads, each with this key in its context.
pub(super) fn events(payloads: &[&[u8]], key: &str) -> Events {
    let mut builder = EventsBuilder::default();
    for payload in payloads {
        let write = |buffer: &mut Vec<u8>| {
            let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
            encoder.string("tick");
            encoder.put(&OperationMode::Normal);
            encoder.size(1);
            encoder.string("key");
            encoder.string(key);
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.bytes(payload));
            encoder.finish().expect("it is short");
            Ok(())
        };
        builder.push_with(write).expect("it is an event");
    }
    builder.finish().expect("there is an event")
}

/// The payload of an event that [`events`] made.
pub(super) fn payload(event: &[u8]) -> &[u8] {
    let parts = floe::forwarding::EventParts::parse(event).expect("it is an event");
    &parts.parameters[6..]
}

/// An append of events with these payloads, at a time.
pub(super) fn append(payloads: &[&[u8]], time: u64) -> Append {
    Append {
        events: events(payloads, "k"),
        time: EventTime(time),
        origin: None,
    }
}

/// Appends, and waits for the answer.
fn stored(log: &dyn EventLog, append: Append, level: Level) -> Result<Range<u64>, AppendError> {
    let (sender, receiver) = mpsc::channel();
    log.append(
        append,
        level,
        Box::new(move |result| _ = sender.send(result)),
    );
    match receiver.recv_timeout(PATIENCE).expect("it is answered")? {
        Acknowledged::Stored(sequences) => Ok(sequences),
        Acknowledged::Accepted => panic!("expected sequences at the level {level}"),
    }
}

/// All that a log has from a sequence on: payloads with their stamps.
pub(super) fn read_all(
    log: &dyn EventLog,
    mut from: u64,
    limits: &ReadLimits,
) -> (Vec<(Vec<u8>, Stamp)>, Vec<Gap>) {
    let (mut all, mut gaps) = (Vec::new(), Vec::new());
    loop {
        let batch = log.read(from, limits).expect("it can be read");
        gaps.extend(batch.gap);
        let count = batch.events.as_ref().map_or(0, Events::len);
        assert_eq!(count, batch.stamps.len());
        assert!(count <= limits.events.max(1));
        let events = batch.events.iter().flat_map(Events::iter);
        all.extend(
            events
                .map(|event| payload(event).to_vec())
                .zip(batch.stamps),
        );
        if batch.next == from {
            return (all, gaps);
        }
        assert!(batch.next > from, "a reader never goes back");
        from = batch.next;
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

/// A log under test, and what must live as long.
struct Subject {
    log: Arc<dyn EventLog>,
    _runtime: Option<Runtime>,
    folder: Option<PathBuf>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.log.close();
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn in_memory(retention: Retention) -> Subject {
    Subject {
        log: Arc::new(MemoryLog::new(retention)),
        _runtime: None,
        folder: None,
    }
}

fn on_disk(retention: Retention) -> Subject {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!(
        "floe-log-{}-{}",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    );
    let folder = std::env::temp_dir().join(name);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let settings = LogSettings {
        retention,
        ..LogSettings::default()
    };
    let log = SegmentLog::open(&folder, settings, runtime.handle().clone()).unwrap();
    Subject {
        log: Arc::new(log),
        _runtime: Some(runtime),
        folder: Some(folder),
    }
}

fn events_are_read_as_they_were_appended(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let log = &*subject.log;
    let empty = log.contents();
    assert_eq!((empty.first, empty.next, empty.events), (1, 1, 0));
    assert_eq!(log.read(1, &ReadLimits::default()).unwrap().next, 1);
    assert_eq!(
        stored(log, append(&[b"one", b"two"], 10), Level::Synced).unwrap(),
        1..3
    );
    let origin = Origin {
        publisher: "sensor".into(),
        sequence: 41,
    };
    let third = Append {
        origin: Some(origin.clone()),
        ..append(&[b"three", b""], 20)
    };
    assert_eq!(stored(log, third, Level::Written).unwrap(), 3..5);
    log.maintain(EventTime(20)).unwrap();
    let (all, gaps) = read_all(log, 1, &ReadLimits::default());
    assert_eq!(gaps, []);
    let stamp = |sequence, time, origin| Stamp {
        sequence,
        time: EventTime(time),
        origin,
    };
    let next = Origin {
        sequence: 42,
        ..origin.clone()
    };
    let expected = [
        (b"one".to_vec(), stamp(1, 10, None)),
        (b"two".to_vec(), stamp(2, 10, None)),
        (b"three".to_vec(), stamp(3, 20, Some(origin))),
        (b"".to_vec(), stamp(4, 20, Some(next))),
    ];
    assert_eq!(all, expected);
    let contents = log.contents();
    assert_eq!((contents.first, contents.next, contents.synced), (1, 5, 5));
    assert_eq!((contents.events, contents.lost), (4, 0));
    assert!(contents.bytes > 0);
    assert_eq!(log.damage(), []);
}

fn every_level_is_answered_in_order(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let (sender, receiver) = mpsc::channel();
    for at in 0..300_u64 {
        let level = Level::ALL[at as usize % 3];
        let sender = sender.clone();
        let done = move |result: Result<Acknowledged, AppendError>| {
            let _ = sender.send((at, level, result.expect("it is kept")));
        };
        subject
            .log
            .append(append(&[b"x"], at), level, Box::new(done));
    }
    let mut answers: Vec<_> = (0..300)
        .map(|_| receiver.recv_timeout(PATIENCE).unwrap())
        .collect();
    for level in Level::ALL {
        let order: Vec<_> = answers
            .iter()
            .filter(|answer| answer.1 == level)
            .map(|a| a.0)
            .collect();
        assert!(order.is_sorted(), "{level}: {order:?}");
    }
    answers.sort_unstable_by_key(|answer| answer.0);
    for (at, level, answer) in answers {
        match level {
            Level::Accepted => assert_eq!(answer, Acknowledged::Accepted),
            _ => assert_eq!(answer, Acknowledged::Stored(at + 1..at + 2)),
        }
    }
    assert!(receiver.try_recv().is_err(), "each is answered once");
}

fn reads_are_bounded(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let log = &*subject.log;
    let long = vec![7; 5000];
    stored(
        log,
        append(&[b"a", &long, b"b", b"c", b"d"], 1),
        Level::Synced,
    )
    .unwrap();
    let count = |from, events, bytes| {
        let limits = ReadLimits {
            events,
            bytes,
            level: Level::Synced,
        };
        let batch = log.read(from, &limits).unwrap();
        (batch.stamps.len(), batch.next)
    };
    assert_eq!(count(1, 3, 1 << 20), (3, 4));
    assert_eq!(count(1, 100, 4000), (1, 2));
    assert_eq!(count(2, 100, 4000), (1, 3), "one is always read");
    assert_eq!(count(2, 0, 0), (1, 3), "one is always read");
    assert_eq!(count(3, 100, 4000), (3, 6));
    assert_eq!(count(6, 100, 4000), (0, 6));
    assert_eq!(
        count(60, 100, 4000),
        (0, 60),
        "a reader may wait for a later event"
    );
}

fn positions_are_found(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let log = &*subject.log;
    let locate = |position| log.locate(position).unwrap();
    assert_eq!((locate(Position::First), locate(Position::Last(3))), (1, 1));
    for at in 1..=6 {
        // The clock goes back once.
        let time = if at == 4 { 5 } else { at * 10 };
        stored(log, append(&[b"x", b"y"], time), Level::Synced).unwrap();
    }
    assert_eq!((locate(Position::First), locate(Position::End)), (1, 13));
    assert_eq!(
        (locate(Position::Last(0)), locate(Position::Last(5))),
        (13, 8)
    );
    assert_eq!(locate(Position::Last(u64::MAX)), 1);
    assert_eq!(
        (locate(Position::Sequence(0)), locate(Position::Sequence(9))),
        (1, 9)
    );
    let since = |time| locate(Position::Time(EventTime(time)));
    assert_eq!((since(0), since(10), since(11), since(20)), (1, 1, 3, 3));
    assert_eq!((since(30), since(31), since(60), since(61)), (5, 9, 11, 13));
}

fn readers_are_woken(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let wait = |from, level| {
        let (sender, receiver) = oneshot::channel();
        subject.log.when_readable(from, level, sender);
        receiver
    };
    let mut first = wait(1, Level::Synced);
    let mut third = wait(3, Level::Written);
    let mut far = wait(99, Level::Synced);
    for receiver in [&mut first, &mut third, &mut far] {
        assert!(receiver.try_recv().is_err(), "there is nothing to read");
    }
    stored(&*subject.log, append(&[b"x", b"y"], 1), Level::Synced).unwrap();
    woken(async { first.await.expect("the log sends") });
    assert!(third.try_recv().is_err() && far.try_recv().is_err());
    stored(&*subject.log, append(&[b"z"], 1), Level::Written).unwrap();
    woken(async { third.await.expect("the log sends") });
    let mut past = wait(2, Level::Written);
    assert_eq!(past.try_recv(), Ok(()), "it is woken within the call");
    assert!(far.try_recv().is_err());
    subject.log.close();
    woken(async { far.await.expect("the log sends") });
    assert_eq!(wait(99, Level::Synced).try_recv(), Ok(()));
}

/// Waits until a reader is woken.
fn woken<T>(woken: impl Future<Output = T>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build().expect("a runtime");
    let woken = runtime.block_on(async { tokio::time::timeout(PATIENCE, woken).await });
    woken.expect("the reader is woken");
}

#[test]
fn readers_that_wait_no_more_take_no_memory() {
    let mut readers = WaitingReaders::default();
    let mut kept = Vec::new();
    for from in 0..100_000 {
        let (sender, receiver) = oneshot::channel();
        readers.push(from, Level::Written, sender);
        if from % 1000 == 0 {
            kept.push(receiver);
        }
        assert!(readers.readers.len() <= 256, "{}", readers.readers.len());
    }
    readers.wake(|_| u64::MAX);
    for receiver in kept {
        woken(async { receiver.await.expect("the log sends") });
    }
}

fn a_closed_log_refuses_and_is_read(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let log = &*subject.log;
    stored(log, append(&[b"kept"], 1), Level::Written).unwrap();
    log.close();
    let error = stored(log, append(&[b"late"], 1), Level::Synced).unwrap_err();
    assert!(matches!(error, AppendError::Closed), "{error}");
    assert_eq!(log.contents().synced, 2, "closing syncs");
    assert_eq!(read_all(log, 1, &ReadLimits::default()).0.len(), 1);
}

fn what_is_too_long_is_refused(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let log = &*subject.log;
    let long = vec![0; EVENT_LEN_MAX];
    let error = stored(log, append(&[b"a", &long], 1), Level::Synced).unwrap_err();
    assert!(
        error.to_string().starts_with("the event has 671088"),
        "{error}"
    );
    let named = |len| Append {
        origin: Some(Origin {
            publisher: "p".repeat(len).into(),
            sequence: 1,
        }),
        ..append(&[b"b"], 1)
    };
    let error = stored(log, named(Origin::NAME_LEN_MAX + 1), Level::Synced).unwrap_err();
    assert!(matches!(error, AppendError::Refused(_)), "{error}");
    assert_eq!(
        stored(log, named(Origin::NAME_LEN_MAX), Level::Synced).unwrap(),
        1..2
    );
}

fn old_events_expire(open: fn(Retention) -> Subject) {
    let limit = |retention| {
        let subject = open(retention);
        let log = &*subject.log;
        // 4 MiB, so that a log on disk has several segments.
        let long = vec![1; 128 << 10];
        for at in 1..=32 {
            stored(log, append(&[&long], at * 1_000_000), Level::Written).unwrap();
            log.maintain(EventTime(at * 1_000_000)).unwrap();
        }
        let contents = log.contents();
        assert!((2..=33).contains(&contents.first), "{contents:?}");
        assert_eq!(contents.next, 33);
        let (all, gaps) = read_all(log, 1, &ReadLimits::default());
        assert_eq!(all.len() as u64, contents.events);
        let gap = Gap {
            sequences: 1..contents.first,
            reason: GapReason::Expired,
        };
        assert_eq!(gaps, [gap]);
        assert_eq!(log.locate(Position::First).unwrap(), contents.first);
        contents
    };
    let bytes = limit(Retention {
        bytes: Some(1 << 20),
        ..Retention::default()
    });
    assert!(bytes.events >= 7 && bytes.bytes < 3 << 20, "{bytes:?}");
    let count = limit(Retention {
        events: Some(5),
        bytes: Some(4 << 20),
        ..Retention::default()
    });
    assert!((5..=16).contains(&count.events), "{count:?}");
    let age = limit(Retention {
        age: Some(Duration::from_secs(4)),
        bytes: Some(4 << 20),
        ..Retention::default()
    });
    assert!((5..=16).contains(&age.events), "{age:?}");
}

fn all_events_can_expire(open: fn(Retention) -> Subject) {
    let subject = open(Retention {
        age: Some(Duration::from_secs(1)),
        ..Retention::default()
    });
    let log = &*subject.log;
    stored(log, append(&[b"old", b"older"], 1), Level::Synced).unwrap();
    log.maintain(EventTime(2_000_000)).unwrap();
    let contents = log.contents();
    assert_eq!((contents.first, contents.next, contents.events), (3, 3, 0));
    assert_eq!(
        stored(log, append(&[b"new"], 2_000_000), Level::Synced).unwrap(),
        3..4
    );
    let (all, gaps) = read_all(log, 1, &ReadLimits::default());
    assert_eq!((all.len(), gaps[0].sequences.clone()), (1, 1..3));
    log.set_retention(Retention::default());
    log.maintain(EventTime(u64::MAX)).unwrap();
    assert_eq!(log.contents().events, 1, "a changed retention is applied");
}

fn only_the_newest_events_of_each_key_stay(open: fn(Retention) -> Subject) {
    let subject = open(Retention {
        // A log on disk has several segments then.
        bytes: Some(8 << 20),
        per_key: Some(PerKey {
            context_key: "key".to_owned(),
            count: 2,
        }),
        ..Retention::default()
    });
    let log = &*subject.log;
    let keys = ["a", "b", "c"];
    let long = vec![1; 100 << 10];
    let mut published = Vec::new();
    for at in 0..42_usize {
        // The third key has two events, at the beginning.
        let key = keys[if at < 2 { 2 } else { at % 2 }];
        let append = Append {
            events: events(&[&[&[at as u8], &long[..]].concat()], key),
            time: EventTime(at as u64),
            origin: None,
        };
        let sequences = stored(log, append, Level::Synced).unwrap();
        published.push((sequences.start, key));
        if at % 10 == 9 {
            log.maintain(EventTime(at as u64)).unwrap();
        }
    }
    log.maintain(EventTime(42)).unwrap();
    let (all, gaps) = read_all(log, 1, &ReadLimits::default());
    assert_eq!(gaps, [], "that a newer event has replaced one is no gap");
    assert_eq!(log.damage(), []);
    let kept: Vec<u64> = all.iter().map(|(_, stamp)| stamp.sequence).collect();
    assert!(kept.is_sorted() && kept.len() < 25, "{kept:?}");
    assert_eq!(kept.len() as u64, log.contents().events);
    for (payload, stamp) in &all {
        assert_eq!(
            u64::from(payload[0]),
            stamp.sequence - 1,
            "each is as it was published"
        );
    }
    for key in keys {
        let of_key = published
            .iter()
            .rev()
            .filter(|(_, published)| *published == key);
        let newest: Vec<u64> = of_key.take(2).map(|(sequence, _)| *sequence).collect();
        assert!(
            newest.iter().all(|sequence| kept.contains(sequence)),
            "{key}: {kept:?}"
        );
    }
    let last = log.locate(Position::Last(kept.len() as u64)).unwrap();
    assert_eq!(last, kept[0]);
}

fn many_publishers_and_a_reader_agree(open: fn(Retention) -> Subject) {
    const PUBLISHERS: u64 = 4;
    const COUNT: u64 = 300;
    let subject = open(Retention::default());
    let total = PUBLISHERS * COUNT;
    std::thread::scope(|scope| {
        for publisher in 0..PUBLISHERS {
            let log = &subject.log;
            scope.spawn(move || {
                let (sender, receiver) = mpsc::channel();
                for at in 0..COUNT {
                    let append = Append {
                        origin: Some(Origin {
                            publisher: format!("p{publisher}").into(),
                            sequence: at,
                        }),
                        ..append(&[&at.to_le_bytes()], at)
                    };
                    let level = Level::ALL[(at % 3) as usize];
                    let sender = sender.clone();
                    log.append(
                        append,
                        level,
                        Box::new(move |result| _ = sender.send(result)),
                    );
                }
                for _ in 0..COUNT {
                    receiver
                        .recv_timeout(PATIENCE)
                        .expect("it is answered")
                        .expect("it is kept");
                }
            });
        }
        let mut seen = vec![0; PUBLISHERS as usize];
        let mut from = 1;
        let limits = ReadLimits {
            events: 7,
            level: Level::Written,
            ..ReadLimits::default()
        };
        while from <= total {
            // There is more to come.
            woken(readable(&*subject.log, from, Level::Written));
            let batch = subject.log.read(from, &limits).unwrap();
            assert_eq!(batch.gap, None);
            for (event, stamp) in batch
                .events
                .iter()
                .flat_map(Events::iter)
                .zip(&batch.stamps)
            {
                let origin = stamp
                    .origin
                    .as_ref()
                    .expect("publishers number their events");
                let publisher: usize = origin.publisher[1..].parse().unwrap();
                assert_eq!(origin.sequence, seen[publisher], "in order, and once");
                assert_eq!(payload(event), origin.sequence.to_le_bytes());
                seen[publisher] += 1;
            }
            assert!(batch.next > from);
            from = batch.next;
        }
        assert_eq!(seen, [COUNT; PUBLISHERS as usize]);
    });
}

#[test]
fn a_folder_is_free_as_soon_as_its_log_is_closed_or_dropped() {
    let subject = on_disk(Retention::default());
    let folder = subject.folder.clone().expect("it is on disk");
    let runtime = subject
        ._runtime
        .as_ref()
        .expect("it has one")
        .handle()
        .clone();
    let open = || SegmentLog::open(&folder, LogSettings::default(), runtime.clone());
    let error = open().unwrap_err();
    assert!(error.to_string().contains("another hub uses it"), "{error}");
    subject
        .log
        .append(append(&[b"x"], 1), Level::Synced, Box::new(drop));
    subject.log.close();
    for at in 0..50 {
        let log = open().expect("the folder is free");
        assert!(log.contents().next >= 2, "what was closed is kept");
        log.append(append(&[b"y"], at), Level::Synced, Box::new(drop));
    }
    subject
        .log
        .maintain(EventTime::now())
        .expect("a closed log leaves the folder alone");
}

macro_rules! conformance {
    ($implementor:ident, $open:path, [$($test:ident),* $(,)?]) => {
        mod $implementor {
            $(
                #[test]
                fn $test() {
                    super::$test($open);
                }
            )*
        }
    };
}

macro_rules! implementors {
    ($($test:ident),* $(,)?) => {
        conformance!(memory, super::in_memory, [$($test),*]);
        conformance!(segments, super::on_disk, [$($test),*]);
    };
}

implementors!(
    events_are_read_as_they_were_appended,
    every_level_is_answered_in_order,
    reads_are_bounded,
    positions_are_found,
    readers_are_woken,
    a_closed_log_refuses_and_is_read,
    what_is_too_long_is_refused,
    old_events_expire,
    all_events_can_expire,
    only_the_newest_events_of_each_key_stay,
    many_publishers_and_a_reader_agree,
);
