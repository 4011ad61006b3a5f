//! A hub as `floe::hub` sees it: topics, subscriptions as streams, and what becomes of them.

use std::collections::HashSet;
use std::time::Duration;

use floe::dispatch::Request;
use floe::encoding::Encoder;
use floe::hub::{
    Delivery, HubClient, HubError, Interruption, Overflow, Qos, Subscription, TypedEvent,
};
use floe::{
    Communicator, Current, EncodingVersion, OperationMode, Proxy, SystemException, TypedProxy,
};
use floe_hub::contracts::floe::HubAdminProxy;
use floe_hub::{HUB_ADMIN, Hub, HubSettings, StoreSettings, WAITING_FACET};

use crate::world::{Directory, World, identity, soon};

/// The events of an interface with the operation `number` alone.
#[derive(Debug, PartialEq)]
struct Number(i32);

impl TypedEvent for Number {
    const TYPE_ID: &'static str = "::Test::Numbers";
    const TYPE_IDS: &'static [&'static str] = &["::Ice::Object", "::Test::Numbers"];

    fn decode(request: &Request) -> Option<Result<Self, SystemException>> {
        Some(match request.operation_bytes() {
            b"number" => request
                .decode(OperationMode::Normal, |decoder| decoder.get())
                .map(Self),
            _ => return None,
        })
    }
}

async fn connect(world: &World) -> HubClient {
    connect_to(&world.hub.endpoints()).await
}

async fn connect_to(endpoints: &str) -> HubClient {
    soon(HubClient::connect(endpoints)).await.expect("a hub")
}

async fn publisher(client: &HubClient) -> Proxy {
    let topic = soon(client.topic("t")).await.expect("a topic");
    soon(topic.publisher()).await.expect("a publisher")
}

async fn publish(publisher: &Proxy, number: i32) {
    let mut parameters = Vec::new();
    let mut encoder = Encoder::new(&mut parameters, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.put(&number));
    encoder.finish().expect("a number");
    let sent = publisher.invoke("number", OperationMode::Normal, &parameters);
    soon(sent).await.expect("the hub takes it");
}

async fn subscribe(client: &HubClient) -> Subscription<Number> {
    let topic = soon(client.topic("t")).await.expect("a topic");
    soon(topic.subscribe().check_interval(OFTEN).start())
        .await
        .expect("a subscription")
}

async fn next(events: &mut Subscription<Number>) -> Result<i32, Interruption> {
    let item = soon(events.next()).await.expect("it goes on");
    item.map(|Number(number)| number)
}

async fn numbers(events: &mut Subscription<Number>, count: usize) -> Vec<i32> {
    let mut numbers = Vec::new();
    for _ in 0..count {
        numbers.push(next(events).await.expect("no interruption"));
    }
    numbers
}

/// An interruption, and that the subscription stands again.
async fn interruption(events: &mut Subscription<Number>) -> String {
    let reason = match next(events).await {
        Err(Interruption::Interrupted { reason, .. }) => reason,
        other => panic!("expected an interruption, got {other:?}"),
    };
    let again = next(events).await;
    assert!(
        matches!(again, Err(Interruption::Resubscribed { .. })),
        "{again:?}"
    );
    reason
}

const OFTEN: Duration = Duration::from_millis(50);

#[tokio::test]
async fn events_come_in_order_over_the_subscribers_own_connection() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut events = subscribe(&client).await;
    let publisher = publisher(&client).await;
    for number in 0..100 {
        publish(&publisher, number).await;
    }
    assert_eq!(numbers(&mut events, 100).await, Vec::from_iter(0..100));
    let info = world.info("t").await;
    let subscriber = info.subscribers[0].subscriber.clone();
    assert_eq!(&subscriber.reference().identity, events.identity());
    assert!(
        subscriber.reference().endpoints().is_empty(),
        "{subscriber}"
    );
}

