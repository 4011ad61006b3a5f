//! A link on which a program publishes.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use floe_amqp::condition::{self, AmqpError};
use floe_amqp::connection::{DeliveryId, LinkId};
use floe_amqp::message::Message;
use floe_amqp::performative::{Modified, Outcome};
use tokio::sync::mpsc;

use super::driver::Command;
use super::limits::CREDIT;
use super::{Broker, BrokerTopic};
use crate::amqp::mapping;
use crate::core::account::Reason;
use crate::hub::{PublishError, Publisher};

/// A message of a producer.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) delivery: DeliveryId,
    pub(super) message: Bytes,
}

/// A message that has been dealt with.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) link: LinkId,
    pub(super) delivery: DeliveryId,
    pub(super) outcome: Outcome,
    /// How many bytes the message had.
    pub(super) len: usize,
}

/// Publishes the messages of one link.
pub(super) struct Producer {
    pub(super) broker: Arc<Broker>,
    pub(super) link: LinkId,
    /// The program, for origins.
    pub(super) participant: String,
    pub(super) commands: mpsc::Sender<Command>,
    /// By the names of topics. One, unless each message names its own.
    pub(super) publishers: HashMap<String, (Publisher, BrokerTopic)>,
    /// The topic of all messages; none if each message names its own.
    pub(super) topic: Option<String>,
}

/// A message on its way to the hub.
struct InFlight {
    delivery: DeliveryId,
    len: usize,
    publishing: Pin<Box<dyn Future<Output = Outcome> + Send>>,
}

impl Producer {
    /// Finds the topic, if the link has one.
    ///
    /// # Errors
    /// There is no such topic, the hub is away, or it refuses.
    pub(super) async fn prepare(&mut self) -> Result<(), AmqpError> {
        match self.topic.clone() {
            Some(name) => self.publisher(&name).await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Publishes what comes, in its order, until no more comes and all is done.
    pub(super) async fn run(mut self, mut incoming: mpsc::Receiver<Incoming>) {
        let mut in_flight: Vec<InFlight> = Vec::new();
        loop {
            let has_room = in_flight.len() < CREDIT as usize;
            tokio::select! {
                biased;
                done = poll_fn(|context| poll_first(&mut in_flight, context)), if !in_flight.is_empty() => {
                    let command = Command::Published(Published {
                        link: self.link,
                        delivery: done.delivery,
                        outcome: done.outcome,
                        len: done.len,
                    });
                    // If the connection has ended, nobody waits for outcomes, and the rest is published all the same.
                    let _ = self.commands.send(command).await;
                }
                next = incoming.recv(), if has_room => match next {
                    Some(next) => {
                        let started = self.start(next).await;
                        in_flight.push(started);
                    }
                    None => break,
                },
            }
        }
        while !in_flight.is_empty() {
            poll_fn(|context| poll_first(&mut in_flight, context)).await;
        }
    }

    /// Reads a message, and begins to publish it.
    async fn start(&mut self, incoming: Incoming) -> InFlight {
        let Incoming { delivery, message } = incoming;
        let len = message.len();
        let publishing: Pin<Box<dyn Future<Output = Outcome> + Send>> =
            match self.read(message).await {
                Ok((publisher, kind, parameters)) => Box::pin(async move {
                    let events = publisher.port().events();
                    let published = publisher.publish(&events.kinds()[kind], &parameters).await;
                    published.map_or_else(|error| outcome_of(&error), |()| Outcome::Accepted)
                }),
                Err(error) => Box::pin(std::future::ready(Outcome::Rejected(Some(error)))),
            };
        InFlight {
            delivery,
            len,
            publishing,
        }
    }

    async fn read(&mut self, message: Bytes) -> Result<(Publisher, usize, Vec<u8>), AmqpError> {
        let invalid = |problem: &dyn std::fmt::Display| {
            AmqpError::new(condition::INVALID_FIELD, problem.to_string())
        };
        let name = match &self.topic {
            Some(name) => name.clone(),
            None => {
                let located = Message::locate(message.clone()).map_err(|error| invalid(&error))?;
                let properties = located.properties().map_err(|error| invalid(&error))?;
                let to = properties.to.ok_or_else(|| {
                    invalid(&"property to: expected the name of a topic, got none")
                })?;
                mapping::name_of(&to).to_owned()
            }
        };
        let (publisher, topic) = self.publisher(&name).await?;
        let (kind, parameters) = topic.codec.decode(message).map_err(|problem| {
            topic.port.account().refuse(Reason::Malformed, 1);
            tracing::debug!(topic = topic.port.topic(), %problem, "a message is no event");
            invalid(&problem)
        })?;
        Ok((publisher, kind, parameters))
    }

    async fn publisher(&mut self, name: &str) -> Result<(Publisher, BrokerTopic), AmqpError> {
        if let Some(known) = self.publishers.get(name) {
            return Ok(known.clone());
        }
        let topic = self.broker.topic_in(name)?.clone();
        let publisher = topic.port.publisher(&self.participant).await;
        let publisher = publisher
            .map_err(|error| AmqpError::new(condition::INTERNAL_ERROR, error.to_string()))?;
        let known = (publisher, topic);
        self.publishers.insert(name.to_owned(), known.clone());
        Ok(known)
    }
}

/// An [`InFlight`] that is done.
struct Done {
    delivery: DeliveryId,
    outcome: Outcome,
    len: usize,
}

/// Polls all, in their order: a publication takes its place when it is polled first.
fn poll_first(in_flight: &mut Vec<InFlight>, context: &mut Context<'_>) -> Poll<Done> {
    let mut ready = None;
    for (at, one) in in_flight.iter_mut().enumerate() {
        if let Poll::Ready(outcome) = one.publishing.as_mut().poll(context) {
            ready = Some((at, outcome));
            break;
        }
    }
    match ready {
        Some((at, outcome)) => {
            let InFlight { delivery, len, .. } = in_flight.remove(at);
            Poll::Ready(Done {
                delivery,
                outcome,
                len,
            })
        }
        None => Poll::Pending,
    }
}

/// What a program is told of an event that the hub does not have.
fn outcome_of(error: &PublishError) -> Outcome {
    match error {
        // Nothing is gained by sending it again.
        PublishError::Refused(reason) => {
            Outcome::Rejected(Some(AmqpError::new(condition::NOT_ALLOWED, reason.clone())))
        }
        // It may be sent again, and comes once.
        PublishError::Away(_) => Outcome::Released,
        // It may be sent again, and may come twice.
        PublishError::Unknown(_) => Outcome::Modified(Modified {
            delivery_failed: true,
            undeliverable_here: false,
            message_annotations: None,
        }),
    }
}
