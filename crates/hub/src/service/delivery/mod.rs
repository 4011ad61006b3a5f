//! How events leave the hub.
//!
//! Each subscriber has a delivery task, which runs the file of its mode:
//!
//! - `oneway.rs`: sends all queued events in one write
//! - `batched.rs`: collects events for a while
//! - `twoway.rs`: keeps a window of a few events in flight
//! - `durable.rs`: reads the log of a durable topic, and keeps a window of events in flight (`durable_window.rs`)
//! - `pulled.rs`: keeps events until programs ask for them
//! - `durable_link.rs`: does as `link.rs` for a link that reads the log of a durable topic
//! - `link.rs`: forwards all queued events to another topic in one call
//!
//! `send.rs` sends for `oneway.rs` and `batched.rs`, whose subscribers do not answer.
//!
//! A twoway event takes these steps:
//!
//! 1. The task that reads the connection of the publisher puts it into the queue of the subscriber
//!    (`Subscriber::publish`).
//! 2. If the delivery task of the subscriber has nothing to decide, it lets the delivery scheduler send. `scheduler.rs`
//!    takes events for many subscribers in one round; `timer.rs` and `busy_poll.rs` say when the next round begins.
//!    Otherwise the delivery task takes the event, in `twoway.rs`.
//! 3. Either of them sends it by `fast_path.rs`, which never waits. If the subscriber is a stream, events that leave together
//!    are a run, which one reply answers (`runs.rs`).
//! 4. The task that reads the reply counts it as delivered, in the `ReplySink` of `fast_path.rs`. `reply_timeout.rs`
//!    gives up events whose replies are late.
//! 5. If an event must wait for a connection or for room in it, or has failed and is sent again, the delivery task
//!    sends it in `slow_path.rs`, and settles it (`subscriber/settling.rs`).

mod batched;
mod busy_poll;
mod durable;
mod durable_link;
mod durable_window;
mod fast_path;
mod link;
mod oneway;
mod pulled;
mod reply_timeout;
mod runs;
mod scheduler;
mod send;
mod slow_path;
mod timer;
mod twoway;

pub(super) use scheduler::serve;

use std::pin::Pin;
use std::sync::Arc;

use super::directory::ObjectDirectory;
use super::subscriber::Subscriber;
use crate::core::DeliveryMode;
use crate::settings::LiveSettings;

/// Delivers until the subscription ends. The future is only as large as its mode needs.
pub(super) fn run<'a>(
    subscriber: &'a Arc<Subscriber>,
    settings: &'a LiveSettings,
    directory: &'a ObjectDirectory,
) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
    if let Some(reader) = subscriber.reader() {
        if subscriber.link().is_some() {
            return Box::pin(durable_link::run(subscriber, reader, directory));
        }
        return Box::pin(durable::run(subscriber, reader, directory));
    }
    match subscriber.qos().delivery {
        DeliveryMode::Oneway => Box::pin(oneway::run(subscriber)),
        DeliveryMode::Batch => Box::pin(batched::run(subscriber, settings)),
        DeliveryMode::Twoway { .. } => Box::pin(twoway::run(subscriber)),
        DeliveryMode::Pull { .. } => Box::pin(pulled::run(subscriber)),
        DeliveryMode::Link => Box::pin(link::run(subscriber, directory)),
    }
}
