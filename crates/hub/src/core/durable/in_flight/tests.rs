//! Random answers to a durable window: every event ends once, and none is forgotten.

use std::collections::BTreeSet;

use super::*;
use crate::random::Random;

const WINDOW_MAX: usize = 12;
const BYTES_MAX: usize = 8 * 1024 * 1024;

fn refusal() -> InvokeError {
    InvokeError::System(SystemException::UnknownException(String::new()))
}

fn absence() -> InvokeError {
    InvokeError::NotDispatched(LocalError::Shutdown)
}

/// A window, and where each event of the log should be. The handle of an event is its number.
struct Model {
    in_flight: DurableInFlight<u64>,
    random: Random,
    now: Instant,
    /// The numbers of the events in flight, with their sequences.
    open: Vec<(u64, u64)>,
    /// Sequences that can be delivered.
    undelivered: BTreeSet<u64>,
    /// Sequences that were refused, and that the delivery task has not settled.
    refused: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
    is_absence_reported: bool,
}

impl Model {
    const EVENTS: u64 = 200;

    fn new(seed: u64) -> Self {
        Self {
            in_flight: DurableInFlight::new(Window::new(3, WINDOW_MAX)),
            random: Random::new(seed),
            now: Instant::now(),
            open: Vec::new(),
            undelivered: (0..Self::EVENTS).collect(),
            refused: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            is_absence_reported: true,
        }
    }

    /// Sends as many events as there is room for. Some answers come before the events are noted.
    fn send(&mut self) {
        let room = self.in_flight.room();
        let first = self.in_flight.next();
        let batch = self.undelivered.iter().take(room).copied();
        let batch: Vec<_> = batch.collect();
        for sequence in &batch {
            self.undelivered.remove(sequence);
        }
        let numbers = first..first + batch.len() as u64;
        self.open.extend(numbers.clone().zip(batch.iter().copied()));
        let early = self.random.below(batch.len() as u64 + 1);
        let nothing = self
            .in_flight
            .handle_returned(first..first + early, self.now, |_| {
                panic!("it is not noted yet")
            });
        assert_eq!(nothing, Ended::default());
        let events = batch.iter().map(|sequence| LogEvent {
            sequence: *sequence,
            len: 10,
        });
        let ended = self
            .in_flight
            .note_sent(events, numbers, self.now, |number| {
                assert!(number < first + early);
            });
        assert_eq!(ended.acknowledged.len() as u64, early);
        self.follow(ended);
    }

    fn answer(&mut self, answer: Result<Option<Outcome>, InvokeError>) {
        if self.open.is_empty() {
            return;
        }
        let at = self.random.below(self.open.len() as u64) as usize;
        let (number, _) = self.open[at];
        let answers = [(number, answer)];
        let ended = self
            .in_flight
            .handle_answers(answers, self.now, |handle| assert_eq!(handle, number));
        self.follow(ended);
    }

    /// The connection breaks: all events fail.
    fn break_connection(&mut self) {
        let failures = self
            .open
            .iter()
            .map(|(number, _)| (*number, Err(absence())));
        let failures: Vec<_> = failures.collect();
        let ended = self.in_flight.handle_answers(failures, self.now, |_| ());
        assert_eq!(ended.undelivered.len(), self.open.len());
        self.follow(ended);
        assert!(self.in_flight.is_empty());
    }

    /// Does what the shell does with the position.
    fn follow(&mut self, ended: Ended) {
        self.is_absence_reported &= ended.undelivered.is_empty();
        let known = |open: &mut Vec<(u64, u64)>, sequence: u64| {
            let at = open.iter().position(|(_, it)| *it == sequence);
            open.remove(at.expect("it was in flight"));
        };
        for sequence in ended.acknowledged {
            known(&mut self.open, sequence);
            assert!(self.acknowledged.insert(sequence), "once each");
        }
        for sequence in ended.undelivered {
            known(&mut self.open, sequence);
            assert!(self.undelivered.insert(sequence));
        }
        if ended.has_refused {
            // An answer refuses one event, which the window does not have any more.
            let has = |sequence: u64| {
                let mut in_flight = self.in_flight.events.in_send_order();
                in_flight.any(|event| event.sequence == sequence)
            };
            let at = self.open.iter().position(|(_, it)| !has(*it));
            let (_, sequence) = self.open.remove(at.expect("one was refused"));
            self.refused.insert(sequence);
        }
    }

