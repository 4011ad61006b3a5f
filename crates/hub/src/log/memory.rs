//! A log in memory: history for late joiners. It is lost when the process ends.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

use floe::forwarding::{Event, EventsBuilder};

use super::clock;
use super::{
    Acknowledged, Append, AppendError, Contents, Damage, Done, EventLog, EventTime, Gap, GapReason,
    Level, LogError, Origin, Position, ReadBatch, ReadLimits, Retention, Stamp, WaitingReaders,
    Wake,
};
use crate::core::log::{NewestEvents, checked, is_ahead, numbered, until_full};
use crate::core::value_of;

/// A log in memory. Every level is true as soon as an event is appended.
///
/// Limits on bytes and events, and on the events of a key, hold after each append; the age after each
/// [`EventLog::maintain`].
#[derive(Debug)]
pub struct MemoryLog {
    /// Guards all events. It is never held during I/O or a call.
    kept: Mutex<Kept>,
}

impl MemoryLog {
    /// An empty log with this retention.
    pub fn new(retention: Retention) -> Self {
        Self {
            kept: Mutex::new(Kept {
                retention,
                entries: BTreeMap::new(),
                bytes: 0,
                next: 1,
                expired: 1,
                last_time: EventTime::default(),
                keys: HashMap::new(),
                waiting: WaitingReaders::default(),
                is_closed: false,
            }),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no owner of the lock panics")
    }
}

impl EventLog for MemoryLog {
    fn append(&self, append: Append, level: Level, done: Done) {
        let result = {
            let mut kept = self.kept();
            let result = kept.append(append);
            let next = kept.next;
            kept.waiting.wake(|_| next);
            result
        };
        done(result.map(|sequences| match level {
            Level::Accepted => Acknowledged::Accepted,
            _ => Acknowledged::Stored(sequences),
        }));
    }

    fn read(&self, from: u64, limits: &ReadLimits) -> Result<ReadBatch, LogError> {
        Ok(self.kept().read(from, limits))
    }

    fn locate(&self, position: Position) -> Result<u64, LogError> {
        Ok(self.kept().locate(position))
    }

    fn when_readable(&self, from: u64, level: Level, wake: Wake) {
        let mut kept = self.kept();
        if kept.next > from || kept.is_closed {
            let _ = wake.send(());
            return;
        }
        kept.waiting.push(from, level, wake);
    }

    fn contents(&self) -> Contents {
        let kept = self.kept();
        Contents {
            first: kept.first(),
            next: kept.next,
            synced: kept.next,
            events: kept.entries.len() as u64,
            bytes: kept.bytes,
            lost: 0,
        }
    }

    fn percent_kept_from(&self, from: u64, now: EventTime) -> u64 {
        let kept = self.kept();
        let held = kept.held_from(from);
        kept.retention.percent(&held, now)
    }

    fn maintain(&self, now: EventTime) -> Result<(), LogError> {
        let mut kept = self.kept();
        if let Some(age) = kept.retention.age {
            kept.correct_times(now);
            let oldest = clock::oldest(now, age);
            while kept.oldest().is_some_and(|entry| entry.time < oldest) {
                kept.expire_oldest();
            }
        }
        kept.keep_to_size();
        Ok(())
    }

    fn set_retention(&self, retention: Retention) {
        let mut kept = self.kept();
        let keyed = |retention: &Retention| retention.per_key.clone();
        let was = keyed(&kept.retention);
        kept.retention = retention;
        if keyed(&kept.retention) != was {
            kept.collect_keys();
        }
    }

    fn damage(&self) -> Vec<Damage> {
        Vec::new()
    }

    fn close(&self) {
        let mut kept = self.kept();
        kept.is_closed = true;
        kept.waiting.wake(|_| u64::MAX);
    }

    fn is_closed(&self) -> bool {
        self.kept().is_closed
    }
}

struct Kept {
    retention: Retention,
    entries: BTreeMap<u64, Entry>,
    /// The bytes of all events.
    bytes: u64,
    next: u64,
    /// Lower sequences have expired. Missing higher ones were replaced by newer events of their key.
    expired: u64,
    last_time: EventTime,
    /// The sequences of each key, if events are kept by key.
    keys: HashMap<Box<[u8]>, VecDeque<u64>>,
    waiting: WaitingReaders,
    is_closed: bool,
}

struct Entry {
    event: Event,
    time: EventTime,
    origin: Option<Origin>,
    is_forwarded: bool,
}

impl Kept {
    fn append(&mut self, append: Append) -> Result<Range<u64>, AppendError> {
        if self.is_closed {
            return Err(AppendError::Closed);
        }
        checked(&append)?;
        let first = self.next;
        self.correct_times(append.time);
        let time = append.time.max(self.last_time);
        let is_forwarded = append.is_forwarded;
        self.last_time = time;
        for (event, origin) in append.events.detached().each().zip(numbered(append.origin)) {
            let sequence = self.next;
            self.next += 1;
            self.bytes += event.len() as u64;
            self.note_key(sequence, event.as_bytes());
            self.entries.insert(
                sequence,
                Entry {
                    event,
                    time,
                    origin,
                    is_forwarded,
                },
            );
        }
        self.keep_to_size();
        Ok(first..self.next)
    }

