//! One connection: moves bytes between a socket and the state machine, and decides what that asks for.
//!
//! The state machine belongs to one task. Links that wait for the hub have tasks of their own, which send [`Command`]s.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, Bytes};
use floe_amqp::condition::{self, AmqpError};
use floe_amqp::connection::{
    AttachAcceptance, AttachRequest, Connection, Delivery, Event, LinkId, OpenAcceptance, Settings,
};
use floe_amqp::performative::Role;
use floe_amqp::terminus::{Target, capability};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};

use super::consumer::{self, Consumer};
use super::limits::{
    COMMANDS_MAX, CREDIT, DRAIN_WAIT, FINISH_TIMEOUT, PARTICIPANT_LEN_MAX, PUBLISHING_LEN_MAX,
    READ_LEN, connection as connection_limits,
};
use super::producer::{Incoming, Producer, Published};
use super::{Broker, BrokerTopic};
use crate::amqp::mapping;

/// What a task tells its connection.
#[derive(Debug)]
pub(super) enum Command {
    /// The program is who it says, or not.
    Authenticated(bool),
    /// A producer's topic was found, or not.
    ProducerReady(LinkId, Result<(), AmqpError>),
    /// A message has been dealt with.
    Published(Published),
    /// A consumer is subscribed, or cannot be.
    ConsumerReady(LinkId, Result<(), AmqpError>),
    /// The next batch of a consumer.
    Events(LinkId, Vec<Bytes>),
    /// The hub's client has ended.
    ConsumerEnded(LinkId),
    /// A consumer has waited long enough for what is there at once.
    DrainOver(LinkId),
}

/// A connection and its links.
struct Driver {
    broker: Arc<Broker>,
    number: u64,
    address: SocketAddr,
    connection: Connection,
    commands: mpsc::Sender<Command>,
    /// The program, for lists and origins.
    participant: String,
    producers: HashMap<LinkId, ProducerLink>,
    consumers: HashMap<LinkId, Consumer>,
    /// Bytes of messages on their way to the hub.
    publishing_len: usize,
    /// Tasks that end by themselves when their link does.
    producing: JoinSet<()>,
    /// All other tasks, which are dropped with the connection.
    others: JoinSet<()>,
}

/// A link on which the program publishes.
struct ProducerLink {
    /// How the program asked for it, until it is answered.
    asked: Option<Box<AttachRequest>>,
    incoming: mpsc::Sender<Incoming>,
    /// Messages that the hub does not have yet.
    under_way: u32,
}

