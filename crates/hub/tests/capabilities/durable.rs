//! Durable topics, and subscriptions with a position.

use std::path::Path;

use floe::contracts::ice_storm::TopicProxy;
use floe::{Context, InvokeError, OperationMode, Proxy, TypedProxy};
use floe_hub::contracts::floe::{DurableTopicsProxy, LogContents, LoggedEvent};
use floe_hub::log::Retention;
use floe_hub::{DURABLE_TOPICS, DurableSettings, HubSettings, StoreSettings};

use crate::world::{
    Directory, Inbox, Subscribers, World, identity, nothing, numbered, publish, publish_many,
    publisher, qos, soon, subscribe,
};

/// A hub with the durable topic `t` and the topic `live`.
pub(crate) async fn hub_in(directory: &Path) -> World {
    hub_with(directory, |_| ()).await
}

pub(crate) async fn hub_with(directory: &Path, change: impl FnOnce(&mut HubSettings)) -> World {
    World::with(|settings| {
        settings.store = StoreSettings::Disk(directory.to_owned());
        let durable = DurableSettings::default();
        settings.durable_topics.insert("t".to_owned(), durable);
        change(settings);
    })
    .await
}

pub(crate) async fn topic(world: &World, name: &str) -> TopicProxy {
    let topic = soon(world.manager.retrieve(name)).await;
    topic.expect("the topic exists")
}

/// Publishes with a context. Returns what the hub answers.
pub(crate) async fn publish_with(
    publisher: &Proxy,
    operation: &str,
    context: &[(&str, &str)],
) -> Result<(), InvokeError> {
    let entries = context
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let publisher = publisher.ice_context(entries.collect::<Context>());
    let nothing = nothing();
    let sent = publisher.invoke(operation, OperationMode::Normal, &nothing);
    soon(sent).await.map(drop)
}

pub(crate) const DURABLE: &[(&str, &str)] = &[("floe.durable", "d"), ("floe.from", "beginning")];

/// The operations that came, and that no others did until the position is behind all events.
async fn all_operations(world: &World, inbox: &mut Inbox, count: usize) -> Vec<String> {
    let operations = inbox.operations(count).await;
    let is_done = |info: &floe_hub::contracts::floe::TopicInfo| {
        info.subscribers
            .iter()
            .all(|s| s.queued == 0 && s.outstanding == 0)
    };
    world.info_when("t", is_done).await;
    assert!(!inbox.has_more());
    operations
}

#[tokio::test]
async fn a_durable_subscription_begins_with_events_that_came_before_it() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    publish_many(&publisher, 300).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let ordered = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic, &proxy, &ordered).await;
    publish(&publisher, "later").await;
    let mut expected = numbered(300);
    expected.push("later".to_owned());
    assert_eq!(all_operations(&world, &mut inbox, 301).await, expected);
}

#[tokio::test]
async fn the_window_of_a_durable_subscriber_that_keeps_answering_grows() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, DURABLE).await;
    let growing = async {
        loop {
            publish_many(&publisher, 500).await;
            inbox.operations(500).await;
            inbox.close();
            publish_many(&publisher, 50).await;
            let is_full =
                |info: &floe_hub::contracts::floe::TopicInfo| info.subscribers[0].outstanding >= 5;
            let info = world.info_when("t", is_full).await;
            inbox.open();
            inbox.operations(50).await;
            if info.subscribers[0].outstanding > 5 {
                return;
            }
        }
    };
    soon(growing).await;
}

#[tokio::test]
async fn each_start_position_gives_the_events_from_there_on() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    publish_many(&publisher, 10).await;
    let subscribers = Subscribers::start().await;
    for (from, first) in [
        ("beginning", 0),
        ("last", 9),
        ("-3", 7),
        ("seq:5", 4),
        ("time:0", 0),
        ("time:2100-01-01T00:00:00Z", 10),
        ("new", 10),
    ] {
        let (proxy, mut inbox) = subscribers.add(from);
        let wishes = [("floe.from", from), ("reliability", "ordered")];
        subscribe(&topic, &proxy, &wishes).await;
        let count = 10 - first;
        let operations = all_operations(&world, &mut inbox, count).await;
        assert_eq!(operations, numbered(10)[first..], "{from}");
        topic.unsubscribe(Some(&proxy)).await.unwrap();
    }
}

