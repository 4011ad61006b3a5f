//! What a metrics view keeps from one reading to the next: counts since it was enabled, in groups of objects with the
//! same id. Objects that are gone still count.
//!
//! - `group_by.rs`: the id of a group
//!
//! Source: Ice manual, "The Metrics Facet", "IceStorm Metrics"; observed: IceStorm 3.7.8.

mod group_by;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

pub use group_by::{GroupBy, GroupByError};

/// Something that is measured.
pub(crate) trait Measured {
    /// Distinguishes it from all other objects that exist.
    fn number(&self) -> usize;

    /// Counters, which only grow.
    fn counts(&self) -> [u64; 2];

    /// Amounts, which grow and shrink. A gone object has none.
    fn amounts(&self) -> [u64; 2];

    /// The value of an attribute to group by.
    fn attribute(&self, name: &str) -> String;
}

/// Objects of one kind, in groups.
#[derive(Debug)]
pub(crate) struct GroupedMetrics<T> {
    group_by: GroupBy,
    /// How many empty groups are kept.
    retained_max: usize,
    /// The objects of the last reading, by number.
    known: BTreeMap<usize, GroupMember<T>>,
    groups: BTreeMap<String, Group>,
    /// How many times a group became empty.
    emptied: u64,
}

#[derive(Debug)]
struct GroupMember<T> {
    object: T,
    group: String,
    /// The counters when the object joined its group.
    base: [u64; 2],
    since: Instant,
}

#[derive(Debug, Default)]
struct Group {
    total: u64,
    current: u64,
    /// The sum of the counters of gone objects.
    counts: [u64; 2],
    lifetime: Duration,
    /// When it became empty, as a value of the map's `emptied`; only the order matters.
    emptied: Option<u64>,
}

/// The metrics of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct GroupMetrics {
    /// The id of the group.
    pub(crate) id: String,
    /// How many objects it has had.
    pub(crate) total: u64,
    /// How many objects it has now.
    pub(crate) current: u64,
    /// The sum of the times for which gone objects were seen.
    pub(crate) lifetime: Duration,
    /// The counters of all objects, since the view was enabled.
    pub(crate) counts: [u64; 2],
    /// The amounts of the objects that it has now.
    pub(crate) amounts: [u64; 2],
}

impl<T: Measured> GroupedMetrics<T> {
    /// Starts with these objects, whose counters so far do not count.
    pub(crate) fn new(
        group_by: GroupBy,
        retained_max: usize,
        objects: impl IntoIterator<Item = T>,
        now: Instant,
    ) -> Self {
        let mut map = Self {
            group_by,
            retained_max,
            known: BTreeMap::new(),
            groups: BTreeMap::new(),
            emptied: 0,
        };
        for object in objects {
            let base = object.counts();
            map.begin(object, base, now);
        }
        map
    }

    /// Reads the objects that exist now. Returns the metrics of all groups.
    pub(crate) fn read(
        &mut self,
        objects: impl IntoIterator<Item = T>,
        now: Instant,
    ) -> Vec<GroupMetrics> {
        let mut present = BTreeSet::new();
        for object in objects {
            present.insert(object.number());
            self.see(object, now);
        }
        let is_gone = |number: &&usize| !present.contains(*number);
        let gone: Vec<usize> = self.known.keys().filter(is_gone).copied().collect();
        gone.into_iter().for_each(|number| self.end(number, now));
        self.forget();
        self.all()
    }

    fn see(&mut self, object: T, now: Instant) {
        let number = object.number();
        match self.known.get(&number) {
            // The object came after the last reading, so all its counters are new.
            None => self.begin(object, [0, 0], now),
            Some(known) if known.group == self.group_by.id(&object) => {}
            Some(_) => {
                let base = object.counts();
                self.end(number, now);
                self.begin(object, base, now);
            }
        }
    }

    fn begin(&mut self, object: T, base: [u64; 2], now: Instant) {
        let id = self.group_by.id(&object);
        let group = self.groups.entry(id.clone()).or_default();
        group.total += 1;
        group.current += 1;
        group.emptied = None;
        let known = GroupMember {
            group: id,
            base,
            since: now,
            object,
        };
        self.known.insert(known.object.number(), known);
    }

    fn end(&mut self, number: usize, now: Instant) {
        let Some(known) = self.known.remove(&number) else {
            return;
        };
        let Some(group) = self.groups.get_mut(&known.group) else {
            return;
        };
        add(&mut group.counts, known.counts());
        group.lifetime += now.saturating_duration_since(known.since);
        group.current -= 1;
        if group.current == 0 {
            self.emptied += 1;
            group.emptied = Some(self.emptied);
        }
    }

    /// Forgets the groups that became empty first, if there are too many.
    fn forget(&mut self) {
        let mut emptied: Vec<_> = self.groups.values().filter_map(|g| g.emptied).collect();
        emptied.sort_unstable();
        let too_many = emptied.len().saturating_sub(self.retained_max);
        if let Some(last) = too_many.checked_sub(1).map(|at| emptied[at]) {
            self.groups
                .retain(|_, group| group.emptied.is_none_or(|emptied| emptied > last));
        }
    }

