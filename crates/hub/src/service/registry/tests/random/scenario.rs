//! A registry, its subscribers, and what each of them must receive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use floe::{
    Adapter, Communicator, Identity, InvocationMode, OperationMode, Proxy, SystemException,
    TypedProxy,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::receivers::{Behavior, ReceiverServant, Receivers, operation};
use super::{PUBLISHERS, RECEIVERS, RequestedQos, Step, TOPICS};
use crate::core::{Accounts, Qos, QueueLimits, SubscriptionState};
use crate::error::ChangeError;
use crate::service::client::Client;
use crate::service::registry::Registry;
use crate::service::registry::tests::EventSource;
use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, Totals};
use crate::settings::HubSettings;
use crate::store::{Memory, StoredLink};

type Check = Result<(), TestCaseError>;

/// The category of subscribers.
const CATEGORY: &str = "receiver";
/// How long deliveries may take to end on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Scenario {
    registry: Arc<Registry>,
    communicator: Communicator,
    /// The adapter of the subscribers: in the communicator of the hub, or behind a connection.
    adapter: Adapter,
    receivers: Arc<Receivers>,
    /// Makes events: a request to this proxy comes out of the channel as an event.
    event_source: (Proxy, mpsc::UnboundedReceiver<floe::forwarding::Event>),
    /// All topics that ever existed, and the one that has each name now.
    topics: Vec<KnownTopic>,
    names: [Option<usize>; TOPICS],
    /// All subscribers and links that ever existed.
    members: Vec<Member>,
    /// The number of events of each publisher so far, and the publication that it waits for.
    published: [u64; PUBLISHERS],
    waiting: [Option<JoinHandle<Result<(), SystemException>>>; PUBLISHERS],
}

/// A topic, and the events that it was given.
struct KnownTopic {
    topic: Arc<Topic>,
    published: u64,
    /// True if all its publishers wait for room.
    all_wait: bool,
}

struct Member {
    topic: usize,
    subscriber: Arc<Subscriber>,
    /// The events that the topic was given before the subscription.
    given_before: u64,
    /// The events that the topic was given when the test ended the subscription.
    given_at_end: Option<u64>,
    /// `None` for a link.
    receiver: Option<Receiver>,
}

struct Receiver {
    at: usize,
    facet: String,
    requested: RequestedQos,
    /// True if it ever failed to answer immediately and without an error.
    had_trouble: bool,
}

impl Scenario {
    pub(super) async fn new(is_remote: bool) -> Self {
        let communicator = Communicator::new();
        let settings = HubSettings {
            discard_interval: Duration::from_millis(1),
            flush_interval: Duration::from_millis(1),
            queue_limits: QueueLimits {
                patience: Duration::from_millis(2),
                ..QueueLimits::default()
            },
            ..HubSettings::default()
        };
        let registry = Registry::open(settings, Box::new(Memory), Vec::new(), &communicator);
        let registry = registry.expect("no log fails");
        let subscriber_side = match is_remote {
            true => Communicator::new(),
            false => communicator.clone(),
        };
        let adapter = super::super::adapter(&subscriber_side).await;
        let receivers = Arc::new(Receivers::new());
        let servant = ReceiverServant(receivers.clone());
        adapter.add_default(CATEGORY, servant).expect("the first");
        let (sender, events) = mpsc::unbounded_channel();
        let event_source = adapter
            .add("event_source", EventSource(sender))
            .expect("the first");
        adapter.activate();
        Self {
            registry,
            communicator,
            adapter,
            receivers,
            event_source: (event_source, events),
            topics: Vec::new(),
            names: [None; TOPICS],
            members: Vec::new(),
            published: [0; PUBLISHERS],
            waiting: [const { None }; PUBLISHERS],
        }
    }

    pub(super) async fn apply(&mut self, step: Step) -> Check {
        match step {
            Step::Create { topic } => self.create(topic)?,
            Step::Destroy { topic } => self.destroy(topic).await?,
            Step::Subscribe {
                topic,
                receiver,
                requested,
            } => self.subscribe(topic, receiver, requested)?,
            Step::Unsubscribe { topic, receiver } => self.unsubscribe(topic, receiver)?,
            Step::Link { from, to } => self.link(from, to)?,
            Step::Unlink { from, to } => self.unlink(from, to)?,
            Step::Publish {
                topic,
                publisher,
                count,
                waits,
            } => self.publish(topic, publisher, count, waits).await,
            Step::SetBehavior { receiver, behavior } => self.set_behavior(receiver, behavior),
            Step::Deliver { yields } => {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
            }
            Step::Pause => tokio::time::sleep(Duration::from_millis(2)).await,
        }
        Ok(())
    }

