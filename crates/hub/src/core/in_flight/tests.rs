//! Random replies to a window: every event ends once, and the order stays.

use std::collections::{BTreeMap, BTreeSet};

use floe::forwarding::{Event, Events, EventsBuilder};
use floe::{InvokeError, LocalError, OperationMode};

use super::*;
use crate::random::Random;

pub(super) fn event(mode: OperationMode) -> Event {
    let mut builder = EventsBuilder::default();
    let mode = if mode.is_idempotent() { 2 } else { 0 };
    let write = |bytes: &mut Vec<u8>| {
        bytes.extend(b"\x02op");
        bytes.extend([mode, 0, 6, 0, 0, 0, 1, 1]);
        Ok(())
    };
    builder.push_with(write).unwrap();
    let mut events = Vec::new();
    builder.finish().unwrap().append_to(&mut events);
    events.remove(0)
}

pub(super) fn lost() -> InvokeError {
    InvokeError::NotDispatched(LocalError::Shutdown)
}

/// A run of so many events.
fn run(count: usize) -> Events {
    let events = vec![Events::from(event(OperationMode::Normal)); count];
    Events::joined(&events).unwrap()
}

/// A window, and the expected state of every event that was sent. The handle of a run is its numbers.
struct Model {
    in_flight: InFlightEvents<Range<u64>>,
    random: Random,
    now: Instant,
    /// The runs in flight.
    open: BTreeMap<u64, Range<u64>>,
    delivered: u64,
    failed: Vec<u64>,
    late: u64,
}

impl Model {
    const WINDOW: usize = 10;

    fn new(seed: u64) -> Self {
        Self {
            in_flight: InFlightEvents::new(Window::new(3, Self::WINDOW)),
            random: Random::new(seed),
            now: Instant::now(),
            open: BTreeMap::new(),
            delivered: 0,
            failed: Vec::new(),
            late: 0,
        }
    }

    /// Sends as many events as the window allows. Some replies come before the events are noted.
    fn send(&mut self) {
        let Some(room) = WindowRoom::beside(self.in_flight.load(), self.in_flight.window_size())
        else {
            return;
        };
        self.in_flight.open();
        if !self.in_flight.begin_sending() {
            return;
        }
        let first = self.in_flight.next();
        let mut runs = Vec::new();
        let mut numbers = Vec::new();
        let mut next = first;
        let all = 1 + self.random.below(room.events as u64);
        while next < first + all {
            let count = 1 + self.random.below(first + all - next);
            runs.push(run(count as usize));
            numbers.push(next..next + count);
            next += count;
        }
        assert!(!self.in_flight.close(), "the scheduler is sending");
        if self.random.below(8) == 0 {
            let count = runs.len();
            self.in_flight.give_back(&mut runs);
            assert!(self.in_flight.poll_sender_awaited() && self.in_flight.close());
            assert_eq!(self.in_flight.take_returned().len(), count);
            return;
        }
        let early = self.random.below(numbers.len() as u64 + 1) as usize;
        let early_end = numbers[..early].last().map_or(first, |run| run.end);
        let delivered = self
            .in_flight
            .handle_returned(first..early_end, self.now, |_, _, _| ());
        assert_eq!(delivered, 0);
        assert!(self.in_flight.end_sending());
        self.open
            .extend(numbers.iter().map(|run| (run.start, run.clone())));
        self.in_flight
            .note_sent(runs.drain(..), numbers.into_iter(), self.now);
        for (numbers, reply) in self.in_flight.take_early() {
            assert!(matches!(reply, EventReply::Returned));
            assert_eq!(numbers, first..early_end);
            let known = numbers.end - numbers.start;
            self.open.retain(|first, _| !numbers.contains(first));
            let delivered = self
                .in_flight
                .handle_reply(numbers, reply, self.now, |_, _| ());
            assert_eq!(delivered, known);
            self.delivered += delivered;
        }
        assert!(self.in_flight.load().count <= Self::WINDOW);
    }

    fn answer(&mut self, numbers: Range<u64>, reply: EventReply<InvokeError>) {
        let known = self.open.remove(&numbers.start);
        let count = known.map_or(0, |run| run.end - run.start);
        let expected = match reply {
            EventReply::Returned => count,
            EventReply::Threw(_) => count.saturating_sub(1),
            EventReply::Lost(_) => 0,
        };
        let check = |_: &Events, handle: Range<u64>| assert_eq!(handle, numbers);
        let delivered = self
            .in_flight
            .handle_reply(numbers.clone(), reply, self.now, check);
        assert_eq!(delivered, expected);
        self.delivered += delivered;
    }

