//! Delivery without answers: all that is queued leaves in one write.

use crate::service::subscriber::Subscriber;

/// Bytes in one write: enough that the system call hardly counts, few enough that a failure loses
/// little.
const WRITE_BYTES_MAX: usize = 64 * 1024;
/// Events in one write, likewise.
const WRITE_EVENTS_MAX: usize = 1024;

/// Delivers until the subscription ends.
pub(super) async fn run(subscriber: &Subscriber) {
    let mut events = Vec::new();
    while subscriber.wait_for_bytes(1).await {
        let taking = subscriber.take(WRITE_EVENTS_MAX, WRITE_BYTES_MAX, &mut events);
        let count = taking.await;
        // Boxed: it is 2 kB long, which an idle subscriber need not hold.
        let result = Box::pin(subscriber.proxy().forward_all(&events)).await;
        events.clear();
        subscriber.settle(count, result);
        // A write that never waits must not keep other tasks from running.
        tokio::task::consume_budget().await;
    }
}