#[tokio::test]
async fn each_way_of_delivery_reaches_a_subscriber_wherever_it_is_delivered_to() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let mut subscriptions = Vec::new();
    for delivery in [
        Delivery::Twoway,
        Delivery::Ordered,
        Delivery::Oneway,
        Delivery::Batch,
    ] {
        let qos = Qos::new().delivery(delivery);
        let called_back = topic.subscribe::<Number>().qos(qos.clone());
        let listening = topic.subscribe::<Number>().qos(qos);
        let listening = listening.listen("tcp -h 127.0.0.1 -p 0");
        subscriptions.push(soon(called_back.start()).await.unwrap());
        subscriptions.push(soon(listening.start()).await.unwrap());
    }
    let publisher = publisher(&client).await;
    for number in 0..3 {
        publish(&publisher, number).await;
    }
    for events in &mut subscriptions {
        assert_eq!(numbers(events, 3).await, [0, 1, 2]);
    }
    let info = world.info("t").await;
    let modes: HashSet<_> = info
        .subscribers
        .iter()
        .map(|it| it.subscriber.reference().mode)
        .collect();
    assert_eq!(modes.len(), 3);
}

#[tokio::test]
async fn subscribers_have_identities_of_their_own_unless_they_choose_one() {
    let world = World::start().await;
    let client = connect(&world).await;
    let (first, second) = (subscribe(&client).await, subscribe(&client).await);
    assert_ne!(first.identity(), second.identity());
    let topic = soon(client.topic("t")).await.unwrap();
    let named = || topic.subscribe::<Number>().identity("me").start();
    let _named = soon(named()).await.unwrap();
    let error = soon(named()).await.unwrap_err();
    assert!(
        matches!(&error, HubError::AlreadySubscribed { identity, .. } if identity.name == "me"),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "topic \"t\" already has a subscriber with identity \"me\": choose another identity, or none for a unique one"
    );
    for (wrong, told) in [
        ("", "expected an identity with a name, got an empty one"),
        (
            "a/b/c",
            "expected the identity of a subscriber, such as `me`",
        ),
    ] {
        let unnamed = topic.subscribe::<Number>().identity(wrong).start();
        let error = soon(unnamed).await.unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test]
async fn subscribers_of_one_name_at_two_topics_get_the_events_of_their_own() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut all = Vec::new();
    for name in ["t", "u"] {
        let topic = soon(client.topic(name)).await.unwrap();
        let events = topic.subscribe::<Number>().identity(identity("me"));
        all.push((topic, soon(events.start()).await.unwrap()));
    }
    for (number, (topic, events)) in all.iter_mut().enumerate() {
        let number = i32::try_from(number).unwrap();
        publish(&soon(topic.publisher()).await.unwrap(), number).await;
        assert_eq!(next(events).await, Ok(number));
    }
}