    fn create(&mut self, name: usize) -> Check {
        match (
            self.registry.create(topic_name(name), false, None),
            self.names[name],
        ) {
            (Ok(topic), None) => {
                self.names[name] = Some(self.topics.len());
                self.topics.push(KnownTopic {
                    topic,
                    published: 0,
                    all_wait: true,
                });
            }
            (Err(ChangeError::TopicExists), Some(_)) => {}
            (created, known) => {
                let what = created.map(drop);
                prop_assert!(false, "created {what:?}, known {known:?}");
            }
        }
        Ok(())
    }

    async fn destroy(&mut self, name: usize) -> Check {
        let Some(at) = self.names[name].take() else {
            return Ok(());
        };
        self.note_end(at, None);
        let topic = self.topics[at].topic.clone();
        prop_assert!(self.registry.destroy(topic).await.is_ok());
        Ok(())
    }

    fn subscribe(&mut self, name: usize, receiver: usize, requested: RequestedQos) -> Check {
        let Some(at) = self.names[name] else {
            return Ok(());
        };
        let topic = &self.topics[at].topic;
        let facet = self.members.len().to_string();
        let identity = receiver_identity(receiver);
        let proxy = self.adapter.proxy(identity.clone()).ice_facet(&facet);
        let proxy = match requested.mode {
            InvocationMode::Oneway => proxy.ice_oneway(),
            InvocationMode::BatchOneway => proxy.ice_batch_oneway(),
            _ => proxy,
        };
        // A proxy of the communicator of the hub, as if the hub had read it from a request.
        let proxy = self.communicator.proxy_from(proxy.reference().clone());
        let text = qos_text(&requested);
        let qos = Qos::parse(&text, requested.mode).expect("a valid quality of service");
        let is_subscribed = topic.find(&identity).is_some_and(|s| !s.is_gone());
        let subscribed = self
            .registry
            .subscribe(topic, &proxy, text, qos, Client::Unknown, None);
        if is_subscribed {
            prop_assert!(matches!(subscribed, Err(ChangeError::AlreadySubscribed)));
            return Ok(());
        }
        prop_assert!(subscribed.is_ok());
        let had_trouble = self.receivers.behavior(receiver) != Behavior::Answering;
        let receiver = Receiver {
            at: receiver,
            facet,
            requested,
            had_trouble,
        };
        self.add(at, &identity, Some(receiver));
        Ok(())
    }

    fn add(&mut self, topic: usize, identity: &Identity, receiver: Option<Receiver>) {
        let known = &self.topics[topic].topic;
        self.members.push(Member {
            topic,
            subscriber: known.find(identity).expect("it was added"),
            given_before: given(known),
            given_at_end: None,
            receiver,
        });
    }

    fn unsubscribe(&mut self, name: usize, receiver: usize) -> Check {
        if let Some(at) = self.names[name] {
            self.note_end(at, Some(&receiver_identity(receiver)));
            let topic = &self.topics[at].topic;
            let left = self
                .registry
                .unsubscribe(topic, &[receiver_identity(receiver)]);
            prop_assert!(left.is_ok());
            prop_assert!(topic.find(&receiver_identity(receiver)).is_none());
        }
        Ok(())
    }

    /// Notes that all subscriptions to a topic, or one of them, are about to end.
    fn note_end(&mut self, topic: usize, identity: Option<&Identity>) {
        let known = &self.topics[topic].topic;
        for member in &mut self.members {
            let subscriber = &member.subscriber;
            let is_meant = identity.is_none_or(|identity| subscriber.identity() == identity);
            if is_meant && known.has(subscriber) && !subscriber.is_gone() {
                member.given_at_end = Some(given(known));
            }
        }
    }

