//! How events leave: a task for each subscriber, which takes what is queued and sends it.
//!
//! - `oneway.rs`: at once, all that is queued in one write
//! - `batch.rs`: collected for a while
//! - `twoway.rs`: a few at a time, each answered
//! - `in_flight.rs`: the answers that a task waits for

mod batch;
mod in_flight;
mod oneway;
mod twoway;

use super::subscriber::Subscriber;
use crate::core::Delivery;
use crate::settings::HubSettings;

/// Delivers until the subscription ends.
pub(super) async fn run(subscriber: &Subscriber, settings: &HubSettings) {
    match subscriber.qos().delivery {
        Delivery::Oneway => oneway::run(subscriber).await,
        Delivery::Batch => {
            batch::run(subscriber, settings.flush_interval, settings.flush_bytes).await;
        }
        Delivery::Twoway { outstanding_max } => twoway::run(subscriber, outstanding_max).await,
    }
}