#[tokio::test]
async fn a_program_that_gives_up_subscribing_leaves_no_subscription_behind() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    for polls in 1..20 {
        let mut subscribing = Box::pin(topic.subscribe::<Number>().start());
        for _ in 0..polls {
            let is_ready = std::future::poll_fn(|context| {
                std::task::Poll::Ready(subscribing.as_mut().poll(context).is_ready())
            });
            if is_ready.await {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(subscribing);
    }
    let later = soon(topic.subscribe::<Number>().start()).await.unwrap();
    world
        .info_when("t", |info| info.subscribers.len() == 1)
        .await;
    drop(later);
    world
        .info_when("t", |info| info.subscribers.is_empty())
        .await;
}

#[tokio::test]
async fn a_subscription_that_is_dropped_or_ended_is_gone_from_the_hub() {
    let world = World::start().await;
    let client = connect(&world).await;
    let (dropped, ended) = (subscribe(&client).await, subscribe(&client).await);
    soon(ended.unsubscribe()).await.expect("the hub answers");
    assert_eq!(world.info("t").await.subscribers.len(), 1);
    drop(dropped);
    world
        .info_when("t", |info| info.subscribers.is_empty())
        .await;
}

#[tokio::test]
async fn a_subscriber_whose_program_ends_is_gone_from_the_hub_without_an_event() {
    let world = World::start().await;
    let client = connect(&world).await;
    let events = subscribe(&client).await;
    client.communicator().abort();
    world
        .info_when("t", |info| info.subscribers.is_empty())
        .await;
    drop(events);
}

async fn start_at(listen: &str, store: StoreSettings) -> (Communicator, Hub) {
    let mut settings = HubSettings::default();
    settings.listen = listen.to_owned();
    settings.store = store;
    let communicator = Communicator::new();
    let hub = soon(Hub::start(&communicator, settings)).await;
    (communicator, hub.expect("a hub starts"))
}

#[tokio::test]
async fn a_subscription_outlives_the_hub_and_says_where_events_may_be_missing() {
    let (communicator, hub) = start_at("tcp -h 127.0.0.1 -p 0", StoreSettings::Memory).await;
    let endpoints = hub.endpoints();
    let client = connect_to(&endpoints).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let mut called_back = subscribe(&client).await;
    let listening = topic.subscribe().listen("tcp -h 127.0.0.1 -p 0");
    let mut listening = soon(listening.check_interval(OFTEN).start()).await.unwrap();
    publish(&publisher(&client).await, 1).await;
    for events in [&mut called_back, &mut listening] {
        assert_eq!(next(events).await, Ok(1));
    }
    soon(hub.shutdown()).await;
    soon(communicator.shutdown()).await;

    let (_communicator, _hub) = start_at(&endpoints, StoreSettings::Memory).await;
    for events in [&mut called_back, &mut listening] {
        interruption(events).await;
    }
    publish(&publisher(&client).await, 2).await;
    for events in [&mut called_back, &mut listening] {
        assert_eq!(next(events).await, Ok(2));
    }
}

#[tokio::test]
async fn a_store_keeps_subscribers_that_listen_and_no_others() {
    let directory = Directory::new();
    let store = || StoreSettings::Disk(directory.0.clone());
    let (communicator, hub) = start_at("tcp -h 127.0.0.1 -p 0", store()).await;
    let endpoints = hub.endpoints();
    let client = connect_to(&endpoints).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let mut called_back = subscribe(&client).await;
    let listening = topic.subscribe().listen("tcp -h 127.0.0.1 -p 0");
    let mut listening = soon(listening.check_interval(OFTEN).start()).await.unwrap();
    soon(hub.shutdown()).await;
    soon(communicator.shutdown()).await;

    let (_communicator, hub) = start_at(&endpoints, store()).await;
    for events in [&mut called_back, &mut listening] {
        interruption(events).await;
    }
    publish(&publisher(&client).await, 1).await;
    for events in [&mut called_back, &mut listening] {
        assert_eq!(next(events).await, Ok(1));
    }
    let status = hub.view().topic_status("t").expect("a topic");
    assert_eq!(status.totals.subscribers, 2);
}

#[tokio::test]
async fn a_subscriber_that_the_hub_forgot_subscribes_again() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut events = subscribe(&client).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let reference = events.identity().clone();
    let myself = topic.proxy().as_proxy().ice_identity(reference);
    topic.proxy().unsubscribe(Some(&myself)).await.unwrap();
    let reason = interruption(&mut events).await;
    assert!(reason.contains("ended the subscription"), "{reason}");
    publish(&publisher(&client).await, 1).await;
    assert_eq!(next(&mut events).await, Ok(1));
}

#[tokio::test]
async fn a_topic_that_was_destroyed_is_made_again_for_its_subscribers() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut events = subscribe(&client).await;
    let topic = soon(client.topic("t")).await.unwrap();
    topic.proxy().destroy().await.unwrap();
    interruption(&mut events).await;
    publish(&publisher(&client).await, 1).await;
    assert_eq!(next(&mut events).await, Ok(1));
}

#[tokio::test]
async fn a_consumer_that_is_behind_holds_up_publishers_that_wait_and_loses_nothing() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let qos = Qos::new()
        .delivery(Delivery::Ordered)
        .overflow(Overflow::Block)
        .queue_events(2);
    let events = topic.subscribe().qos(qos).capacity(3);
    let mut events = soon(events.check_interval(OFTEN).start()).await.unwrap();
    let waiting = publisher(&client).await.ice_facet(WAITING_FACET);
    let publishing = tokio::spawn(async move {
        for number in 0..50 {
            publish(&waiting, number).await;
        }
    });
    let is_full = |info: &floe_hub::contracts::floe::TopicInfo| info.subscribers[0].queued == 2;
    world.info_when("t", is_full).await;
    // Longer than a look at whether the hub delivers.
    tokio::time::sleep(3 * OFTEN).await;
    assert!(!publishing.is_finished());
    assert!(world.info("t").await.published < 50);
    assert_eq!(numbers(&mut events, 50).await, Vec::from_iter(0..50));
    soon(publishing).await.unwrap();
}