    fn link(&mut self, from: usize, to: usize) -> Check {
        let Some(at) = self.names[from] else {
            return Ok(());
        };
        let identity = link_identity(to);
        let topic = &self.topics[at].topic;
        let is_linked = topic.find(&identity).is_some_and(|link| !link.is_gone());
        let link = StoredLink {
            topic: self.adapter.proxy(identity.clone()).reference().clone(),
            receiver: None,
            cost: 0,
            maker: None,
        };
        let linked = self.registry.link(topic, link, &self.communicator);
        if is_linked {
            prop_assert!(matches!(linked, Err(ChangeError::LinkExists)));
            return Ok(());
        }
        prop_assert!(linked.is_ok());
        self.add(at, &identity, None);
        Ok(())
    }

    fn unlink(&mut self, from: usize, to: usize) -> Check {
        let Some(at) = self.names[from] else {
            return Ok(());
        };
        let topic = &self.topics[at].topic;
        let is_linked = topic.find(&link_identity(to)).is_some();
        let unlinked = self.registry.unlink(topic, &link_identity(to));
        match is_linked {
            true => prop_assert!(unlinked.is_ok()),
            false => prop_assert!(matches!(unlinked, Err(ChangeError::NoSuchLink))),
        }
        Ok(())
    }

    /// Publishes one event after the other, until one has to wait.
    async fn publish(&mut self, name: usize, publisher: usize, count: usize, waits: bool) {
        for _ in 0..count {
            let (Some(at), true) = (self.names[name], self.is_free(publisher)) else {
                return;
            };
            self.published[publisher] += 1;
            let event = (at, publisher, self.published[publisher]);
            let (event_source, source_events) = &mut self.event_source;
            let nothing = [6, 0, 0, 0, 1, 1];
            let operation = operation(event);
            let invoked = event_source.invoke(&operation, OperationMode::Normal, &nothing);
            invoked.await.expect("the test answers");
            let events = floe::forwarding::Events::from(
                source_events.recv().await.expect("it was source_events"),
            );
            let known = &mut self.topics[at];
            known.published += 1;
            known.all_wait &= waits;
            let held = known.topic.publish(events, waits, Instant::now());
            if !held.is_done() {
                self.waiting[publisher] = Some(tokio::spawn(held.done()));
            }
        }
    }

    /// Returns true if a publisher does not wait.
    fn is_free(&mut self, publisher: usize) -> bool {
        let waiting = &mut self.waiting[publisher];
        waiting.take_if(|waiting| waiting.is_finished());
        waiting.is_none()
    }

    fn set_behavior(&mut self, receiver: usize, behavior: Behavior) {
        self.receivers.set_behavior(receiver, behavior);
        let receivers = self.members.iter_mut().flat_map(|m| &mut m.receiver);
        for known in receivers.filter(|known| known.at == receiver) {
            known.had_trouble |= behavior != Behavior::Answering;
        }
    }

