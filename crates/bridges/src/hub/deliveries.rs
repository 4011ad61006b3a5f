//! Events of a topic for a participant of another world.

use bytes::Bytes;
use floe::hub::{HubError, Interruption, Subscription};

use super::{HubEvent, Port};
use crate::core::account::Reason;

/// The events of a topic for one participant, without those that it has heard already.
///
/// An event counts as delivered when the next batch is asked for. Dropping this unsubscribes.
#[derive(Debug)]
pub struct Deliveries {
    port: Port,
    events: Subscription<HubEvent>,
}

/// An event on its way to another world.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The position of its kind among [`EventTypes::kinds`](crate::core::mapping::EventTypes::kinds).
    pub kind: usize,
    /// Its parameters: a whole encapsulation.
    pub parameters: Bytes,
}

impl Deliveries {
    pub(super) fn new(port: Port, events: Subscription<HubEvent>) -> Self {
        Self { port, events }
    }

    /// The next events; waits until there is at least one. The events of the batch before are acknowledged by it. `None` when
    /// the bridge ends. May be cancelled.
    ///
    /// Events that are not of the contract are left out, and counted. What the hub dropped is counted and logged.
    pub async fn next_batch(&mut self) -> Option<Vec<Delivery>> {
        loop {
            let batch = self.events.next_batch().await?;
            let deliveries: Vec<_> = batch.into_iter().filter_map(|it| self.take(it)).collect();
            if !deliveries.is_empty() {
                return Some(deliveries);
            }
        }
    }

    fn take(&self, item: Result<HubEvent, Interruption>) -> Option<Delivery> {
        let port = &self.port;
        match item {
            Ok(event) if port.returns(&event.context) => None,
            Ok(event) => match port.events().find(&event.operation) {
                Some((kind, _)) => Some(Delivery {
                    kind,
                    parameters: event.parameters,
                }),
                None => {
                    port.account().refuse(Reason::NotOfContract, 1);
                    tracing::warn!(
                        topic = port.topic(),
                        operation = event.operation,
                        "an event is not one of {}, and is not bridged",
                        port.events().type_id()
                    );
                    None
                }
            },
            Err(interruption) => {
                if let Interruption::Lost { count } = interruption {
                    port.account().refuse(Reason::Dropped, count);
                }
                tracing::warn!(topic = port.topic(), "{interruption}");
                None
            }
        }
    }

    /// The port.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Unsubscribes, and waits until the hub has ended the subscription.
    ///
    /// # Errors
    /// [`HubError`]: the hub is away. It notices at its next delivery.
    pub async fn unsubscribe(self) -> Result<(), HubError> {
        self.events.unsubscribe().await
    }
}
