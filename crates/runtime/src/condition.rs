//! A wait for a condition that other tasks make true.

use std::pin::pin;

use tokio::sync::Notify;

/// Waits until the condition holds. It is evaluated now, and again after each notification.
pub(crate) async fn wait_for(changed: &Notify, mut holds: impl FnMut() -> bool) {
    loop {
        let mut notified = pin!(changed.notified());
        // The notification is enabled before the condition is evaluated, so that no change is missed.
        notified.as_mut().enable();
        if holds() {
            return;
        }
        notified.await;
    }
}
