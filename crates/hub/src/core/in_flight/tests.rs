//! Random replies to a window: every event ends once, and the order stays.

use std::collections::BTreeSet;

use floe::forwarding::EventsBuilder;
use floe::{LocalError, OperationMode};

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

/// A window, and the expected state of every event that was sent.
struct Model {
    in_flight: InFlightEvents<u64>,
    random: Random,
    now: Instant,
    open: BTreeSet<u64>,
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
            open: BTreeSet::new(),
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
        let count = 1 + self.random.below(room.events as u64);
        let mut events: Vec<_> = (0..count).map(|_| event(OperationMode::Normal)).collect();
        assert!(!self.in_flight.close(), "the scheduler is sending");
        if self.random.below(8) == 0 {
            self.in_flight.give_back(&mut events);
            assert!(self.in_flight.poll_sender_awaited() && self.in_flight.close());
            assert_eq!(self.in_flight.take_returned().len() as u64, count);
            return;
        }
        let early = self.random.below(count + 1);
        let delivered =
            self.in_flight
                .handle_returned(first..first + early, self.now, |_, _, _| ());
        assert_eq!(delivered, 0);
        assert!(self.in_flight.end_sending());
        self.open.extend(first..first + count);
        let handles = first..first + count;
        self.in_flight
            .note_sent(events.drain(..), handles, self.now);
        for (number, answer) in self.in_flight.take_early() {
            self.answer(number, answer);
        }
        assert!(self.in_flight.load().count <= Self::WINDOW);
    }

    fn answer(&mut self, number: u64, answer: Result<(), InvokeError>) {
        let is_known = self.open.remove(&number);
        let has_failed = answer.is_err();
        let check = |_: &Event, handle: u64| assert_eq!(handle, number);
        let delivered = self
            .in_flight
            .handle_answer(number, answer, self.now, check);
        assert_eq!(delivered, u64::from(is_known && !has_failed));
        self.delivered += delivered;
    }

    /// The number of an event that may be in flight.
    fn some_number(&mut self) -> u64 {
        let at = self.random.below(Self::WINDOW as u64 + 1) as usize;
        let known = self.open.iter().nth(at).copied();
        known.unwrap_or(self.in_flight.next().saturating_sub(1))
    }

    fn step(&mut self) {
        match self.random.below(8) {
            0..=2 => self.send(),
            3 | 4 => {
                let number = self.some_number();
                self.answer(number, Ok(()));
            }
            5 => {
                let number = self.some_number();
                self.answer(number, Err(lost()));
            }
            6 => {
                assert!(self.in_flight.close());
                let failed = self.in_flight.take_failed();
                self.failed
                    .extend(failed.into_iter().map(|(number, ..)| number));
            }
            _ => {
                self.now += Duration::from_secs(1);
                let late = self.in_flight.take_late(Duration::from_secs(3), self.now);
                for number in &late {
                    assert!(self.open.remove(number));
                }
                self.late += late.len() as u64;
            }
        }
        let load = self.in_flight.load();
        let failed = self.in_flight.failed_count();
        assert_eq!(load.count, self.open.len() + failed);
        assert_eq!(
            load.bytes,
            self.open.len() * event(OperationMode::Normal).len()
        );
        assert_eq!(
            self.in_flight.oldest().copied(),
            self.open.iter().next().copied()
        );
    }
}

#[test]
fn every_event_is_delivered_failed_or_late_once() {
    for seed in 1..200 {
        let mut model = Model::new(seed * 0x9E37_79B9);
        (0..500).for_each(|_| model.step());
        model.in_flight.close();
        let failed = model.in_flight.take_failed();
        model
            .failed
            .extend(failed.into_iter().map(|(number, ..)| number));
        let failed: BTreeSet<_> = model.failed.iter().collect();
        assert_eq!(failed.len(), model.failed.len(), "seed {seed}: once each");
        let ended = model.delivered + model.failed.len() as u64 + model.late;
        let sent = model.in_flight.next();
        assert_eq!(
            ended + model.open.len() as u64,
            sent,
            "seed {seed}: all of them"
        );
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
        let events = (0..count).map(|_| event(OperationMode::Normal));
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
        assert!(in_flight.take_late(LIMIT, now).is_empty());
        assert_eq!(
            in_flight.handle_returned(number..number + 1, now, |_, _, _| ()),
            1
        );
    }
    assert!(in_flight.window_size() < 1024, "it has shrunk");
    // It stops: the first five are late, as if there were no others.
    let sent = send(&mut in_flight, now);
    let late = in_flight.take_late(LIMIT, now + LIMIT);
    assert!(late.into_iter().eq(sent.take(5)));
    assert_eq!(in_flight.window_size(), 5);
}

#[test]
fn a_window_abandoned_during_a_send_does_not_note_the_events() {
    let mut in_flight = InFlightEvents::new(Window::new(5, 5));
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
    in_flight.give_back(&mut vec![event(OperationMode::Normal)]);
    assert!(in_flight.take_returned().is_empty());
}

#[test]
fn a_scheduler_that_panics_loses_only_what_it_took() {
    let mut in_flight = InFlightEvents::new(Window::new(5, 5));
    let sent = std::iter::once(event(OperationMode::Normal));
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
