//! Delivery in each mode.

use std::time::{Duration, Instant};

use floe::dispatch::dispatch_fn;
use floe::message::Outcome;
use floe::{Context, EncodingVersion, OperationMode, TypedProxy};
use floe_hub::contracts::floe::Losses;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::world::{
    Subscribers, World, encapsulation, numbered, publish, publish_many, publisher, soon, subscribe,
};

#[tokio::test]
async fn a_twoway_subscriber_gets_all_events_in_order() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    publish_many(&publisher(&topic).await, 300).await;
    assert_eq!(inbox.operations(300).await, numbered(300));
}

#[tokio::test]
async fn only_a_subscriber_that_asks_for_it_gets_events_that_one_reply_answers() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    for (group, oneways_max) in [("", 0), ("1", 0), ("4", 3)] {
        // It takes the requests of a connection in their order.
        let (sender, mut events) = mpsc::unbounded_channel();
        let servant = dispatch_fn(move |request| {
            let is_oneway = request.current().is_oneway();
            let _ = sender.send((request.operation().to_owned(), is_oneway));
            request.returned_nothing()
        });
        let added = subscribers.adapter.add(&*format!("s{group}"), servant);
        let proxy = added.expect("a new identity");
        let name = format!("t{group}");
        let topic = world.create(&name).await;
        let qos: &[(&str, &str)] = match group {
            "" => &[],
            group => &[("floe.group", group)],
        };
        subscribe(&topic, &proxy, qos).await;
        let batch = publisher(&topic).await.ice_batch_oneway();
        publish_many(&batch, 300).await;
        batch.ice_flush_batch().await.unwrap();
        let (mut oneways, mut most) = (0, 0);
        for number in numbered(300) {
            let (operation, is_oneway) = soon(events.recv()).await.expect("an event");
            assert_eq!(operation, number, "group {group:?}");
            oneways = if is_oneway { oneways + 1 } else { 0 };
            most = oneways.max(most);
        }
        assert_eq!((most, oneways), (oneways_max, 0), "group {group:?}");
        let info = world.info_when(&name, |info| info.delivered == 300).await;
        assert_eq!(info.lost, Losses::default());
        soon(topic.destroy()).await.unwrap();
    }
}

#[tokio::test]
async fn an_ordered_subscriber_has_one_request_at_a_time() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[("reliability", "ordered")]).await;
    publish_many(&publisher(&topic).await, 20).await;
    let info = world
        .info_when("t", |i| i.subscribers[0].queued == 19)
        .await;
    assert_eq!(info.subscribers[0].outstanding, 1);
    inbox.open();
    assert_eq!(inbox.operations(20).await, numbered(20));
}

#[tokio::test]
async fn at_most_five_requests_to_a_twoway_subscriber_are_unanswered() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add_stuck("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    publish_many(&publisher(&topic).await, 20).await;
    let info = world
        .info_when("t", |i| i.subscribers[0].queued == 15)
        .await;
    assert_eq!(info.subscribers[0].outstanding, 5);
    assert_eq!(info.delivered, 0);
    inbox.open();
    inbox.operations(20).await;
    world.info_when("t", |i| i.delivered == 20).await;
}

#[tokio::test]
async fn a_oneway_subscriber_gets_oneway_requests_in_order() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy.ice_oneway(), &[]).await;
    let publisher = publisher(&topic).await.ice_oneway();
    publish_many(&publisher, 5_000).await;
    assert!(inbox.next().await.is_oneway);
    assert_eq!(inbox.operations(4_999).await, numbered(5_000)[1..]);
}

#[tokio::test]
async fn events_collected_for_a_batch_arrive_after_the_subscription_has_ended() {
    let world = World::with(|settings| settings.flush_interval = Duration::from_secs(3600)).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let batch = proxy.ice_batch_oneway();
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    subscribe(&topic, &batch, &[]).await;
    publish_many(&publisher, 10).await;
    soon(topic.unsubscribe(Some(&batch))).await.unwrap();
    assert_eq!(inbox.operations(10).await, numbered(10));
    let info = world.info_when("t", |info| info.delivered == 10).await;
    assert_eq!(info.lost, Losses::default());
    subscribe(&topic, &batch, &[]).await;
    publish_many(&publisher, 10).await;
    soon(topic.destroy()).await.unwrap();
    assert_eq!(inbox.operations(10).await, numbered(10));
}

#[tokio::test]
async fn events_for_a_batch_subscriber_wait_for_the_flush_interval() {
    let interval = Duration::from_millis(300);
    let world = World::with(|settings| settings.flush_interval = interval).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy.ice_batch_oneway(), &[]).await;
    let publisher = publisher(&topic).await;
    for round in 0..2 {
        let start = Instant::now();
        publish_many(&publisher, 10).await;
        assert_eq!(inbox.operations(10).await, numbered(10));
        assert!(start.elapsed() >= interval, "round {round} came too early");
    }
}