/// Serves a connection until it ends.
pub(super) async fn serve(
    broker: Arc<Broker>,
    stream: TcpStream,
    (number, address): (u64, SocketAddr),
    mut stop: watch::Receiver<bool>,
) {
    // Without it small frames only come later.
    let _ = stream.set_nodelay(true);
    let (mut reader, mut writer) = stream.into_split();
    let (commands, mut received) = mpsc::channel(COMMANDS_MAX);
    let mut driver = Driver::new(broker, (number, address), commands);
    let mut buffer = vec![0; READ_LEN];
    let mut output = Bytes::new();
    let mut is_stopping = false;
    loop {
        driver.advance();
        if output.is_empty()
            && let Some(bytes) = driver.connection.poll_transmit(Instant::now())
        {
            output = bytes;
            // There is room for more.
            driver.advance();
        }
        if driver.connection.is_finished() {
            break;
        }
        let deadline = driver.connection.poll_timeout();
        tokio::select! {
            read = reader.read(&mut buffer), if driver.wants_bytes() => match read {
                Ok(len @ 1..) => driver.connection.handle_bytes(Instant::now(), &buffer[..len]),
                Ok(0) | Err(_) => break,
            },
            written = writer.write(&output), if !output.is_empty() => match written {
                Ok(len @ 1..) => output.advance(len),
                Ok(0) | Err(_) => break,
            },
            command = received.recv() => match command {
                Some(command) => driver.handle_command(command),
                None => break,
            },
            () = until(deadline) => driver.connection.handle_timeout(Instant::now()),
            _ = stop.wait_for(|is_over| *is_over), if !is_stopping => {
                is_stopping = true;
                let error = AmqpError::new(condition::CONNECTION_FORCED, "the broker shuts down");
                driver.connection.close(Instant::now(), Some(error));
            }
        }
    }
    drop(received);
    let last = driver.connection.poll_transmit(Instant::now());
    let flush = async {
        for bytes in [Some(output), last].into_iter().flatten() {
            writer.write_all(&bytes).await?;
        }
        writer.shutdown().await
    };
    // A peer that takes no bytes cannot be told.
    let _ = timeout(FINISH_TIMEOUT, flush).await;
    driver.finish().await;
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

impl Driver {
    fn new(
        broker: Arc<Broker>,
        (number, address): (u64, SocketAddr),
        commands: mpsc::Sender<Command>,
    ) -> Self {
        let settings = Settings {
            container_id: broker.container_id.clone(),
            mechanisms: broker.mechanisms(),
            without_sasl: broker.is_open(),
            limits: connection_limits(),
        };
        Self {
            broker,
            number,
            address,
            connection: Connection::new(settings, Instant::now()),
            commands,
            participant: address.to_string(),
            producers: HashMap::new(),
            consumers: HashMap::new(),
            publishing_len: 0,
            producing: JoinSet::new(),
            others: JoinSet::new(),
        }
    }

    fn wants_bytes(&self) -> bool {
        self.connection.wants_bytes() && self.publishing_len < PUBLISHING_LEN_MAX
    }

    /// Does all that can be done without waiting.
    fn advance(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            self.handle_event(event);
        }
        for (link, consumer) in &mut self.consumers {
            consumer.pump(*link, &mut self.connection);
        }
        while self.producing.try_join_next().is_some() {}
        while self.others.try_join_next().is_some() {}
    }

    /// Waits until the messages that have come are published, and drops the rest.
    async fn finish(mut self) {
        self.broker.leave(self.number);
        self.producers.clear();
        self.consumers.clear();
        self.others.abort_all();
        let producing = async { while self.producing.join_next().await.is_some() {} };
        let _ = timeout(FINISH_TIMEOUT, producing).await;
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Authenticate(credentials) => {
                let (broker, commands) = (Arc::clone(&self.broker), self.commands.clone());
                self.others.spawn(async move {
                    let is_verified = broker.verify(credentials).await;
                    let _ = commands.send(Command::Authenticated(is_verified)).await;
                });
            }
            Event::Open(request) => {
                self.participant = participant(&request.container_id, self.address);
                self.broker.enter(self.number, &self.participant);
                self.connection.accept_open(OpenAcceptance {
                    offered_capabilities: vec![capability::ANONYMOUS_RELAY],
                    properties: None,
                });
            }
            Event::Attach(request) => {
                let link = request.link;
                let attached = match request.peer_role {
                    Role::Sender => self.attach_producer(request),
                    Role::Receiver => self.attach_consumer(request),
                };
                if let Err(error) = attached {
                    let _ = self.connection.refuse_attach(link, error);
                }
            }
            Event::Delivery(delivery) => self.take(delivery),
            Event::Credit { link, drain, .. } if drain => self.drain(link),
            // The consumers are pumped when all events are handled.
            Event::Credit { .. } => {}
            Event::Settled {
                link,
                delivery,
                outcome,
            } => {
                if let Some(consumer) = self.consumers.get_mut(&link) {
                    consumer.settle(delivery, outcome.as_deref());
                }
            }
            Event::Detached { link, closed, .. } => {
                self.remove(link);
                let _ = self.connection.detach(link, closed, None);
            }
            Event::LinkFailed { link, error } => {
                tracing::debug!(participant = self.participant, %error, "an AMQP link failed");
                self.remove(link);
            }
            Event::SessionEnded { links, error, .. } => {
                if let Some(error) = error {
                    tracing::debug!(participant = self.participant, %error, "an AMQP session failed");
                }
                links.into_iter().for_each(|link| self.remove(link));
            }
            Event::Closed { error, .. } => {
                if let Some(error) = error {
                    tracing::debug!(participant = self.participant, %error, "an AMQP connection failed");
                }
                self.producers.clear();
                self.consumers
                    .drain()
                    .for_each(|(_, consumer)| consumer.task.abort());
            }
            other => tracing::debug!(?other, "an unknown event of AMQP"),
        }
    }

    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Authenticated(is_verified) => self.connection.authenticate(is_verified),
            Command::ProducerReady(link, Ok(())) => self.accept_producer(link),
            Command::ConsumerReady(link, Ok(())) => self.accept_consumer(link),
            Command::ProducerReady(link, Err(error)) | Command::ConsumerReady(link, Err(error)) => {
                self.remove(link);
                let _ = self.connection.refuse_attach(link, error);
            }
            Command::Published(published) => self.settle(published),
            Command::Events(link, messages) => {
                if let Some(consumer) = self.consumers.get_mut(&link) {
                    consumer.take(messages);
                }
            }
            Command::ConsumerEnded(link) => {
                self.remove(link);
                let error = AmqpError::new(condition::DETACH_FORCED, "the bridge shuts down");
                let _ = self.connection.detach(link, true, Some(error));
            }
            Command::DrainOver(link) => {
                if let Some(consumer) = self.consumers.get_mut(&link) {
                    consumer.is_draining = false;
                    consumer.pump(link, &mut self.connection);
                    let _ = self.connection.drained(link);
                }
            }
        }
    }

    fn attach_producer(&mut self, request: Box<AttachRequest>) -> Result<(), AmqpError> {
        let target = request.target.clone().unwrap_or_default();
        let topic = mapping::target_address(&target)?;
        if let Some(name) = topic {
            self.broker.topic_in(name)?;
        }
        let (incoming, received) = mpsc::channel(CREDIT as usize);
        let mut producer = Producer {
            broker: Arc::clone(&self.broker),
            link: request.link,
            participant: self.participant.clone(),
            commands: self.commands.clone(),
            publishers: HashMap::new(),
            topic: topic.map(str::to_owned),
        };
        self.producing.spawn(async move {
            let prepared = producer.prepare().await;
            let is_ready = prepared.is_ok();
            let ready = Command::ProducerReady(producer.link, prepared);
            if producer.commands.send(ready).await.is_ok() && is_ready {
                producer.run(received).await;
            }
        });
        let producer = ProducerLink {
            incoming,
            under_way: 0,
            asked: None,
        };
        let link = request.link;
        let asked = Some(request);
        self.producers
            .insert(link, ProducerLink { asked, ..producer });
        Ok(())
    }

    fn accept_producer(&mut self, link: LinkId) {
        let Some(asked) = self.producers.get_mut(&link).and_then(|it| it.asked.take()) else {
            return;
        };
        let target = asked.target.unwrap_or_default();
        let acceptance = AttachAcceptance {
            source: asked.source,
            target: Some(Target {
                address: target.address,
                capabilities: target.capabilities,
                ..Target::default()
            }),
            credit: CREDIT,
            ..AttachAcceptance::default()
        };
        let _ = self.connection.accept_attach(link, acceptance);
    }

    /// Takes a message of a producer.
    fn take(&mut self, delivery: Delivery) {
        let Some(producer) = self.producers.get_mut(&delivery.link) else {
            return;
        };
        let len = delivery.message.len();
        let incoming = Incoming {
            delivery: delivery.delivery,
            message: delivery.message,
        };
        // There is room, because the messages under way are within the credit.
        if producer.incoming.try_send(incoming).is_ok() {
            producer.under_way += 1;
            self.publishing_len += len;
        }
    }

    fn settle(&mut self, published: Published) {
        let Published {
            link,
            delivery,
            outcome,
            len,
        } = published;
        self.publishing_len = self.publishing_len.saturating_sub(len);
        let Some(producer) = self.producers.get_mut(&link) else {
            return;
        };
        producer.under_way = producer.under_way.saturating_sub(1);
        // A message that came settled is not known any more, and then this does nothing.
        let _ = self.connection.settle(link, delivery, outcome);
        let credit = self.connection.credit(link);
        if credit < CREDIT / 2 && credit + producer.under_way <= CREDIT / 2 {
            let _ = self
                .connection
                .set_credit(link, CREDIT - producer.under_way);
        }
    }

    fn attach_consumer(&mut self, request: Box<AttachRequest>) -> Result<(), AmqpError> {
        let link = request.link;
        let topic: BrokerTopic = {
            let name = mapping::source_address(&request)?;
            self.broker.topic_out(name)?.clone()
        };
        let (wanted, asked) = mpsc::channel(1);
        let commands = self.commands.clone();
        let run = consumer::run(topic.clone(), link, commands, asked);
        let task = self.others.spawn(run);
        self.consumers
            .insert(link, Consumer::new(topic, request, wanted, task));
        Ok(())
    }

    fn accept_consumer(&mut self, link: LinkId) {
        let asked = self.consumers.get_mut(&link).and_then(|it| it.asked.take());
        let Some(asked) = asked else {
            return;
        };
        let acceptance = AttachAcceptance {
            source: asked.source.as_ref().map(mapping::accepted_source),
            target: asked.target,
            ..AttachAcceptance::default()
        };
        let _ = self.connection.accept_attach(link, acceptance);
    }

    /// The program wants what is there at once, and no more.
    fn drain(&mut self, link: LinkId) {
        let Some(consumer) = self.consumers.get_mut(&link) else {
            return;
        };
        consumer.pump(link, &mut self.connection);
        if consumer.is_draining {
            return;
        }
        consumer.is_draining = true;
        let commands = self.commands.clone();
        let wait = if consumer.is_empty() {
            DRAIN_WAIT
        } else {
            std::time::Duration::ZERO
        };
        self.others.spawn(async move {
            sleep(wait).await;
            let _ = commands.send(Command::DrainOver(link)).await;
        });
    }

    /// Forgets a link. The messages that have come on it are published all the same.
    fn remove(&mut self, link: LinkId) {
        self.producers.remove(&link);
        if let Some(consumer) = self.consumers.remove(&link) {
            consumer.task.abort();
        }
    }
}

/// The name of a program: its container, and where it is.
fn participant(container: &str, address: SocketAddr) -> String {
    let address = address.to_string();
    let room = PARTICIPANT_LEN_MAX - address.len() - 1;
    let container = &container[..container.floor_char_boundary(room)];
    // It is listed and logged, a line each.
    let container = container.replace(char::is_control, "?");
    format!("{container}@{address}")
}