    fn all(&self) -> Vec<GroupMetrics> {
        let mut all: BTreeMap<&str, GroupMetrics> = BTreeMap::new();
        for (id, group) in &self.groups {
            let metrics = GroupMetrics {
                id: id.clone(),
                total: group.total,
                current: group.current,
                lifetime: group.lifetime,
                counts: group.counts,
                ..GroupMetrics::default()
            };
            all.insert(id, metrics);
        }
        for known in self.known.values() {
            if let Some(metrics) = all.get_mut(known.group.as_str()) {
                add(&mut metrics.counts, known.counts());
                add(&mut metrics.amounts, known.object.amounts());
            }
        }
        all.into_values().collect()
    }
}

impl<T: Measured> GroupMember<T> {
    /// The counters since the object joined its group.
    fn counts(&self) -> [u64; 2] {
        let [first, second] = self.object.counts();
        let [first_before, second_before] = self.base;
        [
            first.saturating_sub(first_before),
            second.saturating_sub(second_before),
        ]
    }
}

fn add(sum: &mut [u64; 2], other: [u64; 2]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum = sum.saturating_add(other);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// An object whose counter and attribute a test changes.
    #[derive(Debug, Clone)]
    struct Counter(usize, Rc<RefCell<(&'static str, u64)>>);

    impl Counter {
        fn new(number: usize, id: &'static str) -> Self {
            Self(number, Rc::new(RefCell::new((id, 0))))
        }

        fn count(&self, more: u64) {
            self.1.borrow_mut().1 += more;
        }
    }

    impl Measured for Counter {
        fn number(&self) -> usize {
            self.0
        }

        fn counts(&self) -> [u64; 2] {
            [self.1.borrow().1, 0]
        }

        fn amounts(&self) -> [u64; 2] {
            [0, 1]
        }

        fn attribute(&self, _name: &str) -> String {
            self.1.borrow().0.to_owned()
        }
    }

    fn map(objects: &[&Counter], retained_max: usize) -> GroupedMetrics<Counter> {
        let objects: Vec<_> = objects.iter().map(|object| (*object).clone()).collect();
        let group_by = GroupBy::parse("id", &["id"]).unwrap();
        GroupedMetrics::new(group_by, retained_max, objects, Instant::now())
    }

    fn read(
        map: &mut GroupedMetrics<Counter>,
        objects: &[&Counter],
    ) -> Vec<(String, u64, u64, u64)> {
        let objects: Vec<_> = objects.iter().map(|object| (*object).clone()).collect();
        let all = map.read(objects, Instant::now());
        let told = all.into_iter().map(|metrics| {
            (
                metrics.id,
                metrics.total,
                metrics.current,
                metrics.counts[0],
            )
        });
        told.collect()
    }

    fn metrics(id: &str, total: u64, current: u64, count: u64) -> (String, u64, u64, u64) {
        (id.to_owned(), total, current, count)
    }

    #[test]
    fn earlier_counts_are_subtracted_and_new_objects_count_whole() {
        let (old, new) = (Counter::new(1, "a"), Counter::new(2, "b"));
        old.count(7);
        let mut map = map(&[&old], 10);
        old.count(2);
        new.count(5);
        let expected = [metrics("a", 1, 1, 2), metrics("b", 1, 1, 5)];
        assert_eq!(read(&mut map, &[&old, &new]), expected);
    }

    #[test]
    fn a_gone_object_keeps_its_counts_and_another_with_its_id_adds_to_them() {
        let (first, second) = (Counter::new(1, "a"), Counter::new(2, "a"));
        let mut map = map(&[], 10);
        read(&mut map, &[&first]);
        first.count(3);
        assert_eq!(read(&mut map, &[]), [metrics("a", 1, 0, 3)]);
        second.count(4);
        assert_eq!(read(&mut map, &[&second]), [metrics("a", 2, 1, 7)]);
    }

    #[test]
    fn an_object_whose_attribute_changes_moves_to_another_group_and_leaves_its_counts() {
        let object = Counter::new(1, "online");
        let mut map = map(&[&object], 10);
        object.count(3);
        read(&mut map, &[&object]);
        object.1.borrow_mut().0 = "offline";
        object.count(1);
        let expected = [metrics("offline", 1, 1, 0), metrics("online", 1, 0, 4)];
        assert_eq!(read(&mut map, &[&object]), expected);
    }

    #[test]
    fn the_groups_that_became_empty_last_are_kept() {
        let objects =
            ["a", "b", "c"].map(|id| Counter::new(id.len() + usize::from(id.as_bytes()[0]), id));
        let mut map = map(&objects.iter().collect::<Vec<_>>(), 2);
        read(&mut map, &[&objects[0], &objects[2]]);
        read(&mut map, &[&objects[0]]);
        let expected = [metrics("b", 1, 0, 0), metrics("c", 1, 0, 0)];
        assert_eq!(read(&mut map, &[])[1..], expected[1..]);
        assert_eq!(read(&mut map, &[]).len(), 2);
    }

    #[test]
    fn only_present_objects_have_amounts() {
        let objects = [Counter::new(1, "a"), Counter::new(2, "a")];
        let mut map = map(&[&objects[0], &objects[1]], 10);
        let all = map.read(objects.clone(), Instant::now());
        assert_eq!(all[0].amounts, [0, 2]);
        let all = map.read([objects[0].clone()], Instant::now());
        assert_eq!(
            (all[0].amounts, all[0].total, all[0].current),
            ([0, 1], 2, 1)
        );
    }
}
