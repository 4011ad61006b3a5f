//! The promises that every [`EventLog`] must keep, as tests. The implementors are named at the end.
//!
//! - `conformance/subject.rs`: the implementors
//! - `conformance/samples.rs`: events, and how they are appended and read
//! - `conformance/retention.rs`: which events a log drops

mod retention;
mod samples;
mod subject;

pub(super) use samples::{events, read_all};

use std::sync::mpsc;

use super::*;
use retention::*;
use samples::{PATIENCE, append, payload, stored, woken};
use subject::{Subject, in_memory, on_disk};

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
        is_forwarded: false,
        origin: Some(origin.clone()),
        ..append(&[b"three", b""], 20)
    };
    assert_eq!(stored(log, third, Level::Written).unwrap(), 3..5);
    log.maintain(EventTime(20)).unwrap();
    let (all, gaps) = read_all(log, 1, &ReadLimits::default());
    assert_eq!(gaps, []);
    let stamp = |sequence, time, origin| Stamp {
        is_forwarded: false,
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
    assert_eq!(
        locate(Position::Sequence(99)),
        13,
        "the end: no event is missed"
    );
    let since = |time| locate(Position::Time(EventTime(time)));
    assert_eq!((since(0), since(10), since(11), since(20)), (1, 1, 3, 3));
    assert_eq!((since(30), since(31), since(60), since(61)), (5, 9, 11, 13));
}

fn times_recover_from_a_clock_that_was_ahead(open: fn(Retention) -> Subject) {
    let subject = open(Retention::default());
    let log = &*subject.log;
    let now = EventTime::now();
    let micros = |seconds: u64| seconds * 1_000_000;
    let far = now.0 + micros(100 * 365 * 24 * 3600);
    for time in [
        now.0 - micros(7200),
        far,
        now.0 - micros(60),
        now.0 - micros(30),
    ] {
        stored(log, append(&[b"x"], time), Level::Synced).unwrap();
    }
    let batch = log.read(1, &ReadLimits::default()).unwrap();
    let mut times: Vec<_> = batch.stamps.iter().map(|stamp| stamp.time).collect();
    let mut next = batch.next;
    while times.len() < 4 {
        let batch = log.read(next, &ReadLimits::default()).unwrap();
        times.extend(batch.stamps.iter().map(|stamp| stamp.time));
        next = batch.next;
    }
    assert!(times.is_sorted(), "{times:?}");
    let soon = EventTime::now().0 + micros(1);
    assert!(times.iter().all(|time| time.0 <= soon), "{times:?} {soon}");
    let since = |time| log.locate(Position::Time(EventTime(time))).unwrap();
    assert_eq!(since(now.0 + micros(3600)), 5);
    assert!(since(now.0 - micros(3600)) >= 2);
    // They expire as others do.
    log.set_retention(Retention {
        age: Some(std::time::Duration::from_secs(3600)),
        ..Retention::default()
    });
    log.maintain(now).unwrap();
    assert!(log.contents().events >= 2, "{:?}", log.contents());
    log.maintain(EventTime(now.0 + micros(2 * 3600))).unwrap();
    assert_eq!(log.contents().events, 0);
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
        is_forwarded: false,
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
                        is_forwarded: false,
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
    times_recover_from_a_clock_that_was_ahead,
    readers_are_woken,
    a_closed_log_refuses_and_is_read,
    what_is_too_long_is_refused,
    old_events_expire,
    all_events_can_expire,
    exactly_as_many_events_are_kept_as_the_retention_says,
    only_the_newest_events_of_each_key_stay,
    many_publishers_and_a_reader_agree,
);
