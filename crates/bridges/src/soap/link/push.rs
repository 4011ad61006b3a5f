//! Sends the events of a subscription to its consumer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::consumer::Consumer;
use super::topic::Topic;
use crate::core::account::Reason;
use crate::hub::Deliveries;
use crate::soap::message::{Notification, Version, notify, wrap};

/// The most events of one Notify.
const MESSAGES_MAX: usize = 100;
/// Bytes of one Notify, beyond which no event is added.
pub(super) const LEN_MAX: usize = 1024 * 1024;
/// How long it waits after the first failure; twice as long after each further one.
const BACK_OFF_MIN: Duration = Duration::from_millis(200);
/// The longest that it waits.
const BACK_OFF_MAX: Duration = Duration::from_secs(15);

/// A subscription whose events are pushed.
#[derive(Debug)]
pub(super) struct Push {
    pub(super) topic: Arc<Topic>,
    pub(super) deliveries: Deliveries,
    pub(super) consumer: Consumer,
    /// The version of SOAP in which the consumer was subscribed.
    pub(super) version: Version,
    /// How long the consumer may be away.
    pub(super) patience: Duration,
}

impl Push {
    /// Sends events until the consumer has been away for too long, or the hub ends. The next events of the hub are taken only
    /// when the consumer has those before. May be cancelled.
    pub(super) async fn run(mut self) {
        while let Some(batch) = self.deliveries.next_batch().await {
            let notifications: Vec<_> =
                batch.iter().filter_map(|it| self.topic.write(it)).collect();
            let mut left = notifications.as_slice();
            while !left.is_empty() {
                let (now, later) = left.split_at(fitting(left));
                if !self.send(now).await {
                    let lost = left.len() as u64;
                    self.topic.port().account().refuse(Reason::WorldAway, lost);
                    return;
                }
                self.topic.port().account().send_out(now.len() as u64);
                left = later;
            }
        }
    }

    /// Sends a message until the consumer has it; false if it has been away for too long.
    async fn send(&mut self, messages: &[Notification]) -> bool {
        let (body, action) = notify(messages);
        let url = self.consumer.target().url().to_owned();
        let text = wrap(self.version, &action, (None, Some(&url)), &body);
        let begun = Instant::now();
        let mut back_off = BACK_OFF_MIN;
        loop {
            let posted = self
                .consumer
                .post(self.version, &action, text.clone())
                .await;
            let Err(trouble) = posted else {
                return true;
            };
            let topic = self.topic.port().topic();
            if begun.elapsed() + back_off > self.patience {
                tracing::warn!(
                    topic,
                    consumer = url,
                    "the subscription of a SOAP program ends, because it is away: {trouble}"
                );
                return false;
            }
            tracing::info!(
                topic,
                consumer = url,
                "a SOAP program does not take events, and is tried again: {trouble}"
            );
            sleep(back_off).await;
            back_off = (back_off * 2).min(BACK_OFF_MAX);
        }
    }
}

/// How many events go into one message; at least one.
fn fitting(messages: &[Notification]) -> usize {
    let mut len = 0;
    let fitting = messages.iter().take(MESSAGES_MAX).take_while(|it| {
        len += it.event.len();
        len <= LEN_MAX
    });
    fitting.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_some_events_and_at_least_one() {
        let of = |len: usize| Notification {
            topic: "t".to_owned(),
            event: "x".repeat(len),
        };
        assert_eq!(fitting(&[of(LEN_MAX + 1), of(1)]), 1);
        assert_eq!(fitting(&[of(LEN_MAX - 1), of(1), of(1)]), 2);
        assert_eq!(fitting(&vec![of(1); 1000]), MESSAGES_MAX);
    }
}
