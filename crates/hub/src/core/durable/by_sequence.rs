//! A map from sequence numbers, in which neighbours have equal values.

use std::collections::VecDeque;

/// Values by their sequence numbers, in order.
///
/// Neighbours with equal values are one entry, a run. The thousands of events that a subscriber gets together are a few
/// runs, so remembering them costs as much as remembering one.
#[derive(Debug)]
pub(super) struct BySequence<V> {
    /// In the order of their numbers.
    runs: VecDeque<Run<V>>,
    len: usize,
}

/// Consecutive sequence numbers with one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run<V> {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) value: V,
}

impl<V: Copy + Eq> BySequence<V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The lowest sequence number.
    pub(super) fn first(&self) -> Option<u64> {
        self.runs.front().map(|run| run.first)
    }

    pub(super) fn get(&self, sequence: u64) -> Option<V> {
        self.find(sequence).map(|at| self.runs[at].value)
    }

    /// Adds a value, or puts it in the place of another one.
    pub(super) fn insert(&mut self, sequence: u64, value: V) {
        self.remove(sequence);
        let at = self.place(sequence);
        self.len += 1;
        match at.checked_sub(1).map(|before| &mut self.runs[before]) {
            Some(run) if run.last + 1 == sequence && run.value == value => run.last = sequence,
            _ => self.runs.insert(at, Run::of_one(sequence, value)),
        }
    }

    pub(super) fn remove(&mut self, sequence: u64) -> Option<V> {
        let at = self.find(sequence)?;
        let run = &mut self.runs[at];
        let removed = *run;
        match (run.first == sequence, run.last == sequence) {
            (true, true) => drop(self.runs.remove(at)),
            (true, false) => run.first += 1,
            (false, true) => run.last -= 1,
            (false, false) => {
                run.last = sequence - 1;
                let first = sequence + 1;
                self.runs.insert(at + 1, Run { first, ..removed });
            }
        }
        self.len -= 1;
        Some(removed.value)
    }

    /// Removes all values before this sequence number. Returns their number.
    pub(super) fn remove_before(&mut self, sequence: u64) -> usize {
        let len_before = self.len;
        while let Some(run) = self.runs.front_mut().filter(|run| run.first < sequence) {
            if run.last >= sequence {
                self.len -= (sequence - run.first) as usize;
                run.first = sequence;
                break;
            }
            self.len -= run.len();
            self.runs.pop_front();
        }
        len_before - self.len
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.len = 0;
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = Run<V>> + '_ {
        self.runs.iter().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, V)> + '_ {
        let events_of = |run: Run<V>| run.sequences().map(move |sequence| (sequence, run.value));
        self.runs().flat_map(events_of)
    }

    /// Changes all values.
    pub(super) fn change_all(&mut self, change: impl Fn(&mut V)) {
        for run in &mut self.runs {
            change(&mut run.value);
        }
    }

    /// The run that has this sequence number.
    fn find(&self, sequence: u64) -> Option<usize> {
        let at = self.place(sequence);
        let run = self.runs.get(at)?;
        (run.first <= sequence).then_some(at)
    }

    /// The index of the first run that ends at this sequence number or behind it.
    fn place(&self, sequence: u64) -> usize {
        match (self.runs.front(), self.runs.back()) {
            // New ones come at the end, and nearly all leave at the front.
            (_, Some(last)) if last.last < sequence => self.runs.len(),
            (Some(first), _) if first.last >= sequence => 0,
            _ => self.runs.partition_point(|run| run.last < sequence),
        }
    }
}

impl<V> Run<V> {
    fn of_one(sequence: u64, value: V) -> Self {
        Self {
            first: sequence,
            last: sequence,
            value,
        }
    }

    pub(super) fn sequences(&self) -> std::ops::RangeInclusive<u64> {
        self.first..=self.last
    }

    fn len(&self) -> usize {
        (self.last - self.first) as usize + 1
    }
}

impl<V> Default for BySequence<V> {
    fn default() -> Self {
        Self {
            runs: VecDeque::new(),
            len: 0,
        }
    }
}

impl<V: Copy + Eq> FromIterator<(u64, V)> for BySequence<V> {
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
        ChangeAll,
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => Just(Step::Append(1)),
            4 => (1..4_u64).prop_map(Step::Append),
            4 => (0..300_u64).prop_map(Step::Insert),
            8 => (0..300_u64).prop_map(Step::Remove),
            1 => (0..300_u64).prop_map(Step::RemoveBefore),
            1 => Just(Step::ChangeAll),
            1 => Just(Step::Clear),
        ]
    }

    proptest! {
        #[test]
        fn it_holds_what_a_tree_holds(steps in prop::collection::vec((step(), 0..3), 1..400)) {
            let (mut own, mut tree) = (BySequence::default(), BTreeMap::new());
            for (step, value) in steps {
                match step {
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
                    Step::ChangeAll => {
                        own.change_all(|held| *held = (*held + value) % 3);
                        tree.values_mut().for_each(|held| *held = (*held + value) % 3);
                    }
                    Step::Clear => {
                        own.clear();
                        tree.clear();
                    }
                }
                prop_assert_eq!(own.len(), tree.len());
                prop_assert_eq!(own.first(), tree.keys().next().copied());
                let held: Vec<_> = own.iter().collect();
                let expected: Vec<_> = tree.iter().map(|(at, value)| (*at, *value)).collect();
                prop_assert_eq!(held, expected);
                for at in 0..300 {
                    prop_assert_eq!(own.get(at), tree.get(&at).copied());
                }
            }
        }
    }

    #[test]
    fn neighbours_with_equal_values_are_one_run() {
        let mut own: BySequence<u8> = (1..=10_000).map(|at| (at, 7)).collect();
        assert_eq!(own.runs.len(), 1);
        for sequence in 1..5_000 {
            own.remove(sequence);
        }
        assert_eq!((own.runs.len(), own.len()), (1, 5_001));
        for sequence in 5_000..=10_000 {
            own.insert(sequence, 8);
        }
        assert_eq!((own.runs.len(), own.len()), (1, 5_001));
    }
}
