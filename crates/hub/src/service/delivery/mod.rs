//! How events leave: a task for each subscriber, and one scheduler for all whose events need no wait.
//!
//! - `oneway.rs`: immediately, all that is queued in one write
//! - `batched.rs`: collected for a while
//! - `twoway.rs`: a few at a time, each answered; what the scheduler does not do
//! - `link.rs`: to another topic, all that is queued in one call
//! - `scheduler.rs`: the sender of twoway events that need no wait
//! - `replies.rs`: their replies, which settle them where they are read
//! - `slow_path.rs`: twoway events that connect, wait for room, or are sent again
//! - `timer.rs`: rests of less than a millisecond
//! - `busy_poll.rs`: a thread that stays awake for the next events

mod batched;
mod busy_poll;
mod fast_path;
mod link;
mod oneway;
mod scheduler;
mod slow_path;
mod timer;
mod twoway;

pub(super) use scheduler::serve;

use std::pin::Pin;
use std::sync::Arc;

use super::directory::ObjectDirectory;
use super::subscriber::Subscriber;
use crate::core::Delivery;
use crate::settings::LiveSettings;

/// Delivers until the subscription ends. Each mode's task is only as large as that mode needs.
pub(super) fn run<'a>(
    subscriber: &'a Arc<Subscriber>,
    settings: &'a LiveSettings,
    directory: &'a ObjectDirectory,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    match subscriber.qos().delivery {
        Delivery::Oneway => Box::pin(oneway::run(subscriber)),
        Delivery::Batch => Box::pin(batched::run(subscriber, settings)),
        Delivery::Twoway { outstanding_max } => Box::pin(twoway::run(subscriber, outstanding_max)),
        Delivery::Link => Box::pin(link::run(subscriber, directory)),
    }
}
