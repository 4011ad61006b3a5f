//! A link on which a program gets events: a subscription of the hub.
//!
//! ```text
//! hub --next_batch--> task --messages--> queue --credit--> unsettled --accepted--> done
//!                                          ^--released or modified--/
//! ```
//!
//! The task asks the hub for the next batch when the queue is empty and the program takes more. So a program that takes
//! nothing is a slow subscriber of the hub.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use floe::hub::Qos;
use floe_amqp::condition::{self, AmqpError};
use floe_amqp::connection::{AttachRequest, CommandError, Connection, DeliveryId, LinkId};
use floe_amqp::performative::{Outcome, SenderSettleMode};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::BrokerTopic;
use super::driver::Command;
use super::limits::{HELD_LEN_MAX, HELD_MAX};
use crate::amqp::codec::{EventError, redelivered};
use crate::core::account::Reason;
use crate::hub::{Deliveries, Delivery};

/// The events of a link, from the hub until they are settled.
#[derive(Debug)]
pub(super) struct Consumer {
    topic: BrokerTopic,
    /// How the program asked for the link, until it is answered.
    pub(super) asked: Option<Box<AttachRequest>>,
    /// True if events are settled when they are sent.
    is_presettled: bool,
    /// True if an event that is settled without an outcome is not taken.
    is_taken_by_default: bool,
    /// Waits to be sent, in the order of the hub.
    queue: VecDeque<Event>,
    unsettled: BTreeMap<DeliveryId, Event>,
    /// Bytes in both.
    held_len: usize,
    next_place: u64,
    /// Asks the task for a batch. Closing it ends the task.
    wanted: mpsc::Sender<()>,
    is_fetching: bool,
    /// True if the program waits for what is there at once.
    pub(super) is_draining: bool,
    pub(super) task: AbortHandle,
}

#[derive(Debug)]
struct Event {
    place: u64,
    message: Bytes,
    failed_count: u32,
}

impl Consumer {
    pub(super) fn new(
        topic: BrokerTopic,
        asked: Box<AttachRequest>,
        wanted: mpsc::Sender<()>,
        task: AbortHandle,
    ) -> Self {
        let source = asked.source.as_ref();
        Self {
            topic,
            is_presettled: asked.snd_settle_mode == SenderSettleMode::Settled,
            is_taken_by_default: source.is_none_or(|source| source.default_outcome.is_none()),
            asked: Some(asked),
            queue: VecDeque::new(),
            unsettled: BTreeMap::new(),
            held_len: 0,
            next_place: 0,
            wanted,
            is_fetching: false,
            is_draining: false,
            task,
        }
    }

    /// Takes a batch of the task.
    pub(super) fn take(&mut self, messages: Vec<Bytes>) {
        self.is_fetching = false;
        for message in messages {
            self.held_len += message.len();
            self.queue.push_back(Event {
                place: self.next_place,
                message,
                failed_count: 0,
            });
            self.next_place += 1;
        }
    }

    /// Sends what the program takes, and asks for more if it takes more.
    pub(super) fn pump(&mut self, link: LinkId, connection: &mut Connection) {
        if self.asked.is_some() {
            return;
        }
        while let Some(event) = self.queue.front() {
            let message = redelivered(&event.message, event.failed_count);
            let sent = connection.send(link, message, self.is_presettled);
            let delivery = match sent {
                Ok(delivery) => Some(delivery),
                Err(CommandError::TooLong) => None,
                Err(_) => return,
            };
            let event = self.queue.pop_front().expect("it was looked at");
            match delivery {
                Some(delivery) if !self.is_presettled => {
                    self.unsettled.insert(delivery, event);
                }
                Some(_) => {
                    self.held_len -= event.message.len();
                    self.topic.port.account().send_out(1);
                }
                None => {
                    self.held_len -= event.message.len();
                    self.topic.port.account().refuse(Reason::CannotBeSaid, 1);
                    tracing::warn!(
                        topic = self.topic.port.topic(),
                        "an event has {} bytes as a message, which is longer than a program takes",
                        event.message.len()
                    );
                }
            }
        }
        let has_room = self.unsettled.len() < HELD_MAX && self.held_len < HELD_LEN_MAX;
        let is_wanted = connection.credit(link) > 0 && !connection.is_backlogged();
        if has_room && is_wanted && !self.is_fetching {
            self.is_fetching = self.wanted.try_send(()).is_ok();
        }
    }

    /// The program is done with an event.
    pub(super) fn settle(&mut self, delivery: DeliveryId, outcome: Option<&Outcome>) {
        let Some(mut event) = self.unsettled.remove(&delivery) else {
            return;
        };
        let is_back = match outcome {
            Some(Outcome::Accepted) => false,
            Some(Outcome::Released) => true,
            Some(Outcome::Modified(modified)) => {
                event.failed_count += u32::from(modified.delivery_failed);
                !modified.undeliverable_here
            }
            Some(Outcome::Rejected(_)) => false,
            None => !self.is_taken_by_default,
        };
        if is_back {
            let place = self
                .queue
                .partition_point(|other| other.place < event.place);
            self.queue.insert(place, event);
            return;
        }
        self.held_len -= event.message.len();
        let account = self.topic.port.account();
        match outcome {
            Some(Outcome::Rejected(_) | Outcome::Modified(_)) => {
                account.refuse(Reason::RefusedThere, 1);
            }
            _ => account.send_out(1),
        }
    }

    /// True if nothing waits to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Subscribes, and gives the connection batches of messages as it asks for them.
pub(super) async fn run(
    topic: BrokerTopic,
    link: LinkId,
    commands: mpsc::Sender<Command>,
    mut wanted: mpsc::Receiver<()>,
) {
    let mut deliveries = match topic.port.subscribe(Qos::new()).await {
        Ok(deliveries) => deliveries,
        Err(error) => {
            let error = AmqpError::new(condition::INTERNAL_ERROR, error.to_string());
            let _ = commands
                .send(Command::ConsumerReady(link, Err(error)))
                .await;
            return;
        }
    };
    if commands
        .send(Command::ConsumerReady(link, Ok(())))
        .await
        .is_err()
    {
        return;
    }
    while wanted.recv().await.is_some() {
        let Some(messages) = next_messages(&topic, &mut deliveries).await else {
            let _ = commands.send(Command::ConsumerEnded(link)).await;
            return;
        };
        if commands
            .send(Command::Events(link, messages))
            .await
            .is_err()
        {
            return;
        }
    }
}

/// The messages of the next batch; there is at least one. `None` when the hub's client ends.
async fn next_messages(topic: &BrokerTopic, deliveries: &mut Deliveries) -> Option<Vec<Bytes>> {
    loop {
        let batch = deliveries.next_batch().await?;
        let messages: Vec<Bytes> = batch
            .iter()
            .filter_map(|event| message_of(topic, event))
            .collect();
        if !messages.is_empty() {
            return Some(messages);
        }
    }
}

fn message_of(topic: &BrokerTopic, event: &Delivery) -> Option<Bytes> {
    let encoded = topic.codec.encode(event.kind, &event.parameters);
    encoded
        .map_err(|error| {
            let reason = match error {
                EventError::NotOfContract(_) => Reason::NotOfContract,
                EventError::CannotBeSaid(_) => Reason::CannotBeSaid,
            };
            topic.port.account().refuse(reason, 1);
            tracing::warn!(topic = topic.port.topic(), %error, "an event is not bridged");
        })
        .ok()
}
