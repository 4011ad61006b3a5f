//! What people and subscribers are told of a subscriber that loses events.

use std::fmt::Display;

use floe::{InvocationMode, TypedProxy};

use super::count::{losses, number};
use super::one_line::OneLine;
use super::subscriber::Subscriber;
use crate::contracts::floe::LossListenerProxy;
use crate::core::{OverflowNotice, OverflowPolicy};

impl Subscriber {
    /// Subscriber and topic, for the log.
    pub(super) fn log_name(&self) -> impl Display {
        let (identity, topic) = (OneLine(self.identity()), self.topic());
        format!("\"{identity}\" of topic {topic:?}")
    }

    /// Tells people what has become of its queue.
    pub(super) fn tell(&self, notice: Option<OverflowNotice>) {
        let Some(notice) = notice else {
            return;
        };
        let name = self.log_name();
        match notice {
            OverflowNotice::Began { policy } => {
                let which = match policy {
                    OverflowPolicy::DropOldest => "its oldest events",
                    _ => "the newest events",
                };
                tracing::warn!(
                    "{name} loses {which}: its queue is full, for it takes them too slowly"
                );
            }
            OverflowNotice::Ended { lost } => tracing::warn!(
                "{name} loses no more events: its queue was full, and {lost} were lost"
            ),
            OverflowNotice::TooLong { len, max } => tracing::warn!(
                "{name} loses an event of {len} bytes: its queue has room for {max} bytes: raise the bytes of \
                 the hub's queues (`floe serve --queue-bytes`), and its own floe.queueBytes if it asks for less"
            ),
            OverflowNotice::Disconnected => {
                tracing::warn!("the subscription of {name} ends: its queue is full")
            }
        }
    }

    /// Tells the subscriber of events that it lost. That this fails is worth no more than a line: if
    /// the subscriber is gone, the events that follow tell it.
    pub(super) async fn tell_lost(&self, count: u64) {
        let Some(facet) = &self.qos().lost_facet else {
            return;
        };
        let listener = self.proxy().ice_facet(facet);
        let listener = LossListenerProxy::from_proxy(match self.proxy().reference().mode {
            InvocationMode::BatchOneway => listener.ice_oneway(),
            InvocationMode::BatchDatagram => listener.ice_datagram(),
            _ => listener,
        });
        let total = losses(self.snapshot().accounts.lost);
        let told = listener.lost(self.topic(), number(count), &total).await;
        if let Err(error) = told {
            let (name, error) = (self.log_name(), OneLine(error));
            tracing::debug!("could not tell {name} of {count} lost events: {error}");
        }
    }
}