    /// The numbers of a run that may be in flight.
    fn some_run(&mut self) -> Range<u64> {
        let at = self.random.below(Self::WINDOW as u64 + 1) as usize;
        let known = self.open.values().nth(at).cloned();
        known.unwrap_or_else(|| {
            let last = self.in_flight.next().saturating_sub(1);
            let known = self.open.values().find(|run| run.contains(&last));
            known.cloned().unwrap_or(last..last + 1)
        })
    }

    fn take_failed(&mut self) {
        for (first, run, _) in self.in_flight.take_failed() {
            self.failed.extend(first..first + run.len() as u64);
        }
    }

    fn step(&mut self) {
        match self.random.below(8) {
            3..=5 if self.in_flight.next() == 0 => {}
            0..=2 => self.send(),
            3 | 4 => {
                let run = self.some_run();
                self.answer(run, EventReply::Returned);
            }
            5 => {
                let run = self.some_run();
                let reply = match self.random.below(2) {
                    0 => EventReply::Threw(lost()),
                    _ => EventReply::Lost(lost()),
                };
                self.answer(run, reply);
            }
            6 => {
                assert!(self.in_flight.close());
                self.take_failed();
            }
            _ => {
                self.now += Duration::from_secs(1);
                let (late, count) = self.in_flight.take_late(Duration::from_secs(3), self.now);
                let counts = late.iter().map(|run| (run.end - run.start) as usize);
                assert_eq!(counts.sum::<usize>(), count);
                for run in &late {
                    assert_eq!(self.open.remove(&run.start).as_ref(), Some(run));
                }
                self.late += count as u64;
            }
        }
        let load = self.in_flight.load();
        let failed = self.in_flight.failed_count();
        let open = self.open_count() as usize;
        assert_eq!(load.count, open + failed);
        assert_eq!(load.bytes, open * event(OperationMode::Normal).len());
        assert_eq!(self.in_flight.oldest(), self.open.values().next());
    }
}

impl Model {
    /// How many events are in flight.
    fn open_count(&self) -> u64 {
        self.open.values().map(|run| run.end - run.start).sum()
    }
}

#[test]
fn every_event_is_delivered_failed_or_late_once() {
    for seed in 1..200 {
        let mut model = Model::new(seed * 0x9E37_79B9);
        (0..500).for_each(|_| model.step());
        model.in_flight.close();
        model.take_failed();
        let failed: BTreeSet<_> = model.failed.iter().collect();
        assert_eq!(failed.len(), model.failed.len(), "seed {seed}: once each");
        let ended = model.delivered + model.failed.len() as u64 + model.late;
        let sent = model.in_flight.next();
        assert_eq!(ended + model.open_count(), sent, "seed {seed}: all of them");
        assert!(model.delivered > 0 && sent > 0, "seed {seed}");
    }
}

#[test]
fn a_subscriber_that_becomes_slow_has_as_much_time_for_each_event_as_before_the_window_grew() {
    const LIMIT: Duration = Duration::from_secs(60);
    let began = Instant::now();
    let mut in_flight = InFlightEvents::new(Window::new(5, 1024));
    let send = |in_flight: &mut InFlightEvents<u64>, now| {
        let room = WindowRoom::beside(in_flight.load(), in_flight.window_size());
        let count = room.map_or(0, |room| room.events as u64);
        let numbers = in_flight.next()..in_flight.next() + count;
        let events = (0..count).map(|_| event(OperationMode::Normal).into());
        in_flight.note_sent(events, numbers.clone(), now);
        numbers
    };
    while in_flight.window_size() < 1024 {
        let sent = send(&mut in_flight, began);
        in_flight.handle_returned(sent, began, |_, _, _| ());
    }
    // Each event takes a second now, so that the last one is answered after 17 minutes.
    let sent = send(&mut in_flight, began);
    assert_eq!(sent.clone().count(), 1024);
    let mut now = began;
    for number in sent.clone() {
        now += Duration::from_secs(1);
        assert_eq!(in_flight.take_late(LIMIT, now), (Vec::new(), 0));
        assert_eq!(
            in_flight.handle_returned(number..number + 1, now, |_, _, _| ()),
            1
        );
    }
    assert!(in_flight.window_size() < 1024, "it has shrunk");
    // It stops: the first five are late, as if there were no others.
    let sent = send(&mut in_flight, now);
    let (late, _) = in_flight.take_late(LIMIT, now + LIMIT);
    assert!(late.into_iter().eq(sent.take(5)));
    assert_eq!(in_flight.window_size(), 5);
}

