//! A broker of topics in memory, made of the crate: bytes of connections go in and bytes for them come out.
//!
//! It shows that the state machine serves real programs, and how it is driven. It keeps nothing on disk, evaluates no
//! selector, and treats queues as topics.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use floe_amqp::codec::{Raw, Symbol, Value};
use floe_amqp::condition::{self, AmqpError};
use floe_amqp::connection::{
    AttachAcceptance, AttachRequest, CommandError, Connection, Delivery, DeliveryId, Event, LinkId,
    OpenAcceptance, Settings,
};
use floe_amqp::jms::Subscription as JmsSubscription;
use floe_amqp::limits::Limits;
use floe_amqp::message::Message;
use floe_amqp::performative::{Outcome, Role, outcome_names};
use floe_amqp::sasl::{Credentials, Mechanism};
use floe_amqp::terminus::{Source, Target, capability};

/// Topics, their subscriptions, and the connections.
#[derive(Default)]
pub(crate) struct Broker {
    peers: BTreeMap<u64, Peer>,
    subscriptions: BTreeMap<String, Subscription>,
    next_name: u64,
    /// Events that tests look at.
    pub(crate) seen: Seen,
}

/// Events that have happened.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// The selectors of consumers, in the order in which they came.
    pub(crate) selectors: Vec<String>,
    /// Messages that consumers have accepted.
    pub(crate) accepted_count: usize,
    /// Messages that have come.
    pub(crate) published_count: usize,
    /// Why connections ended, where this side says why.
    pub(crate) errors: Vec<String>,
}

struct Peer {
    connection: Connection,
    container: String,
    publishers: HashMap<LinkId, Publisher>,
    /// The subscription of each consumer.
    consumers: HashMap<LinkId, String>,
    unsettled: HashMap<(LinkId, DeliveryId), Bytes>,
}

struct Publisher {
    /// None if each message names its topic.
    topic: Option<String>,
}

struct Subscription {
    topic: String,
    source: Source,
    outlives_links: bool,
    /// The connection whose messages are not wanted.
    not_from: Option<u64>,
    waiting: VecDeque<Bytes>,
    links: VecDeque<(u64, LinkId)>,
}

const CREDIT: u32 = 200;

pub(crate) fn settings() -> Settings {
    Settings {
        container_id: "floe-broker".to_owned(),
        mechanisms: vec![Mechanism::Plain, Mechanism::Anonymous],
        without_sasl: true,
        limits: Limits::default(),
    }
}

impl Broker {
    pub(crate) fn connect(&mut self, id: u64, now: Instant) {
        let peer = Peer {
            connection: Connection::new(settings(), now),
            container: String::new(),
            publishers: HashMap::new(),
            consumers: HashMap::new(),
            unsettled: HashMap::new(),
        };
        self.peers.insert(id, peer);
    }

