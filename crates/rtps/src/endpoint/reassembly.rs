//! A sample of which some fragments have come.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::message::{DataFrag, FragmentNumberSet, PayloadKind, SET_LEN_MAX};
use crate::timestamp::Timestamp;

use super::sample::Sample;

/// The fragments of one sample. It takes as much memory as has come, and not as much as its writer says will come.
#[derive(Debug)]
pub(super) struct Reassembly {
    sample_len: u32,
    fragment_len: u16,
    fragments: BTreeMap<u32, Bytes>,
    bytes: usize,
    /// Without the payload.
    sample: Sample,
}

impl Reassembly {
    pub(super) fn new(frag: &DataFrag<'_>, timestamp: Option<Timestamp>) -> Self {
        let kind = match frag.is_key {
            true => PayloadKind::Key,
            false => PayloadKind::Value,
        };
        Self {
            sample_len: frag.sample_len,
            fragment_len: frag.fragment_len,
            fragments: BTreeMap::new(),
            bytes: 0,
            sample: Sample::from_wire(frag.inline_qos, timestamp, kind, Bytes::new()),
        }
    }

    /// Returns true if the fragments are of a sample that was cut in the same way.
    pub(super) fn fits(&self, frag: &DataFrag<'_>) -> bool {
        (self.sample_len, self.fragment_len) == (frag.sample_len, frag.fragment_len)
    }

    /// Adds fragments, whose bounds were checked when they were decoded.
    pub(super) fn add(&mut self, frag: &DataFrag<'_>) {
        let mut rest = frag.payload;
        for fragment in frag.first..frag.first.saturating_add(u32::from(frag.count)) {
            let (bytes, after) = rest.split_at(rest.len().min(usize::from(frag.fragment_len)));
            rest = after;
            if let std::collections::btree_map::Entry::Vacant(vacant) =
                self.fragments.entry(fragment)
            {
                self.bytes += bytes.len() + FRAGMENT_OVERHEAD;
                vacant.insert(Bytes::copy_from_slice(bytes));
            }
        }
    }

    /// Returns true if nothing was added yet.
    pub(super) fn is_new(&self) -> bool {
        self.fragments.is_empty()
    }

    /// The memory that it takes, about.
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes + REASSEMBLY_OVERHEAD
    }

    /// The sample, if all is there.
    pub(super) fn whole(&self) -> Option<Sample> {
        if self.fragments.len() < self.count() as usize {
            return None;
        }
        let mut payload = Vec::with_capacity(self.sample_len as usize);
        self.fragments
            .values()
            .for_each(|bytes| payload.extend_from_slice(bytes));
        let payload = payload.into();
        Some(Sample {
            payload,
            ..self.sample.clone()
        })
    }

    /// The fragments that are missing, from the first of them.
    pub(super) fn missing(&self) -> FragmentNumberSet {
        let mut first = 1;
        for fragment in self.fragments.keys() {
            if *fragment != first {
                break;
            }
            first += 1;
        }
        let end = self.count().min(first.saturating_add(SET_LEN_MAX - 1));
        let missing = (first..=end).filter(|fragment| !self.fragments.contains_key(fragment));
        FragmentNumberSet::of(first, missing)
    }

    fn count(&self) -> u32 {
        self.sample_len.div_ceil(u32::from(self.fragment_len))
    }
}

/// The memory of a fragment beside its bytes: an entry of a map, and a buffer.
const FRAGMENT_OVERHEAD: usize = 96;
const REASSEMBLY_OVERHEAD: usize = 256;
