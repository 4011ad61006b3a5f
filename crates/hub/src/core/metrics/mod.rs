//! What a view of metrics keeps, from one look to the next: counts since it was enabled, of things that share an
//! id, those that are gone included.
//!
//! - `group_by.rs`: what things have in common
//!
//! Source: Ice manual, "The Metrics Facet", "IceStorm Metrics"; observed: IceStorm 3.7.8.

mod group_by;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

pub use group_by::{GroupBy, GroupByError};

/// Something that is measured.
pub(crate) trait Thing {
    /// What tells it from all others that anybody holds.
    fn number(&self) -> usize;

    /// What only grows.
    fn counts(&self) -> [u64; 2];

    /// What grows and shrinks; nothing when it is gone.
    fn amounts(&self) -> [u64; 2];

    /// An attribute that things are grouped by.
    fn attribute(&self, name: &str) -> String;
}

/// Things of one kind, by what they have in common.
#[derive(Debug)]
pub(crate) struct Map<T> {
    group_by: GroupBy,
    /// Groups that are kept although nothing is left in them.
    retained_max: usize,
    /// Those that were there at the last look, by their numbers.
    known: BTreeMap<usize, Known<T>>,
    groups: BTreeMap<String, Group>,
    /// Counts the groups that nothing was left in.
    emptied: u64,
}

#[derive(Debug)]
struct Known<T> {
    thing: T,
    group: String,
    /// What had been counted when it came here.
    base: [u64; 2],
    since: Instant,
}

#[derive(Debug, Default)]
struct Group {
    total: u64,
    current: u64,
    /// Of those that are gone.
    counts: [u64; 2],
    lifetime: Duration,
    /// When nothing was left in it; which of several was earlier is what matters.
    emptied: Option<u64>,
}

/// What is told of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Row {
    /// What its things have in common.
    pub(crate) id: String,
    /// How many things there have been.
    pub(crate) total: u64,
    /// How many there are.
    pub(crate) current: u64,
    /// How long those were seen together that are gone.
    pub(crate) lifetime: Duration,
    /// Those of all things, since the view was enabled.
    pub(crate) counts: [u64; 2],
    /// Those of the things that are there.
    pub(crate) amounts: [u64; 2],
}

impl<T: Thing> Map<T> {
    /// Begins with these things: what they have counted so far does not count.
    pub(crate) fn new(
        group_by: GroupBy,
        retained_max: usize,
        things: impl IntoIterator<Item = T>,
        now: Instant,
    ) -> Self {
        let mut map = Self {
            group_by,
            retained_max,
            known: BTreeMap::new(),
            groups: BTreeMap::new(),
            emptied: 0,
        };
        for thing in things {
            let base = thing.counts();
            map.begin(thing, base, now);
        }
        map
    }

    /// Sees which things there are now; what has been measured of all.
    pub(crate) fn look(&mut self, things: impl IntoIterator<Item = T>, now: Instant) -> Vec<Row> {
        let mut present = BTreeSet::new();
        for thing in things {
            present.insert(thing.number());
            self.see(thing, now);
        }
        let is_gone = |number: &&usize| !present.contains(*number);
        let gone: Vec<usize> = self.known.keys().filter(is_gone).copied().collect();
        gone.into_iter().for_each(|number| self.end(number, now));
        self.forget();
        self.rows()
    }

    fn see(&mut self, thing: T, now: Instant) {
        let number = thing.number();
        match self.known.get(&number) {
            // It came after the last look, so all that it counts is new.
            None => self.begin(thing, [0, 0], now),
            Some(known) if known.group == self.group_by.id(&thing) => {}
            Some(_) => {
                let base = thing.counts();
                self.end(number, now);
                self.begin(thing, base, now);
            }
        }
    }

