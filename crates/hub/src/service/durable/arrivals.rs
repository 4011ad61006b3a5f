//! Recognizes events that a publisher sends again.

use std::collections::HashMap;
use std::sync::Arc;

use floe::forwarding::Events;
use tokio::sync::oneshot;

use crate::core::durable::{Deduplication, Novelty, PublisherNames};
use crate::core::log::{Append, EventTime, Level, Origin};
use crate::lock::Mutex;
use crate::log::{Acknowledged, AppendError, EventLog};

/// The numbered events that have come, and those that are on their way into the log.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Held while events are appended, so that an event that comes twice at a time is appended once.
    known: Mutex<Deduplication>,
    under_way: Arc<Mutex<UnderWay>>,
}

/// Events that are on their way into the log. The lock is held for a few moves only, because the log calls back.
#[derive(Debug, Default)]
struct UnderWay {
    /// By event, the publishers that have sent the event again meanwhile.
    waiting: HashMap<Origin, Vec<oneshot::Sender<Appended>>>,
    /// Events that did not get into the log. They are forgotten before the next ones are judged.
    failed: HashMap<Origin, AppendError>,
}

type Appended = Result<(), AppendError>;

/// The fate of numbered events.
pub(super) enum Arrival {
    /// They are on their way into the log, or were when they came before.
    UnderWay(oneshot::Receiver<Appended>),
    /// They came before, and are written.
    Duplicate,
    /// They came before, and were not written.
    Failed(AppendError),
    /// They are so old that the log remembers nothing of them.
    TooOld,
    /// Their numbers are absurd.
    TooFar,
}

impl Arrivals {
    /// Creates arrivals that remember at most this many publishers, of those that all topics may remember together.
    pub(super) fn new(publishers_max: usize, all: Arc<PublisherNames>) -> Self {
        Self {
            known: Mutex::new(Deduplication::new(publishers_max, all)),
            under_way: Arc::default(),
        }
    }

    /// Notes an event that is in the log already.
    pub(super) fn note(&self, origin: &Origin) {
        self.known.lock().note(&origin.publisher, origin.sequence);
    }

    /// Appends those of these events that have not come before. `origin` is that of the first; the others follow it.
    /// Returns the fate of each part, with the events of a part that was appended.
    pub(super) fn append(
        &self,
        log: &dyn EventLog,
        events: Events,
        origin: &Origin,
        level: Level,
        time: EventTime,
        is_forwarded: bool,
    ) -> Vec<(Option<Events>, Arrival)> {
        // An event that is only accepted could be lost, and its publisher would be told that it came before.
        let level = level.max(Level::Written);
        let mut known = self.known.lock();
        for (failed, _) in self.under_way.lock().failed.drain() {
            known.forget(&failed.publisher, failed.sequence);
        }
        let mut arrivals = Vec::new();
        let (mut rest, mut first) = (Some(events), origin.clone());
        while let Some(mut events) = rest.take() {
            let judge = |at: usize| {
                let number = first.sequence.wrapping_add(at as u64);
                known.judge(&first.publisher, number)
            };
            let novelty = judge(0);
            let alike = |at: &usize| novelty == Novelty::New && judge(*at) == Novelty::New;
            let count = 1 + (1..events.len()).take_while(alike).count();
            if count < events.len() {
                let front = events.split_to(count);
                rest = Some(std::mem::replace(&mut events, front));
            }
            arrivals.push(match novelty {
                Novelty::New => {
                    let numbers: Vec<_> = (0..count as u64).map(|at| nth(&first, at)).collect();
                    for number in &numbers {
                        known.note(&number.publisher, number.sequence);
                    }
                    let append = Append {
                        is_forwarded,
                        events,
                        time,
                        origin: Some(first.clone()),
                    };
                    let fresh = append.events.clone();
                    let done = self.append_new(log, append, level, numbers);
                    (Some(fresh), Arrival::UnderWay(done))
                }
                Novelty::Duplicate => (None, self.duplicate(&first)),
                Novelty::TooOld => (None, Arrival::TooOld),
                Novelty::TooFar => (None, Arrival::TooFar),
            });
            first = nth(&first, count as u64);
        }
        arrivals
    }

    fn append_new(
        &self,
        log: &dyn EventLog,
        append: Append,
        level: Level,
        numbers: Vec<Origin>,
    ) -> oneshot::Receiver<Appended> {
        let mut under_way = self.under_way.lock();
        let each = numbers.iter().map(|number| (number.clone(), Vec::new()));
        under_way.waiting.extend(each);
        drop(under_way);
        let (sender, receiver) = oneshot::channel();
        let under_way = self.under_way.clone();
        let done = move |result: Result<Acknowledged, AppendError>| {
            let result = result.map(drop);
            settle(&under_way, numbers, &result);
            // If no caller waits any more, the result is of no use.
            let _ = sender.send(result);
        };
        log.append(append, level, Box::new(done));
        receiver
    }

    /// The answer to the publisher of an event that has come before.
    fn duplicate(&self, origin: &Origin) -> Arrival {
        let mut under_way = self.under_way.lock();
        if let Some(waiting) = under_way.waiting.get_mut(origin) {
            let (sender, receiver) = oneshot::channel();
            waiting.push(sender);
            return Arrival::UnderWay(receiver);
        }
        match under_way.failed.get(origin) {
            Some(error) => Arrival::Failed(error.clone()),
            None => Arrival::Duplicate,
        }
    }
}

/// Settles events whose append has succeeded or failed.
fn settle(under_way: &Mutex<UnderWay>, numbers: Vec<Origin>, result: &Appended) {
    let mut under_way = under_way.lock();
    let mut waiting = Vec::new();
    for number in numbers {
        waiting.extend(under_way.waiting.remove(&number).unwrap_or_default());
        if let Err(error) = result {
            under_way.failed.insert(number, error.clone());
        }
    }
    drop(under_way);
    for sender in waiting {
        let _ = sender.send(result.clone());
    }
}

/// The origin of the event at this offset behind `first`.
fn nth(first: &Origin, at: u64) -> Origin {
    Origin {
        publisher: first.publisher.clone(),
        sequence: first.sequence.wrapping_add(at),
    }
}