    /// Makes all subscribers answer, and waits until no delivery is under way.
    pub(super) async fn settle(&mut self) -> Check {
        (0..RECEIVERS)
            .for_each(|receiver| self.receivers.set_behavior(receiver, Behavior::Answering));
        let waiting = async {
            while !self.is_idle() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        prop_assert!(waited.is_ok(), "deliveries are still under way");
        Ok(())
    }

    fn is_idle(&mut self) -> bool {
        (0..PUBLISHERS).all(|publisher| self.is_free(publisher))
            && self.members.iter().all(|member| {
                let now = member.subscriber.snapshot();
                let has_arrived = member.receiver.as_ref().is_none_or(|receiver| {
                    self.receivers.received(&receiver.facet).len() as u64 >= now.accounts.delivered
                });
                now.queued == 0 && now.outstanding == 0 && has_arrived
            })
    }

    /// Checks the rules that hold at any moment: each event is in exactly one place, and topics count every subscriber.
    pub(super) fn check_accounts(&self) -> Check {
        for member in &self.members {
            let now = member.subscriber.snapshot();
            let Accounts {
                offered, delivered, ..
            } = now.accounts;
            let elsewhere = now.lost() + now.queued + now.outstanding;
            prop_assert_eq!(offered, delivered + elsewhere, "{:?}", now);
            let given = given(&self.topics[member.topic].topic) - member.given_before;
            prop_assert!(offered <= given, "offered {offered} of {given}");
        }
        let mut all = (0, 0, Accounts::default());
        for (at, known) in self.topics.iter().enumerate() {
            prop_assert_eq!(known.topic.published(), known.published);
            let Totals {
                accounts,
                queued,
                outstanding,
                ..
            } = known.topic.totals();
            let (mut sum, mut under_way) = (Accounts::default(), (0, 0));
            for member in self.members.iter().filter(|member| member.topic == at) {
                let now = member.subscriber.snapshot();
                sum += now.accounts;
                under_way = (under_way.0 + now.queued, under_way.1 + now.outstanding);
            }
            prop_assert_eq!(accounts, sum);
            prop_assert_eq!((queued, outstanding), under_way);
            all.0 += known.published;
            all.1 += known.topic.forwarded();
            all.2 += sum;
        }
        let counts = self.registry.directory().counting().finish();
        let totals = (counts.published, counts.forwarded, counts.totals.accounts);
        prop_assert_eq!(totals, all);
        Ok(())
    }

    /// Checks the rules that hold when no delivery is under way.
    pub(super) fn check_end(&self) -> Check {
        let forwarded: u64 = self.topics.iter().map(|k| k.topic.forwarded()).sum();
        let links = self
            .members
            .iter()
            .filter(|member| member.receiver.is_none());
        let passed: u64 = links
            .map(|m| m.subscriber.snapshot().accounts.delivered)
            .sum();
        prop_assert_eq!(forwarded, passed);
        for member in &self.members {
            let now = member.subscriber.snapshot();
            let known = &self.topics[member.topic];
            let is_present =
                known.topic.has(&member.subscriber) && now.state != SubscriptionState::Gone;
            let given = match is_present {
                true => Some(given(&known.topic)),
                false => member.given_at_end,
            };
            if let (Some(given), Some(_)) = (given, &member.receiver) {
                prop_assert_eq!(now.accounts.offered, given - member.given_before);
            }
            if let Some(receiver) = &member.receiver {
                self.check_ear(receiver, known, now.accounts)?;
            }
        }
        Ok(())
    }

    fn check_ear(&self, receiver: &Receiver, known: &KnownTopic, accounts: Accounts) -> Check {
        let received = self.receivers.received(&receiver.facet);
        // If a servant hangs in a batch, the adapter may dispatch the next batch before it.
        let may_overtake =
            receiver.requested.mode == InvocationMode::BatchOneway && receiver.had_trouble;
        let mut last = BTreeMap::new();
        for &(topic, publisher, number) in received.iter().filter(|_| !may_overtake) {
            let before = last.insert((topic, publisher), number);
            prop_assert!(
                before.is_none_or(|before| before < number),
                "{:?}: {number} came after {before:?} of publisher {publisher} to topic {topic}",
                receiver.requested
            );
        }
        // A subscriber that fails may have received the event.
        let lost = accounts.lost;
        prop_assert_eq!(received.len() as u64, accounts.delivered + lost.failed);
        if !receiver.had_trouble {
            prop_assert_eq!((lost.failed, lost.offline), (0, 0));
        }
        let is_waited_for = receiver.requested.overflow == "block" && known.all_wait;
        if is_waited_for && known.topic.forwarded() == 0 {
            prop_assert_eq!(lost.overflow, 0, "lost although its publishers wait");
        }
        Ok(())
    }
}

/// The number of events that publishers and links have given to a topic so far.
fn given(topic: &Topic) -> u64 {
    topic.published() + topic.forwarded()
}

fn topic_name(name: usize) -> String {
    format!("t{name}")
}

fn receiver_identity(receiver: usize) -> Identity {
    Identity::with_category(receiver.to_string(), CATEGORY)
}

fn link_identity(to: usize) -> Identity {
    let name = crate::core::topic_name(&topic_name(to));
    Identity::with_category(name, "IceStorm")
}

fn qos_text(requested: &RequestedQos) -> BTreeMap<String, String> {
    let mut text = BTreeMap::from([
        ("floe.overflow", requested.overflow.to_owned()),
        ("floe.queueEvents", requested.queue_events.to_string()),
        ("retryCount", requested.retry_count.to_string()),
    ]);
    if requested.is_ordered {
        text.insert("reliability", "ordered".to_owned());
    }
    let owned = text.into_iter().map(|(key, value)| (key.to_owned(), value));
    owned.collect()
}
