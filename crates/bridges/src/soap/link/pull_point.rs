//! Events that a program takes when it wants to.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::stream::Watch;
use super::topic::Topic;
use crate::hub::{Deliveries, Delivery};

/// A pull point: the queues of its subscriptions. They are the hub's, which gives the next events only when those before
/// have been taken.
#[derive(Debug)]
pub(super) struct PullPoint {
    /// Held while a request takes or waits: one at a time. May be cancelled: what has come stays in it.
    sources: tokio::sync::Mutex<Vec<Source>>,
    /// Changes that the holder of `sources` makes.
    changes: Mutex<Vec<Change>>,
    changed: Notify,
    used: Mutex<Instant>,
}

/// A subscription of a pull point.
#[derive(Debug)]
struct Source {
    id: String,
    topic: Arc<Topic>,
    deliveries: Deliveries,
    /// Events that have come, and were not taken.
    ready: VecDeque<Delivery>,
}

#[derive(Debug)]
enum Change {
    Add(Source),
    Remove(String),
}

impl PullPoint {
    pub(super) fn new() -> Self {
        Self {
            sources: tokio::sync::Mutex::new(Vec::new()),
            changes: Mutex::default(),
            changed: Notify::new(),
            used: Mutex::new(Instant::now()),
        }
    }

    /// How long no request has used it.
    pub(super) fn idle(&self) -> Duration {
        self.used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }

    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Adds a subscription.
    pub(super) fn add(&self, id: &str, topic: Arc<Topic>, deliveries: Deliveries) {
        self.change(Change::Add(Source {
            id: id.to_owned(),
            topic,
            deliveries,
            ready: VecDeque::new(),
        }));
    }

    /// Ends a subscription. Events of it that were not taken are not acknowledged to the hub.
    pub(super) fn remove(&self, id: &str) {
        self.change(Change::Remove(id.to_owned()));
    }

    fn change(&self, change: Change) {
        self.pending().push(change);
        if let Ok(mut sources) = self.sources.try_lock() {
            self.apply(&mut sources);
        }
        self.changed.notify_one();
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Vec<Change>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, sources: &mut Vec<Source>) {
        for change in std::mem::take(&mut *self.pending()) {
            match change {
                Change::Add(source) => sources.push(source),
                Change::Remove(id) => sources.retain(|it| it.id != id),
            }
        }
    }

    /// Gives events to `take` as long as it answers that it wants more; waits for the first of them, but not for a program that
    /// is gone. Returns how many it gave.
    pub(super) async fn pull(
        &self,
        patience: Duration,
        watch: &Watch,
        mut take: impl FnMut(&Topic, &Delivery) -> bool,
    ) -> usize {
        self.touch();
        let deadline = Instant::now() + patience;
        let mut gone = pin!(watch.gone());
        let mut sources = tokio::select! {
            biased;
            sources = self.sources.lock() => sources,
            () = gone.as_mut() => return 0,
            () = sleep_until(deadline) => return 0,
        };
        loop {
            self.apply(&mut sources);
            // It may have gone at the moment when an event came.
            if watch.is_gone() {
                return 0;
            }
            let given = give(&mut sources, &mut take);
            if given > 0 {
                self.touch();
                return given;
            }
            tokio::select! {
                () = fill(&mut sources) => {}
                () = self.changed.notified() => {}
                () = gone.as_mut() => return 0,
                () = sleep_until(deadline) => {
                    self.touch();
                    return 0;
                }
            }
        }
    }
}

/// Gives what is ready, one event of each subscription in turn.
fn give(sources: &mut [Source], take: &mut impl FnMut(&Topic, &Delivery) -> bool) -> usize {
    let mut given = 0;
    loop {
        let before = given;
        for source in &mut *sources {
            if let Some(delivery) = source.ready.pop_front() {
                given += 1;
                if !take(&source.topic, &delivery) {
                    return given;
                }
            }
        }
        if given == before {
            return given;
        }
    }
}

/// Waits for the next events of any subscription; there are none ready. Those before are acknowledged to the hub by it.
async fn fill(sources: &mut Vec<Source>) {
    let ended = {
        let mut waiting: Vec<_> = sources
            .iter_mut()
            .map(
                |Source {
                     deliveries, ready, ..
                 }| {
                    let next: Pin<Box<dyn Future<Output = bool> + Send + '_>> =
                        Box::pin(async move {
                            let batch = deliveries.next_batch().await;
                            ready.extend(batch.iter().flatten().cloned());
                            batch.is_some()
                        });
                    next
                },
            )
            .collect();
        poll_fn(|context| {
            for (index, next) in waiting.iter_mut().enumerate() {
                if let Poll::Ready(is_open) = next.as_mut().poll(context) {
                    return Poll::Ready((!is_open).then_some(index));
                }
            }
            Poll::Pending
        })
        .await
    };
    if let Some(index) = ended {
        sources.remove(index);
    }
}