    /// Takes bytes of a connection.
    pub(crate) fn handle_bytes(&mut self, id: u64, now: Instant, bytes: &[u8]) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.connection.handle_bytes(now, bytes);
            self.handle_events(id);
        }
    }

    /// The connection is gone.
    pub(crate) fn handle_end(&mut self, id: u64) {
        let Some(peer) = self.peers.remove(&id) else {
            return;
        };
        for link in peer.consumers.into_keys() {
            self.unlink(id, link, false);
        }
    }

    #[allow(dead_code, reason = "each test program uses its part")]
    pub(crate) fn handle_timeouts(&mut self, now: Instant) {
        let ids: Vec<u64> = self.peers.keys().copied().collect();
        for id in ids {
            let peer = self.peers.get_mut(&id).expect("it was there");
            if peer.connection.poll_timeout().is_some_and(|at| at <= now) {
                peer.connection.handle_timeout(now);
                self.handle_events(id);
            }
        }
    }

    /// Bytes for each connection that has some, and whether the connection has ended with them.
    pub(crate) fn poll_transmits(&mut self, now: Instant) -> Vec<(u64, Bytes, bool)> {
        let mut all = Vec::new();
        loop {
            let before = all.len();
            for (id, peer) in &mut self.peers {
                let bytes = peer.connection.poll_transmit(now);
                let is_over = peer.connection.is_finished();
                if bytes.is_some() || is_over {
                    all.push((*id, bytes.unwrap_or_default(), is_over));
                }
            }
            for (id, _, is_over) in &all[before..] {
                if *is_over {
                    self.handle_end(*id);
                }
            }
            if all.len() == before {
                return all;
            }
            // What waited for room goes on.
            for id in self.peers.keys().copied().collect::<Vec<_>>() {
                self.handle_events(id);
            }
            let names: Vec<String> = self.subscriptions.keys().cloned().collect();
            names.iter().for_each(|name| self.deliver(name));
        }
    }

    /// How many connections there are.
    #[allow(dead_code, reason = "each test program uses its part")]
    pub(crate) fn peer_count(&self) -> usize {
        self.peers.len()
    }

    #[allow(dead_code, reason = "each test program uses its part")]
    pub(crate) fn subscription_count(&self) -> usize {
        self.subscriptions.len()
    }

    fn handle_events(&mut self, id: u64) {
        while let Some(event) = self
            .peers
            .get_mut(&id)
            .and_then(|p| p.connection.poll_event())
        {
            self.handle_event(id, event);
        }
    }

    fn handle_event(&mut self, id: u64, event: Event) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        match event {
            Event::Authenticate(credentials) => {
                let is_known = match credentials {
                    Credentials::Plain { user, password, .. } => {
                        user == "ann" && password == "tulip"
                    }
                    _ => true,
                };
                peer.connection.authenticate(is_known);
            }
            Event::Open(request) => {
                peer.container = request.container_id;
                let prefix = |name| (Value::Symbol(Symbol::new(name)), Value::text(""));
                let properties = Value::Map(vec![prefix("topic-prefix"), prefix("queue-prefix")]);
                peer.connection.accept_open(OpenAcceptance {
                    offered_capabilities: vec![
                        capability::ANONYMOUS_RELAY,
                        capability::SHARED_SUBSCRIPTIONS,
                    ],
                    properties: Some(Raw::of(&properties)),
                });
            }
            Event::Attach(request) if request.peer_role == Role::Sender => {
                self.attach_publisher(id, *request);
            }
            Event::Attach(request) => self.attach_consumer(id, *request),
            Event::Delivery(delivery) => self.publish(id, delivery),
            Event::Credit { link, drain, .. } => {
                if let Some(name) = peer.consumers.get(&link).cloned() {
                    self.deliver(&name);
                }
                let peer = self.peers.get_mut(&id).expect("it is there");
                if drain {
                    let _ = peer.connection.drained(link);
                }
            }
            Event::Settled {
                link,
                delivery,
                outcome,
            } => self.handle_settled(id, link, delivery, outcome),
            Event::Detached { link, closed, .. } => {
                self.unlink(id, link, closed);
                let peer = self.peers.get_mut(&id).expect("it is there");
                let _ = peer.connection.detach(link, closed, None);
            }
            Event::LinkFailed { link, error } => {
                self.seen.errors.push(error.to_string());
                self.unlink(id, link, true);
            }
            Event::SessionEnded { links, error, .. } => {
                self.seen
                    .errors
                    .extend(error.map(|error| error.to_string()));
                for link in links {
                    self.unlink(id, link, false);
                }
            }
            Event::Closed { error, .. } => {
                self.seen
                    .errors
                    .extend(error.map(|error| error.to_string()));
            }
            other => panic!("a broker must know {other:?}"),
        }
    }

    fn attach_publisher(&mut self, id: u64, request: AttachRequest) {
        let target = request.target.unwrap_or_default();
        let address = match target.dynamic {
            true => {
                self.next_name += 1;
                Some(format!("temporary-{}", self.next_name))
            }
            false => target.address.clone(),
        };
        let peer = self.peers.get_mut(&id).expect("it is there");
        let acceptance = AttachAcceptance {
            source: request.source,
            target: Some(Target {
                address: address.clone(),
                ..target
            }),
            credit: CREDIT,
            ..AttachAcceptance::default()
        };
        let publisher = Publisher { topic: address };
        peer.publishers.insert(request.link, publisher);
        let accepted = peer.connection.accept_attach(request.link, acceptance);
        accepted.expect("it was asked for now");
    }

    fn attach_consumer(&mut self, id: u64, request: AttachRequest) {
        let container = &self.peers[&id].container;
        let Some(mut source) = request.source else {
            return self.look_up(id, request.link, &format!("{container}/{}", request.name));
        };
        if source.dynamic {
            self.next_name += 1;
            source.address = Some(format!("temporary-{}", self.next_name));
        }
        let Some(topic) = source.address.clone() else {
            let error = AmqpError::new(condition::INVALID_FIELD, "expected a topic, got none");
            let connection = &mut self.peers.get_mut(&id).expect("it is there").connection;
            return connection.refuse_attach(request.link, error).expect("now");
        };
        self.seen
            .selectors
            .extend(source.filter.selector().map(str::to_owned));
        let asked = JmsSubscription::of(&request.name, &source);
        let is_durable = asked.is_durable;
        let name = match asked.name {
            // Qpid JMS asks by this name when it unsubscribes.
            Some(name) if is_durable => format!("{container}/{name}"),
            Some(name) => format!("shared/{name}"),
            None => format!("{id}/{:?}/{}", request.link, request.name),
        };
        source.outcomes = outcome_names();
        let not_from = source.filter.no_local().then_some(id);
        let subscription = self.subscriptions.entry(name.clone());
        let subscription = subscription.or_insert_with(|| Subscription {
            topic,
            source: source.clone(),
            outlives_links: is_durable,
            not_from,
            waiting: VecDeque::new(),
            links: VecDeque::new(),
        });
        subscription.links.push_back((id, request.link));
        let peer = self.peers.get_mut(&id).expect("it is there");
        peer.consumers.insert(request.link, name);
        let acceptance = AttachAcceptance {
            source: Some(source),
            target: request.target,
            ..AttachAcceptance::default()
        };
        let accepted = peer.connection.accept_attach(request.link, acceptance);
        accepted.expect("it was asked for now");
    }

    /// A consumer asks what source a link of its name has, to unsubscribe it.
    fn look_up(&mut self, id: u64, link: LinkId, name: &str) {
        let peer = self.peers.get_mut(&id).expect("it is there");
        let Some(subscription) = self.subscriptions.get_mut(name) else {
            let error = AmqpError::new(condition::NOT_FOUND, format!("no subscription {name}"));
            return peer.connection.refuse_attach(link, error).expect("now");
        };
        subscription.links.push_back((id, link));
        peer.consumers.insert(link, name.to_owned());
        let acceptance = AttachAcceptance {
            source: Some(subscription.source.clone()),
            ..AttachAcceptance::default()
        };
        let accepted = peer.connection.accept_attach(link, acceptance);
        accepted.expect("it was asked for now");
    }

    fn publish(&mut self, id: u64, delivery: Delivery) {
        self.seen.published_count += 1;
        let peer = self.peers.get_mut(&id).expect("it is there");
        let publisher = &peer.publishers[&delivery.link];
        let message = Message::locate(delivery.message);
        let topic = match (&publisher.topic, &message) {
            (Some(topic), Ok(_)) => Some(topic.clone()),
            (None, Ok(message)) => message.properties().ok().and_then(|p| p.to),
            (_, Err(_)) => None,
        };
        let outcome = match &topic {
            Some(_) => Outcome::Accepted,
            None => Outcome::Rejected(Some(AmqpError::new(
                condition::INVALID_FIELD,
                "expected a message with a topic",
            ))),
        };
        if !delivery.settled {
            let settled = peer
                .connection
                .settle(delivery.link, delivery.delivery, outcome);
            settled.expect("it has just come");
        }
        if peer.connection.credit(delivery.link) < CREDIT / 2 {
            let _ = peer.connection.set_credit(delivery.link, CREDIT);
        }
        let (Some(topic), Ok(message)) = (topic, message) else {
            return;
        };
        let header = message.header().unwrap_or_default();
        let forwarded = message.forwarded(&header, &[]);
        let mut names = Vec::new();
        for (name, subscription) in &mut self.subscriptions {
            if subscription.topic == topic && subscription.not_from != Some(id) {
                subscription.waiting.push_back(forwarded.clone());
                names.push(name.clone());
            }
        }
        names.iter().for_each(|name| self.deliver(name));
    }

    /// Sends what waits, to the links of a subscription in turn.
    fn deliver(&mut self, name: &str) {
        let Some(subscription) = self.subscriptions.get_mut(name) else {
            return;
        };
        let mut refusals = 0;
        while refusals < subscription.links.len()
            && let Some(message) = subscription.waiting.front()
        {
            let (id, link) = subscription.links.pop_front().expect("there are some");
            subscription.links.push_back((id, link));
            let peer = self.peers.get_mut(&id).expect("it has links");
            match peer.connection.send(link, message.clone(), false) {
                Ok(delivery) => {
                    peer.unsettled.insert((link, delivery), message.clone());
                    subscription.waiting.pop_front();
                    refusals = 0;
                }
                Err(CommandError::TooLong) => {
                    subscription.waiting.pop_front();
                }
                Err(_) => refusals += 1,
            }
        }
    }

    fn handle_settled(
        &mut self,
        id: u64,
        link: LinkId,
        delivery: DeliveryId,
        outcome: Option<Arc<Outcome>>,
    ) {
        let peer = self.peers.get_mut(&id).expect("it is there");
        let message = peer.unsettled.remove(&(link, delivery));
        let message = message.expect("each is settled once");
        match outcome.as_deref() {
            Some(Outcome::Released | Outcome::Modified(_)) => {
                let name = peer.consumers.get(&link).cloned();
                if let Some(name) = name {
                    let subscription = self.subscriptions.get_mut(&name);
                    subscription
                        .expect("of a consumer")
                        .waiting
                        .push_front(message);
                    self.deliver(&name);
                }
            }
            _ => self.seen.accepted_count += 1,
        }
    }

    /// Forgets a link; with `closed` a subscription that outlives links ends, too.
    fn unlink(&mut self, id: u64, link: LinkId, closed: bool) {
        let mut unsettled = Vec::new();
        let mut name = None;
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.publishers.remove(&link);
            name = peer.consumers.remove(&link);
            let keys: Vec<_> = peer
                .unsettled
                .keys()
                .filter(|(l, _)| *l == link)
                .copied()
                .collect();
            let mut of_link: Vec<_> = keys
                .into_iter()
                .map(|key| (key.1, peer.unsettled.remove(&key).expect("it was there")))
                .collect();
            of_link.sort_by_key(|(delivery, _)| *delivery);
            unsettled = of_link;
        }
        let found = self
            .subscriptions
            .iter()
            .find(|(_, subscription)| subscription.links.contains(&(id, link)));
        let Some(name) = name.or_else(|| found.map(|(name, _)| name.clone())) else {
            return;
        };
        let Some(subscription) = self.subscriptions.get_mut(&name) else {
            return;
        };
        subscription.links.retain(|held| *held != (id, link));
        for (_, message) in unsettled.into_iter().rev() {
            subscription.waiting.push_front(message);
        }
        let ends = closed || !subscription.outlives_links;
        if ends && subscription.links.is_empty() {
            self.subscriptions.remove(&name);
        } else {
            self.deliver(&name);
        }
    }
}
