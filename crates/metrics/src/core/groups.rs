//! The state that a metrics view keeps from one reading to the next: counts since it was enabled, in groups of objects
//! with the same id. Objects that are gone still count.
//!
//! Source: Ice manual, "The Metrics Facet", "IceStorm Metrics"; observed: IceStorm 3.7.8.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::GroupBy;

/// Counters or amounts of an object. A kind of object that has fewer leaves the last ones at zero.
pub type Values = [u64; 4];

/// Something that is measured.
pub trait Measured {
    /// Distinguishes it from all other objects that exist.
    fn number(&self) -> usize;

    /// Counters, which only grow.
    fn counts(&self) -> Values;

    /// Amounts, which grow and shrink. A gone object has none.
    fn amounts(&self) -> Values;

    /// The value of an attribute to group by. It is asked for before [`Measured::release`].
    fn attribute(&self, name: &str) -> String;

    /// A view keeps the object until its next reading, which may never come. The object therefore releases everything
    /// that the counters and amounts do not need. Does nothing by default.
    fn release(&mut self) {}
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
    /// The empty groups, in the order in which they became empty.
    emptied: BTreeMap<u64, String>,
    /// How many times a group became empty.
    emptied_count: u64,
    /// How many readings there were.
    readings: u64,
}

#[derive(Debug)]
struct GroupMember<T> {
    object: T,
    group: String,
    /// The counters when the object joined its group.
    base: Values,
    since: Instant,
    /// The last reading in which the object was there.
    seen: u64,
}

#[derive(Debug, Default)]
struct Group {
    total: u64,
    current: u64,
    /// The sum of the counters of gone objects.
    counts: Values,
    lifetime: Duration,
    /// When it became empty, as a key of the map's `emptied`.
    emptied: Option<u64>,
    /// The metrics of its objects that a reading has added up so far.
    present: Present,
}

#[derive(Debug, Default)]
struct Present {
    /// The number of the reading.
    reading: u64,
    counts: Values,
    amounts: Values,
}

/// A reading of all objects, in steps. If it is not completed, the next one begins anew.
#[derive(Debug)]
pub(crate) struct MetricsReading {
    phase: ReadingPhase,
    metrics: Vec<GroupMetrics>,
}

/// The next step of a reading.
#[derive(Debug)]
enum ReadingPhase {
    /// Ends the objects from this number on that are gone, and adds up the others.
    Adding(usize),
    /// Forgets groups.
    Forgetting,
    /// Reports the groups from this id on.
    Telling(String),
}

/// The metrics of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupMetrics {
    /// The id of the group.
    pub id: String,
    /// How many objects it has had.
    pub total: u64,
    /// How many objects it has now.
    pub current: u64,
    /// The sum of the times for which gone objects were seen.
    pub lifetime: Duration,
    /// The counters of all objects, since the view was enabled.
    pub counts: Values,
    /// The amounts of the objects that it has now.
    pub amounts: Values,
}

impl<T: Measured> GroupedMetrics<T> {
    /// Starts without objects.
    pub(crate) fn new(group_by: GroupBy, retained_max: usize) -> Self {
        Self {
            group_by,
            retained_max,
            known: BTreeMap::new(),
            groups: BTreeMap::new(),
            emptied: BTreeMap::new(),
            emptied_count: 0,
            readings: 0,
        }
    }

    /// Adds an object that is there before the first reading: its counters so far do not count.
    pub(crate) fn start_with(&mut self, object: T, now: Instant) {
        let base = object.counts();
        self.begin(object, base, now);
    }

    /// Begins a reading: the caller shows all objects that exist now with [`GroupedMetrics::see`], and then takes the steps
    /// of [`GroupedMetrics::go_on`].
    pub(crate) fn begin_reading(&mut self) -> MetricsReading {
        self.readings += 1;
        MetricsReading {
            phase: ReadingPhase::Adding(0),
            metrics: Vec::new(),
        }
    }

