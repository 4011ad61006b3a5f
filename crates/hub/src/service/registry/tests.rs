//! Concurrent changes, and a store that fails.
//!
//! - `tests/random.rs`: the rules hold after any sequence of steps

mod random;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::forwarding::Event;
use floe::{Adapter, Dispatcher, InvokeError, OperationMode, SystemException, TypedProxy};
use tokio::sync::mpsc;

use super::*;
use crate::core::Qos;
use crate::service::client::Client;
use crate::service::directory::Object;
use crate::service::pace::LOOKED_AT_MAX;
use crate::service::pace::tests::pauses;
use crate::service::servants;
use crate::settings::StoreSettings;
use crate::store::{StoredLink, StoredSubscription};

/// A store that keeps nothing, and fails while the flag is set.
struct Failing {
    is_failing: Arc<AtomicBool>,
    refuses_subscriptions: Arc<AtomicBool>,
}

impl Store for Failing {
    fn load(&mut self) -> Result<Vec<StoredTopic>, StoreError> {
        Ok(Vec::new())
    }

    fn apply(&mut self, changes: &[Change<'_>]) -> Result<(), StoreError> {
        let subscribes = |change: &Change<'_>| matches!(change, Change::Subscribe { .. });
        let is_refused =
            self.refuses_subscriptions.load(Ordering::Relaxed) && changes.iter().any(subscribes);
        match self.is_failing.load(Ordering::Relaxed) || is_refused {
            true => Err(StoreError::new("the disk is full")),
            false => Ok(()),
        }
    }

    fn copy(&mut self) -> Result<std::path::PathBuf, StoreError> {
        Err(StoreError::new("the disk is full"))
    }

    fn is_slow(&self) -> bool {
        false
    }
}

/// A registry without its hub.
pub(in crate::service) struct World {
    communicator: Communicator,
    pub(in crate::service) registry: Arc<Registry>,
    is_failing: Arc<AtomicBool>,
    refuses_subscriptions: Arc<AtomicBool>,
}

impl World {
    pub(in crate::service) fn new() -> Self {
        Self::with(Vec::new())
    }

    fn with(stored: Vec<StoredTopic>) -> Self {
        Self::of(HubSettings::default(), stored)
    }

    fn of(settings: HubSettings, stored: Vec<StoredTopic>) -> Self {
        let communicator = Communicator::new();
        let is_failing = Arc::<AtomicBool>::default();
        let refuses_subscriptions = Arc::<AtomicBool>::default();
        let store = Failing {
            is_failing: is_failing.clone(),
            refuses_subscriptions: refuses_subscriptions.clone(),
        };
        let registry = Registry::open(settings, Box::new(store), stored, &communicator);
        let registry = registry.expect("no log fails");
        Self {
            communicator,
            registry,
            is_failing,
            refuses_subscriptions,
        }
    }

    fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::Relaxed);
    }

    pub(in crate::service) fn create(&self, name: &str) -> Arc<Topic> {
        self.registry.create(name.to_owned(), false, None).unwrap()
    }

    fn try_subscribe(&self, topic: &Arc<Topic>, name: &str) -> Result<(), ChangeError> {
        self.try_subscribe_with(topic, name, &[])
    }

    fn try_subscribe_with(
        &self,
        topic: &Arc<Topic>,
        name: &str,
        wishes: &[(&str, &str)],
    ) -> Result<(), ChangeError> {
        let text = format!("{name}:tcp -h 127.0.0.1 -p 1");
        let proxy = self.communicator.proxy(&text).unwrap();
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let qos_text: BTreeMap<_, _> = wishes.iter().map(owned).collect();
        let qos = Qos::parse(&qos_text, floe::InvocationMode::Twoway).unwrap();
        self.registry
            .subscribe(topic, &proxy, qos_text, qos, Client::Unknown, None)
    }

    pub(in crate::service) fn subscribe(&self, topic: &Arc<Topic>, name: &str) -> Arc<Subscriber> {
        self.try_subscribe(topic, name).unwrap();
        topic.find(&Identity::new(name)).unwrap()
    }

    fn unremoved(&self) -> usize {
        self.registry.lock_changes().unremoved.len()
    }
}

