//! The position of a durable subscription in the form in which it is stored.

use std::ops::RangeInclusive;

use floe::encoding::{Decoder, Encode, Encoder};

/// The position of a durable subscription, as it is stored.
///
/// Pending events are kept in runs. The pending events of a subscriber that answers in order are neighbours with one
/// attempt each, so a position of thousands of them takes a few bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SavedPosition {
    /// The sequence number of the first event that was never delivered.
    pub(crate) next: u64,
    /// The events before it that are not acknowledged, in the order of the log.
    runs: Vec<PendingRun>,
}

/// Pending events with consecutive sequence numbers, and as many deliveries each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PendingRun {
    first: u64,
    /// At least one.
    count: u64,
    attempts: u32,
}

/// A position has at most this many pending events. More are not decoded.
pub(crate) const PENDING_LIMIT: usize = 4096;

impl SavedPosition {
    /// A position before this event, without pending ones.
    pub(crate) fn at(next: u64) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// A position with these pending events, for tests, in the order of their sequences, each with the number of its deliveries.
    #[cfg(test)]
    pub(crate) fn with_pending(next: u64, pending: impl Iterator<Item = (u64, u32)>) -> Self {
        let mut position = Self::at(next);
        for (sequence, attempts) in pending {
            position.add(sequence..=sequence, attempts);
        }
        position
    }

    /// Adds pending events behind the earlier ones, each with this many deliveries.
    pub(super) fn add(&mut self, sequences: RangeInclusive<u64>, attempts: u32) {
        let (first, last) = sequences.into_inner();
        let count = last - first + 1;
        match self.runs.last_mut() {
            Some(run) if run.end() == first && run.attempts == attempts => run.count += count,
            _ => self.runs.push(PendingRun {
                first,
                count,
                attempts,
            }),
        }
    }

    /// The pending events, in the order of the log, with the number of their deliveries.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let events_of = |run: &PendingRun| {
            let attempts = run.attempts;
            (run.first..run.end()).map(move |sequence| (sequence, attempts))
        };
        self.runs.iter().flat_map(events_of)
    }

    /// Notes that the log has lost the events from this one on. Later events get their numbers.
    pub(crate) fn forget_from(&mut self, end: u64) {
        self.next = self.next.min(end);
        self.runs.retain(|run| run.first < end);
        if let Some(last) = self.runs.last_mut() {
            last.count = last.count.min(end - last.first);
        }
    }

    /// Decodes what [`Encode`] wrote. Returns `None` if it is something else.
    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Option<Self> {
        let next = decoder.get::<i64>().ok()?.cast_unsigned();
        let mut position = Self::at(next);
        let (mut total, mut end_before) = (0, 0);
        for _ in 0..decoder.count(PendingRun::MIN_LEN, "pending events").ok()? {
            let run = PendingRun::decode(decoder)?;
            total += run.count;
            if run.first < end_before || run.end() > next || total > PENDING_LIMIT as u64 {
                return None;
            }
            end_before = run.end();
            position.runs.push(run);
        }
        Some(position)
    }

    /// Decodes what earlier versions wrote: each pending event by itself. Returns `None` if it is something else.
    pub(crate) fn decode_single_events(decoder: &mut Decoder<'_>) -> Option<Self> {
        let next = decoder.get::<i64>().ok()?.cast_unsigned();
        let mut position = Self::at(next);
        let mut end_before = 0;
        for _ in 0..decoder.count(12, "pending events").ok()? {
            let (sequence, attempts): (i64, i32) = (decoder.get().ok()?, decoder.get().ok()?);
            let sequence = sequence.cast_unsigned();
            if !(end_before..next).contains(&sequence) {
                return None;
            }
            end_before = sequence + 1;
            position.add(sequence..=sequence, attempts.cast_unsigned());
        }
        Some(position)
    }
}

impl PendingRun {
    /// Its bytes, if it is short. A long one takes four more.
    const MIN_LEN: usize = 13;

    fn end(&self) -> u64 {
        self.first + self.count
    }

    fn decode(decoder: &mut Decoder<'_>) -> Option<Self> {
        let run = Self {
            first: decoder.get::<i64>().ok()?.cast_unsigned(),
            count: decoder.size("length of a run").ok()? as u64,
            attempts: decoder.get::<i32>().ok()?.cast_unsigned(),
        };
        let is_valid = run.count > 0 && run.first.checked_add(run.count).is_some();
        is_valid.then_some(run)
    }
}

impl Encode for SavedPosition {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.put(&self.next.cast_signed());
        encoder.size(self.runs.len());
        for run in &self.runs {
            encoder.put(&run.first.cast_signed());
            encoder.size(run.count as usize);
            encoder.put(&run.attempts.cast_signed());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use floe::EncodingVersion;
    use proptest::prelude::*;

    use super::*;

    fn encoded(position: &SavedPosition) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
        encoder.put(position);
        encoder.finish().unwrap();
        bytes
    }

    fn decoded(bytes: &[u8]) -> Option<SavedPosition> {
        SavedPosition::decode(&mut Decoder::new(bytes, EncodingVersion::V1_1))
    }

    proptest! {
        #[test]
        fn a_position_is_read_back_and_cut_bytes_are_refused(
            pending in prop::collection::btree_map(0..600_u64, 0..3_u32, 0..400),
            last in any::<u64>(),
        ) {
            let next = last.max(600);
            let saved = SavedPosition::with_pending(next, pending.clone().into_iter());
            let bytes = encoded(&saved);
            prop_assert_eq!(decoded(&bytes), Some(saved.clone()));
            let read: BTreeMap<_, _> = saved.pending().collect();
            prop_assert_eq!(read, pending);
            for len in 0..bytes.len() {
                prop_assert_eq!(decoded(&bytes[..len]), None);
            }
        }

        #[test]
        fn events_that_the_log_has_lost_are_not_pending(
            pending in prop::collection::btree_map(0..90_u64, 0..2_u32, 0..90),
            end in 0..100_u64,
        ) {
            let mut saved = SavedPosition::with_pending(90, pending.clone().into_iter());
            saved.forget_from(end);
            let kept = pending.range(..end).map(|(at, attempts)| (*at, *attempts));
            prop_assert_eq!(saved, SavedPosition::with_pending(end.min(90), kept));
        }
    }

    #[test]
    fn pending_events_of_a_subscriber_that_answers_in_order_take_a_few_bytes() {
        let pending = (7..7 + PENDING_LIMIT as u64).map(|at| (at, 1));
        let saved = SavedPosition::with_pending(10_000, pending);
        assert_eq!(encoded(&saved).len(), 8 + 1 + 17);
    }

    #[test]
    fn runs_that_no_position_has_are_refused() {
        let run = |first, count, attempts| PendingRun {
            first,
            count,
            attempts,
        };
        let limit = PENDING_LIMIT as u64;
        for (runs, is_valid) in [
            (vec![run(1, 2, 1), run(3, 1, 2)], true),
            (vec![run(1, limit, 1)], true),
            (vec![run(1, limit, 1), run(9_000, 1, 1)], false),
            (vec![run(1, (1 << 31) - 1, 1)], false),
            (vec![run(1, 0, 1)], false),
            (vec![run(3, 2, 1), run(4, 1, 1)], false),
            (vec![run(3, 2, 1), run(1, 1, 1)], false),
            (vec![run(9_999, 2, 1)], false),
            (vec![run(u64::MAX, 1, 1)], false),
        ] {
            let saved = SavedPosition {
                next: 10_000,
                runs: runs.clone(),
            };
            assert_eq!(decoded(&encoded(&saved)).is_some(), is_valid, "{runs:?}");
        }
    }
}
