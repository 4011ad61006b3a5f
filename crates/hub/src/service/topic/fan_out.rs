//! Gives events to the subscribers of a topic in steps, if there are many subscribers.
//!
//! One event for tens of thousands of subscribers, or many events for some hundred that are too slow, would keep the
//! tasks of other clients waiting. Such a publication waits in a queue of its topic, and a task gives it to as many
//! subscribers at a time as take about a millisecond. Later events of the topic queue behind it, so that all subscribers
//! get them in the same order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};

use floe::forwarding::Events;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use super::Topic;
use super::published::all;
use crate::core::Timing;
use crate::lock::Mutex;
use crate::service::subscriber::{HeldPublication, Subscriber};

/// How much a publication may take without a wait: the sum over all subscribers of [`STEPS_EACH`] and the number of
/// events. A full queue looks at each event, which is the slowest case.
const STEPS_WITHOUT_WAIT: usize = if cfg!(test) { 100 } else { 64 * 1024 };
/// How much a longer publication takes before other tasks run.
const STEPS_PER_ROUND: usize = STEPS_WITHOUT_WAIT / 4;
/// The steps that a subscriber takes besides one for each event.
const STEPS_EACH: usize = 16;

/// The permits of publications, of all topics, that may take steps in one round of the runtime. Others wait.
static ROUND_PERMITS: Semaphore = Semaphore::const_new(2);

/// The subscribers of a topic that get a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// All that do not read the log of the topic.
    All,
    /// As [`Audience::All`] without links, because an event crosses one link only.
    Subscribers,
}

impl Audience {
    pub(crate) fn has(self, subscriber: &Subscriber) -> bool {
        let is_in = self == Self::All || subscriber.link().is_none();
        is_in && subscriber.reader().is_none()
    }
}

/// A publication.
pub(crate) struct Publication {
    pub(crate) events: Events,
    pub(crate) audience: Audience,
    /// True if the publisher asked to wait for room however long it takes.
    pub(crate) waits_for_room: bool,
    pub(crate) timing: Timing,
}

impl Publication {
    /// Returns true if this many subscribers get it in steps, some at a time.
    pub(crate) fn is_long(&self, subscriber_count: usize) -> bool {
        subscriber_count.saturating_mul(STEPS_EACH + self.events.len()) > STEPS_WITHOUT_WAIT
    }

    /// How many subscribers get it in one round.
    fn count_per_round(&self) -> usize {
        (STEPS_PER_ROUND / (STEPS_EACH + self.events.len())).max(1)
    }
}

/// A publication that one or more subscribers hold back.
pub(crate) enum HeldBack {
    /// It waits for room in the queue of a subscriber.
    Publication(HeldPublication),
    /// It waits until all subscribers have the events, and then for room in the queues of some.
    FanOut(PendingFanOut),
}

impl HeldBack {
    /// Notes who published it.
    pub(crate) fn set_publisher(&self, publisher: &Arc<str>) {
        match self {
            Self::Publication(held) => held.set_publisher(publisher),
            Self::FanOut(pending) => {
                let _ = pending.publisher.set(publisher.clone());
            }
        }
    }

    /// Waits until nothing holds the publisher back.
    pub(crate) async fn released(self) {
        match self {
            Self::Publication(held) => held.released().await,
            Self::FanOut(PendingFanOut { publisher, done }) => {
                // It fails only if the runtime is shutting down.
                let held = done.await.unwrap_or_default();
                if let Some(publisher) = publisher.get() {
                    held.iter().for_each(|held| held.set_publisher(publisher));
                }
                all(held.into_iter().map(HeldPublication::released)).await;
            }
        }
    }
}

/// A publication that waits, or is under way. Dropping this does not stop it.
pub(crate) struct PendingFanOut {
    publisher: Arc<OnceLock<Arc<str>>>,
    done: oneshot::Receiver<Vec<HeldPublication>>,
}

/// The publications of a topic that go to some subscribers at a time.
#[derive(Default)]
pub(crate) struct FanOuts {
    is_running: AtomicBool,
    /// `Some` while the task runs. Boxed, because most topics never need it.
    running: Mutex<Option<Box<Running>>>,
}