#[tokio::test]
async fn a_position_outlives_subscriptions_and_other_subscribers_get_events_at_once() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (live, mut live_inbox) = subscribers.add("live");
    subscribe(&topic, &live, &[("reliability", "ordered")]).await;
    let wishes = [DURABLE, &[("reliability", "ordered")]].concat();
    let (first, mut inbox) = subscribers.add("first");
    subscribe(&topic, &first, &wishes).await;
    publish_many(&publisher, 3).await;
    assert_eq!(all_operations(&world, &mut inbox, 3).await, numbered(3));
    topic.unsubscribe(Some(&first)).await.unwrap();
    for number in 3..6 {
        publish(&publisher, &format!("e{number}")).await;
    }
    let (second, mut inbox) = subscribers.add("second");
    subscribe(&topic, &second, &wishes).await;
    let operations = all_operations(&world, &mut inbox, 3).await;
    assert_eq!(operations, numbered(6)[3..]);
    assert_eq!(live_inbox.operations(6).await, numbered(6));
    let info = world.info("t").await;
    assert_eq!((info.published, info.lost.overflow), (6, 0));
}

#[tokio::test]
async fn positions_and_events_survive_a_restart_of_the_hub_while_the_subscriber_is_away() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic_before = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let endpoint = subscribers.adapter.endpoints()[0].to_string();
    let (proxy, mut inbox) = subscribers.add("s");
    let wishes = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic_before, &proxy, &wishes).await;
    let publisher_before = publisher(&topic_before).await;
    publish_many(&publisher_before, 3).await;
    assert_eq!(all_operations(&world, &mut inbox, 3).await, numbered(3));
    subscribers.stop().await;
    for number in 3..6 {
        publish(&publisher_before, &format!("e{number}")).await;
    }
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    assert_eq!(topic.get_subscribers().await.unwrap(), [identity("s")]);
    publish(&publisher(&topic).await, "e6").await;
    let subscribers = Subscribers::at(&endpoint).await;
    let (_proxy, mut inbox) = subscribers.add("s");
    let operations = all_operations(&world, &mut inbox, 4).await;
    assert_eq!(operations, numbered(7)[3..]);
}

#[tokio::test]
async fn a_refused_event_comes_again_and_then_becomes_a_dead_letter() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let wishes = [
        DURABLE,
        &[
            ("reliability", "ordered"),
            ("floe.attempts", "3"),
            ("floe.backOff", "1"),
            ("floe.stamps", "yes"),
        ],
    ]
    .concat();
    subscribe(&topic, &proxy, &wishes).await;
    for operation in ["before", "throw", "after"] {
        publish(&publisher, operation).await;
    }
    let expected = [
        ("before", "1", "1"),
        ("throw", "2", "1"),
        ("throw", "2", "2"),
        ("throw", "2", "3"),
        ("after", "3", "1"),
    ];
    for (operation, sequence, attempt) in expected {
        let received = inbox.next().await;
        assert_eq!(received.operation, operation);
        assert_eq!(received.context["floe.sequence"], sequence);
        assert_eq!(received.context["floe.attempt"], attempt);
        assert!(received.context["floe.time"].parse::<u64>().is_ok());
    }
    let dead = soon(world.manager.retrieve("t.dead")).await.unwrap();
    let (proxy, mut inbox) = subscribers.add("mourner");
    subscribe(&dead, &proxy, &[("floe.from", "beginning")]).await;
    let letter = inbox.next().await;
    assert_eq!(letter.operation, "throw");
    let entry = |key: &str| letter.context[key].as_str();
    assert_eq!(entry("floe.deadTopic"), "t");
    assert_eq!(entry("floe.deadSubscription"), "d");
    assert_eq!(entry("floe.deadSequence"), "2");
    assert_eq!(entry("floe.deadAttempts"), "3");
    assert!(entry("floe.deadReason").contains("user exception"));
    let info = world.info_when("t", |info| info.delivered == 2).await;
    assert_eq!(info.lost.failed, 1);
}

#[tokio::test]
async fn an_event_whose_acknowledgement_is_late_comes_again() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let wishes = [
        DURABLE,
        &[
            ("floe.deadline", "50"),
            ("floe.backOff", "1"),
            ("floe.stamps", "yes"),
        ],
    ]
    .concat();
    subscribe(&topic, &proxy, &wishes).await;
    publish(&publisher(&topic).await, "e").await;
    for attempt in ["1", "2", "3"] {
        assert_eq!(inbox.next().await.context["floe.attempt"], attempt);
    }
    inbox.open();
    world.info_when("t", |info| info.delivered == 1).await;
}