    /// The delivery task settles what ended, and refused events are delivered again.
    fn settle(&mut self) {
        for (sequence, attempt) in self.in_flight.take_attempts() {
            match attempt {
                Ok(()) => assert!(self.acknowledged.contains(&sequence)),
                Err(AttemptFailure::Absent(_)) => self.is_absence_reported = true,
                Err(AttemptFailure::Refused(_) | AttemptFailure::Broken { .. }) => {
                    assert!(self.refused.remove(&sequence), "once each");
                    self.undelivered.insert(sequence);
                }
            }
        }
        assert!(self.refused.is_empty() && self.is_absence_reported);
    }

    fn give_up(&mut self) {
        let late: Vec<_> = self.open.iter().take(2).copied().collect();
        let sequences: Vec<_> = late.iter().map(|(_, sequence)| *sequence).collect();
        let other = Self::EVENTS + 1;
        let sequences = [&sequences[..], &[other]].concat();
        let handles = self.in_flight.give_up(&sequences, self.now);
        assert!(handles.iter().eq(late.iter().map(|(number, _)| number)));
        for (_, sequence) in self.open.drain(..late.len()) {
            self.refused.insert(sequence);
        }
    }

    fn abandon(&mut self) {
        let (again, abandoned) = self.in_flight.abandon();
        assert_eq!(abandoned.load().count, self.open.len());
        let open = self.open.drain(..).map(|(_, sequence)| sequence);
        let expected: BTreeSet<_> = open.chain(std::mem::take(&mut self.refused)).collect();
        assert_eq!(again.len(), expected.len(), "once each");
        assert_eq!(again.into_iter().collect::<BTreeSet<_>>(), expected);
        self.undelivered.extend(expected);
        self.is_absence_reported = true;
        assert!(self.in_flight.is_empty() && self.in_flight.take_attempts().is_empty());
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..=5 => self.send(),
            6..=11 => self.answer(Ok(None)),
            12 => self.answer(Err(refusal())),
            13 => self.answer(Err(absence())),
            14 => self.break_connection(),
            15 => self.give_up(),
            16 => self.abandon(),
            17 | 18 => self.settle(),
            _ => {
                // An answer to an event that was given up, or answered before.
                let old = self.in_flight.next().saturating_sub(WINDOW_MAX as u64 * 2);
                if !self.open.iter().any(|(number, _)| *number == old) && old > 0 {
                    let ended = self
                        .in_flight
                        .handle_answers([(old, Ok(None))], self.now, |_| panic!("it has ended"));
                    assert_eq!(ended, Ended::default());
                }
            }
        }
        let in_flight = self.in_flight.events.in_send_order().map(|it| it.sequence);
        assert!(in_flight.eq(self.open.iter().map(|(_, sequence)| *sequence)));
        assert!(self.open.len() <= WINDOW_MAX);
        let places =
            self.open.len() + self.undelivered.len() + self.refused.len() + self.acknowledged.len();
        assert_eq!(places as u64, Self::EVENTS, "each event is in one place");
    }
}

#[test]
fn every_event_of_the_log_is_in_one_place_and_is_acknowledged_in_the_end() {
    for seed in 1..200 {
        let mut model = Model::new(seed * 0x9E37_79B9);
        (0..300).for_each(|_| model.step());
        while (model.acknowledged.len() as u64) < Model::EVENTS {
            model.settle();
            model.send();
            model.answer(Ok(None));
        }
        model.settle();
        assert!(model.in_flight.is_empty(), "seed {seed}");
    }
}

fn events(count: u64, len: usize) -> impl Iterator<Item = LogEvent> {
    (0..count).map(move |sequence| LogEvent { sequence, len })
}

#[test]
fn the_window_grows_to_what_the_subscriber_allows_and_no_further() {
    let now = Instant::now();
    for (first, max) in [(5, 1024), (5, 40), (7, 7), (1, 1)] {
        let mut in_flight = DurableInFlight::new(Window::new(first, max));
        assert_eq!(in_flight.room(), first);
        let mut largest = 0;
        for _ in 0..20 {
            let room = in_flight.room();
            largest = largest.max(room);
            let numbers = in_flight.next()..in_flight.next() + room as u64;
            in_flight.note_sent(events(room as u64, 1), numbers.clone(), now, |_| ());
            assert_eq!(in_flight.room(), 0);
            in_flight.handle_returned(numbers, now, |_| ());
        }
        assert_eq!(largest, max);
    }
}

#[test]
fn long_events_are_limited_by_their_bytes() {
    let now = Instant::now();
    let mut in_flight = DurableInFlight::new(Window::new(100, 100));
    in_flight.note_sent(events(3, BYTES_MAX / 4), 0..3, now, |_| ());
    assert_eq!(in_flight.room(), 97);
    in_flight.note_sent(events(1, BYTES_MAX / 4), 3..4, now, |_| ());
    assert_eq!(in_flight.room(), 0);
    in_flight.handle_returned(0..1, now, |_| ());
    assert_eq!(in_flight.room(), 97);
}