#[tokio::test]
async fn a_full_stream_holds_back_its_own_events_alone() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let full = topic.subscribe::<Number>().capacity(1);
    let full = full.check_interval(OFTEN).identity("full").start();
    let mut full = soon(full).await.unwrap();
    let mut other = subscribe(&client).await;
    let publisher = publisher(&client).await;
    // The loop of one thread publishes, reads another stream and calls the hub, while nobody reads the full stream.
    for number in 0..200 {
        publish(&publisher, number).await;
        assert_eq!(next(&mut other).await, Ok(number));
    }
    let has_window = |info: &floe_hub::contracts::floe::TopicInfo| {
        let full = info.subscribers.iter().find(|it| it.outstanding > 0);
        full.is_some_and(|it| it.queued > 0)
    };
    world.info_when("t", has_window).await;
    // Over the connection of the full stream, the session checks that the hub still delivers.
    tokio::time::sleep(4 * OFTEN).await;
    assert_eq!(numbers(&mut full, 100).await, Vec::from_iter(0..100));
    soon(full.unsubscribe()).await.unwrap();
    publish(&publisher, 200).await;
    assert_eq!(next(&mut other).await, Ok(200));
    assert_eq!(world.info("t").await.subscribers.len(), 1);
}

#[tokio::test]
async fn a_batch_has_all_events_that_are_there() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut events = subscribe(&client).await;
    let publisher = publisher(&client).await;
    let mut got = Vec::new();
    for number in 0..50 {
        publish(&publisher, number).await;
    }
    while got.len() < 50 {
        let batch = soon(events.next_batch()).await.expect("it goes on");
        assert!(!batch.is_empty());
        got.extend(
            batch
                .into_iter()
                .map(|event| event.expect("no interruption").0),
        );
    }
    assert_eq!(got, Vec::from_iter(0..50));
}

#[tokio::test]
async fn events_that_the_hub_dropped_are_told_in_their_place() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let qos = Qos::new()
        .delivery(Delivery::Ordered)
        .overflow(Overflow::DropOldest)
        .queue_events(1);
    let events = topic.subscribe().qos(qos).capacity(1).start();
    let mut events = soon(events).await.unwrap();
    let publisher = publisher(&client).await;
    for number in 0..20 {
        publish(&publisher, number).await;
    }
    let (mut expected, mut lost) = (0, 0);
    while expected < 20 {
        match next(&mut events).await {
            Ok(number) => {
                assert_eq!(number, expected, "after {lost} lost");
                expected += 1;
            }
            Err(Interruption::Lost { count }) => {
                lost += count;
                expected += i32::try_from(count).unwrap();
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(lost > 0);
}

#[tokio::test]
async fn an_event_of_another_contract_is_refused_and_told() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut events = subscribe(&client).await;
    let publisher = publisher(&client).await;
    crate::world::publish(&publisher, "letter").await;
    let refused = next(&mut events).await.unwrap_err();
    assert!(
        matches!(&refused, Interruption::Refused { operation, .. } if operation == "letter"),
        "{refused}"
    );
    interruption(&mut events).await;
    publish(&publisher, 1).await;
    assert_eq!(next(&mut events).await, Ok(1));
}

#[tokio::test]
async fn an_event_of_another_contract_among_many_is_told_to_program_and_hub() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut events = subscribe(&client).await;
    // In one read, so that the hub sends them together.
    let batch = publisher(&client).await.ice_batch_oneway();
    for number in 0..20 {
        publish(&batch, number).await;
        if number == 7 {
            crate::world::publish(&batch, "letter").await;
        }
    }
    soon(batch.ice_flush_batch()).await.unwrap();
    let mut got = Vec::new();
    let refused = loop {
        match next(&mut events).await {
            Ok(number) => got.push(number),
            Err(interruption) => break interruption,
        }
    };
    assert!(
        matches!(&refused, Interruption::Refused { operation, .. } if operation == "letter"),
        "{refused}"
    );
    assert_eq!(got, Vec::from_iter(0..8));
    // The hub ends the subscription, as after any event that a subscriber refuses.
    let interrupted = loop {
        match next(&mut events).await {
            Ok(number) => got.push(number),
            Err(interruption) => break interruption,
        }
    };
    assert!(
        matches!(interrupted, Interruption::Interrupted { .. }),
        "{interrupted}"
    );
    assert!(got.is_sorted(), "{got:?}");
}

