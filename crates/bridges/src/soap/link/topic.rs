//! A topic: its events to and from XML.

use tokio::sync::OnceCell;

use crate::core::account::Reason;
use crate::core::mapping::EventKind;
use crate::hub::{Delivery, Port, Publisher};
use crate::soap::codec::{Document, ElementId, SoapReader, SoapWriter};
use crate::soap::mapping::Names;
use crate::soap::message::{Fault, Notification};

/// A topic that is served.
#[derive(Debug)]
pub(super) struct Topic {
    port: Port,
    names: Names,
    publisher: OnceCell<Publisher>,
}

/// An event that a program publishes, ready for the hub.
#[derive(Debug)]
pub(super) struct Event {
    /// The place of its kind.
    kind: usize,
    parameters: Vec<u8>,
}

impl Topic {
    pub(super) fn new(port: Port, namespace: &str) -> Self {
        let names = Names::new(port.events(), namespace);
        Self {
            port,
            names,
            publisher: OnceCell::new(),
        }
    }

    pub(super) fn port(&self) -> &Port {
        &self.port
    }

    /// True if an element is that of the topic's events.
    pub(super) fn has(&self, document: &Document<'_>, element: ElementId) -> bool {
        let event = self.names.event();
        document.is(element, event.namespace(&self.names), event.local())
    }

    /// Reads an event, and counts one that is none.
    ///
    /// # Errors
    /// [`Fault`] with the field and the reason.
    pub(super) fn read(&self, document: &Document<'_>, element: ElementId) -> Result<Event, Fault> {
        let refuse = |fault: Fault| {
            self.port.account().refuse(Reason::Malformed, 1);
            fault
        };
        let reader = SoapReader::new(document, &self.names, element);
        let (mut reader, kind) =
            reader.map_err(|it| refuse(Fault::event("event", it.to_string())))?;
        let parameters = self.port.events().kinds()[kind].read_from(&mut reader);
        let parameters = parameters.map_err(|error| {
            let reason = error.to_string();
            let prefix = format!("{}: ", error.path);
            let reason = reason.strip_prefix(&prefix).unwrap_or(&reason).to_owned();
            refuse(Fault::event(error.path, reason))
        })?;
        Ok(Event { kind, parameters })
    }

    /// Publishes an event; returns when the hub has it.
    ///
    /// # Errors
    /// [`Fault`]: the hub refused it, or is away.
    pub(super) async fn publish(&self, event: &Event) -> Result<(), Fault> {
        let publisher = self
            .publisher
            .get_or_try_init(|| self.port.publisher(PARTICIPANT));
        let publisher = publisher.await.map_err(|error| {
            self.port.account().refuse(Reason::HubAway, 1);
            Fault::receiver(format!(
                "the hub is away, and does not have the event: {error}"
            ))
        })?;
        let kind: &EventKind = &self.port.events().kinds()[event.kind];
        let published = publisher.publish(kind, &event.parameters).await;
        published.map_err(|error| Fault::receiver(error.to_string()))
    }

    /// Writes an event for a program; `None` after one was counted that XML cannot say.
    pub(super) fn write(&self, delivery: &Delivery) -> Option<Notification> {
        let mut writer = SoapWriter::new(&self.names, delivery.kind);
        let kind = &self.port.events().kinds()[delivery.kind];
        match kind.write_to(&delivery.parameters, &mut writer) {
            Ok(()) => Some(Notification {
                topic: self.port.name().to_owned(),
                event: writer.into_text(),
            }),
            Err(error) => {
                let reason = match &error.cause {
                    floe_dynamic::Cause::Read(_) => Reason::NotOfContract,
                    floe_dynamic::Cause::Write(_) => Reason::CannotBeSaid,
                };
                self.port.account().refuse(reason, 1);
                tracing::warn!(
                    topic = self.port.topic(),
                    "an event of {} is not sent to a SOAP program: {error}",
                    kind.name()
                );
                None
            }
        }
    }
}

/// The participant that events come from: programs are not told apart, because any of them may use any connection.
const PARTICIPANT: &str = "http";