#[tokio::test]
async fn an_event_that_its_publisher_sends_again_is_stored_once() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic_before = topic(&world, "t").await;
    let publisher_before = publisher(&topic_before).await;
    let numbered =
        |number: &'static str| [("floe.publisher", "p"), ("floe.publisherSequence", number)];
    for number in ["1", "2", "2", "1", "3"] {
        let operation = format!("e{number}");
        publish_with(&publisher_before, &operation, &numbered(number))
            .await
            .unwrap();
    }
    world.shut_down().await;
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    for number in ["3", "4"] {
        let operation = format!("e{number}");
        publish_with(&publisher, &operation, &numbered(number))
            .await
            .unwrap();
    }
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let wishes = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic, &proxy, &wishes).await;
    let operations = all_operations(&world, &mut inbox, 4).await;
    assert_eq!(operations, ["e1", "e2", "e3", "e4"]);
}

#[tokio::test]
async fn a_publisher_chooses_its_level_and_a_wrong_one_is_refused() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    for level in ["accepted", "written", "synced"] {
        let context = [("floe.acknowledge", level)];
        publish_with(&publisher, "e", &context).await.unwrap();
    }
    let context = [("floe.acknowledge", "surely")];
    let error = publish_with(&publisher, "e", &context).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected an acknowledgement level"),
        "{error}"
    );
    assert_eq!(world.info("t").await.published, 3);
}

#[tokio::test]
async fn subscribers_that_share_a_subscription_get_each_event_once() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let wishes = [DURABLE, &[("floe.shared", "yes")]].concat();
    let (first, mut first_inbox) = subscribers.add_stuck("first");
    let (second, mut second_inbox) = subscribers.add_stuck("second");
    subscribe(&topic, &first, &wishes).await;
    subscribe(&topic, &second, &wishes).await;
    publish_many(&publisher(&topic).await, 100).await;
    // Each takes a few events and answers none. When the second one leaves, the first one gets them.
    second_inbox.next().await;
    first_inbox.open();
    topic.unsubscribe(Some(&second)).await.unwrap();
    let mut operations = all_operations(&world, &mut first_inbox, 100).await;
    operations.sort();
    let mut expected = numbered(100);
    expected.sort();
    assert_eq!(operations, expected);
}

#[tokio::test]
async fn a_reader_without_a_name_leaves_when_it_is_not_there_and_a_named_one_stays() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let wishes = [("floe.from", "beginning")];
    for (name, wishes) in [("nameless", &wishes[..]), ("named", DURABLE)] {
        let (proxy, _inbox) = subscribers.add(name);
        subscribe(&topic, &proxy, wishes).await;
        subscribers.adapter.remove(&identity(name), "");
    }
    publish(&publisher(&topic).await, "e").await;
    let info = world
        .info_when("t", |info| info.subscribers.len() == 1)
        .await;
    assert_eq!(info.subscribers[0].qos["floe.durable"], "d");
}

#[tokio::test]
async fn events_are_pulled_acknowledged_and_refused() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    publish_many(&publisher, 5).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let wishes = qos(&[DURABLE, &[("floe.backOff", "1")]].concat());
    soon(topics.open_pull("t", &wishes)).await.unwrap();
    let numbers = |events: &[LoggedEvent]| events.iter().map(|e| e.number).collect::<Vec<_>>();
    let pull = async |count| soon(topics.pull("t", "d", count, 10_000)).await.unwrap();
    let events = pull(3).await;
    assert_eq!(numbers(&events), [1, 2, 3]);
    assert_eq!((events[0].operation.as_str(), events[0].attempt), ("e0", 1));
    topics.acknowledge("t", "d", &[2]).await.unwrap();
    topics.refuse("t", "d", &[1]).await.unwrap();
    // The refused event comes again, and the others after it or before it.
    let mut rest = Vec::new();
    while rest.len() < 3 {
        rest.extend(numbers(&pull(10).await));
    }
    rest.sort_unstable();
    assert_eq!(rest, [1, 4, 5]);
    topics.acknowledge_to("t", "d", 4).await.unwrap();
    let position = |contents: LogContents| {
        let of_d = &contents.subscriptions[0];
        (of_d.position, of_d.pending, of_d.behind)
    };
    assert_eq!(position(topics.contents("t").await.unwrap()), (5, 1, 0));
    assert!(topics.pull("t", "d", 10, 0).await.unwrap().is_empty());
    // A waiting program gets an event as soon as it comes.
    let waiting = pull(1);
    let (pulled, ()) = tokio::join!(waiting, publish(&publisher, "late"));
    assert_eq!(pulled[0].operation, "late");
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let mut again = Vec::new();
    while again.len() < 2 {
        let pulled = soon(topics.pull("t", "d", 10, 10_000)).await.unwrap();
        again.extend(pulled.iter().map(|event| (event.number, event.attempt)));
    }
    again.sort_unstable();
    assert_eq!(again, [(5, 2), (6, 2)], "they were not acknowledged");
    let error = topics.pull("t", "other", 1, 0).await.unwrap_err();
    assert!(error.to_string().contains("NoSuchSubscription"), "{error}");
}