/// Lets other tasks run until the condition holds.
async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(30), waiting);
    waited.await.expect("the condition holds in time");
}

/// Waits until this is the only reference to the subscriber.
async fn release(subscriber: Arc<Subscriber>) {
    until(|| Arc::strong_count(&subscriber) == 1).await;
}

#[tokio::test]
async fn a_subscriber_that_has_left_is_released() {
    let world = World::new();
    let topic = world.create("t");
    let subscriber = world.subscribe(&topic, "s");
    let left = [subscriber.identity().clone()];
    world.registry.unsubscribe(&topic, &left).unwrap();
    release(subscriber).await;
}

#[tokio::test]
async fn a_new_subscriber_replaces_one_whose_subscription_has_ended() {
    let world = World::new();
    let topic = world.create("t");
    let dead = world.subscribe(&topic, "s");
    dead.remove();
    let new = world.subscribe(&topic, "s");
    assert!(!Arc::ptr_eq(&dead, &new));
    assert_eq!(topic.all_subscribers().count(), 1);
    let again = world.try_subscribe(&topic, "s").unwrap_err();
    assert!(matches!(again, ChangeError::AlreadySubscribed), "{again}");
    let found = world.registry.directory.find("topic.t.publish.s");
    assert!(matches!(found, Some(Object::SubscriberPublisher(s)) if Arc::ptr_eq(&s, &new)));
}

#[tokio::test]
async fn a_new_topic_has_no_control_characters_in_its_name_and_one_of_a_store_keeps_them() {
    let world = World::with(vec![StoredTopic {
        name: "old\n".to_owned(),
        user: None,
        is_durable: false,
        recipients: Vec::new(),
    }]);
    for name in ["new\nline", "\u{1b}[2J", "\u{7f}", "\0", "\u{85}"] {
        let created = world.registry.create(name.to_owned(), false, None);
        let error = created.err().expect("it is refused");
        let text = error.to_string();
        assert!(text.contains("expected no control characters"), "{text}");
        assert!(!text.chars().any(char::is_control), "{text}");
    }
    world.create("Größe und Gewicht");
    let old = world.registry.directory.topic("old\n").unwrap();
    world.registry.destroy(old).await.unwrap();
}

#[tokio::test]
async fn a_destroyed_topic_refuses_changes() {
    let world = World::new();
    let topic = world.create("t");
    world.registry.destroy(topic.clone()).await.unwrap();
    let gone = |result| matches!(result, Err(ChangeError::TopicGone));
    assert!(gone(world.try_subscribe(&topic, "s")));
    assert!(gone(world.registry.unsubscribe(&topic, &[])));
    assert!(gone(world.registry.destroy(topic.clone()).await));
    assert!(!topic.has_subscribers());
}

#[tokio::test]
async fn a_removal_that_failed_is_tried_again_with_the_next_change() {
    let world = World::new();
    let topic = world.create("t");
    let subscriber = world.subscribe(&topic, "s");
    world.set_failing(true);
    subscriber.remove();
    until(|| world.unremoved() == 1).await;
    assert!(topic.has(&subscriber));
    assert!(
        world
            .registry
            .create("other".to_owned(), false, None)
            .is_err()
    );
    assert_eq!(world.unremoved(), 1);
    world.set_failing(false);
    world.create("other");
    assert_eq!(world.unremoved(), 0);
    assert!(!topic.has(&subscriber));
    release(subscriber).await;
}

#[tokio::test]
async fn removing_an_ended_subscriber_leaves_its_successor_alone() {
    let world = World::new();
    let topic = world.create("t");
    let dead = world.subscribe(&topic, "s");
    world.set_failing(true);
    dead.remove();
    until(|| world.unremoved() == 1).await;
    world.try_subscribe(&topic, "s").unwrap_err();
    world.set_failing(false);
    let new = world.subscribe(&topic, "s");
    world.create("other");
    assert!(topic.has(&new) && !topic.has(&dead));
    release(dead).await;
}

