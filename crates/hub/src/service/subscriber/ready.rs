//! The ready queue: subscribers that have events for the delivery scheduler.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Waker};
use std::time::Duration;

use super::Subscriber;
use super::connect_permits::ConnectPermits;
use super::paced_wakes::PacedWakes;
use crate::lock::Mutex;
use crate::service::catch_up::CatchUp;
use crate::service::latency::Latencies;
use crate::settings::HubSettings;

/// The queue between publishers, which add subscribers, and the one scheduler, which serves them.
#[derive(Default)]
pub(crate) struct ReadyQueue {
    /// Guards the subscribers to be served. It is held for a moment. A thread may take it while it holds the lock of a
    /// subscriber, but not the other way round.
    ready: Mutex<Ready>,
    /// True if the scheduler rests. A subscriber with many events then wakes its delivery task.
    is_resting: AtomicBool,
    /// How long the events of all subscribers take.
    latencies: Latencies,
    /// The wakes of delivery tasks.
    wakes: PacedWakes,
    /// Which subscribers may connect.
    connect_permits: ConnectPermits,
    /// Learns of each round.
    catch_up: Arc<CatchUp>,
}

#[derive(Default)]
struct Ready {
    /// In the order in which they became ready. A subscriber is seldom in it twice, because it is added again only
    /// after it was served.
    subscribers: VecDeque<Arc<Subscriber>>,
    /// Wakes the scheduler, which waits.
    waker: Option<Waker>,
    is_served: bool,
    pace: SchedulerPace,
}

/// The pace of the scheduler while events keep coming.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SchedulerPace {
    /// The longest rest between two rounds.
    pub(crate) rest_max: Duration,
    /// How long the thread stays awake after a round.
    pub(crate) polling: Duration,
}

impl From<&HubSettings> for SchedulerPace {
    fn from(settings: &HubSettings) -> Self {
        Self {
            rest_max: settings.rest_max,
            polling: settings.polling,
        }
    }
}

impl ReadyQueue {
    /// Sets the pace.
    pub(crate) fn set_pace(&self, pace: SchedulerPace) {
        self.lock().pace = pace;
    }

    /// How long the events of all subscribers take.
    pub(crate) fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The wakes of delivery tasks.
    pub(crate) fn wakes(&self) -> &PacedWakes {
        &self.wakes
    }

    /// Which subscribers may connect.
    pub(crate) fn connect_permits(&self) -> &ConnectPermits {
        &self.connect_permits
    }

    /// The readers that are far behind.
    pub(crate) fn catch_up(&self) -> &Arc<CatchUp> {
        &self.catch_up
    }

    /// Returns true if the scheduler rests.
    pub(crate) fn is_resting(&self) -> bool {
        self.is_resting.load(Ordering::Relaxed)
    }

    pub(crate) fn set_resting(&self, is_resting: bool) {
        self.is_resting.store(is_resting, Ordering::Relaxed);
    }

    /// Adds a subscriber that has events. Returns false if no scheduler would serve it.
    pub(crate) fn push(&self, subscriber: &Arc<Subscriber>) -> bool {
        let mut ready = self.lock();
        if !ready.is_served {
            return false;
        }
        ready.subscribers.push_back(subscriber.clone());
        let waker = ready.waker.take();
        drop(ready);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// A scheduler begins to serve.
    pub(crate) fn begin(&self) {
        self.lock().is_served = true;
    }

    /// The scheduler has ended. Returns the subscribers that it has not served.
    pub(crate) fn end(&self) -> VecDeque<Arc<Subscriber>> {
        self.set_resting(false);
        let mut ready = self.lock();
        ready.is_served = false;
        ready.waker = None;
        std::mem::take(&mut ready.subscribers)
    }

    /// The number of ready subscribers, and the pace. If there is none, the next one wakes the scheduler.
    pub(crate) fn poll_len(&self, context: &mut Context<'_>) -> Option<(usize, SchedulerPace)> {
        let mut ready = self.lock();
        if ready.subscribers.is_empty() {
            ready.waker = Some(context.waker().clone());
            return None;
        }
        Some((ready.subscribers.len(), ready.pace))
    }

    /// Takes the first `count` subscribers. The scheduler is woken for the others: immediately if there are some, or
    /// when they come.
    pub(crate) fn take(
        &self,
        count: usize,
        taken: &mut VecDeque<Arc<Subscriber>>,
        context: &mut Context<'_>,
    ) {
        self.catch_up.note_live();
        let mut ready = self.lock();
        taken.extend(ready.subscribers.drain(..count));
        match ready.subscribers.is_empty() {
            true => ready.waker = Some(context.waker().clone()),
            false => context.waker().wake_by_ref(),
        }
    }

    /// All ready subscribers.
    pub(crate) fn all(&self) -> Vec<Arc<Subscriber>> {
        self.lock().subscribers.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock()
    }
}
