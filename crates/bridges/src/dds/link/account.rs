//! Who has taken what was written to a topic.

use std::collections::BTreeMap;

use floe_rtps::guid::Guid;

/// The readers of a topic over there, with what each has not taken.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    reliable: BTreeMap<Guid, Taker>,
    /// Samples that were ever written.
    written: u64,
}

/// A reliable reader.
#[derive(Debug, Clone, Copy)]
struct Taker {
    /// The samples that it had not acknowledged at the last look.
    outstanding: u64,
    /// [`Readers::written`] then.
    written: u64,
    /// It no longer answers, and its samples are lost.
    is_given_up: bool,
}

/// The change since the last look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Samples that were taken; each reader counts.
    pub(crate) taken: u64,
    /// Samples that a reader has not taken and will not.
    pub(crate) lost: u64,
}

impl Readers {
    /// Notes that a sample was written.
    pub(crate) fn write(&mut self) {
        self.written += 1;
    }

    /// Notes how much each reliable reader has not acknowledged.
    pub(crate) fn look(&mut self, unacknowledged: impl Iterator<Item = (Guid, u64)>) -> Change {
        let written = self.written;
        let mut change = Change::default();
        for (guid, outstanding) in unacknowledged {
            let taker = self.reliable.entry(guid).or_insert(Taker {
                outstanding,
                written,
                is_given_up: false,
            });
            let new = written - taker.written;
            let taken = (taker.outstanding + new).saturating_sub(outstanding);
            if !taker.is_given_up {
                change.taken += taken;
            } else if taken > 0 {
                // It answers again. What it has not taken before was counted as lost.
                taker.is_given_up = false;
            } else {
                change.lost += new;
            }
            (taker.outstanding, taker.written) = (outstanding, written);
        }
        change
    }

    /// A reader no longer answers; how many samples it loses.
    pub(crate) fn give_up(&mut self, guid: Guid) -> u64 {
        match self.reliable.get_mut(&guid) {
            Some(taker) if !taker.is_given_up => {
                taker.is_given_up = true;
                taker.outstanding + (self.written - taker.written)
            }
            _ => 0,
        }
    }

    /// A reader is gone; how many samples it has not taken.
    pub(crate) fn remove(&mut self, guid: Guid) -> u64 {
        match self.reliable.remove(&guid) {
            Some(taker) if !taker.is_given_up => taker.outstanding + (self.written - taker.written),
            _ => 0,
        }
    }

    /// The most samples that a reader has not taken which still answers.
    pub(crate) fn outstanding(&self) -> u64 {
        let waited_for = self.reliable.values().filter(|taker| !taker.is_given_up);
        waited_for.map(|taker| taker.outstanding).max().unwrap_or(0)
    }

    /// How many reliable readers there are.
    pub(crate) fn len(&self) -> usize {
        self.reliable.len()
    }
}

#[cfg(test)]
mod tests {
    use floe_rtps::guid::{EntityId, GuidPrefix};

    use super::*;

    fn reader(number: u8) -> Guid {
        Guid::new(GuidPrefix([number; 12]), EntityId::PUBLICATIONS_READER)
    }

    fn write(readers: &mut Readers, count: usize) {
        (0..count).for_each(|_| readers.write());
    }

    #[test]
    fn each_reader_counts_what_it_takes() {
        let (one, other) = (reader(1), reader(2));
        let mut readers = Readers::default();
        let look = readers.look([(one, 0), (other, 0)].into_iter());
        assert_eq!(look, Change::default());
        write(&mut readers, 3);
        let look = readers.look([(one, 1), (other, 3)].into_iter());
        assert_eq!(look, Change { taken: 2, lost: 0 });
        assert_eq!(readers.outstanding(), 3);
        write(&mut readers, 1);
        let look = readers.look([(one, 0), (other, 1)].into_iter());
        assert_eq!(look, Change { taken: 5, lost: 0 });
        assert_eq!(readers.remove(other), 1);
        assert_eq!((readers.outstanding(), readers.len()), (0, 1));
    }

    #[test]
    fn a_reader_that_is_given_up_loses_until_it_answers() {
        let one = reader(1);
        let mut readers = Readers::default();
        readers.look([(one, 0)].into_iter());
        write(&mut readers, 4);
        readers.look([(one, 3)].into_iter());
        assert_eq!(readers.give_up(one), 3);
        assert_eq!((readers.give_up(one), readers.outstanding()), (0, 0));
        write(&mut readers, 2);
        let look = readers.look([(one, 5)].into_iter());
        assert_eq!(look, Change { taken: 0, lost: 2 });
        let look = readers.look([(one, 0)].into_iter());
        assert_eq!(look, Change::default());
        write(&mut readers, 1);
        let look = readers.look([(one, 0)].into_iter());
        assert_eq!(look, Change { taken: 1, lost: 0 });
    }
}
