//! The programs that pull the events of a queue, and wait for them.

use std::time::{Duration, Instant};

use floe::forwarding::Events;
use tokio::sync::{mpsc, oneshot};

use crate::lock::Mutex;

/// Passes programs that pull to the delivery task of their subscription, which answers them in turn.
#[derive(Debug)]
pub(crate) struct Pulls {
    sender: mpsc::Sender<Pull>,
    /// Taken by the delivery task.
    receiver: Mutex<Option<mpsc::Receiver<Pull>>>,
    /// If no program pulls for this long, the subscription ends.
    idle_max: Duration,
}

/// A program that waits for events.
#[derive(Debug)]
pub(crate) struct Pull {
    /// The most events that it takes.
    pub(crate) count: usize,
    /// How long it waits.
    pub(crate) until: Instant,
    /// Receives the events; none if none came in time.
    pub(crate) taker: oneshot::Sender<Vec<Events>>,
}

/// How many programs may be on their way to the delivery task. Others wait until it has taken these.
const ARRIVING_MAX: usize = 16;

impl Pulls {
    pub(super) fn new(idle_max: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(ARRIVING_MAX);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
            idle_max,
        }
    }

    /// How long the subscription lasts if no program pulls.
    pub(crate) fn idle_max(&self) -> Duration {
        self.idle_max
    }

    /// Takes events, at least one if one comes within `wait`. If it is cancelled, events that were on their way to the
    /// program are lost.
    pub(crate) async fn pull(&self, count: usize, wait: Duration) -> Vec<Events> {
        let (taker, events) = oneshot::channel();
        let now = Instant::now();
        let until = now.checked_add(wait).unwrap_or(now);
        let pull = Pull {
            count,
            until,
            taker,
        };
        // If the subscription has ended, there are no more events.
        match self.sender.send(pull).await {
            Ok(()) => events.await.unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }

    /// The programs, for the delivery task; `None` if another one had them.
    pub(crate) fn receive(&self) -> Option<mpsc::Receiver<Pull>> {
        let mut receiver = self.receiver.lock();
        receiver.take()
    }
}