#[tokio::test]
async fn stored_subscribers_with_the_same_publisher_name_do_not_affect_each_other() {
    let stored = [("a", "b.publish.c"), ("a.publish.b", "c")].map(|(topic, name)| StoredTopic {
        name: topic.to_owned(),
        user: None,
        is_durable: false,
        recipients: vec![StoredRecipient::Subscription(StoredSubscription {
            subscriber: format!("{name}:tcp -h 127.0.0.1 -p 1").parse().unwrap(),
            qos: BTreeMap::new(),
            user: None,
            chooser: None,
        })],
    });
    let world = World::with(stored.to_vec());
    let topic = |name| world.registry.directory.topic(name).unwrap();
    let one = topic("a").all_subscribers().next().unwrap();
    let other = topic("a.publish.b");
    world
        .registry
        .unsubscribe(&other, &[Identity::new("c")])
        .unwrap();
    let found = world.registry.directory.find("topic.a.publish.b.publish.c");
    assert!(matches!(found, Some(Object::SubscriberPublisher(s)) if Arc::ptr_eq(&s, &one)));
}

#[tokio::test]
async fn new_recipients_follow_changed_settings() {
    let world = World::new();
    let topic = world.create("t");
    world.create("other");
    let mut settings = HubSettings::default();
    settings.queue_limits.events = 2;
    settings.queue_limits.patience = Duration::ZERO;
    assert!(world.registry.reconfigure(settings).is_empty());
    let link = StoredLink {
        topic: "IceStorm/topic.other".parse().unwrap(),
        receiver: None,
        cost: 0,
        maker: None,
    };
    let linked = world.registry.link(&topic, link, &world.communicator);
    linked.unwrap();
    world.subscribe(&topic, "s");
    let event = event(&world.communicator, 10).await;
    // No delivery task runs before the test waits.
    for _ in 0..5 {
        topic.publish(event.clone().into(), false, Instant::now());
    }
    let lost = topic.all_subscribers();
    let lost: Vec<_> = lost.map(|s| s.snapshot().accounts.lost.overflow).collect();
    assert_eq!(lost, [3, 3]);
}

async fn adapter(communicator: &Communicator) -> Adapter {
    let adapter = communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    adapter.unwrap()
}

#[tokio::test]
async fn the_publisher_of_an_ended_subscription_does_not_exist() {
    let world = World::new();
    let hub = adapter(&world.communicator).await;
    servants::register(&hub, &world.registry).unwrap();
    hub.activate();
    let topic = world.create("t");
    let subscriber = world.subscribe(&topic, "s");
    let name = Identity::with_category("topic.t.publish.s", "IceStorm");
    let publisher = hub.proxy(name);
    publisher.ice_ping().await.unwrap();
    world.set_failing(true);
    subscriber.remove();
    let error = publisher.ice_ping().await.unwrap_err();
    assert!(
        matches!(
            error,
            InvokeError::System(SystemException::ObjectNotExist(_))
        ),
        "{error}"
    );
}

/// Sends each request to a channel, as an event.
struct EventSource(mpsc::UnboundedSender<Event>);

impl Dispatcher for EventSource {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl EventSource {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        self.0.send(request.event()).expect("the test listens");
        Box::pin(async move { request.returned_nothing() })
    }
}

/// An event with this many bytes of parameters, in the buffer that it was read into.
async fn event(communicator: &Communicator, parameters_len: usize) -> Event {
    let (sender, mut events) = mpsc::unbounded_channel();
    let adapter = adapter(communicator).await;
    let proxy = adapter.add("events", EventSource(sender)).unwrap();
    adapter.activate();
    let mut parameters = vec![0; 6 + parameters_len];
    let len = u32::try_from(parameters.len()).unwrap();
    parameters[..4].copy_from_slice(&len.to_le_bytes());
    parameters[4..6].copy_from_slice(&[1, 1]);
    let invoked = proxy.invoke("e", OperationMode::Normal, &parameters);
    invoked.await.unwrap();
    events.recv().await.unwrap()
}

