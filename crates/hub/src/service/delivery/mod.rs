//! How events leave: a task for each subscriber, which takes what is queued and sends it; where that needs no thought,
//! one task for all.
//!
//! - `oneway.rs`: at once, all that is queued in one write
//! - `batch.rs`: collected for a while
//! - `twoway.rs`: a few at a time, each answered
//! - `link.rs`: to another topic, all that is queued in one call
//! - `unanswered.rs`: what is not answered yet
//! - `answers.rs`: the answers to it, settled where they are read
//! - `courier.rs`: the same as `twoway.rs` for many subscribers at a time, where nothing is in the way
//! - `rounds.rs`: when that one rests, so that events leave together
//! - `pause.rs`: rests of less than a millisecond
//! - `vigil.rs`: when the thread stays awake for the events to come

mod answers;
mod batch;
mod courier;
mod link;
mod oneway;
mod pause;
mod rounds;
mod twoway;
mod unanswered;
mod vigil;

pub(super) use answers::Answers;
pub(super) use courier::Courier;

use std::pin::Pin;
use std::sync::Arc;

use super::registry::Registry;
use super::subscriber::Subscriber;
use crate::core::Delivery;

/// Delivers until the subscription ends. Each mode's task is only as large as that mode needs.
pub(super) fn run<'a>(
    subscriber: &'a Arc<Subscriber>,
    registry: &'a Registry,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    match subscriber.qos().delivery {
        Delivery::Oneway => Box::pin(oneway::run(subscriber)),
        Delivery::Batch => Box::pin(batch::run(subscriber, registry)),
        Delivery::Twoway { outstanding_max } => Box::pin(twoway::run(subscriber, outstanding_max)),
        Delivery::Link => Box::pin(link::run(subscriber, registry)),
    }
}
