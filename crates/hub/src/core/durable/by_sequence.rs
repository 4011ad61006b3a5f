//! A map from sequence numbers that nearly rise and fall as in a queue.

use std::collections::VecDeque;

/// Values by their sequence numbers, in order.
///
/// New ones come at the end, and nearly all leave near the front, so this is a queue with gaps: it costs a fraction of a tree. A
/// value that stays long is no problem, since gaps are closed once they are more than the values.
#[derive(Debug)]
pub(super) struct BySequence<V> {
    /// In the order of their numbers. The first one is no gap.
    entries: VecDeque<(u64, Option<V>)>,
    len: usize,
}

/// So many gaps are not worth closing.
const GAPS_MIN: usize = 64;

impl<V> BySequence<V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The lowest sequence number.
    pub(super) fn first(&self) -> Option<u64> {
        self.entries.front().map(|(sequence, _)| *sequence)
    }

    pub(super) fn get(&self, sequence: u64) -> Option<&V> {
        let at = self.find(sequence).ok()?;
        self.entries[at].1.as_ref()
    }

    pub(super) fn get_mut(&mut self, sequence: u64) -> Option<&mut V> {
        let at = self.find(sequence).ok()?;
        self.entries[at].1.as_mut()
    }

    /// Adds a value, or puts it in the place of another one.
    pub(super) fn insert(&mut self, sequence: u64, value: V) {
        self.len += 1;
        match self.find(sequence) {
            Ok(at) => {
                let before = self.entries[at].1.replace(value);
                self.len -= usize::from(before.is_some());
            }
            // Nearly always.
            Err(at) if at == self.entries.len() => self.entries.push_back((sequence, Some(value))),
            Err(at) => self.entries.insert(at, (sequence, Some(value))),
        }
    }

    pub(super) fn remove(&mut self, sequence: u64) -> Option<V> {
        let at = self.find(sequence).ok()?;
        let removed = self.entries[at].1.take()?;
        self.len -= 1;
        self.close_gaps();
        Some(removed)
    }

    /// Removes all before this sequence number. Returns how many.
    pub(super) fn remove_before(&mut self, sequence: u64) -> usize {
        let end = self.find(sequence).unwrap_or_else(|at| at);
        let removed = self.entries.drain(..end);
        let count = removed.filter(|(_, value)| value.is_some()).count();
        self.len -= count;
        self.close_gaps();
        count
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.len = 0;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        let entries = self.entries.iter();
        entries.filter_map(|(sequence, value)| Some((*sequence, value.as_ref()?)))
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries
            .iter_mut()
            .filter_map(|(_, value)| value.as_mut())
    }

    /// The place of a sequence number, or where it belongs.
    fn find(&self, sequence: u64) -> Result<usize, usize> {
        let (Some((first, _)), Some((last, _))) = (self.entries.front(), self.entries.back())
        else {
            return Err(0);
        };
        if sequence > *last {
            return Err(self.entries.len());
        }
        // Without gaps in the log, its place is its distance from the first one.
        let distance = sequence.checked_sub(*first).ok_or(0_usize)? as usize;
        match self.entries.get(distance) {
            Some((found, _)) if *found == sequence => Ok(distance),
            _ => self.entries.binary_search_by_key(&sequence, |(at, _)| *at),
        }
    }

    fn close_gaps(&mut self) {
        while self
            .entries
            .front()
            .is_some_and(|(_, value)| value.is_none())
        {
            self.entries.pop_front();
        }
        if self.entries.len() > 2 * self.len + GAPS_MIN {
            self.entries.retain(|(_, value)| value.is_some());
        }
    }
}

impl<V> Default for BySequence<V> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            len: 0,
        }
    }
}

impl<V> FromIterator<(u64, V)> for BySequence<V> {
    fn from_iter<I: IntoIterator<Item = (u64, V)>>(values: I) -> Self {
        let mut all = Self::default();
        for (sequence, value) in values {
            all.insert(sequence, value);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        /// So far behind the highest number.
        Append(u64),
        Insert(u64),
        Remove(u64),
        RemoveBefore(u64),
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (1..4_u64).prop_map(Step::Append),
            2 => (0..300_u64).prop_map(Step::Insert),
            8 => (0..300_u64).prop_map(Step::Remove),
            1 => (0..300_u64).prop_map(Step::RemoveBefore),
            1 => Just(Step::Clear),
        ]
    }

    proptest! {
        #[test]
        fn it_holds_what_a_tree_holds(steps in prop::collection::vec(step(), 1..400)) {
            let (mut own, mut tree) = (BySequence::default(), BTreeMap::new());
            for (value, step) in steps.iter().enumerate() {
                match *step {
                    Step::Append(distance) => {
                        let last = tree.keys().next_back().copied().unwrap_or(0);
                        own.insert(last + distance, value);
                        tree.insert(last + distance, value);
                    }
                    Step::Insert(at) => {
                        own.insert(at, value);
                        tree.insert(at, value);
                    }
                    Step::Remove(at) => prop_assert_eq!(own.remove(at), tree.remove(&at)),
                    Step::RemoveBefore(at) => {
                        let kept = tree.split_off(&at);
                        prop_assert_eq!(own.remove_before(at), tree.len());
                        tree = kept;
                    }
                    Step::Clear => {
                        own.clear();
                        tree.clear();
                    }
                }
                prop_assert_eq!(own.len(), tree.len());
                prop_assert_eq!(own.first(), tree.keys().next().copied());
                let held: Vec<_> = own.iter().map(|(at, value)| (at, *value)).collect();
                let expected: Vec<_> = tree.iter().map(|(at, value)| (*at, *value)).collect();
                prop_assert_eq!(held, expected);
                for at in 0..300 {
                    prop_assert_eq!(own.get(at), tree.get(&at));
                    prop_assert_eq!(own.get_mut(at), tree.get_mut(&at));
                }
            }
        }
    }

    #[test]
    fn gaps_behind_a_value_that_stays_are_closed() {
        let mut own: BySequence<()> = [(0, ())].into_iter().collect();
        for sequence in 1..100_000 {
            own.insert(sequence, ());
            own.remove(sequence);
        }
        assert_eq!(own.len(), 1);
        assert!(own.entries.len() <= GAPS_MIN + 2, "{}", own.entries.len());
    }
}
