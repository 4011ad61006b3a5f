//! Batch delivery: events stay in the queue until the oldest one has waited for an interval, or until there are many.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::send::send;
use crate::service::subscriber::Subscriber;
use crate::settings::LiveSettings;

/// A longer interval never ends in practice, and could overflow the clock.
const INTERVAL_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Delivers until the subscription ends.
pub(super) async fn run(subscriber: &Subscriber, settings: &LiveSettings) {
    while subscriber.wait_for_bytes(1).await {
        // The settings may change between two batches.
        let current = settings.current();
        let flush_interval = current.flush_interval.min(INTERVAL_MAX);
        // A batch holds at least one event.
        let flush_bytes = current.flush_bytes.max(1);
        drop(current);
        let deadline = Instant::now() + flush_interval;
        loop {
            match timeout_at(deadline, subscriber.wait_for_bytes(flush_bytes)).await {
                Ok(true) => {
                    send(subscriber, usize::MAX, flush_bytes, &mut Vec::new()).await;
                    tokio::task::consume_budget().await;
                }
                Ok(false) => return,
                Err(_) => break,
            }
        }
        send_all(subscriber, flush_bytes).await;
    }
}

/// Sends the events that are queued now, and not those that come meanwhile.
async fn send_all(subscriber: &Subscriber, bytes_max: usize) {
    let mut left = subscriber.snapshot().queued as usize;
    while left > 0 {
        match send(subscriber, left, bytes_max, &mut Vec::new()).await {
            0 => return,
            sent => left -= sent,
        }
    }
}