    /// Looks at `count` objects or groups at most. Returns false when the reading is complete.
    pub(crate) fn go_on(
        &mut self,
        reading: &mut MetricsReading,
        count: usize,
        now: Instant,
    ) -> bool {
        let next = match &reading.phase {
            ReadingPhase::Adding(from) => {
                let next = self.add_some(*from, count, now);
                next.map_or(ReadingPhase::Forgetting, ReadingPhase::Adding)
            }
            ReadingPhase::Forgetting => match self.forget(count) {
                true => ReadingPhase::Forgetting,
                false => ReadingPhase::Telling(String::new()),
            },
            ReadingPhase::Telling(from) => {
                let mut rest = self.groups.range_mut(from.clone()..);
                let some = rest.by_ref().take(count);
                let told = some.map(|(id, group)| group.tell(id, self.readings));
                reading.metrics.extend(told);
                let Some((next, _)) = rest.next() else {
                    return false;
                };
                ReadingPhase::Telling(next.clone())
            }
        };
        reading.phase = next;
        true
    }

    /// Ends some objects that are gone, and adds up the others. Returns the number from which to continue.
    fn add_some(&mut self, from: usize, count: usize, now: Instant) -> Option<usize> {
        let mut gone = Vec::new();
        let mut rest = self.known.range(from..);
        for (number, known) in rest.by_ref().take(count) {
            if known.seen != self.readings {
                gone.push(*number);
            } else if let Some(group) = self.groups.get_mut(&known.group) {
                let present = group.present(self.readings);
                add(&mut present.counts, known.counts());
                add(&mut present.amounts, known.object.amounts());
            }
        }
        let next = rest.next().map(|(number, _)| *number);
        gone.into_iter().for_each(|number| self.end(number, now));
        next
    }

    /// Shows an object to the reading under way.
    pub(crate) fn see(&mut self, object: T, now: Instant) {
        let number = object.number();
        match self.known.get_mut(&number) {
            // The object came after the last reading, so all its counters are new.
            None => self.begin(object, Values::default(), now),
            Some(known) if known.group == self.group_by.id(&object) => known.seen = self.readings,
            Some(_) => {
                let base = object.counts();
                self.end(number, now);
                self.begin(object, base, now);
            }
        }
    }

    fn begin(&mut self, mut object: T, base: Values, now: Instant) {
        let id = self.group_by.id(&object);
        let group = self.groups.entry(id.clone()).or_default();
        group.total += 1;
        group.current += 1;
        if let Some(emptied) = group.emptied.take() {
            self.emptied.remove(&emptied);
        }
        object.release();
        let known = GroupMember {
            group: id,
            base,
            since: now,
            seen: self.readings,
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
            self.emptied_count += 1;
            group.emptied = Some(self.emptied_count);
            self.emptied.insert(self.emptied_count, known.group);
        }
    }

    /// Forgets at most `count` of the groups that became empty first, if there are too many. Returns true if there are
    /// still too many.
    fn forget(&mut self, count: usize) -> bool {
        for _ in 0..count {
            if self.emptied.len() <= self.retained_max {
                return false;
            }
            if let Some((_, id)) = self.emptied.pop_first() {
                self.groups.remove(&id);
            }
        }
        true
    }
}

impl MetricsReading {
    /// The metrics of all groups, when the reading is complete.
    pub(crate) fn finish(self) -> Vec<GroupMetrics> {
        self.metrics
    }
}

impl Group {
    /// Returns the metrics of its objects in this reading. An earlier reading may have been abandoned.
    fn present(&mut self, reading: u64) -> &mut Present {
        if self.present.reading != reading {
            self.present = Present {
                reading,
                ..Present::default()
            };
        }
        &mut self.present
    }

    /// Its metrics, with those of the objects that were added up in this reading.
    fn tell(&mut self, id: &str, reading: u64) -> GroupMetrics {
        let Present {
            counts, amounts, ..
        } = *self.present(reading);
        let mut metrics = GroupMetrics {
            id: id.to_owned(),
            total: self.total,
            current: self.current,
            lifetime: self.lifetime,
            counts: self.counts,
            amounts,
        };
        add(&mut metrics.counts, counts);
        metrics
    }
}

