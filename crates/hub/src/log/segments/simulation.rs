//! A log on a faulty file system, over thousands of random schedules.

use std::sync::{Arc, Mutex};

use super::super::conformance::{events, read_all};
use super::faulty::FaultyStorage;
use super::*;
use crate::core::log::{Header, Trailer};
use crate::log::{GapReason, PerKey, Stamp};
use crate::random::Random;

/// The fate of each published event. Its number is its payload.
#[derive(Debug, Default)]
struct Book {
    published: u64,
    /// The acknowledged events: number, level and sequence.
    acknowledged: Vec<(u64, Level, u64)>,
    /// The key of each event, by its number.
    keys: Vec<u64>,
}

/// A log, its disk, and the book of what was published.
struct World {
    random: Random,
    storage: FaultyStorage,
    log: SegmentLog,
    book: Arc<Mutex<Book>>,
    settings: LogSettings,
    time: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let storage = FaultyStorage::new(seed ^ 0xD15C);
        let keeps_few = random.one_in(4);
        let settings = LogSettings {
            retention: Retention {
                events: keeps_few.then_some(12),
                per_key: random.one_in(4).then(|| PerKey {
                    context_key: "key".to_owned(),
                    count: 1 + random.below(2),
                }),
                ..Retention::default()
            },
            segment_bytes: 200 + random.below(1500),
            ..LogSettings::default()
        };
        let log = SegmentLog::open_in(Box::new(storage.clone()), settings.clone(), None);
        Self {
            log: log.expect("the disk is empty"),
            random,
            storage,
            book: Arc::default(),
            settings,
            time: 1,
        }
    }

    fn publish(&mut self) {
        let count = 1 + self.random.below(3);
        let level = Level::ALL[self.random.below(3) as usize];
        let key = self.random.below(5);
        let first = {
            let mut book = self.book.lock().unwrap();
            book.published += count;
            book.keys.extend((0..count).map(|_| key));
            book.published - count
        };
        let numbers: Vec<u64> = (first..first + count).collect();
        let filler_len = self.random.below(90) as usize;
        let payloads: Vec<Vec<u8>> = numbers
            .iter()
            .map(|number| [&number.to_le_bytes()[..], &vec![0xEE; filler_len]].concat())
            .collect();
        let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let book = self.book.clone();
        let done = move |result: Result<Acknowledged, AppendError>| {
            let mut book = book.lock().unwrap();
            match result {
                Ok(Acknowledged::Accepted) => {}
                Ok(Acknowledged::Stored(sequences)) => {
                    let each = numbers.into_iter().zip(sequences);
                    book.acknowledged
                        .extend(each.map(|(number, at)| (number, level, at)));
                }
                Err(_) => {}
            }
        };
        self.time += self.random.below(1000);
        let append = Append {
            is_forwarded: false,
            events: events(&payloads, &key.to_string()),
            time: EventTime(self.time),
            origin: None,
        };
        self.log.append(append, level, Box::new(done));
    }

    /// One random step.
    fn step(&mut self) {
        match self.random.below(20) {
            0..10 => self.publish(),
            10..15 => self.log.shared.run_commits(),
            15 => _ = self.log.maintain(EventTime(self.time)),
            16 => self
                .storage
                .set_failing([0, 0, 3, 10][self.random.below(4) as usize]),
            17 => {
                let room = self.random.below(600);
                self.storage.set_room(if self.random.one_in(2) {
                    u64::MAX
                } else {
                    room
                });
            }
            18 => _ = self.check(Level::Written),
            _ => self.reopen(),
        }
    }

    /// Ends the process, perhaps with a power failure, and opens the log again.
    fn reopen(&mut self) {
        self.storage.set_failing(0);
        self.storage.set_room(u64::MAX);
        // A failed sync loses what was only written. The log has counted it.
        let is_counted = self.log.contents().lost > 0;
        let survives = match self.random.below(3) {
            0 if is_counted => Level::Synced,
            0 => Level::Written,
            _ => {
                self.storage.fail_power();
                Level::Synced
            }
        };
        // A log is opened although its disk is full.
        if self.random.one_in(4) {
            self.storage.set_room(0);
        }
        let opened =
            SegmentLog::open_in(Box::new(self.storage.clone()), self.settings.clone(), None);
        self.log = opened.expect("the disk works, or is full");
        self.storage.set_room(u64::MAX);
        assert_eq!(self.log.damage(), [], "nothing that was synced has changed");
        let kept = self.check(survives);
        // An event that was not yet safe may be gone, and another event may have its sequence.
        let mut book = self.book.lock().unwrap();
        book.acknowledged
            .retain(|(number, _, _)| kept.contains(number));
        for acknowledged in &mut book.acknowledged {
            // Opening has synced everything that is there now.
            acknowledged.1 = Level::Synced;
        }
    }

    /// Checks that all events acknowledged at a level or a higher one are there once and in order, and nothing that was
    /// not published. Returns what is there.
    fn check(&mut self, level: Level) -> Vec<u64> {
        let limits = ReadLimits {
            events: 1 + self.random.below(9) as usize,
            bytes: 1 + self.random.below(900) as usize,
            level: Level::Written,
        };
        let (all, gaps) = read_all(&self.log, 1, &limits);
        let contents = self.log.contents();
        let book = self.book.lock().unwrap();
        let number = |payload: &[u8]| u64::from_le_bytes(*payload.first_chunk().expect("a number"));
        let numbers: Vec<_> = all.iter().map(|(payload, _)| number(payload)).collect();
        assert!(
            numbers.is_sorted_by(|one, next| one < next),
            "in order, and once: {numbers:?}"
        );
        assert!(
            numbers.iter().all(|number| *number < book.published),
            "no publisher sent that"
        );
        assert!(all.is_sorted_by(|one, next| one.1.sequence < next.1.sequence));
        assert!(all.is_sorted_by(|one, next| one.1.time <= next.1.time));
        assert!(all.iter().all(|(_, stamp)| stamp.sequence < contents.next));
        assert_eq!(
            all.len() as u64,
            contents.events,
            "what is counted is served: {gaps:?}"
        );
        let Retention {
            events, per_key, ..
        } = &self.settings.retention;
        if let (Some(max), None) = (events, per_key) {
            assert!(contents.events <= *max, "{contents:?}");
        }
        for (number, at_level, sequence) in &book.acknowledged {
            let is_lost_by_sync = *at_level < Level::Synced && contents.lost > 0;
            if *at_level < level || *sequence < contents.first || is_lost_by_sync {
                continue;
            }
            let found = numbers
                .binary_search(number)
                .ok()
                .map(|at| all[at].1.sequence);
            if found.is_none() && self.is_replaced(&book, *number, &numbers) {
                continue;
            }
            assert_eq!(
                found,
                Some(*sequence),
                "event {number}, acknowledged as {at_level}"
            );
        }
        for gap in &gaps {
            let lost = gap.sequences.clone();
            assert!(all.iter().all(|(_, stamp)| !lost.contains(&stamp.sequence)));
            if gap.reason == GapReason::Expired {
                assert!(lost.start == 1 && lost.end <= contents.first, "{gap:?}");
            }
        }
        let named: u64 = gaps
            .iter()
            .map(|gap| gap.sequences.end - gap.sequences.start)
            .sum();
        if self.settings.retention.per_key.is_some() {
            return numbers;
        }
        assert_eq!(
            named + all.len() as u64,
            contents.next - 1,
            "each is there or named: {gaps:?}"
        );
        numbers
    }
}