#[derive(Default)]
struct Running {
    /// The publications that wait.
    waiting: VecDeque<FanOut>,
    /// Dropped when the task ends.
    ended: Vec<oneshot::Sender<()>>,
}

/// A publication, and which subscribers have it.
struct FanOut {
    publication: Publication,
    /// The number of the next subscriber.
    next: u64,
    /// The number of the last subscriber of its time.
    last: u64,
    held: Vec<HeldPublication>,
    publisher: Arc<OnceLock<Arc<str>>>,
    done: oneshot::Sender<Vec<HeldPublication>>,
}

impl FanOuts {
    /// Returns true if there are any, so that further publications must wait for them.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// Begins a publication for the subscribers up to this number, or lets it wait for those before it.
    ///
    /// # Errors
    /// The publication, if this thread has no runtime and no task runs.
    pub(crate) fn begin(
        &self,
        topic: &Arc<Topic>,
        publication: Publication,
        last: u64,
    ) -> Result<PendingFanOut, Publication> {
        let mut running = self.lock();
        if running.is_none() {
            let Ok(runtime) = Handle::try_current() else {
                return Err(publication);
            };
            runtime.spawn(run(topic.clone()));
        }
        let (publisher, (sender, done)) = (Arc::default(), oneshot::channel());
        let running = running.get_or_insert_with(Box::default);
        running.waiting.push_back(FanOut {
            publication,
            next: 0,
            last,
            held: Vec::new(),
            publisher: Arc::clone(&publisher),
            done: sender,
        });
        self.is_running.store(true, Ordering::Release);
        Ok(PendingFanOut { publisher, done })
    }

    /// Waits until there are none.
    pub(crate) async fn ended(&self) {
        let ended = self.lock().as_mut().map(|running| {
            let (sender, ended) = oneshot::channel();
            running.ended.push(sender);
            ended
        });
        if let Some(ended) = ended {
            // Nothing is ever sent: the wait ends when the sender is dropped.
            let _ = ended.await;
        }
    }

    fn next(&self) -> Option<FanOut> {
        let mut running = self.lock();
        let waiting = running.as_mut().map(|running| &mut running.waiting);
        let next = waiting.and_then(VecDeque::pop_front);
        if next.is_none() {
            *running = None;
            self.is_running.store(false, Ordering::Release);
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<Running>>> {
        self.running.lock()
    }
}

/// Gives all waiting publications of a topic to its subscribers.
async fn run(topic: Arc<Topic>) {
    let restart = RestartFanOuts(topic);
    let topic = &restart.0;
    while let Some(mut fan_out) = topic.fan_outs().next() {
        loop {
            // The permit is kept until other tasks have run. The semaphore is never closed.
            let permit = ROUND_PERMITS.acquire().await;
            let has_more = fan_out.step(topic);
            tokio::task::yield_now().await;
            drop(permit);
            if !has_more {
                break;
            }
        }
        // The publisher may have gone.
        let _ = fan_out.done.send(fan_out.held);
    }
}

impl FanOut {
    /// Gives it to the next subscribers. Returns whether there are more.
    fn step(&mut self, topic: &Topic) -> bool {
        let publication = &self.publication;
        let count = publication.count_per_round();
        let known = self.held.len();
        let (held, last) = (&mut self.held, self.last);
        let next = topic.with_some(self.next, last, count, |subscribers| {
            let subscribers = subscribers.iter().filter(|it| publication.audience.has(it));
            for subscriber in subscribers {
                let (events, waits) = (publication.events.clone(), publication.waits_for_room);
                held.extend(subscriber.publish(events, waits, publication.timing));
            }
        });
        if let Some(publisher) = self.publisher.get() {
            let new = self.held[known..].iter();
            new.for_each(|held| held.set_publisher(publisher));
        }
        self.next = next.unwrap_or(0);
        next.is_some()
    }
}

/// If the task panics, starts another one, which continues with the publications that wait.
struct RestartFanOuts(Arc<Topic>);

impl Drop for RestartFanOuts {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(run(self.0.clone()));
        }
    }
}