#[tokio::test]
async fn a_waiting_pull_gets_an_event_that_comes_again_and_a_pull_without_a_wait_gets_what_there_is()
 {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let rules = [("floe.backOff", "300"), ("floe.deadline", "500")];
    let wishes = qos(&[DURABLE, &rules].concat());
    soon(topics.open_pull("t", &wishes)).await.unwrap();
    publish(&publisher, "e").await;
    let attempts = async |wait| {
        let pulled = soon(topics.pull("t", "d", 10, wait)).await.unwrap();
        pulled.iter().map(|event| event.attempt).collect::<Vec<_>>()
    };
    assert_eq!(attempts(0).await, [1]);
    soon(topics.refuse("t", "d", &[1])).await.unwrap();
    // It comes again after its back-off.
    assert_eq!(attempts(30_000).await, [2]);
    // Nothing acknowledges it, so it comes again after its deadline and its back-off.
    assert_eq!(attempts(30_000).await, [3]);
    // Another program refuses it while one waits.
    let refuse = async {
        topics.refuse("t", "d", &[1]).await.unwrap();
    };
    let (again, ()) = tokio::join!(attempts(30_000), refuse);
    assert_eq!(again, [4]);
    soon(topics.acknowledge("t", "d", &[1])).await.unwrap();
    assert!(attempts(0).await.is_empty());
}

#[tokio::test]
async fn a_stream_acknowledges_an_event_when_the_program_asks_for_the_next() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    publish_many(&publisher(&topic(&world, "t").await).await, 3).await;
    let client = floe::hub::HubClient::connect(&world.hub.topic_manager())
        .await
        .unwrap();
    let subscribed = async || {
        let qos = floe::hub::Qos::new().durable("d").begin_at("beginning");
        let qos = qos.delivery(floe::hub::Delivery::Ordered);
        let subscribe = client.topic("t").await.unwrap().subscribe::<AnyEvent>();
        soon(subscribe.qos(qos).start()).await.unwrap()
    };
    let name = async |events: &mut floe::hub::Subscription<AnyEvent>| {
        soon(events.next()).await.unwrap().unwrap().0
    };
    let mut events = subscribed().await;
    assert_eq!(name(&mut events).await, "e0");
    assert_eq!(name(&mut events).await, "e1");
    // It is not done with the second event, and ends without a word.
    drop(events);
    world
        .info_when("t", |info| info.subscribers.is_empty())
        .await;
    let mut events = subscribed().await;
    assert_eq!(name(&mut events).await, "e1");
    soon(events.unsubscribe()).await.unwrap();
    let mut events = subscribed().await;
    assert_eq!(name(&mut events).await, "e2");
}

/// Any event without parameters, by its operation.
pub(crate) struct AnyEvent(pub(crate) String);

impl floe::hub::TypedEvent for AnyEvent {
    const TYPE_ID: &'static str = "::Test::Any";
    const TYPE_IDS: &'static [&'static str] = &["::Ice::Object", "::Test::Any"];

    fn decode(request: &floe::dispatch::Request) -> Option<Result<Self, floe::SystemException>> {
        let operation = request.operation();
        (!operation.starts_with("ice_")).then(|| Ok(Self(operation.to_owned())))
    }
}

