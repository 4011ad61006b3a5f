//! Publications that a subscriber holds back because its queue is full, and the publishers that wait for them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::time::timeout_at;

use super::{GuardedState, Subscriber};
use crate::core::Ticket;

/// A publication whose events wait for room in the queue of one subscriber. They wait there even if this is dropped.
pub(crate) struct HeldPublication {
    subscriber: Arc<Subscriber>,
    ticket: Ticket,
}

impl HeldPublication {
    pub(super) fn new(subscriber: Arc<Subscriber>, ticket: Ticket) -> Self {
        Self { subscriber, ticket }
    }

    /// Notes who published it.
    pub(crate) fn set_publisher(&self, publisher: &Arc<str>) {
        self.subscriber.name_publisher(self.ticket, publisher);
    }

    /// Waits until it has room, or until the subscriber holds it back no longer.
    pub(crate) async fn released(self) {
        while let Some(until) = self.subscriber.held_until(self.ticket) {
            let changed = poll_fn(|context| {
                self.subscriber
                    .poll_held_beyond(self.ticket, until, context)
            });
            match until {
                None => changed.await,
                Some(until) => {
                    if timeout_at(until.into(), changed).await.is_err() {
                        self.subscriber.end_patience(Instant::now());
                    }
                }
            }
        }
    }
}

impl Drop for HeldPublication {
    fn drop(&mut self) {
        self.subscriber.forget_publisher(self.ticket);
    }
}

/// A publisher that waits until its publication has room.
pub(super) struct HeldPublisher {
    ticket: Ticket,
    /// Its address, as far as it is known.
    publisher: Option<Arc<str>>,
    since: Instant,
    waker: Option<Waker>,
}

impl HeldPublisher {
    pub(super) fn new(ticket: Ticket, since: Instant) -> Self {
        Self {
            ticket,
            publisher: None,
            since,
            waker: None,
        }
    }
}

impl GuardedState {
    /// Takes the wakers of the publishers whose publications were released, to wake them after the lock is released.
    #[inline]
    #[must_use = "they are to be woken"]
    pub(crate) fn take_released(&mut self) -> Option<Vec<Waker>> {
        let has_released = self.subscription.poll_released();
        has_released.then(|| self.take_wakers_of_released())
    }

    #[cold]
    fn take_wakers_of_released(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let subscription = &self.subscription;
        self.publishers.retain_mut(|held| {
            let is_held = subscription.held_until(held.ticket).is_some();
            if !is_held {
                wakers.extend(held.waker.take());
            }
            is_held
        });
        wakers
    }

    fn publisher(&mut self, ticket: Ticket) -> Option<&mut HeldPublisher> {
        self.publishers
            .iter_mut()
            .find(|held| held.ticket == ticket)
    }
}

impl Subscriber {
    /// Until when a publication is held. `None` if it is not held, and `Some(None)` if it is held without a limit.
    fn held_until(&self, ticket: Ticket) -> Option<Option<Instant>> {
        self.lock().subscription.held_until(ticket)
    }

    /// Waits until a publication is no longer held, or is held until another time.
    fn poll_held_beyond(
        &self,
        ticket: Ticket,
        until: Option<Instant>,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut shared = self.lock();
        if shared.subscription.held_until(ticket) != Some(until) {
            return Poll::Ready(());
        }
        if let Some(held) = shared.publisher(ticket) {
            held.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Notes the publisher of a held publication.
    fn name_publisher(&self, ticket: Ticket, publisher: &Arc<str>) {
        if let Some(held) = self.lock().publisher(ticket) {
            held.publisher = Some(publisher.clone());
        }
    }

    /// The publisher has stopped waiting for the release of this publication.
    fn forget_publisher(&self, ticket: Ticket) {
        let mut shared = self.lock();
        shared.publishers.retain(|held| held.ticket != ticket);
    }

    /// The publishers that are held back now, and since when. A publisher with several publications is named once.
    pub(crate) fn held_publishers(&self) -> Vec<(Option<Arc<str>>, Instant)> {
        let mut publishers: Vec<(Option<Arc<str>>, Instant)> = Vec::new();
        for held in &self.lock().publishers {
            if !publishers.iter().any(|(known, _)| *known == held.publisher) {
                publishers.push((held.publisher.clone(), held.since));
            }
        }
        publishers
    }

    /// Wakes all held publishers, because the time until which they are held may have changed.
    pub(super) fn wake_held_publishers(&self) {
        let mut shared = self.lock();
        let held = shared.publishers.iter_mut();
        let wakers: Vec<_> = held.filter_map(|held| held.waker.take()).collect();
        drop(shared);
        wakers.into_iter().for_each(Waker::wake);
    }
}