#[tokio::test]
async fn a_batch_without_an_interval_waits_until_it_is_long_enough() {
    let world = World::with(|settings| {
        settings.flush_interval = Duration::MAX;
        // A limit of 0 bytes still means one event.
        settings.flush_bytes = 0;
    })
    .await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy.ice_batch_oneway(), &[]).await;
    publish_many(&publisher(&topic).await, 10).await;
    assert_eq!(inbox.operations(10).await, numbered(10));
}

#[tokio::test]
async fn a_batch_that_is_long_leaves_before_the_interval_is_over() {
    let world = World::with(|settings| {
        settings.flush_interval = Duration::from_secs(3_600);
        settings.flush_bytes = 1_000;
    })
    .await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy.ice_batch_oneway(), &[]).await;
    publish_many(&publisher(&topic).await, 200).await;
    assert_eq!(inbox.operations(150).await, numbered(200)[..150]);
}

#[tokio::test]
async fn an_event_travels_unopened_with_its_mode_context_and_encoding() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let context = Context::from([("cost".to_owned(), "3".to_owned())]);
    let publisher = publisher(&topic).await.ice_context(context.clone());
    let old = encapsulation(EncodingVersion::V1_0, "unopened");
    let answer = publisher.invoke("tell", OperationMode::Idempotent, &old);
    let nothing = encapsulation(EncodingVersion::V1_0, "");
    let expected = Outcome::Returned(nothing.into());
    assert_eq!(soon(answer).await.unwrap(), Some(expected));
    let received = inbox.next().await;
    assert_eq!(received.operation, "tell");
    assert_eq!(received.mode, OperationMode::Idempotent);
    assert_eq!(received.context, context);
    assert_eq!(received.parameters, old);
}

#[tokio::test]
async fn an_event_in_an_unknown_encoding_is_forwarded_and_answered_in_it() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let unknown = [8, 0, 0, 0, 7, 3, 0xAA, 0xBB];
    let publisher = publisher(&topic).await;
    let answer = publisher.invoke("tell", OperationMode::Normal, &unknown);
    let expected = Outcome::Returned(vec![6, 0, 0, 0, 7, 3].into());
    assert_eq!(soon(answer).await.unwrap(), Some(expected));
    assert_eq!(inbox.next().await.parameters, unknown);
}

#[tokio::test]
async fn built_in_operations_of_a_publisher_are_events() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let publisher = publisher(&topic).await;
    soon(publisher.ice_ping()).await.unwrap();
    assert!(
        soon(publisher.ice_ids()).await.is_err(),
        "the answer is empty"
    );
    assert_eq!(inbox.operations(2).await, ["ice_ping", "ice_ids"]);
}

#[tokio::test]
async fn an_event_longer_than_the_hub_copies_arrives_whole() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let long = encapsulation(EncodingVersion::V1_1, &"long ".repeat(180_000));
    let sent = publisher(&topic).await;
    let sent = sent.invoke("tell", OperationMode::Normal, &long);
    soon(sent).await.unwrap();
    assert_eq!(inbox.next().await.parameters, long);
}

#[tokio::test]
async fn a_user_exception_of_a_subscriber_is_a_delivery() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy, &[]).await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "throw").await;
    publish(&publisher, "throw").await;
    world
        .info_when("t", |i| i.subscribers[0].delivered == 2)
        .await;
}

#[tokio::test]
async fn subscribers_of_all_modes_get_the_same_events() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let topic = world.create("t").await;
    let mut inboxes = Vec::new();
    for number in 0..12 {
        let (proxy, inbox) = subscribers.add(&format!("s{number}"));
        let proxy = match number % 3 {
            0 => proxy,
            1 => proxy.ice_oneway(),
            _ => proxy.ice_batch_oneway(),
        };
        subscribe(&topic, &proxy, &[]).await;
        inboxes.push(inbox);
    }
    publish_many(&publisher(&topic).await, 50).await;
    for inbox in &mut inboxes {
        assert_eq!(inbox.operations(50).await, numbered(50));
    }
    let info = world.info_when("t", |i| i.delivered == 600).await;
    assert_eq!(info.published, 50);
}

#[tokio::test]
async fn an_event_reaches_the_facet_of_the_subscribers_proxy() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (proxy, inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy.ice_facet("none"), &[]).await;
    publish(&publisher(&topic).await, "e").await;
    world.info_when("t", |i| i.lost.failed == 1).await;
    assert!(!inbox.has_more());
}

#[tokio::test]
async fn a_shutdown_delivers_what_is_queued() {
    let world = World::with(|settings| settings.flush_interval = Duration::from_secs(3_600)).await;
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let topic = world.create("t").await;
    subscribe(&topic, &proxy.ice_batch_oneway(), &[]).await;
    publish_many(&publisher(&topic).await, 10).await;
    assert!(!inbox.has_more());
    world.shut_down().await;
    assert_eq!(inbox.operations(10).await, numbered(10));
}

