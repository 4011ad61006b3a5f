//! The wait of a publisher before it gets its reply.

use std::future::poll_fn;
use std::task::Poll;

use floe::{Current, SystemException};

use super::HeldBack;
use crate::service::durable::Storing;

/// All that a publisher waits for; by default, nothing.
#[derive(Default)]
pub(crate) struct Published {
    /// The publications that subscribers hold back.
    pub(super) held: Vec<HeldBack>,
    /// Futures that end when the events are as safe as the publisher or the topic wants. Only a topic with a log has any.
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

    /// Returns true if the publisher can have its reply immediately.
    pub(crate) fn is_done(&self) -> bool {
        self.held.is_empty() && self.stored.is_empty()
    }

    /// Notes the publisher that is held back.
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
        let all_stored = async {
            let mut stored = Ok(());
            for storing in self.stored {
                stored = stored.and(storing.await);
            }
            stored
        };
        // The patience with subscribers ends in time however slow the disk is.
        let released = all(self.held.into_iter().map(HeldBack::released));
        tokio::join!(all_stored, released).0
    }
}

/// Waits for all of these at the same time, because the patience of a subscriber ends only while one of its held
/// publications is polled.
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