impl<T: Measured> GroupMember<T> {
    /// The counters since the object joined its group.
    fn counts(&self) -> Values {
        let mut counts = self.object.counts();
        for (count, before) in counts.iter_mut().zip(self.base) {
            *count = count.saturating_sub(before);
        }
        counts
    }
}

fn add(sum: &mut Values, other: Values) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum = sum.saturating_add(other);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// An object whose counter and attribute a test changes. It knows whether it was released.
    #[derive(Debug, Clone)]
    struct Counter(usize, Rc<RefCell<(&'static str, u64)>>, bool);

    impl Counter {
        fn new(number: usize, id: &'static str) -> Self {
            Self(number, Rc::new(RefCell::new((id, 0))), false)
        }

        fn count(&self, more: u64) {
            self.1.borrow_mut().1 += more;
        }
    }

    impl Measured for Counter {
        fn number(&self) -> usize {
            self.0
        }

        fn counts(&self) -> Values {
            [self.1.borrow().1, 0, 0, 0]
        }

        fn amounts(&self) -> Values {
            [0, 1, 0, 0]
        }

        fn attribute(&self, _name: &str) -> String {
            assert!(!self.2, "it was released");
            self.1.borrow().0.to_owned()
        }

        fn release(&mut self) {
            self.2 = true;
        }
    }

    fn map(objects: &[&Counter], retained_max: usize) -> GroupedMetrics<Counter> {
        let group_by = GroupBy::parse("id", &["id"]).unwrap();
        let mut map = GroupedMetrics::new(group_by, retained_max);
        for object in objects {
            map.start_with((*object).clone(), Instant::now());
        }
        map
    }

    /// Reads all in steps of one.
    fn read_all(map: &mut GroupedMetrics<Counter>, objects: &[&Counter]) -> Vec<GroupMetrics> {
        let (mut reading, now) = (map.begin_reading(), Instant::now());
        for object in objects {
            map.see((*object).clone(), now);
        }
        while map.go_on(&mut reading, 1, now) {}
        reading.finish()
    }

    fn read(
        map: &mut GroupedMetrics<Counter>,
        objects: &[&Counter],
    ) -> Vec<(String, u64, u64, u64)> {
        let told = read_all(map, objects).into_iter().map(|metrics| {
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
    fn objects_are_released_for_the_time_until_the_next_reading() {
        let objects = [Counter::new(1, "a"), Counter::new(2, "b")];
        let mut map = map(&[&objects[0]], 10);
        objects[0].1.borrow_mut().0 = "c";
        read(&mut map, &[&objects[0], &objects[1]]);
        assert_eq!(map.known.len(), 2);
        assert!(map.known.values().all(|known| known.object.2));
    }

    #[test]
    fn only_present_objects_have_amounts() {
        let objects = [Counter::new(1, "a"), Counter::new(2, "a")];
        let mut map = map(&[&objects[0], &objects[1]], 10);
        let all = read_all(&mut map, &[&objects[0], &objects[1]]);
        assert_eq!(all[0].amounts, [0, 2, 0, 0]);
        let all = read_all(&mut map, &[&objects[0]]);
        assert_eq!(
            (all[0].amounts, all[0].total, all[0].current),
            ([0, 1, 0, 0], 2, 1)
        );
    }

    #[test]
    fn a_reading_that_was_abandoned_leaves_nothing_in_the_next_one() {
        let objects = [Counter::new(1, "a"), Counter::new(2, "b")];
        let all = [&objects[0], &objects[1]];
        for steps in 0..6 {
            let mut map = map(&all, 10);
            objects[0].count(3);
            let (mut reading, now) = (map.begin_reading(), Instant::now());
            all.iter().for_each(|it| map.see((*it).clone(), now));
            for _ in 0..steps {
                map.go_on(&mut reading, 1, now);
            }
            let told = read(&mut map, &all);
            assert_eq!(told[0], metrics("a", 1, 1, 3), "{steps}");
        }
    }
}