    fn begin(&mut self, thing: T, base: [u64; 2], now: Instant) {
        let id = self.group_by.id(&thing);
        let group = self.groups.entry(id.clone()).or_default();
        group.total += 1;
        group.current += 1;
        group.emptied = None;
        let known = Known {
            group: id,
            base,
            since: now,
            thing,
        };
        self.known.insert(known.thing.number(), known);
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

    /// Forgets the groups that were emptied first, of those that are too many.
    fn forget(&mut self) {
        let mut emptied: Vec<_> = self.groups.values().filter_map(|g| g.emptied).collect();
        emptied.sort_unstable();
        let too_many = emptied.len().saturating_sub(self.retained_max);
        if let Some(last) = too_many.checked_sub(1).map(|at| emptied[at]) {
            self.groups
                .retain(|_, group| group.emptied.is_none_or(|emptied| emptied > last));
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for (id, group) in &self.groups {
            let row = Row {
                id: id.clone(),
                total: group.total,
                current: group.current,
                lifetime: group.lifetime,
                counts: group.counts,
                ..Row::default()
            };
            rows.insert(id, row);
        }
        for known in self.known.values() {
            if let Some(row) = rows.get_mut(known.group.as_str()) {
                add(&mut row.counts, known.counts());
                add(&mut row.amounts, known.thing.amounts());
            }
        }
        rows.into_values().collect()
    }
}

impl<T: Thing> Known<T> {
    /// What it has counted since it came here.
    fn counts(&self) -> [u64; 2] {
        let [first, second] = self.thing.counts();
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

    /// A thing whose counts and attribute a test changes.
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

    impl Thing for Counter {
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

    fn map(things: &[&Counter], retained_max: usize) -> Map<Counter> {
        let things: Vec<_> = things.iter().map(|thing| (*thing).clone()).collect();
        let group_by = GroupBy::parse("id", &["id"]).unwrap();
        Map::new(group_by, retained_max, things, Instant::now())
    }

    fn look(map: &mut Map<Counter>, things: &[&Counter]) -> Vec<(String, u64, u64, u64)> {
        let things: Vec<_> = things.iter().map(|thing| (*thing).clone()).collect();
        let rows = map.look(things, Instant::now());
        let told = rows
            .into_iter()
            .map(|row| (row.id, row.total, row.current, row.counts[0]));
        told.collect()
    }

    fn row(id: &str, total: u64, current: u64, count: u64) -> (String, u64, u64, u64) {
        (id.to_owned(), total, current, count)
    }

    #[test]
    fn what_was_counted_before_does_not_count_and_what_is_new_counts_whole() {
        let (old, new) = (Counter::new(1, "a"), Counter::new(2, "b"));
        old.count(7);
        let mut map = map(&[&old], 10);
        old.count(2);
        new.count(5);
        let expected = [row("a", 1, 1, 2), row("b", 1, 1, 5)];
        assert_eq!(look(&mut map, &[&old, &new]), expected);
    }

    #[test]
    fn what_is_gone_counts_to_its_end_and_another_with_its_id_goes_on() {
        let (first, second) = (Counter::new(1, "a"), Counter::new(2, "a"));
        let mut map = map(&[], 10);
        look(&mut map, &[&first]);
        first.count(3);
        assert_eq!(look(&mut map, &[]), [row("a", 1, 0, 3)]);
        second.count(4);
        assert_eq!(look(&mut map, &[&second]), [row("a", 2, 1, 7)]);
    }

    #[test]
    fn a_thing_whose_attribute_changes_goes_to_another_group_and_leaves_its_counts() {
        let thing = Counter::new(1, "online");
        let mut map = map(&[&thing], 10);
        thing.count(3);
        look(&mut map, &[&thing]);
        thing.1.borrow_mut().0 = "offline";
        thing.count(1);
        let expected = [row("offline", 1, 1, 0), row("online", 1, 0, 4)];
        assert_eq!(look(&mut map, &[&thing]), expected);
    }

    #[test]
    fn of_groups_that_were_emptied_the_latest_are_kept() {
        let things =
            ["a", "b", "c"].map(|id| Counter::new(id.len() + usize::from(id.as_bytes()[0]), id));
        let mut map = map(&things.iter().collect::<Vec<_>>(), 2);
        look(&mut map, &[&things[0], &things[2]]);
        look(&mut map, &[&things[0]]);
        let expected = [row("b", 1, 0, 0), row("c", 1, 0, 0)];
        assert_eq!(look(&mut map, &[])[1..], expected[1..]);
        assert_eq!(look(&mut map, &[]).len(), 2);
    }

    #[test]
    fn amounts_are_those_of_what_is_there() {
        let things = [Counter::new(1, "a"), Counter::new(2, "a")];
        let mut map = map(&[&things[0], &things[1]], 10);
        let rows = map.look(things.clone(), Instant::now());
        assert_eq!(rows[0].amounts, [0, 2]);
        let rows = map.look([things[0].clone()], Instant::now());
        assert_eq!(
            (rows[0].amounts, rows[0].total, rows[0].current),
            ([0, 1], 2, 1)
        );
    }
}