/// Sends what it is told to a test.
struct Telling(tokio::sync::mpsc::UnboundedSender<String>);

impl floe::contracts::ice::Process for Telling {
    async fn shutdown(&self, _current: &Current) -> Result<(), floe::InvokeError> {
        Ok(())
    }

    async fn write_message(
        &self,
        message: String,
        _fd: i32,
        _current: &Current,
    ) -> Result<(), floe::InvokeError> {
        self.0.send(message).expect("the test listens");
        Ok(())
    }
}

#[tokio::test]
async fn a_servant_can_take_the_events() {
    use floe::contracts::ice::{ProcessDispatcher, ProcessProxy};
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let servant = ProcessDispatcher::new(Telling(sender));
    let subscription = topic.subscribe_servant(servant).check_interval(OFTEN);
    let mut subscription = soon(subscription.start()).await.unwrap();
    let publisher: ProcessProxy = soon(topic.publisher()).await.unwrap();
    soon(publisher.write_message("hello", 1)).await.unwrap();
    assert_eq!(soon(told.recv()).await.as_deref(), Some("hello"));

    topic.proxy().destroy().await.unwrap();
    let interrupted = soon(subscription.next_interruption()).await;
    assert!(matches!(
        interrupted,
        Some(Interruption::Interrupted { .. })
    ));
    let again = soon(subscription.next_interruption()).await;
    assert!(matches!(again, Some(Interruption::Resubscribed { .. })));
    soon(subscription.unsubscribe()).await.unwrap();
    assert_eq!(world.info("t").await.subscribers.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_without_async_takes_events_from_an_iterator() {
    use floe::blocking::{self, Wait};
    let world = World::start().await;
    let endpoints = world.hub.endpoints();
    let (done, is_done) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let communicator = blocking::Communicator::new();
        let hub = communicator.hub(&endpoints).expect("a hub");
        let topic = hub.topic("t").wait().expect("a topic");
        let events = topic.subscribe::<Number>().start().wait();
        let mut events = events.expect("a subscription");
        let publisher: Proxy = topic.publisher().wait().expect("a publisher");
        for number in 0..10 {
            publish(&publisher, number).wait();
        }
        let numbers: Vec<_> = events
            .blocking_iter()
            .take(10)
            .map(|event| event.expect("no interruption").0)
            .collect();
        events.unsubscribe().wait().expect("the hub answers");
        communicator.shutdown();
        let _ = done.send(numbers);
    });
    assert_eq!(soon(is_done).await.unwrap(), Vec::from_iter(0..10));
    world
        .info_when("t", |info| info.subscribers.is_empty())
        .await;
}

#[tokio::test]
async fn a_hub_in_the_same_communicator_has_subscribers_as_well() {
    let world = World::start().await;
    let endpoints = world.hub.endpoints();
    let client = HubClient::connect_with(&world.hub_side, &endpoints);
    let client = soon(client).await.unwrap();
    let mut events = subscribe(&client).await;
    publish(&publisher(&client).await, 1).await;
    assert_eq!(next(&mut events).await, Ok(1));
    soon(events.unsubscribe()).await.unwrap();
    assert_eq!(world.info("t").await.subscribers.len(), 0);
}

#[tokio::test]
async fn a_stream_ends_with_its_communicator() {
    let world = World::start().await;
    let client = connect(&world).await;
    let mut events = subscribe(&client).await;
    soon(client.communicator().shutdown()).await;
    while let Some(item) = soon(events.next()).await {
        assert!(
            matches!(item, Err(Interruption::Interrupted { .. })),
            "{item:?}"
        );
    }
}