    /// If the clock was wrong when the last events came, they came no later than now.
    fn correct_times(&mut self, now: EventTime) {
        if !is_ahead(self.last_time, now) {
            return;
        }
        self.last_time = now;
        for entry in self.entries.values_mut() {
            entry.time = entry.time.min(now);
        }
    }

    fn read(&self, from: u64, limits: &ReadLimits) -> ReadBatch {
        let expired = from.max(1)..self.expired;
        let gap = (!expired.is_empty()).then(|| Gap {
            sequences: expired.clone(),
            reason: GapReason::Expired,
        });
        let start = from.max(self.expired);
        let mut builder = EventsBuilder::default();
        let mut stamps = Vec::new();
        let lens = self
            .entries
            .range(start..)
            .map(|(_, entry)| entry.event.len());
        let count = until_full(lens, limits);
        for (&sequence, entry) in self.entries.range(start..).take(count) {
            let bytes = entry.event.as_bytes();
            let added = builder.push_with(|buffer| {
                buffer.extend_from_slice(bytes);
                Ok(())
            });
            if added.is_err() {
                // The limits allow more than 4 GiB: the rest comes with the next read.
                break;
            }
            stamps.push(Stamp {
                is_forwarded: entry.is_forwarded,
                sequence,
                time: entry.time,
                origin: entry.origin.clone(),
            });
        }
        // If all later events have been replaced by newer ones of their keys, there is nothing between here and the
        // end.
        let following = stamps.last().map_or(start, |last| last.sequence + 1);
        let next = match self.entries.range(following..).next() {
            Some(_) => following,
            None => start.max(self.next),
        };
        ReadBatch {
            events: builder.finish(),
            stamps,
            gap,
            next,
        }
    }

    fn locate(&self, position: Position) -> u64 {
        match position {
            Position::First => self.first(),
            Position::End => self.next,
            Position::Sequence(sequence) => sequence.max(1).min(self.next),
            Position::Last(count) => {
                let count = usize::try_from(count).unwrap_or(usize::MAX);
                let newest = self.entries.keys().rev().take(count);
                newest.last().copied().unwrap_or(self.next)
            }
            Position::Time(time) => {
                let mut entries = self.entries.iter();
                let found = entries.find(|(_, entry)| entry.time >= time);
                found.map_or(self.next, |(sequence, _)| *sequence)
            }
        }
    }

    fn first(&self) -> u64 {
        self.entries.keys().next().copied().unwrap_or(self.next)
    }

    fn oldest(&self) -> Option<&Entry> {
        self.entries.first_key_value().map(|(_, entry)| entry)
    }

    fn held_from(&self, from: u64) -> NewestEvents {
        let mut held = NewestEvents::default();
        for entry in self.entries.range(from..).map(|(_, entry)| entry) {
            held.since.get_or_insert(entry.time);
            held.events += 1;
            held.bytes += entry.event.len() as u64;
        }
        held
    }

    fn keep_to_size(&mut self) {
        let events_max = self.retention.events.unwrap_or(u64::MAX);
        let bytes_max = self.retention.bytes.unwrap_or(u64::MAX);
        while self.entries.len() as u64 > events_max || self.bytes > bytes_max {
            self.expire_oldest();
        }
    }

    fn expire_oldest(&mut self) {
        if let Some(sequence) = self.entries.keys().next().copied() {
            self.expired = sequence + 1;
            if let Some(key) = self.key_of(sequence)
                && let Some(sequences) = self.keys.get_mut(&key)
            {
                sequences.retain(|of_key| *of_key != sequence);
                if sequences.is_empty() {
                    self.keys.remove(&key);
                }
            }
            self.remove(sequence);
        }
    }

    fn key_of(&self, sequence: u64) -> Option<Box<[u8]>> {
        let per_key = self.retention.per_key.as_ref()?;
        let entry = self.entries.get(&sequence)?;
        value_of(entry.event.as_bytes(), &per_key.context_key).map(Into::into)
    }

    fn remove(&mut self, sequence: u64) {
        if let Some(entry) = self.entries.remove(&sequence) {
            self.bytes -= entry.event.len() as u64;
        }
    }

    /// Notes the key of a new event, and removes the events that it replaces.
    fn note_key(&mut self, sequence: u64, event: &[u8]) {
        let Some(per_key) = &self.retention.per_key else {
            return;
        };
        let Some(key) = value_of(event, &per_key.context_key) else {
            return;
        };
        let count_max = per_key.count.max(1);
        let sequences = self.keys.entry(key.into()).or_default();
        sequences.push_back(sequence);
        if sequences.len() as u64 > count_max
            && let Some(replaced) = sequences.pop_front()
        {
            self.remove(replaced);
        }
    }

    /// Sorts the kept events by key again.
    fn collect_keys(&mut self) {
        self.keys.clear();
        let sequences: Vec<u64> = self.entries.keys().copied().collect();
        for sequence in sequences {
            if let Some(entry) = self.entries.get(&sequence) {
                let event = entry.event.clone();
                self.note_key(sequence, event.as_bytes());
            }
        }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept")
            .field("next", &self.next)
            .field("events", &self.entries.len())
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
