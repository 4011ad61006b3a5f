//! The availability of a subscriber: its failures decide if it gets events.

use std::time::{Duration, Instant};

use super::qos::{DeliveryMode, Qos, RetryCount};
use super::snapshot::SubscriptionState;

/// Decides if a subscriber gets events.
///
/// ```text
///           failure, tolerated            first event after the interval
/// Online ---------------------> Offline -------------------------------> Online
///   | failure, hard or not tolerated          any: remove, or a full queue that is to end it
///   +---------------> Failed ----next event----> Gone
/// ```
///
/// Source: Ice manual, "IceStorm Subscriber Error Handling"; observed: IceStorm 3.7.8.
#[derive(Debug)]
pub(super) struct Availability {
    state: SubscriptionState,
    /// When an offline subscriber is tried again; `None` if that is beyond the range of the clock.
    offline_until: Option<Instant>,
    retry_count: RetryCount,
    /// How long a subscriber stays offline after a failure that is tolerated.
    pub(super) discard_interval: Duration,
    failure_reset: FailureReset,
    failure_count: u32,
    /// True if its connection broke and no event has been delivered since. An interval offline resets this, because
    /// another connection follows.
    has_broken: bool,
}

/// How a delivery failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryFailure {
    /// It will fail again later: the object does not exist.
    Hard,
    /// It may succeed later.
    Soft,
    /// The connection broke while oneway events were written. As in IceStorm, the next events take another connection.
    /// This counts as a failure only if that connection breaks too.
    Broken,
    /// The failure is not the subscriber's fault: the hub is shutting down, or has too few file descriptors.
    Ours,
}

/// When the failures so far are forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureReset {
    /// When a reply proves that the subscriber is alive. For oneway events, when the transport has taken them: a connection
    /// could be made. Otherwise a subscription of many months would end with the failures of all these months.
    Delivered,
    /// When an event is added to a batch. So the count never exceeds 1, and a batch subscriber whose `retryCount` is at
    /// least 1 is tried again after any number of failures.
    Collected,
}

impl FailureReset {
    fn of(delivery: DeliveryMode) -> Self {
        match delivery {
            DeliveryMode::Twoway { .. }
            | DeliveryMode::Oneway
            | DeliveryMode::Link
            | DeliveryMode::Pull { .. } => Self::Delivered,
            DeliveryMode::Batch => Self::Collected,
        }
    }
}

impl Availability {
    pub(super) fn new(qos: &Qos, discard_interval: Duration) -> Self {
        Self {
            state: SubscriptionState::Online,
            offline_until: None,
            retry_count: qos.retry_count,
            discard_interval,
            failure_reset: FailureReset::of(qos.delivery),
            failure_count: 0,
            has_broken: false,
        }
    }

    pub(super) fn state(&self) -> SubscriptionState {
        self.state
    }

    /// The subscription has ended.
    pub(super) fn end(&mut self) {
        self.state = SubscriptionState::Gone;
    }

    /// An event has come: an offline subscriber is tried again if its interval is over.
    pub(super) fn handle_time(&mut self, now: Instant) {
        if self.state == SubscriptionState::Offline
            && self.offline_until.is_some_and(|until| now >= until)
        {
            self.state = SubscriptionState::Online;
        }
    }

    /// Events reached the subscriber.
    pub(super) fn handle_delivered(&mut self) {
        self.has_broken = false;
        if self.failure_reset == FailureReset::Delivered {
            self.failure_count = 0;
        }
    }

    /// A delivery failed. Returns true if the subscriber gets no events from now on.
    pub(super) fn handle_failure(&mut self, failure: DeliveryFailure, now: Instant) -> bool {
        if self.state != SubscriptionState::Online || failure == DeliveryFailure::Ours {
            return false;
        }
        if failure == DeliveryFailure::Broken && !std::mem::replace(&mut self.has_broken, true) {
            return false;
        }
        if failure != DeliveryFailure::Hard && self.retry_count.tolerates(self.failure_count) {
            if self.failure_reset != FailureReset::Collected {
                self.failure_count += 1;
            }
            self.state = SubscriptionState::Offline;
            self.has_broken = false;
            self.offline_until = now.checked_add(self.discard_interval);
        } else {
            self.state = SubscriptionState::Failed;
        }
        true
    }
}
