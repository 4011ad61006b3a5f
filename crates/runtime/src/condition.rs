//! A wait for a condition that other tasks make true.

use std::pin::pin;

use tokio::sync::Notify;

/// Waits until the condition holds. It is evaluated now, and again after each notification.
pub(crate) async fn wait_for(changed: &Notify, mut holds: impl FnMut() -> bool) {
    while !holds() {
        let mut notified = pin!(changed.notified());
        // The condition is evaluated again after the notification is enabled, so that no change is missed.
        notified.as_mut().enable();
        if holds() {
            return;
        }
        notified.await;
    }
}
