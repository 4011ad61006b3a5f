//! What a publisher waits for before it gets its reply.

use std::future::poll_fn;
use std::task::Poll;

use floe::{Current, SystemException};

use super::HeldBack;
use crate::service::durable::Storing;

/// What publications wait for. By default, for nothing.
#[derive(Default)]
pub(crate) struct Published {
    /// What subscribers hold back.
    pub(super) held: Vec<HeldBack>,
    /// End when the events are as safe as the publisher or the topic wants; only a topic with a log has any.
    pub(super) stored: Vec<Storing>,
}

impl Published {
    /// Adds what another publication waits for.
    pub(crate) fn add(&mut self, other: Self) {
        if self.is_done() {
            *self = other;
        } else {
            self.held.extend(other.held);
            self.stored.extend(other.stored);
        }
    }

    /// Whether the publisher can have its reply immediately.
    pub(crate) fn is_done(&self) -> bool {
        self.held.is_empty() && self.stored.is_empty()
    }

    /// Notes who is held back.
    pub(crate) fn set_publisher(&self, current: &Current) {
        if !self.held.is_empty() {
            let publisher = current.peer().into();
            self.held
                .iter()
                .for_each(|held| held.set_publisher(&publisher));
        }
    }

    /// Waits until the events are stored, and no subscriber holds the publisher back.
    ///
    /// # Errors
    /// Why the log does not have all of them.
    pub(crate) async fn done(self) -> Result<(), SystemException> {
        let mut stored = Ok(());
        for storing in self.stored {
            stored = stored.and(storing.await);
        }
        all(self.held.into_iter().map(HeldBack::released)).await;
        stored
    }
}

/// Waits for all of them at the same time: a subscriber's patience ends only while somebody waits for it.
pub(super) async fn all(waits: impl Iterator<Item: Future<Output = ()>>) {
    let mut waits: Vec<_> = waits.map(Box::pin).collect();
    poll_fn(|context| {
        waits.retain_mut(|wait| wait.as_mut().poll(context).is_pending());
        match waits.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

impl From<Vec<HeldBack>> for Published {
    fn from(held: Vec<HeldBack>) -> Self {
        Self {
            held,
            stored: Vec::new(),
        }
    }
}