#[tokio::test]
async fn a_topic_that_remembers_events_gives_the_last_ones_to_late_subscribers() {
    let world = World::with(|settings| {
        let last_three = Retention {
            events: Some(3),
            ..Retention::default()
        };
        settings.histories.insert("t".to_owned(), last_three);
    })
    .await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (live, mut live_inbox) = subscribers.add("live");
    subscribe(&topic, &live, &[("reliability", "ordered")]).await;
    publish_many(&publisher, 10).await;
    let (late, mut inbox) = subscribers.add("late");
    let wishes = [("floe.from", "beginning"), ("reliability", "ordered")];
    subscribe(&topic, &late, &wishes).await;
    assert_eq!(inbox.operations(3).await, numbered(10)[7..]);
    publish(&publisher, "e10").await;
    assert_eq!(inbox.operations(1).await, ["e10"]);
    assert_eq!(live_inbox.operations(11).await, numbered(11));
    let (other, _inbox) = subscribers.add("other");
    let named = qos(DURABLE);
    let refused = topic.subscribe_and_get_publisher(&named, Some(&other));
    let error = soon(refused).await.unwrap_err().to_string();
    assert!(error.contains("expected a durable topic"), "{error}");
}

#[tokio::test]
async fn a_subscription_that_cannot_be_durable_is_refused_with_the_reason() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let live = world.create("live").await;
    let durable = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let refused = async |topic: &TopicProxy, proxy: &Proxy, wishes: &[(&str, &str)]| {
        let wishes = qos(wishes);
        let subscribed = topic.subscribe_and_get_publisher(&wishes, Some(proxy));
        soon(subscribed).await.unwrap_err().to_string()
    };
    let error = refused(&live, &proxy, DURABLE).await;
    assert!(error.contains("expected a durable topic"), "{error}");
    let error = refused(&durable, &proxy.ice_oneway(), DURABLE).await;
    assert!(error.contains("require a twoway proxy"), "{error}");
    let error = refused(
        &durable,
        &proxy,
        &[("floe.durable", "d"), ("floe.from", "x")],
    )
    .await;
    assert!(error.contains("invalid floe.from"), "{error}");

    subscribe(&durable, &proxy, DURABLE).await;
    publish(&publisher(&durable).await, "e").await;
    world.info_when("t", |info| info.delivered == 1).await;
    let (other, _inbox) = subscribers.add("other");
    let error = refused(&durable, &other, DURABLE).await;
    assert!(error.contains("another subscriber has"), "{error}");
}

#[tokio::test]
async fn the_events_of_a_destroyed_topic_do_not_come_back() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let first = topic(&world, "t").await;
    publish_many(&publisher(&first).await, 3).await;
    first.destroy().await.unwrap();
    let again = world.create("t").await;
    publish(&publisher(&again).await, "new").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&again, &proxy, DURABLE).await;
    assert_eq!(all_operations(&world, &mut inbox, 1).await, ["new"]);
}

#[tokio::test]
async fn a_loop_of_hubs_ends_at_a_durable_subscriber_too() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("other.publish");
    let ordered = [DURABLE, &[("reliability", "ordered")]].concat();
    subscribe(&topic, &proxy, &ordered).await;
    let publisher = publisher(&topic).await;
    for (operation, hops) in [("goes_round", "16"), ("passes", "15")] {
        let context = [("floe.hops", hops)];
        publish_with(&publisher, operation, &context).await.unwrap();
    }
    assert_eq!(
        all_operations(&world, &mut inbox, 1).await,
        ["passes".to_owned()]
    );
    let info = world.info_when("t", |info| info.delivered == 1).await;
    assert_eq!((info.lost.looped, info.subscribers[0].offered), (1, 2));
}

#[tokio::test]
async fn a_new_subscriber_that_is_refused_does_not_end_the_one_whose_place_it_wants() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let proxy = |name: &str| {
        let text = format!("{name}:tcp -h 127.0.0.1 -p 1");
        world.client.proxy(&text).unwrap()
    };
    subscribe(&topic, &proxy("former"), DURABLE).await;
    let (too_long, qos) = (proxy(&"x".repeat(600)), qos(DURABLE));
    let refused = topic.subscribe_and_get_publisher(&qos, Some(&too_long));
    soon(refused).await.expect_err("its name is too long");
    let found = soon(topic.get_subscribers()).await.unwrap();
    assert_eq!(found, [identity("former")]);
}