#[tokio::test]
async fn a_late_event_of_a_waiting_publisher_counts() {
    let world = World::new();
    let topic = world.create("t");
    // A dispatch keeps the topic after it has found the object.
    let found = world.registry.directory.find(&publisher_name("t"));
    let Some(Object::Publisher(found)) = found else {
        panic!("the topic has a publisher");
    };
    let weak = Arc::downgrade(&topic);
    world.registry.destroy(topic.clone()).await.unwrap();
    drop(topic);
    // Reading the counts releases topics that nothing else refers to.
    let published = || world.registry.directory.counting().finish().published;
    assert_eq!(published(), 0);
    let event = event(&world.communicator, 100).await;
    let held = found.publish(event.into(), true, Instant::now());
    assert!(held.is_done());
    drop(found);
    assert_eq!(published(), 1);
    assert!(weak.upgrade().is_none());
    assert_eq!(published(), 1);
}

#[tokio::test]
async fn other_settings_and_new_subscribers_leave_queues_short_while_all_have_too_much() {
    let world = World::new();
    let topic = world.create("t");
    let known = world.subscribe(&topic, "known");
    world.registry.cut_queues(Some(10_000));
    world.registry.reconfigure(HubSettings::default());
    world.registry.reconfigure_topics().await;
    let new = world.subscribe(&topic, "new");
    // The task of this test does not let deliveries run in between.
    let event = event(&world.communicator, 1_000).await;
    for _ in 0..100 {
        let held = topic.publish(event.clone().into(), false, Instant::now());
        assert!(held.is_done(), "no publisher is held back meanwhile");
    }
    for subscriber in [known, new] {
        let queued = subscriber.snapshot().queued_bytes;
        assert!(queued <= 10_000, "{queued}");
    }
}

#[tokio::test]
async fn a_topic_with_many_subscribers_ends_while_other_tasks_run() {
    let world = World::new();
    let topic = world.create("t");
    const COUNT: usize = 10 * ENDED_AT_A_TIME;
    for number in 0..COUNT {
        world.subscribe(&topic, &number.to_string());
    }
    let other = tokio::spawn({
        let topic = topic.clone();
        async move {
            while topic.all_subscribers().count() == COUNT {
                tokio::task::yield_now().await;
            }
            topic.all_subscribers().count()
        }
    });
    tokio::task::yield_now().await;
    world.registry.destroy(topic.clone()).await.unwrap();
    let left = other.await.unwrap();
    assert!(0 < left && left < COUNT, "it saw {left}");
    assert!(world.registry.directory.topic("t").is_none());
    assert!(!topic.has_subscribers());
    assert_eq!(world.registry.usage().subscriptions, 0);
}

#[tokio::test]
async fn other_tasks_run_while_many_subscribers_get_other_settings() {
    let world = World::new();
    let ready = Arc::<crate::service::subscriber::ReadyQueue>::default();
    // Many on one topic, and as many topics with one.
    let many = world.create("many");
    for number in 0..LOOKED_AT_MAX {
        many.add(Subscriber::unreachable(&ready));
        let topic = world.create(&number.to_string());
        topic.add(Subscriber::unreachable(&ready));
    }
    let given_way = pauses(world.registry.reconfigure_topics()).await;
    // Each subscriber is looked at, and each topic.
    assert!(given_way >= 3, "{given_way}");
}

/// So many that an event goes to one of them at a time.
const MANY: usize = 20;

fn offered(subscriber: &Arc<Subscriber>) -> u64 {
    subscriber.snapshot().accounts.offered
}

#[tokio::test]
async fn other_tasks_run_while_an_event_goes_to_many_subscribers() {
    let world = World::new();
    let topic = world.create("t");
    let subscribe = |number: usize| world.subscribe(&topic, &number.to_string());
    let subscribers: Vec<_> = (0..MANY).map(subscribe).collect();
    let event = event(&world.communicator, 10).await;
    let sum = move || subscribers.iter().map(offered).sum::<u64>();
    let held = topic.publish(event.into(), false, Instant::now());
    assert_eq!(sum(), 0, "it waits for the turn of its task");
    let other = tokio::spawn({
        let sum = sum.clone();
        async move {
            while sum() == 0 {
                tokio::task::yield_now().await;
            }
            sum()
        }
    });
    held.done().await.unwrap();
    assert_eq!(sum(), MANY as u64);
    let seen = other.await.unwrap();
    assert!(seen < MANY as u64, "it saw {seen}");
}