#[tokio::test]
async fn a_place_without_a_hub_is_named_in_the_error() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = unused.local_addr().unwrap().to_string();
    drop(unused);
    let error = soon(HubClient::connect(&address)).await.unwrap_err();
    let text = format!("{error:?}");
    assert!(
        text.starts_with("cannot reach the hub \"IceStorm/TopicManager"),
        "{text}"
    );
    assert!(text.contains("does a hub run there?"), "{text}");
    assert!(std::error::Error::source(&error).is_some());
}

#[tokio::test]
async fn an_existing_topic_is_found_and_a_misspelt_one_is_not_created() {
    let world = World::start().await;
    let client = connect(&world).await;
    soon(client.topic("ticker")).await.unwrap();
    let found = soon(client.existing_topic("ticker")).await.unwrap();
    assert_eq!(found.name(), "ticker");
    for (misspelt, told) in [
        (
            "tiker",
            "the hub has no topic \"tiker\": did you mean \"ticker\"?",
        ),
        (
            "weather",
            "the hub has no topic \"weather\": `HubClient::topic` creates it",
        ),
    ] {
        let error = soon(client.existing_topic(misspelt)).await.unwrap_err();
        assert!(matches!(error, HubError::NoSuchTopic { .. }), "{error}");
        assert_eq!(error.to_string(), told);
    }
    let topics = soon(client.manager().retrieve_all()).await.unwrap();
    assert_eq!(topics.len(), 1);
}

#[tokio::test]
async fn a_subscriber_that_the_hub_cannot_reach_is_told_so() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    // Datagrams get no answer.
    let events = topic.subscribe::<Number>().listen("udp -h 127.0.0.1 -p 0");
    let error = soon(events.start()).await.unwrap_err();
    assert!(
        matches!(&error, HubError::NotReached { endpoints, .. } if endpoints.starts_with("udp -h 127.0.0.1")),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.starts_with("the hub did not deliver to \"udp -h 127.0.0.1 -p "),
        "{text}"
    );
    assert!(
        text.ends_with(
            ": is there a firewall or an address translation in between? Set the address to listen on with `listen`"
        ),
        "{text}"
    );
    assert_eq!(world.info("t").await.subscribers.len(), 0);
}

#[tokio::test]
async fn a_subscription_that_does_not_begin_leaves_nothing_behind() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let events = topic.subscribe::<Number>();
    let events = events.listen(&format!("tcp -h 127.0.0.1 -p {port}"));
    let error = soon(events.start()).await.unwrap_err();
    assert!(matches!(error, HubError::Listen(_)), "{error}");
    let ordered = Qos::new().entry("reliability", "perfect");
    let events = topic.subscribe::<Number>().qos(ordered);
    let error = soon(events.start()).await.unwrap_err();
    assert!(
        matches!(&error, HubError::BadQos { reason } if reason == "invalid reliability: perfect"),
        "{error}"
    );
    assert_eq!(world.info("t").await.subscribers.len(), 0);
}

#[tokio::test]
async fn a_subscription_that_is_refused_leaves_no_connection_behind() {
    let world = World::start().await;
    let client = connect(&world).await;
    let topic = soon(client.topic("t")).await.unwrap();
    let named = || topic.subscribe::<Number>().identity("me").start();
    let _named = soon(named()).await.unwrap();
    let admin = HubAdminProxy::from_proxy(world.object(HUB_ADMIN));
    let connections = async || soon(admin.status()).await.unwrap().connections;
    let before = connections().await;
    for _ in 0..20 {
        let error = soon(named()).await.unwrap_err();
        assert!(
            matches!(error, HubError::AlreadySubscribed { .. }),
            "{error}"
        );
    }
    let bad = || Qos::new().entry("reliability", "perfect");
    for _ in 0..20 {
        let refused = topic.subscribe::<Number>().qos(bad()).start();
        soon(refused).await.unwrap_err();
    }
    soon(async {
        while connections().await > before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
