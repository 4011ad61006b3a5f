//! Requests that cross a connection which may break, each exactly once.
//!
//! The sender numbers its requests, and sends one again until it has the answer. The receiver remembers the numbers of
//! requests whose answers may still be asked for, so that it does not execute one twice. With each request the sender
//! tells the lowest number that it may still send again (the floor); the receiver forgets what is below.

use std::collections::{BTreeMap, BTreeSet};

/// The numbers of a sender's requests.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    last: u64,
    numbers: BTreeSet<u64>,
}

impl Outstanding {
    /// The number of a new request.
    pub(crate) fn begin(&mut self) -> u64 {
        self.last += 1;
        self.numbers.insert(self.last);
        self.last
    }

    /// The request has its answer, and is not sent again.
    pub(crate) fn end(&mut self, number: u64) {
        self.numbers.remove(&number);
    }

    /// The lowest number that may be sent again.
    pub(crate) fn floor(&self) -> u64 {
        self.numbers.first().copied().unwrap_or(self.last + 1)
    }
}

/// The requests of a sender that its receiver has seen, with a handle `T` to the answer of each.
#[derive(Debug)]
pub(crate) struct DedupWindow<T> {
    floor: u64,
    seen: BTreeMap<u64, T>,
    len_max: usize,
}

/// The next step for a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission<T> {
    /// Execute it.
    New(T),
    /// It was seen before: send the answer of that execution.
    Seen(T),
    /// It is below the floor: its sender has had the answer, so that this is a late copy.
    Stale,
    /// The window is full: the sender leaves too many requests open.
    Full,
}

impl<T: Clone> DedupWindow<T> {
    /// A window for at most `len_max` requests.
    pub(crate) fn new(len_max: usize) -> Self {
        Self {
            floor: 0,
            seen: BTreeMap::new(),
            len_max,
        }
    }

    /// Returns true if this request was seen, and its answer is kept.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.seen.contains_key(&number)
    }

    /// Forgets the requests below a floor: their sender has the answers.
    pub(crate) fn raise_floor(&mut self, floor: u64) {
        if floor > self.floor {
            self.floor = floor;
            self.seen = self.seen.split_off(&floor);
        }
    }

    /// Looks at a request. `handle` makes the handle to the answer of a new one.
    pub(crate) fn admit(
        &mut self,
        number: u64,
        floor: u64,
        handle: impl FnOnce() -> T,
    ) -> Admission<T> {
        self.raise_floor(floor);
        if number < self.floor {
            return Admission::Stale;
        }
        if let Some(seen) = self.seen.get(&number) {
            return Admission::Seen(seen.clone());
        }
        if self.seen.len() >= self.len_max {
            return Admission::Full;
        }
        let handle = handle();
        self.seen.insert(number, handle.clone());
        Admission::New(handle)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_new_once_and_forgotten_below_the_floor() {
        let mut window = DedupWindow::new(2);
        assert_eq!(window.admit(1, 1, || "a"), Admission::New("a"));
        assert_eq!(window.admit(2, 1, || "b"), Admission::New("b"));
        assert_eq!(window.admit(1, 1, || "x"), Admission::Seen("a"));
        assert_eq!(window.admit(3, 1, || "c"), Admission::Full);
        assert_eq!(window.admit(3, 2, || "c"), Admission::New("c"));
        assert_eq!(window.admit(1, 1, || "x"), Admission::Stale);
        assert_eq!(window.admit(2, 1, || "x"), Admission::Seen("b"));
    }

    #[test]
    fn the_floor_is_the_lowest_number_without_an_answer() {
        let mut outstanding = Outstanding::default();
        assert_eq!(outstanding.floor(), 1);
        assert_eq!((outstanding.begin(), outstanding.begin()), (1, 2));
        outstanding.end(2);
        assert_eq!(outstanding.floor(), 1);
        outstanding.end(1);
        assert_eq!(outstanding.floor(), 3);
    }

    /// A step of the simulation.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        /// The sender accepts a request from its program, and sends it.
        Accept,
        /// The oldest request on the line arrives.
        Arrive,
        /// The oldest reply on the line arrives.
        Reply,
        /// The connection breaks. Messages on the line are lost, and requests without an answer are sent again over the
        /// next connection.
        Break,
        /// The connection breaks, but messages on the line arrive late, before the next connection is used.
        BreakLate,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop::sample::select(vec![
            Step::Accept,
            Step::Accept,
            Step::Arrive,
            Step::Arrive,
            Step::Reply,
            Step::Break,
            Step::BreakLate,
        ])
    }

    #[derive(Default)]
    struct World {
        outstanding: Outstanding,
        /// Requests without an answer, which the sender sends again.
        in_flight: BTreeSet<u64>,
        accepted: u64,
        /// Numbers and floors.
        requests: std::collections::VecDeque<(u64, u64)>,
        replies: std::collections::VecDeque<u64>,
        executed: Vec<u64>,
    }

    impl World {
        fn send(&mut self, number: u64) {
            let floor = self.outstanding.floor();
            self.requests.push_back((number, floor));
        }

        fn arrive(&mut self, window: &mut DedupWindow<()>) {
            let Some((number, floor)) = self.requests.pop_front() else {
                return;
            };
            match window.admit(number, floor, || ()) {
                Admission::New(()) => {
                    self.executed.push(number);
                    self.replies.push_back(number);
                }
                Admission::Seen(()) => self.replies.push_back(number),
                Admission::Stale => {}
                Admission::Full => panic!("it has room for all"),
            }
        }

        fn reply(&mut self) {
            if let Some(number) = self.replies.pop_front() {
                self.outstanding.end(number);
                self.in_flight.remove(&number);
            }
        }

        fn reconnect(&mut self) {
            self.requests.clear();
            self.replies.clear();
            for number in self.in_flight.clone() {
                self.send(number);
            }
        }
    }

    proptest! {
        /// Whatever breaks, each accepted request is executed once, in the order in which it was accepted.
        #[test]
        fn every_accepted_request_is_executed_exactly_once(
            steps in prop::collection::vec(step(), 0..400)
        ) {
            let mut world = World::default();
            let mut window = DedupWindow::new(1000);
            for step in steps {
                match step {
                    Step::Accept => {
                        let number = world.outstanding.begin();
                        world.accepted += 1;
                        world.in_flight.insert(number);
                        world.send(number);
                    }
                    Step::Arrive => world.arrive(&mut window),
                    Step::Reply => world.reply(),
                    Step::Break => world.reconnect(),
                    Step::BreakLate => {
                        while !world.requests.is_empty() {
                            world.arrive(&mut window);
                        }
                        world.reconnect();
                    }
                }
            }
            // The line holds from here on.
            world.reconnect();
            while !world.requests.is_empty() {
                world.arrive(&mut window);
            }
            while !world.replies.is_empty() {
                world.reply();
            }
            let all: Vec<_> = (1..=world.accepted).collect();
            prop_assert_eq!(world.executed, all);
            prop_assert!(world.in_flight.is_empty());
        }
    }
}