#[test]
fn the_time_of_a_run_begins_with_that_of_its_first_event() {
    const LIMIT: Duration = Duration::from_secs(60);
    let began = Instant::now();
    let after = |seconds| began + Duration::from_secs(seconds);
    let mut in_flight = InFlightEvents::new(Window::new(5, 1024));
    let runs = [3, 7, 2, 1].map(run);
    in_flight.note_sent(runs.into_iter(), 0.., began);
    // The second run has the fourth and the fifth event, so its time runs; that of the others does not.
    assert_eq!(in_flight.take_late(LIMIT, after(59)), (vec![], 0));
    in_flight.handle_returned(0..3, after(59), |_, _, _| ());
    assert_eq!(in_flight.take_late(LIMIT, after(60)), (vec![1], 7));
    assert_eq!(in_flight.take_late(LIMIT, after(119)), (vec![], 0));
    assert_eq!(in_flight.take_late(LIMIT, after(120)), (vec![2, 3], 3));
    assert_eq!(in_flight.load(), Load::default());
}

#[test]
fn an_exception_is_that_of_the_last_event_of_a_run() {
    let now = Instant::now();
    let mut in_flight: InFlightEvents<()> = InFlightEvents::new(Window::new(5, 5));
    let handles = std::iter::repeat(());
    in_flight.note_sent([run(3), run(1), run(4)].into_iter(), handles, now);
    let mut reply = |numbers, reply| {
        let delivered = in_flight.handle_reply(numbers, reply, now, |_, _| ());
        let failed = in_flight.take_failed();
        let failed = failed.iter().map(|(first, run, _)| (*first, run.len()));
        (delivered, failed.collect::<Vec<_>>())
    };
    assert_eq!(reply(0..3, EventReply::Threw(lost())), (2, vec![(2, 1)]));
    assert_eq!(reply(3..4, EventReply::Threw(lost())), (0, vec![(3, 1)]));
    assert_eq!(reply(4..8, EventReply::Lost(lost())), (0, vec![(4, 4)]));
    assert_eq!(in_flight.load(), Load::default());
}

#[test]
fn a_window_abandoned_during_a_send_does_not_note_the_events() {
    let mut in_flight: InFlightEvents<()> = InFlightEvents::new(Window::new(5, 5));
    in_flight.open();
    assert!(in_flight.begin_sending());
    in_flight.abandon(2);
    assert!(!in_flight.is_open() && !in_flight.close());
    // The scheduler has not noticed this yet, and replies to its events may come.
    assert_eq!(
        in_flight.handle_returned(0..2, Instant::now(), |_, (), _| ()),
        0
    );
    assert!(!in_flight.end_sending());
    assert!(in_flight.close());
    assert_eq!((in_flight.next(), in_flight.load()), (2, Load::default()));
    in_flight.open();
    assert!(in_flight.begin_sending());
    in_flight.abandon(1);
    in_flight.give_back(&mut vec![event(OperationMode::Normal).into()]);
    assert!(in_flight.take_returned().is_empty());
}

#[test]
fn a_scheduler_that_panics_loses_only_what_it_took() {
    let mut in_flight: InFlightEvents<()> = InFlightEvents::new(Window::new(5, 5));
    let sent = std::iter::once(event(OperationMode::Normal).into());
    in_flight.note_sent(sent, std::iter::once(()), Instant::now());
    in_flight.open();
    assert!(in_flight.begin_sending());
    assert_eq!(in_flight.forget_taken(4), 3);
    assert_eq!(in_flight.forget_taken(1), 0);
    assert_eq!(in_flight.next(), 4);
    assert_eq!(
        in_flight.handle_returned(0..4, Instant::now(), |_, _, _| ()),
        1
    );
}
