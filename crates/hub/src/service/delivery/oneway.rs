//! Oneway delivery: all queued events leave in one write, and no replies come.

use super::send::send;
use crate::service::subscriber::Subscriber;

/// The maximum bytes in one write. With more, a failure would lose more events; with fewer, the cost of the system call
/// would count.
const WRITE_BYTES_MAX: usize = 64 * 1024;
/// The maximum events in one write, for the same reasons.
const WRITE_EVENTS_MAX: usize = 1024;

/// Delivers until the subscription ends.
pub(super) async fn run(subscriber: &Subscriber) {
    let mut events = Vec::new();
    while subscriber.wait_for_bytes(1).await {
        send(subscriber, WRITE_EVENTS_MAX, WRITE_BYTES_MAX, &mut events).await;
        // A write that never waits must not keep other tasks from running.
        tokio::task::consume_budget().await;
    }
}