#[test]
fn an_exception_refuses_the_event_and_a_missing_object_does_not() {
    let mut in_flight = DurableInFlight::<()>::new(Window::new(5, 5));
    let gone = InvokeError::System(SystemException::ObjectNotExist(Default::default()));
    let timeout = InvokeError::PerhapsDispatched(LocalError::Timeout {
        operation: "op".to_owned(),
        after: std::time::Duration::from_secs(1),
    });
    let thrown = Outcome::UserException(Default::default());
    for (answer, is_refused) in [
        (Ok(Some(thrown)), true),
        (Err(refusal()), true),
        (Err(timeout), true),
        (Err(gone), false),
        (Err(absence()), false),
    ] {
        let shown = format!("{answer:?}");
        let ended = in_flight.note(7, answer);
        assert_eq!(ended.has_refused, is_refused, "{shown}");
        assert_eq!(ended.undelivered.is_empty(), is_refused, "{shown}");
    }
}

#[test]
fn replies_that_say_one_after_the_other_that_the_object_is_missing_are_one_attempt() {
    let now = Instant::now();
    let mut in_flight = DurableInFlight::<()>::new(Window::new(64, 64));
    let events = (0..64).map(|sequence| LogEvent { sequence, len: 1 });
    in_flight.note_sent(events, (0..64).map(|_| ()), now, drop);
    let mut undelivered = 0;
    for number in 0..64 {
        let gone = InvokeError::System(SystemException::ObjectNotExist(Default::default()));
        let ended = in_flight.handle_answers([(number, Err(gone))], now, drop);
        undelivered += ended.undelivered.len();
    }
    assert_eq!(undelivered, 64);
    let attempts = in_flight.take_attempts();
    assert!(
        matches!(&attempts[..], [(0, Err(AttemptFailure::Absent(_)))]),
        "{attempts:?}"
    );
}

/// The ends of deliveries, by sequence: whether an event was alone in flight when its connection ended.
fn broken(in_flight: &mut DurableInFlight<u64>) -> Vec<(u64, bool)> {
    let attempts = in_flight.take_attempts().into_iter();
    let broken = attempts.filter_map(|(sequence, attempt)| match attempt {
        Err(AttemptFailure::Broken { is_alone, .. }) => Some((sequence, is_alone)),
        _ => None,
    });
    broken.collect()
}

#[test]
fn a_connection_that_ends_before_an_answer_counts_against_the_only_event_that_was_in_flight() {
    let now = Instant::now();
    let lost = || {
        InvokeError::PerhapsDispatched(LocalError::ConnectionLost {
            peer: String::new(),
            reason: String::new(),
        })
    };
    let mut in_flight = DurableInFlight::new(Window::new(3, WINDOW_MAX));
    let send = |in_flight: &mut DurableInFlight<u64>, sequences: &[u64]| {
        let first = in_flight.next();
        let numbers = first..first + sequences.len() as u64;
        let events = sequences.iter().map(|sequence| LogEvent {
            sequence: *sequence,
            len: 10,
        });
        in_flight.note_sent(events, numbers.clone(), now, |_| ());
        numbers
    };
    let numbers = send(&mut in_flight, &[5, 6]);
    let ended = in_flight.handle_answers(numbers.map(|it| (it, Err(lost()))), now, |_| ());
    assert!(ended.has_refused && ended.undelivered.is_empty());
    assert_eq!(broken(&mut in_flight), [(5, false), (6, false)]);
    // One follows before the end of the other.
    let first = send(&mut in_flight, &[5]);
    let second = send(&mut in_flight, &[6]);
    let numbers = first.chain(second);
    in_flight.handle_answers(numbers.map(|it| (it, Err(lost()))), now, |_| ());
    assert_eq!(broken(&mut in_flight), [(5, false), (6, false)]);
    let numbers = send(&mut in_flight, &[5]);
    in_flight.handle_answers(numbers.map(|it| (it, Err(lost()))), now, |_| ());
    assert_eq!(broken(&mut in_flight), [(5, true)]);
    // What was surely not sent says nothing.
    let numbers = send(&mut in_flight, &[5]);
    let ended = in_flight.handle_answers(numbers.map(|it| (it, Err(absence()))), now, |_| ());
    assert_eq!((ended.undelivered, ended.has_refused), (vec![5], false));
    assert_eq!(broken(&mut in_flight), []);
}
