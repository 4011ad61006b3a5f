//! A registry, its subscribers, and what each of them must have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use floe::{Adapter, Communicator, Identity, InvocationMode, OperationMode, Proxy, TypedProxy};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::ears::{Ears, Listening, Mood, operation};
use super::{EARS, PUBLISHERS, Step, TOPICS, Wish};
use crate::core::{Accounts, Qos, SubscriptionState};
use crate::error::ChangeError;
use crate::service::registry::Registry;
use crate::service::registry::tests::Events;
use crate::service::subscriber::Subscriber;
use crate::service::topic::{Topic, Totals};
use crate::settings::HubSettings;
use crate::store::{Memory, StoredLink};

type Checked = Result<(), TestCaseError>;

/// The category of subscribers.
const EAR: &str = "ear";
/// How long deliveries may take to end, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Stage {
    registry: Arc<Registry>,
    communicator: Communicator,
    /// Where the subscribers are: in the hub's process, or behind a connection.
    adapter: Adapter,
    ears: Arc<Ears>,
    /// Makes events: what is invoked there comes out of the channel.
    maker: (Proxy, mpsc::UnboundedReceiver<floe::Event>),
    /// All topics that ever were, and which of them has which name now.
    topics: Vec<Known>,
    names: [Option<usize>; TOPICS],
    /// All subscribers and links that ever were.
    members: Vec<Member>,
    /// Events of each publisher so far, and the one that it waits for.
    published: [u64; PUBLISHERS],
    waiting: [Option<JoinHandle<()>>; PUBLISHERS],
}

/// A topic, and what it was given.
struct Known {
    topic: Arc<Topic>,
    published: u64,
    /// Whether nobody published without waiting for room.
    all_wait: bool,
}

struct Member {
    topic: usize,
    subscriber: Arc<Subscriber>,
    /// What the topic had been given before.
    given_before: u64,
    /// The same when the subscription was ended by others.
    given_at_end: Option<u64>,
    /// None of a link.
    ear: Option<Ear>,
}

struct Ear {
    at: usize,
    facet: String,
    wish: Wish,
    /// Whether it answered badly, or not at once, at any time.
    was_unwell: bool,
}

impl Stage {
    pub(super) async fn set(is_remote: bool) -> Self {
        let communicator = Communicator::new();
        let settings = HubSettings {
            discard_interval: Duration::from_millis(1),
            flush_interval: Duration::from_millis(1),
            ..HubSettings::default()
        };
        let registry = Registry::open(settings, Box::new(Memory), Vec::new(), &communicator);
        let ears_side = match is_remote {
            true => Communicator::new(),
            false => communicator.clone(),
        };
        let adapter = super::super::adapter(&ears_side).await;
        let ears = Arc::new(Ears::new());
        let listening = Listening(ears.clone());
        adapter.add_default(EAR, listening).expect("the first");
        let (sender, events) = mpsc::unbounded_channel();
        let maker = adapter.add("maker", Events(sender)).expect("the first");
        adapter.activate();
        Self {
            registry,
            communicator,
            adapter,
            ears,
            maker: (maker, events),
            topics: Vec::new(),
            names: [None; TOPICS],
            members: Vec::new(),
            published: [0; PUBLISHERS],
            waiting: [const { None }; PUBLISHERS],
        }
    }

    pub(super) async fn take(&mut self, step: Step) -> Checked {
        match step {
            Step::Create { topic } => self.create(topic)?,
            Step::Destroy { topic } => self.destroy(topic)?,
            Step::Subscribe { topic, ear, wish } => self.subscribe(topic, ear, wish)?,
            Step::Unsubscribe { topic, ear } => self.unsubscribe(topic, ear)?,
            Step::Link { from, to } => self.link(from, to)?,
            Step::Unlink { from, to } => self.unlink(from, to)?,
            Step::Publish {
                topic,
                publisher,
                count,
                waits,
            } => self.publish(topic, publisher, count, waits).await,
            Step::Turn { ear, mood } => self.turn(ear, mood),
            Step::Deliver { turns } => {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
            }
            Step::Pause => tokio::time::sleep(Duration::from_millis(2)).await,
        }
        Ok(())
    }

