//! Durable topics, and subscriptions with a position.

use std::path::Path;
use std::time::Duration;

use floe::contracts::ice_storm::TopicProxy;
use floe::hub::{HubClient, HubError};
use floe::{Context, InvokeError, OperationMode, Proxy, TypedProxy};
use floe_hub::log::Retention;
use floe_hub::{DurableSettings, HubSettings, StoreSettings};

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
pub(crate) async fn all_operations(world: &World, inbox: &mut Inbox, count: usize) -> Vec<String> {
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

#[tokio::test]
async fn a_stream_that_is_ended_with_unread_events_ends_at_once_and_gets_them_next_time() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    publish_many(&publisher(&topic(&world, "t").await).await, 5).await;
    let client = floe::hub::HubClient::connect(&world.hub.topic_manager())
        .await
        .unwrap();
    let subscribed = async || {
        let qos = floe::hub::Qos::new().durable("d").begin_at("beginning");
        let subscribe = client.topic("t").await.unwrap().subscribe::<AnyEvent>();
        soon(subscribe.qos(qos).start()).await.unwrap()
    };
    let mut events = subscribed().await;
    let read = soon(events.next()).await.unwrap().unwrap().0;
    world
        .info_when("t", |info| info.subscribers[0].outstanding == 5)
        .await;
    let ended = tokio::time::timeout(Duration::from_secs(5), events.unsubscribe());
    ended.await.expect("it waits for nobody").unwrap();
    let mut events = subscribed().await;
    let mut others = Vec::new();
    for _ in 0..4 {
        others.push(soon(events.next()).await.unwrap().unwrap().0);
    }
    others.sort();
    let mut expected = numbered(5);
    expected.retain(|name| *name != read);
    assert_eq!(others, expected);
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
async fn a_program_makes_a_durable_topic_and_finds_it_again() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let client = soon(HubClient::connect(&world.hub.endpoints())).await;
    let client = client.expect("a hub");
    let made = soon(client.durable_topic("orders")).await.expect("a topic");
    let found = soon(client.durable_topic("orders")).await.expect("a topic");
    assert_eq!(made.proxy().to_string(), found.proxy().to_string());
    // The topic of the settings is one, too.
    soon(client.durable_topic("t")).await.expect("a topic");
    soon(client.topic("plain")).await.expect("a topic");
    let refused = soon(client.durable_topic("plain")).await;
    assert!(matches!(refused, Err(HubError::NotDurable { topic }) if topic == "plain"));
    // What is published before anybody subscribes is kept.
    let publisher: Proxy = soon(made.publisher()).await.expect("a publisher");
    publish_with(&publisher, "placed", &[])
        .await
        .expect("the hub takes it");
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(made.proxy(), &proxy, DURABLE).await;
    assert_eq!(inbox.operations(1).await, ["placed"]);
}

#[tokio::test]
async fn a_hub_without_a_folder_says_that_it_has_no_durable_topics() {
    let world = World::with(|_| ()).await;
    let client = soon(HubClient::connect(&world.hub.endpoints())).await;
    let refused = soon(client.expect("a hub").durable_topic("orders")).await;
    let refused = refused.expect_err("there is no folder").to_string();
    assert!(refused.contains("durable"), "{refused}");
}