impl World {
    /// Returns true if newer events of its key are kept in place of an event.
    fn is_replaced(&self, book: &Book, number: u64, kept: &[u64]) -> bool {
        let key = |number: u64| book.keys[number as usize];
        let newer = kept
            .iter()
            .filter(|kept| **kept > number && key(**kept) == key(number));
        let per_key = self.settings.retention.per_key.as_ref();
        per_key.is_some_and(|per_key| newer.count() as u64 >= per_key.count)
    }
}

fn for_each_seed(count: u64, run: impl Fn(u64)) {
    for seed in 0..count {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(seed)));
        if let Err(panic) = result {
            eprintln!("seed {seed} failed");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn what_is_synced_survives_power_failures_and_full_disks() {
    for_each_seed(1000, |seed| {
        let mut world = World::new(seed);
        for _ in 0..80 {
            world.step();
        }
        world.reopen();
        // The disk works again, and so does the log.
        let before = world.log.contents().next;
        world.publish();
        world.log.shared.run_commits();
        world.log.close();
        assert!(world.log.contents().synced > before);
        world.reopen();
    });
}

/// Damages a file in a random way.
fn damage_one(random: &mut Random, storage: &FaultyStorage) {
    let files = storage.list().expect("it can be listed");
    let (name, len) = &files[random.below(files.len() as u64) as usize];
    let at = random.below(*len) as usize;
    match random.below(4) {
        0 => storage.damage(name, |bytes| bytes.truncate(at)),
        1 => storage.remove(name).expect("it is there"),
        _ => {
            let count = 1 + random.below(60) as usize;
            let flips: Vec<u8> = (0..count).map(|_| random.below(256) as u8).collect();
            storage.damage(name, |bytes| {
                for (byte, flip) in bytes[at..].iter_mut().zip(flips) {
                    *byte ^= flip;
                }
            });
        }
    }
}

#[test]
fn zeros_behind_the_records_are_gone_when_a_segment_is_finished_or_opened() {
    let storage = FaultyStorage::new(7);
    let settings = LogSettings {
        segment_bytes: 4000,
        ..LogSettings::default()
    };
    let open = || SegmentLog::open_in(Box::new(storage.clone()), settings.clone(), None).unwrap();
    let file_bytes = || {
        let files = storage.list().unwrap();
        files.iter().map(|(_, len)| *len).sum::<u64>()
    };
    let log = open();
    let append = |log: &SegmentLog, number: u64| {
        let append = Append {
            is_forwarded: false,
            events: events(&[&number.to_le_bytes()], "key"),
            time: EventTime(number),
            origin: None,
        };
        let done = |result: Result<_, _>| assert!(result.is_ok());
        log.append(append, Level::Synced, Box::new(done));
        log.shared.run_commits();
    };
    let has_zeros = |number: &u64| {
        append(&log, *number);
        file_bytes() > log.contents().bytes
    };
    let with_zeros = (0..20).find(has_zeros).expect("there are zeros");
    // The process ends.
    drop(log);
    let log = open();
    assert_eq!(
        (log.contents().next, log.damage()),
        (with_zeros + 2, vec![])
    );
    assert_eq!(file_bytes(), log.contents().bytes);
    let finished =
        |log: &SegmentLog| storage.list().unwrap().len() > 1 && log.contents().first == 1;
    (20..)
        .take_while(|_| !finished(&log))
        .for_each(|number| append(&log, number));
    let files = storage.list().unwrap();
    let first = files.iter().min().unwrap();
    let kept = log.shared.catalog().segments[0].file_len();
    assert_eq!(first.1, kept, "{files:?}");
}

#[test]
fn zeros_stand_before_short_commits_that_follow_short_ones_and_before_no_others() {
    let storage = FaultyStorage::new(9);
    let settings = LogSettings::default();
    let log = SegmentLog::open_in(Box::new(storage.clone()), settings, None).unwrap();
    let has_zeros_after = |len: usize| {
        let append = Append {
            is_forwarded: false,
            events: events(&[&vec![7; len]], "key"),
            time: EventTime(1),
            origin: None,
        };
        log.append(
            append,
            Level::Synced,
            Box::new(|result| assert!(result.is_ok())),
        );
        log.shared.run_commits();
        let files = storage.list().unwrap();
        let bytes: u64 = files.iter().map(|(_, len)| *len).sum();
        bytes > log.contents().bytes
    };
    // A batch comes in pieces: the first one is short, and the zeros behind it would be written over by the next one.
    for _ in 0..20 {
        assert!(!has_zeros_after(16 << 10));
        assert!(!has_zeros_after(100 << 10));
    }
    assert!(!has_zeros_after(100));
    assert!(has_zeros_after(100));
}

#[test]
fn a_log_is_opened_with_the_ends_of_finished_segments_and_the_last_segment_alone() {
    let storage = FaultyStorage::new(3);
    let settings = LogSettings {
        segment_bytes: 64 << 10,
        ..LogSettings::default()
    };
    let open = || SegmentLog::open_in(Box::new(storage.clone()), settings.clone(), None).unwrap();
    let log = open();
    for number in 0..2000 {
        let append = Append {
            is_forwarded: false,
            events: events(&[&[7; 1000]], "key"),
            time: EventTime(number),
            origin: None,
        };
        log.append(append, Level::Written, Box::new(|_| ()));
        log.shared.run_commits();
    }
    // The process is killed.
    drop(log);
    let files = storage.list().unwrap();
    assert!(files.len() > 20, "{}", files.len());
    let (_, last_len) = files.iter().max().unwrap();
    storage.take_read_len();
    let log = open();
    assert_eq!((log.contents().events, log.damage()), (2000, vec![]));
    let ends = files.len() as u64 * (Header::LEN + Trailer::LEN) as u64;
    let read = storage.take_read_len();
    // The part of the last segment that was not synced is read once more, and written again.
    assert!(
        read <= ends + 2 * last_len,
        "{read} of {}",
        log.contents().bytes
    );
    // A reader at the end of a finished segment reads its index and what follows.
    log.read(1990, &ReadLimits::default()).unwrap();
    let read = storage.take_read_len();
    assert!(read <= 2 * settings.segment_bytes, "{read}");
}

#[test]
fn a_read_takes_from_the_disk_little_more_than_its_events() {
    let storage = FaultyStorage::new(3);
    let open = SegmentLog::open_in(Box::new(storage.clone()), LogSettings::default(), None);
    let log = open.expect("the disk is empty");
    let payloads = vec![&[7; 80][..]; 100];
    for number in 0..100 {
        let append = Append {
            is_forwarded: false,
            events: events(&payloads, "key"),
            time: EventTime(number),
            origin: None,
        };
        log.append(append, Level::Written, Box::new(|_| ()));
        log.shared.run_commits();
    }
    let record_len = log.contents().bytes / 10_000;
    storage.take_read_len();
    let mut next = 1;
    for count in [1, 10, 1000, 1000] {
        let limits = ReadLimits {
            events: count,
            bytes: 256 << 10,
            level: Level::Written,
        };
        let batch = log.read(next, &limits).unwrap();
        assert_eq!(batch.stamps.len(), count);
        next = batch.next;
        let (read, of_events) = (storage.take_read_len(), count as u64 * record_len);
        // A page more, and the way from the last entry of the index.
        assert!(read <= of_events + (8 << 10), "{read} for {of_events}");
    }
}

#[test]
fn what_a_failing_disk_changed_is_named_and_the_rest_is_served() {
    for_each_seed(500, |seed| {
        let mut world = World::new(seed);
        world.settings.retention = Retention::default();
        world.log.set_retention(Retention::default());
        for _ in 0..40 {
            world.publish();
            world.log.shared.run_commits();
        }
        world
            .log
            .maintain(EventTime(world.time))
            .expect("the disk works");
        let before = read_all(&world.log, 1, &ReadLimits::default()).0;
        assert_eq!(before.len() as u64, world.book.lock().unwrap().published);
        let is_open = world.random.one_in(2);
        for _ in 0..=world.random.below(2) {
            damage_one(&mut world.random, &world.storage);
        }
        if !is_open {
            let opened = SegmentLog::open_in(
                Box::new(world.storage.clone()),
                world.settings.clone(),
                None,
            );
            world.log = opened.expect("damage is no error");
        }
        let limits = ReadLimits {
            events: 1 + world.random.below(9) as usize,
            ..ReadLimits::default()
        };
        let (all, gaps) = read_all(&world.log, 1, &limits);
        // Each event is served as it was published, or its sequence is in a gap.
        let missing = |stamp: &Stamp| {
            gaps.iter()
                .any(|gap| gap.sequences.contains(&stamp.sequence))
        };
        let next = world.log.contents().next;
        let expected = before
            .into_iter()
            .filter(|(_, stamp)| stamp.sequence < next);
        let expected: Vec<_> = expected.filter(|(_, stamp)| !missing(stamp)).collect();
        assert_eq!(all, expected);
        let damage = world.log.damage();
        for gap in gaps.iter().filter(|gap| gap.reason == GapReason::Damaged) {
            let is_named = |at| damage.iter().any(|damage| damage.sequences.contains(&at));
            assert!(gap.sequences.clone().all(is_named), "{gap:?}: {damage:?}");
        }
        // It goes on.
        world.publish();
        world.log.shared.run_commits();
        assert!(world.log.contents().next > next);
    });
}