#[tokio::test]
async fn a_dead_letter_of_a_dead_letter_does_not_go_round_for_ever() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let own_topic = [("floe.attempts", "1"), ("floe.deadLetters", "t")];
    subscribe(&topic, &proxy, &[DURABLE, &own_topic].concat()).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "throw").await;
    assert_eq!(inbox.operations(17).await, vec!["throw".to_owned(); 17]);
    publish(&publisher, "last").await;
    assert_eq!(
        all_operations(&world, &mut inbox, 1).await,
        ["last".to_owned()]
    );
}

#[tokio::test]
async fn the_events_of_a_key_go_to_one_of_those_that_share_and_to_another_when_it_dies() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let sticky = [("floe.shared", "yes"), ("floe.sticky", "customer")];
    let wishes = [DURABLE, &sticky].concat();
    let dying = Subscribers::start().await;
    let staying = Subscribers::start().await;
    let (first, mut first_inbox) = dying.add_stuck("first");
    let three = [&wishes[..], &[("floe.outstanding", "3")]].concat();
    subscribe(&topic, &first, &three).await;
    let publisher = publisher(&topic).await;
    for number in 0..60 {
        let customer = format!("c{}", number % 3);
        let context = [("customer", customer.as_str())];
        let operation = format!("e{number}");
        publish_with(&publisher, &operation, &context)
            .await
            .unwrap();
    }
    // One event of each key is under way, and its member answers none: the others of its keys wait for it.
    let mut under_way = first_inbox.operations(3).await;
    under_way.sort();
    assert_eq!(under_way, ["e0", "e1", "e2"]);
    let (second, mut inbox) = staying.add("second");
    subscribe(&topic, &second, &wishes).await;
    publish(&publisher, "keyless").await;
    assert_eq!(inbox.operations(1).await, ["keyless"]);
    assert!(!first_inbox.has_more());
    dying.communicator.abort();
    let operations = inbox.operations(60).await;
    for key in 0..3 {
        let of_key = |operation: &&String| {
            let number: usize = operation[1..].parse().expect("a number");
            number % 3 == key
        };
        let of_key: Vec<_> = operations.iter().filter(of_key).cloned().collect();
        let expected: Vec<_> = (key..60).step_by(3).map(|at| format!("e{at}")).collect();
        assert_eq!(of_key, expected, "key {key}");
    }
    world
        .info_when("t", |info| info.delivered == 61 && info.published == 61)
        .await;
}

#[tokio::test]
async fn subscribers_that_share_a_subscription_agree_about_its_key_and_programs_do_not_pull_it() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let subscribers = Subscribers::start().await;
    let keyed =
        |key: &'static str| [DURABLE, &[("floe.shared", "yes"), ("floe.sticky", key)]].concat();
    let (first, _first) = subscribers.add("first");
    subscribe(&topic, &first, &keyed("a")).await;
    let (second, _second) = subscribers.add("second");
    for wishes in [keyed("b"), [DURABLE, &[("floe.shared", "yes")]].concat()] {
        let wishes = qos(&wishes);
        let refused = topic.subscribe_and_get_publisher(&wishes, Some(&second));
        let error = soon(refused).await.unwrap_err().to_string();
        assert!(error.contains("invalid floe.sticky"), "{error}");
    }
    subscribe(&topic, &second, &keyed("a")).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    for wishes in [keyed("a"), DURABLE.to_vec()] {
        let error = soon(topics.open_pull("t", &qos(&wishes)))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("invalid floe.sticky"), "{error}");
    }
    let error = soon(topics.pull("t", "d", 1, 0)).await.unwrap_err();
    assert!(error.to_string().contains("sticky"), "{error}");
}

