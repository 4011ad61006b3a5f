//! The samples that a writer keeps: for readers that have not acknowledged them, and for those that come late.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::qos::History;
use crate::sequence_number::SequenceNumber;

use super::limits::EndpointLimits;
use super::sample::{ChangeKind, Sample};

/// The history of a writer.
#[derive(Debug)]
pub(super) struct WriterHistory {
    depth: Option<usize>,
    samples: BTreeMap<SequenceNumber, Kept>,
    /// The kept samples of each instance, if only some of the last are kept.
    instances: BTreeMap<Option<[u8; 16]>, VecDeque<SequenceNumber>>,
    /// The kept samples that end an instance.
    ends: BTreeSet<SequenceNumber>,
    bytes: usize,
    last: SequenceNumber,
    /// The bytes of all samples that were ever added, with [`OVERHEAD`].
    total: u64,
}

#[derive(Debug)]
struct Kept {
    sample: Sample,
    /// The bytes of all samples in front of it.
    offset: u64,
}

impl WriterHistory {
    pub(super) fn new(history: History) -> Self {
        let depth = match history {
            History::KeepLast(depth) => Some(depth as usize),
            History::KeepAll => None,
        };
        Self {
            depth,
            samples: BTreeMap::new(),
            instances: BTreeMap::new(),
            ends: BTreeSet::new(),
            bytes: 0,
            last: SequenceNumber::ZERO,
            total: 0,
        }
    }

    /// The number of the last sample that was added, kept or not.
    pub(super) fn last(&self) -> SequenceNumber {
        self.last
    }

    /// The number of the first sample that is kept; one after the last if there is none.
    pub(super) fn first(&self) -> SequenceNumber {
        let first = self.samples.first_key_value();
        first.map_or(self.last.next(), |(number, _)| *number)
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn get(&self, number: SequenceNumber) -> Option<&Sample> {
        self.samples.get(&number).map(|kept| &kept.sample)
    }

    /// The first sample that is kept from `number` on.
    pub(super) fn at_or_after(&self, number: SequenceNumber) -> Option<SequenceNumber> {
        self.samples
            .range(number..)
            .next()
            .map(|(number, _)| *number)
    }

    /// The bytes of all samples in front of `number`, as far as they are known.
    pub(super) fn offset(&self, number: SequenceNumber) -> u64 {
        let next = self.samples.range(number..).next();
        next.map_or(self.total, |(_, kept)| kept.offset)
    }

    /// Returns true if a sample of this length can be added without passing a limit, after samples that it replaces are gone.
    pub(super) fn has_room(&self, sample: &Sample, limits: &EndpointLimits) -> bool {
        let replaced = self.replaced_by(sample).and_then(|number| self.get(number));
        let (count, bytes) = replaced.map_or((0, 0), |replaced| (1, replaced.payload.len()));
        let is_first = self.samples.len() == count;
        let bytes = self.bytes - bytes + sample.payload.len();
        is_first || self.samples.len() - count < limits.samples_max && bytes <= limits.bytes_max
    }

    fn replaced_by(&self, sample: &Sample) -> Option<SequenceNumber> {
        let numbers = self.instances.get(&sample.key_hash)?;
        numbers
            .front()
            .copied()
            .filter(|_| Some(numbers.len()) >= self.depth)
    }

    /// Adds a sample; the oldest of its instance goes if there are as many as are kept.
    pub(super) fn add(&mut self, sample: Sample) -> SequenceNumber {
        if let Some(replaced) = self.replaced_by(&sample) {
            self.remove(replaced);
        }
        self.last = self.last.next();
        if self.depth.is_some() {
            let numbers = self.instances.entry(sample.key_hash).or_default();
            numbers.push_back(self.last);
        }
        self.bytes += sample.payload.len();
        let offset = self.total;
        self.total += sample.payload.len() as u64 + OVERHEAD;
        if is_end(sample.kind) {
            self.ends.insert(self.last);
        }
        self.samples.insert(self.last, Kept { sample, offset });
        self.last
    }

    pub(super) fn remove(&mut self, number: SequenceNumber) {
        let Some(kept) = self.samples.remove(&number) else {
            return;
        };
        self.bytes -= kept.sample.payload.len();
        self.ends.remove(&number);
        if let Some(numbers) = self.instances.get_mut(&kept.sample.key_hash) {
            numbers.retain(|kept| *kept != number);
            if numbers.is_empty() {
                self.instances.remove(&kept.sample.key_hash);
            }
        }
    }

    /// Removes everything up to `number`.
    pub(super) fn remove_through(&mut self, number: SequenceNumber) {
        while self.first() <= number {
            self.remove(self.first());
        }
    }

    /// Removes the ends of instances up to `number`: readers that come later need not hear of what they never saw.
    pub(super) fn remove_ends_through(&mut self, number: SequenceNumber) {
        while let Some(end) = self.ends.first().copied().filter(|end| *end <= number) {
            self.remove(end);
        }
    }
}

fn is_end(kind: ChangeKind) -> bool {
    matches!(
        kind,
        ChangeKind::Unregistered | ChangeKind::DisposedAndUnregistered
    )
}

/// The bytes of a sample on the wire beside its payload. They count so that the send window holds few datagrams of short samples, too.
const OVERHEAD: u64 = 48;
