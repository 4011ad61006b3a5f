//! Which events of a publisher have come before.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::publisher_names::PublisherNames;

/// Recognizes events that a publisher sends again because it does not know whether they arrived.
///
/// A publisher that wants this has a name and numbers its events. For each publisher, the numbers of its last
/// [`WINDOW`] events are known: up to that many may be under way and come in any order. If there are too many
/// publishers, the one that was silent longest is forgotten.
#[derive(Debug)]
pub(crate) struct Deduplication {
    publishers: HashMap<Box<str>, RecentNumbers>,
    /// The publishers in the order of their last events.
    by_use: BTreeMap<u64, Box<str>>,
    /// Counts the events, to order the publishers.
    uses: u64,
    publishers_max: usize,
    /// The limit of all topics together.
    all: Arc<PublisherNames>,
}

/// The verdict about an event of a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Novelty {
    /// It has not come before.
    New,
    /// It has come before.
    Duplicate,
    /// Too many later events have come, so that it is no longer known.
    TooOld,
    /// No publisher that counts gets there: it would make all numbers below too old for ever.
    TooFar,
}

/// The number of events of a publisher that may be under way.
pub(crate) const WINDOW: u64 = 1024;

/// How far a number may be above the highest that has come. A publisher that numbers a million events a second and whose events
/// do not arrive for an hour is not there yet.
pub(crate) const JUMP_MAX: u64 = 1 << 32;

/// The highest number with which a publisher may begin: some begin at the time, in nanoseconds since 1970.
pub(crate) const FIRST_MAX: u64 = 1 << 62;

/// The last events of a publisher.
#[derive(Debug)]
struct RecentNumbers {
    /// The highest number that has come.
    highest: u64,
    /// A bit for each of the last [`WINDOW`] numbers, at the number modulo the window.
    seen: [u64; WINDOW as usize / 64],
    last_use: u64,
}

impl Deduplication {
    /// Creates an empty memory for at most this many publishers, and not more than all topics together may have.
    pub(crate) fn new(publishers_max: usize, all: Arc<PublisherNames>) -> Self {
        Self {
            all,
            publishers: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            publishers_max: publishers_max.max(1),
        }
    }

    /// Judges an event of this publisher by its number.
    pub(crate) fn judge(&self, publisher: &str, number: u64) -> Novelty {
        match self.publishers.get(publisher) {
            Some(window) => window.judge(number),
            None if number > FIRST_MAX => Novelty::TooFar,
            None => Novelty::New,
        }
    }

    /// Notes that an event has come.
    pub(crate) fn note(&mut self, publisher: &str, number: u64) {
        self.uses += 1;
        let last_use = self.uses;
        if let Some(window) = self.publishers.get_mut(publisher) {
            let before = std::mem::replace(&mut window.last_use, last_use);
            window.note(number);
            if let Some(name) = self.by_use.remove(&before) {
                self.by_use.insert(last_use, name);
            }
            return;
        }
        let known = self.publishers.len();
        if (known >= self.publishers_max || !self.all.take(known))
            && let Some((_, silent)) = self.by_use.pop_first()
        {
            // The new one gets its place.
            self.publishers.remove(&silent);
        }
        let mut window = RecentNumbers {
            highest: number,
            seen: [0; WINDOW as usize / 64],
            last_use,
        };
        window.set(number);
        self.by_use.insert(last_use, publisher.into());
        self.publishers.insert(publisher.into(), window);
    }

    /// Notes that an event did not get into the log, so that it is new when it comes again.
    pub(crate) fn forget(&mut self, publisher: &str, number: u64) {
        if let Some(window) = self.publishers.get_mut(publisher)
            && window.judge(number) == Novelty::Duplicate
        {
            window.seen[index(number)] &= !bit(number);
        }
    }
}

impl Drop for Deduplication {
    fn drop(&mut self) {
        self.all.give_back(self.publishers.len());
    }
}

impl RecentNumbers {
    fn judge(&self, number: u64) -> Novelty {
        if number > self.highest {
            return match number - self.highest > JUMP_MAX {
                true => Novelty::TooFar,
                false => Novelty::New,
            };
        }
        if self.highest - number >= WINDOW {
            return Novelty::TooOld;
        }
        match self.seen[index(number)] & bit(number) {
            0 => Novelty::New,
            _ => Novelty::Duplicate,
        }
    }