#[tokio::test]
async fn datagram_subscribers_get_datagrams_one_by_one_and_in_batches() {
    let world = World::start().await;
    let subscribers = Subscribers::at("udp -h 127.0.0.1 -p 0").await;
    let (single, mut single_inbox) = subscribers.add("single");
    let (batch, mut batch_inbox) = subscribers.add("batch");
    let topic = world.create("t").await;
    subscribe(&topic, &single.ice_datagram(), &[]).await;
    subscribe(&topic, &batch.ice_batch_datagram(), &[]).await;
    publish_many(&publisher(&topic).await, 20).await;
    assert_eq!(single_inbox.operations(20).await, numbered(20));
    assert_eq!(batch_inbox.operations(20).await, numbered(20));
}

#[tokio::test]
async fn a_subscriber_without_a_cached_connection_gets_events_at_all_its_endpoints() {
    let world = World::start().await;
    let (one, other) = (Subscribers::start().await, Subscribers::start().await);
    let ((proxy, mut in_one), (_, mut in_other)) = (one.add("s"), other.add("s"));
    let both = format!("{proxy}:{}", other.adapter.endpoints()[0]);
    let both: floe::Proxy = world.client.proxy(&both).expect("a proxy");
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    let ordered = ("reliability", "ordered");
    subscribe(&topic, &both, &[ordered, ("connectionCached", "0")]).await;
    publish_many(&publisher, 64).await;
    world.info_when("t", |info| info.delivered == 64).await;
    assert!(in_one.has_more() && in_other.has_more());
    soon(topic.unsubscribe(Some(&both))).await.unwrap();
    for inbox in [&mut in_one, &mut in_other] {
        inbox.operations(inbox.waiting()).await;
    }
    subscribe(&topic, &both, &[ordered, ("connectionCached", "1")]).await;
    publish_many(&publisher, 64).await;
    world.info_when("t", |info| info.delivered == 128).await;
    let counts = [in_one.waiting(), in_other.waiting()];
    assert!(counts.contains(&64) && counts.contains(&0), "{counts:?}");
}

#[tokio::test]
async fn subscribers_at_websockets_get_events_in_every_mode() {
    let world = World::start().await;
    let subscribers = Subscribers::at("ws -h 127.0.0.1 -p 0").await;
    let topic = world.create("t").await;
    let mut inboxes = Vec::new();
    for mode in [
        floe::InvocationMode::Twoway,
        floe::InvocationMode::Oneway,
        floe::InvocationMode::BatchOneway,
    ] {
        let (proxy, inbox) = subscribers.add(&format!("{mode:?}"));
        subscribe(&topic, &proxy.ice_mode(mode), &[]).await;
        inboxes.push(inbox);
    }
    publish_many(&publisher(&topic).await, 50).await;
    for mut inbox in inboxes {
        assert_eq!(inbox.operations(50).await, numbered(50));
    }
}

#[tokio::test]
async fn a_reply_of_the_servant_is_a_delivery_even_if_it_is_malformed() {
    let world = World::start().await;
    // Only the status; a size larger than the data; a user exception without content.
    for (name, answer) in [
        ("bare", &[0][..]),
        ("long", &[0, 48, 0, 0, 0, 1, 1]),
        ("thrown", &[1, 6]),
    ] {
        let port = answering(answer).await;
        let text = format!("s:tcp -h 127.0.0.1 -p {port}");
        let subscriber = world.client.proxy(&text).unwrap();
        let topic = world.create(name).await;
        subscribe(&topic, &subscriber, &[]).await;
        publish_many(&publisher(&topic).await, 10).await;
        let info = world.info_when(name, |info| info.delivered == 10).await;
        assert_eq!(info.lost, Losses::default(), "{name}");
    }
}

/// A port whose server answers each request on its first connection with this status and these bytes.
async fn answering(answer: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (mut hub, _) = listener.accept().await.expect("a connection");
        let validation = *b"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00";
        hub.write_all(&validation).await.expect("the hub lives");
        let mut header = [0; 14];
        while hub.read_exact(&mut header).await.is_ok() {
            let [.., s0, s1, s2, s3] = header;
            let mut body = vec![0; u32::from_le_bytes([s0, s1, s2, s3]) as usize - header.len()];
            hub.read_exact(&mut body).await.expect("a whole request");
            let mut reply = b"IceP\x01\x00\x01\x00\x02\x00".to_vec();
            let size = header.len() + 4 + answer.len();
            reply.extend((size as u32).to_le_bytes());
            reply.extend(&body[..4]);
            reply.extend(answer);
            hub.write_all(&reply).await.expect("the hub lives");
        }
    });
    port
}