#[tokio::test]
async fn events_of_a_topic_without_a_log_are_pulled_from_a_queue_whose_losses_count() {
    let world = World::start().await;
    let topic = world.create("live").await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let wishes = qos(&[
        ("floe.pull", "p"),
        ("floe.queueEvents", "3"),
        ("floe.patience", "0"),
    ]);
    for _ in 0..2 {
        soon(topics.open_pull("live", &wishes)).await.unwrap();
    }
    let pull = async |count, wait| {
        let pulled = soon(topics.pull("live", "p", count, wait)).await.unwrap();
        let operations = pulled.into_iter().map(|event| event.operation);
        operations.collect::<Vec<_>>()
    };
    assert!(pull(10, 0).await.is_empty());
    let publisher = publisher(&topic).await;
    publish_many(&publisher, 5).await;
    let info = world
        .info_when("live", |info| info.lost.overflow == 2)
        .await;
    assert_eq!((info.published, info.subscribers.len()), (5, 1));
    // The queue has room for three, and drops the oldest ones.
    assert_eq!(pull(2, 0).await, ["e2", "e3"]);
    assert_eq!(pull(2, 0).await, ["e4"]);
    // A waiting program gets an event as soon as it comes.
    let (pulled, ()) = tokio::join!(pull(9, 30_000), publish(&publisher, "late"));
    assert_eq!(pulled, ["late"]);
    let info = world.info_when("live", |info| info.delivered == 4).await;
    assert_eq!((info.lost.overflow, info.lost.removed), (2, 0));

    publish(&publisher, "left").await;
    let object = world.client.proxy("floe.pull/p").unwrap();
    topic.unsubscribe(Some(&object)).await.unwrap();
    let error = soon(topics.pull("live", "p", 1, 0)).await.unwrap_err();
    assert!(error.to_string().contains("NoSuchSubscription"), "{error}");
    world.info_when("live", |info| info.lost.removed == 1).await;
}

#[tokio::test]
async fn a_queue_that_no_program_pulls_for_long_ends_and_one_of_a_durable_topic_needs_no_position()
{
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let named = ("floe.pull", "p");
    soon(topics.open_pull("t", &qos(&[named]))).await.unwrap();
    publish(&publisher, "e").await;
    let pulled = soon(topics.pull("t", "p", 1, 30_000)).await.unwrap();
    assert_eq!((pulled[0].operation.as_str(), pulled[0].number), ("e", 0));
    let contents = soon(topics.contents("t")).await.unwrap();
    assert!(contents.subscriptions.is_empty());
    let short = qos(&[("floe.pull", "short"), ("floe.idle", "1")]);
    soon(topics.open_pull("t", &short)).await.unwrap();
    world
        .info_when("t", |info| info.subscribers.len() == 1)
        .await;
    for (wishes, expected) in [
        (
            &[("floe.pull", "")][..],
            "expected a name of 1 to 200 bytes",
        ),
        (
            &[named, ("floe.from", "new")],
            "expected neither floe.durable nor floe.from",
        ),
        (
            &[("floe.stamps", "yes")],
            "expected floe.durable or floe.from",
        ),
        (&[], "as floe.durable or floe.pull, got neither"),
    ] {
        let error = soon(topics.open_pull("t", &qos(wishes))).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_subscription_never_takes_the_position_of_another_one() {
    // Both are too long for the name of a file, and the ends of their files' names are the same, for an attacker has searched
    // for them.
    let names = ["1371838", "2000402"].map(|end| format!("{}{end}", ".".repeat(90)));
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    publish_many(&publisher(&topic(&world, "t").await).await, 3).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    for (name, acknowledged) in names.iter().zip([2, 1]) {
        let wishes = qos(&[("floe.durable", name), ("floe.from", "beginning")]);
        soon(topics.open_pull("t", &wishes)).await.unwrap();
        soon(topics.pull("t", name, 3, 0)).await.unwrap();
        let acknowledged = soon(topics.acknowledge_to("t", name, acknowledged));
        acknowledged.await.unwrap();
    }
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let positions = async || {
        let contents = soon(topics.contents("t")).await.unwrap();
        let positions = contents.subscriptions.into_iter();
        positions
            .map(|it| (it.name, it.position))
            .collect::<Vec<_>>()
    };
    let [first, second] = names.clone();
    let expected = [(first.clone(), 3), (second.clone(), 2)];
    assert_eq!(positions().await, expected);
    soon(topics.remove_position("t", &first)).await.unwrap();
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let contents = soon(topics.contents("t")).await.unwrap();
    assert_eq!(contents.subscriptions.len(), 1);
    assert_eq!(contents.subscriptions[0].name, second);
}

#[tokio::test]
async fn the_quality_of_service_of_a_pulled_subscription_has_limits() {
    let world = World::start().await;
    world.create("live").await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let long = "x".repeat(5000);
    let wishes = qos(&[("floe.pull", "p"), ("unknown", &long)]);
    let error = soon(topics.open_pull("live", &wishes)).await.unwrap_err();
    assert!(error.to_string().contains("limits.qos-bytes"), "{error}");
    assert!(world.info("live").await.subscribers.is_empty());
}
