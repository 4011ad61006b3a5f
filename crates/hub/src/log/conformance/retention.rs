//! Which events a log drops, and how its readers learn of that.

use std::time::Duration;

use super::samples::{append, events, read_all, stored};
use super::subject::Subject;
use crate::log::*;

pub(super) fn old_events_expire(open: fn(Retention) -> Subject) {
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
    assert_eq!(count.events, 5, "{count:?}");
    let age = limit(Retention {
        age: Some(Duration::from_secs(4)),
        bytes: Some(4 << 20),
        ..Retention::default()
    });
    assert_eq!(age.events, 5, "{age:?}");
}

pub(super) fn exactly_as_many_events_are_kept_as_the_retention_says(
    open: fn(Retention) -> Subject,
) {
    let keep = |events| Retention {
        events: Some(events),
        ..Retention::default()
    };
    let subject = open(keep(20));
    let log = &*subject.log;
    for at in 1..=300_u64 {
        let payload = at.to_le_bytes();
        stored(log, append(&[&payload], at), Level::Written).unwrap();
        let contents = log.contents();
        let first = at.saturating_sub(19).max(1);
        assert_eq!((contents.events, contents.first), (at - first + 1, first));
        if at % 50 != 0 {
            continue;
        }
        let (all, gaps) = read_all(
            log,
            1,
            &ReadLimits {
                level: Level::Written,
                ..ReadLimits::default()
            },
        );
        let sequences: Vec<u64> = all.iter().map(|(_, stamp)| stamp.sequence).collect();
        assert!(sequences.iter().copied().eq(first..=at), "{sequences:?}");
        assert_eq!(
            gaps,
            [Gap {
                sequences: 1..first,
                reason: GapReason::Expired
            }]
        );
        let locate = |position| log.locate(position).unwrap();
        assert_eq!(
            (locate(Position::First), locate(Position::Last(100))),
            (first, first)
        );
        assert_eq!(locate(Position::Last(3)), at - 2);
        assert_eq!(locate(Position::Time(EventTime(1))), first);
    }
    log.set_retention(keep(7));
    log.maintain(EventTime(300)).unwrap();
    assert_eq!((log.contents().events, log.contents().first), (7, 294));
}

pub(super) fn all_events_can_expire(open: fn(Retention) -> Subject) {
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

pub(super) fn only_the_newest_events_of_each_key_stay(open: fn(Retention) -> Subject) {
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
            is_forwarded: false,
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