#[tokio::test]
async fn events_for_many_subscribers_keep_their_order_and_go_to_the_subscribers_of_their_time() {
    let world = World::new();
    let topic = world.create("t");
    let subscribe = |number: usize| world.subscribe(&topic, &number.to_string());
    let subscribers: Vec<_> = (0..MANY).map(subscribe).collect();
    let event = event(&world.communicator, 10).await;
    let publish = || topic.publish(event.clone().into(), false, Instant::now());
    let (first, second) = (publish(), publish());
    let late = world.subscribe(&topic, "late");
    let leaving = subscribers[1..].iter().map(|it| it.identity().clone());
    let leaving: Vec<_> = leaving.collect();
    world.registry.unsubscribe(&topic, &leaving).unwrap();
    // Two subscribers would get it immediately, but the events before it come first.
    let third = publish();
    assert_eq!((offered(&subscribers[0]), offered(&late)), (0, 0));
    first.done().await.unwrap();
    assert_eq!(offered(&late), 0);
    second.done().await.unwrap();
    third.done().await.unwrap();
    assert_eq!((offered(&subscribers[0]), offered(&late)), (3, 1));
    // No publication is under way now, so the next one goes immediately.
    until(|| !topic.fan_outs().is_running()).await;
    assert!(publish().is_done());
    assert_eq!((offered(&subscribers[0]), offered(&late)), (4, 2));
}

#[tokio::test]
async fn a_publisher_that_left_does_not_end_its_publication_and_the_end_of_the_hub_waits_for_it() {
    let world = World::new();
    let topic = world.create("t");
    let subscribe = |number: usize| world.subscribe(&topic, &number.to_string());
    let subscribers: Vec<_> = (0..MANY).map(subscribe).collect();
    let event = event(&world.communicator, 10).await;
    drop(topic.publish(event.into(), false, Instant::now()));
    world.registry.drain().await;
    assert!(subscribers.iter().all(|it| offered(it) == 1));
}

#[tokio::test]
async fn a_subscription_that_cannot_be_stored_leaves_all_as_it_was() {
    let name = format!("floe-registry-{}", std::process::id());
    let data = std::env::temp_dir().join(name);
    let settings = HubSettings {
        store: StoreSettings::Disk(data.clone()),
        ..HubSettings::default()
    };
    let world = World::of(settings, Vec::new());
    let topic = world.registry.create("t".to_owned(), true, None).unwrap();
    let wishes = |name| [("floe.durable", name), ("floe.attempts", "3")];
    let subscribed = world.try_subscribe_with(&topic, "former", &[("floe.durable", "d")]);
    subscribed.unwrap();
    world.refuses_subscriptions.store(true, Ordering::Relaxed);
    for name in ["d", "other"] {
        let refused = world.try_subscribe_with(&topic, "new", &wishes(name));
        assert!(refused.is_err());
    }
    let found = |name: &str| topic.find(&Identity::new(name)).is_some();
    assert!(found("former") && !found("new"));
    let reader = topic.log().unwrap().named("d").expect("it is kept");
    assert_eq!(
        reader.dead_letters(),
        None,
        "its rules are those of the former"
    );
    assert!(topic.log().unwrap().named("other").is_none());
    assert!(world.registry.directory.topic("t.dead").is_none());
    assert!(!world.registry.logs.has("t.dead"));
    world.refuses_subscriptions.store(false, Ordering::Relaxed);
    world
        .try_subscribe_with(&topic, "new", &wishes("d"))
        .unwrap();
    assert!(!found("former") && found("new"));
    assert!(world.registry.directory.topic("t.dead").is_some());
    world.registry.end();
    let _ = std::fs::remove_dir_all(data);
}