    fn create(&mut self, name: usize) -> Checked {
        match (self.registry.create(topic_name(name)), self.names[name]) {
            (Ok(topic), None) => {
                self.names[name] = Some(self.topics.len());
                self.topics.push(Known {
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

    fn destroy(&mut self, name: usize) -> Checked {
        let Some(at) = self.names[name].take() else {
            return Ok(());
        };
        self.note_end(at, None);
        prop_assert!(self.registry.destroy(&self.topics[at].topic).is_ok());
        Ok(())
    }

    fn subscribe(&mut self, name: usize, ear: usize, wish: Wish) -> Checked {
        let Some(at) = self.names[name] else {
            return Ok(());
        };
        let topic = &self.topics[at].topic;
        let facet = self.members.len().to_string();
        let identity = ear_identity(ear);
        let proxy = self.adapter.proxy(identity.clone()).ice_facet(&facet);
        let proxy = match wish.mode {
            InvocationMode::Oneway => proxy.ice_oneway(),
            InvocationMode::BatchOneway => proxy.ice_batch_oneway(),
            _ => proxy,
        };
        // As the hub reads it from a request: a proxy of its own communicator.
        let proxy = self.communicator.proxy_from(proxy.reference().clone());
        let text = qos_text(&wish);
        let qos = Qos::parse(&text, wish.mode).expect("wishes that make sense");
        let is_subscribed = topic.find(&identity).is_some_and(|s| !s.is_gone());
        let subscribed = self.registry.subscribe(topic, &proxy, text, qos);
        if is_subscribed {
            prop_assert!(matches!(subscribed, Err(ChangeError::AlreadySubscribed)));
            return Ok(());
        }
        prop_assert!(subscribed.is_ok());
        let was_unwell = self.ears.mood(ear) != Mood::Well;
        let ear = Ear {
            at: ear,
            facet,
            wish,
            was_unwell,
        };
        self.add(at, &identity, Some(ear));
        Ok(())
    }

    fn add(&mut self, topic: usize, identity: &Identity, ear: Option<Ear>) {
        let known = &self.topics[topic].topic;
        self.members.push(Member {
            topic,
            subscriber: known.find(identity).expect("it was added"),
            given_before: given(known),
            given_at_end: None,
            ear,
        });
    }

    fn unsubscribe(&mut self, name: usize, ear: usize) -> Checked {
        if let Some(at) = self.names[name] {
            self.note_end(at, Some(&ear_identity(ear)));
            let topic = &self.topics[at].topic;
            let left = self.registry.unsubscribe(topic, &[ear_identity(ear)]);
            prop_assert!(left.is_ok());
            prop_assert!(topic.find(&ear_identity(ear)).is_none());
        }
        Ok(())
    }

    /// Subscriptions to a topic are about to end, all or one.
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

    fn link(&mut self, from: usize, to: usize) -> Checked {
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

    fn unlink(&mut self, from: usize, to: usize) -> Checked {
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

    /// Publishes one event after the other, until there is one to wait for.
    async fn publish(&mut self, name: usize, publisher: usize, count: usize, waits: bool) {
        for _ in 0..count {
            let (Some(at), true) = (self.names[name], self.is_free(publisher)) else {
                return;
            };
            self.published[publisher] += 1;
            let event = (at, publisher, self.published[publisher]);
            let (maker, made) = &mut self.maker;
            let nothing = [6, 0, 0, 0, 1, 1];
            let operation = operation(event);
            let invoked = maker.invoke(&operation, OperationMode::Normal, &nothing);
            invoked.await.expect("the test answers");
            let run = floe::Events::from(made.recv().await.expect("it was made"));
            let known = &mut self.topics[at];
            known.published += 1;
            if waits {
                let waiting = known.topic.publish_waiting(run, Instant::now());
                self.waiting[publisher] = waiting.map(tokio::spawn);
            } else {
                known.all_wait = false;
                known.topic.publish(run, Instant::now());
            }
        }
    }

    /// Whether a publisher does not wait.
    fn is_free(&mut self, publisher: usize) -> bool {
        let waiting = &mut self.waiting[publisher];
        waiting.take_if(|waiting| waiting.is_finished());
        waiting.is_none()
    }

    fn turn(&mut self, ear: usize, mood: Mood) {
        self.ears.set_mood(ear, mood);
        let ears = self.members.iter_mut().flat_map(|m| &mut m.ear);
        for known in ears.filter(|known| known.at == ear) {
            known.was_unwell |= mood != Mood::Well;
        }
    }

    /// Lets all subscribers answer, and waits until nothing is under way.
    pub(super) async fn settle(&mut self) -> Checked {
        (0..EARS).for_each(|ear| self.ears.set_mood(ear, Mood::Well));
        let waiting = async {
            while !self.is_at_rest() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        prop_assert!(waited.is_ok(), "deliveries are still under way");
        Ok(())
    }

    fn is_at_rest(&mut self) -> bool {
        (0..PUBLISHERS).all(|publisher| self.is_free(publisher))
            && self.members.iter().all(|member| {
                let now = member.subscriber.snapshot();
                let has_arrived = member.ear.as_ref().is_none_or(|ear| {
                    self.ears.heard(&ear.facet).len() as u64 >= now.accounts.delivered
                });
                now.queued == 0 && now.outstanding == 0 && has_arrived
            })
    }

    /// Checks what holds at any moment: each event is in exactly one place, and topics forget nobody.
    pub(super) fn check_accounts(&self) -> Checked {
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
        let (present, mut counts) = self.registry.directory().topics_and_destroyed();
        for topic in &present {
            counts += crate::service::destroyed_topics::TopicCounts::of(topic);
        }
        let told = (counts.published, counts.forwarded, counts.totals.accounts);
        prop_assert_eq!(told, all);
        Ok(())
    }

    /// Checks what holds when nothing is under way.
    pub(super) fn check_end(&self) -> Checked {
        let forwarded: u64 = self.topics.iter().map(|k| k.topic.forwarded()).sum();
        let links = self.members.iter().filter(|member| member.ear.is_none());
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
            if let (Some(given), Some(_)) = (given, &member.ear) {
                prop_assert_eq!(now.accounts.offered, given - member.given_before);
            }
            if let Some(ear) = &member.ear {
                self.check_ear(ear, known, now.accounts)?;
            }
        }
        Ok(())
    }

    fn check_ear(&self, ear: &Ear, known: &Known, accounts: Accounts) -> Checked {
        let heard = self.ears.heard(&ear.facet);
        // A batch whose servant hangs does not hold up the next one: that is its adapter's affair.
        let may_overtake = ear.wish.mode == InvocationMode::BatchOneway && ear.was_unwell;
        let mut last = BTreeMap::new();
        for &(topic, publisher, number) in heard.iter().filter(|_| !may_overtake) {
            let before = last.insert((topic, publisher), number);
            prop_assert!(
                before.is_none_or(|before| before < number),
                "{:?}: {number} came after {before:?} of publisher {publisher} to topic {topic}",
                ear.wish
            );
        }
        // Who is not well fails what it has heard.
        let lost = accounts.lost;
        prop_assert_eq!(heard.len() as u64, accounts.delivered + lost.failed);
        if !ear.was_unwell {
            prop_assert_eq!((lost.failed, lost.offline), (0, 0));
        }
        let is_waited_for = ear.wish.overflow == "block" && known.all_wait;
        if is_waited_for && known.topic.forwarded() == 0 {
            prop_assert_eq!(lost.overflow, 0, "lost although its publishers wait");
        }
        Ok(())
    }
}

/// Events that a topic was given so far, by publishers and links.
fn given(topic: &Topic) -> u64 {
    topic.published() + topic.forwarded()
}

fn topic_name(name: usize) -> String {
    format!("t{name}")
}

fn ear_identity(ear: usize) -> Identity {
    Identity::with_category(ear.to_string(), EAR)
}

fn link_identity(to: usize) -> Identity {
    let name = crate::core::topic_name(&topic_name(to));
    Identity::with_category(name, "IceStorm")
}

fn qos_text(wish: &Wish) -> BTreeMap<String, String> {
    let mut text = BTreeMap::from([
        ("floe.overflow", wish.overflow.to_owned()),
        ("floe.queueEvents", wish.queue_events.to_string()),
        ("retryCount", wish.retry_count.to_string()),
    ]);
    if wish.is_ordered {
        text.insert("reliability", "ordered".to_owned());
    }
    let owned = text.into_iter().map(|(key, value)| (key.to_owned(), value));
    owned.collect()
}
