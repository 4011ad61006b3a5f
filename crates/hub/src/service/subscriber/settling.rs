//! Counts and logs what happened to the events that a delivery took.
//!
//! `delivery/fast_path.rs` counts the twoway events that were answered without a failure.

use std::fmt::Arguments;
use std::time::{Duration, Instant};

use floe::InvokeError;
use tokio::runtime::Handle;

use super::Subscriber;
use crate::core::{DeliveryFailure, SubscriptionState};
use crate::service::failure::{failure, is_for_want_of_descriptors};
use crate::service::one_line::OneLine;

impl Subscriber {
    /// Settles events that the delivery took.
    pub(crate) fn settle<T>(&self, count: usize, result: Result<T, InvokeError>) {
        match result {
            Ok(_) => self.settle_delivered(count),
            Err(error) => self.settle_failed(count, error),
        }
    }

    /// Settles events that reached the subscriber.
    pub(crate) fn settle_delivered(&self, count: usize) {
        self.lock().subscription.handle_delivered(count as u64);
    }

    fn settle_failed(&self, count: usize, error: InvokeError) {
        let failure = failure(&error, self.proxy.reference().mode);
        let (before, after, is_leaving) = self.change(|subscription| {
            let before = subscription.state();
            subscription.handle_failed(count as u64, failure, Instant::now());
            (before, subscription.state(), subscription.is_leaving())
        });
        let is_for_want = is_for_want_of_descriptors(&error);
        let (name, error) = (self.log_name(), OneLine(error));
        match after {
            _ if is_for_want => tracing::warn!(
                "lost {count} events for {name}, which stays subscribed: {error}: raise the limit of open files of the \
                 hub (`ulimit -n`)"
            ),
            _ if is_leaving => {
                tracing::warn!("lost the last events for {name}, which was unsubscribed: {error}");
            }
            SubscriptionState::Offline if before != after => {
                let until = match self.lock().subscription.discard_interval() {
                    Duration::MAX => "ever".to_owned(),
                    interval => format!("{interval:?}, then it is tried again"),
                };
                tracing::warn!("no events for {name} for {until}: {error}");
            }
            SubscriptionState::Failed if before != after => {
                tracing::warn!("the next event ends the subscription of {name}: {error}");
            }
            SubscriptionState::Online if failure == DeliveryFailure::Broken => {
                tracing::warn!("lost {count} events for {name}, whose connection broke: {error}");
            }
            _ => tracing::debug!("could not deliver to {name}: {error}"),
        }
    }

    /// Settles a panic of the delivery task. The events in flight count as lost, because their fate is unknown. The
    /// subscriber stays subscribed, since the panic is not its fault. Queued events wait for the next delivery task.
    pub(crate) fn settle_panicked(&self) {
        let mut shared = self.lock();
        let count = shared.subscription.snapshot().outstanding;
        let in_flight = shared.in_flight.as_mut();
        let abandoned = in_flight.map(|in_flight| in_flight.abandon(count));
        shared
            .subscription
            .handle_failed(count, DeliveryFailure::Ours, Instant::now());
        drop(shared);
        // Dropped after the lock is released, because that takes the lock of the connection.
        drop(abandoned);
        report(format_args!(
            "lost {count} events for {}, whose delivery panicked: the delivery starts again with the queued events",
            self.log_name()
        ));
    }

    /// Settles a panic of the scheduler while it served this subscriber. Events that the scheduler took, and that it
    /// neither sent nor gave back, are lost. The subscriber stays subscribed, since the panic is not its fault.
    pub(crate) fn settle_taken(&self) {
        let mut shared = self.lock();
        let outstanding = shared.subscription.snapshot().outstanding;
        let count = shared.in_flight().forget_taken(outstanding);
        if count == 0 {
            return;
        }
        shared
            .subscription
            .handle_failed(count, DeliveryFailure::Ours, Instant::now());
        drop(shared);
        report(format_args!(
            "lost {count} events for {}, because the delivery scheduler panicked: it starts again",
            self.log_name()
        ));
    }
}

/// Logs a panic, in a task of its own: if the log itself panics, the caller goes on, and the process does not end.
fn report(what: Arguments<'_>) {
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    let what = what.to_string();
    runtime.spawn(async move {
        tracing::error!(
            "{what}; this is a fault of the hub: please report the panic message on standard error"
        );
    });
}