    fn note(&mut self, number: u64) {
        if number > self.highest {
            // The places of the numbers in between belonged to numbers that are too old now.
            match number - self.highest {
                skipped if skipped >= WINDOW => self.seen.fill(0),
                _ => (self.highest + 1..=number).for_each(|at| self.seen[index(at)] &= !bit(at)),
            }
            self.highest = number;
        }
        if self.highest - number < WINDOW {
            self.set(number);
        }
    }

    fn set(&mut self, number: u64) {
        self.seen[index(number)] |= bit(number);
    }
}

fn index(number: u64) -> usize {
    (number % WINDOW / 64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::publisher_names::OF_TOPIC_MIN;
    use super::*;

    fn few(publishers_max: usize) -> Deduplication {
        Deduplication::new(publishers_max, Arc::new(PublisherNames::new(1000)))
    }

    #[test]
    fn events_that_come_again_are_duplicates_in_any_order() {
        let mut known = few(2);
        for number in [3, 1, 2, 7] {
            assert_eq!(known.judge("p", number), Novelty::New);
            known.note("p", number);
            assert_eq!(known.judge("p", number), Novelty::Duplicate);
        }
        assert_eq!(known.judge("p", 5), Novelty::New);
        assert_eq!(known.judge("q", 7), Novelty::New);
        known.note("p", 7 + WINDOW);
        assert_eq!(known.judge("p", 7), Novelty::TooOld);
        assert_eq!(known.judge("p", 8), Novelty::New);
        known.forget("p", 7 + WINDOW);
        assert_eq!(known.judge("p", 7 + WINDOW), Novelty::New);
    }

    #[test]
    fn a_number_that_no_publisher_reaches_takes_no_name_away() {
        let mut known = few(2);
        assert_eq!(known.judge("p", u64::MAX), Novelty::TooFar);
        assert_eq!(known.judge("p", FIRST_MAX), Novelty::New);
        known.note("p", 7);
        assert_eq!(known.judge("p", u64::MAX), Novelty::TooFar);
        assert_eq!(known.judge("p", 8 + JUMP_MAX), Novelty::TooFar);
        assert_eq!(known.judge("p", 7 + JUMP_MAX), Novelty::New);
        assert_eq!(known.judge("p", 8), Novelty::New);
    }

    #[test]
    fn topics_remember_no_more_publishers_than_all_of_them_may_but_a_few_each() {
        let all = Arc::new(PublisherNames::new(3 * OF_TOPIC_MIN));
        let topic = || Deduplication::new(10 * OF_TOPIC_MIN, all.clone());
        let fill = |known: &mut Deduplication| {
            for number in 0..5 * OF_TOPIC_MIN {
                known.note(&format!("p{number}"), 1);
            }
        };
        let (mut first, mut second) = (topic(), topic());
        fill(&mut first);
        assert_eq!((first.publishers.len(), all.used()), (300, 300));
        fill(&mut second);
        assert_eq!((second.publishers.len(), all.used()), (100, 400));
        assert_eq!(second.by_use.len(), 100);
        assert_eq!(second.judge("p499", 1), Novelty::Duplicate);
        drop(first);
        assert_eq!(all.used(), 100);
        fill(&mut second);
        assert_eq!((second.publishers.len(), all.used()), (300, 300));
        drop(second);
        assert_eq!(all.used(), 0);
    }

    #[test]
    fn the_publisher_that_was_silent_longest_is_forgotten() {
        let mut known = few(2);
        for publisher in ["a", "b", "a", "c"] {
            known.note(publisher, 1);
        }
        assert_eq!(known.judge("a", 1), Novelty::Duplicate);
        assert_eq!(known.judge("b", 1), Novelty::New);
        assert_eq!(known.judge("c", 1), Novelty::Duplicate);
        assert_eq!(known.by_use.len(), 2);
    }

    proptest! {
        #[test]
        fn an_event_is_a_duplicate_exactly_if_it_came_before(
            steps in prop::collection::vec((0..4 * WINDOW, any::<bool>()), 1..200),
        ) {
            let mut known = few(1);
            let mut model = BTreeSet::new();
            for (number, is_forgotten) in steps {
                let highest = model.last().copied();
                let expected = match highest {
                    Some(highest) if highest >= number + WINDOW => Novelty::TooOld,
                    _ if model.contains(&number) => Novelty::Duplicate,
                    _ => Novelty::New,
                };
                prop_assert_eq!(known.judge("p", number), expected);
                if expected == Novelty::New {
                    known.note("p", number);
                    model.insert(number);
                    if is_forgotten && model.last() != Some(&number) {
                        known.forget("p", number);
                        model.remove(&number);
                    }
                }
            }
        }
    }
}
