//! Consumers.

use std::time::Duration;

use floe_bridges::core::account::Reason;
use floe_giop::message::Outcome;
use floe_giop::reference::{Ior, Profile};
use floe_giop::system_exception::SystemExceptionKind as Kind;

use crate::client::{Client, assert_returned};
use crate::consumer::{Answer, Consumer};
use crate::fixture::{not_crossed, settings, start};
use crate::values::{tick, tick_code, tick_json};

const TICK: &str = "::Demo::Ticker::tick";

#[tokio::test]
async fn each_consumer_gets_each_event_with_its_type() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let mut consumers = [Consumer::start().await, Consumer::start().await];
    for consumer in &consumers {
        assert_returned(&client.connect_consumer("ticks", &consumer.reference).await);
    }
    for id in 0..50 {
        joined.publish(TICK, &[tick_json("naïve ✓", id)]).await;
    }
    for consumer in &mut consumers {
        for id in 0..50 {
            let event = consumer.event().await;
            assert_eq!(**event.code(), tick_code());
            assert_eq!(event.value(), Ok(tick("naïve ✓", id)));
        }
    }
    joined.counted(|counts| counts.sent_out == 100).await;
    joined.end().await;
}

#[tokio::test]
async fn a_text_that_cannot_be_said_costs_its_event_alone() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let mut consumer = Consumer::start().await;
    // Without code sets in its reference a consumer has ISO 8859-1.
    let mut latin = consumer.reference.clone();
    let Profile::Iiop(profile) = &mut latin.profiles[0] else {
        panic!("it is IIOP")
    };
    profile.components.clear();
    assert_returned(&client.connect_consumer("ticks", &latin).await);
    let events = ["Zürich", "東京", "a\0b", "end"];
    let events = events.map(|text| tick_json(text, 1));
    joined.publish(TICK, &events).await;
    for text in ["Zürich", "end"] {
        assert_eq!(consumer.event().await.value(), Ok(tick(text, 1)));
    }
    joined.counted(|counts| counts.sent_out == 2).await;
    assert_eq!(not_crossed(&joined.counts(), Reason::CannotBeSaid), 2);
    joined.end().await;
}

#[tokio::test]
async fn an_event_that_was_not_taken_comes_again_in_its_order() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let mut consumer = Consumer::start().await;
    assert_returned(&client.connect_consumer("ticks", &consumer.reference).await);
    consumer.answer(&[
        Answer::Raise(Kind::Transient),
        Answer::Take,
        Answer::Close,
        Answer::Raise(Kind::CommFailure),
    ]);
    let events: Vec<_> = (0..5).map(|id| tick_json("a", id)).collect();
    joined.publish(TICK, &events).await;
    for id in 0..5 {
        assert_eq!(consumer.event().await.value(), Ok(tick("a", id)));
    }
    joined.counted(|counts| counts.sent_out == 5).await;
    assert_eq!(joined.counts().not_crossed, []);
    joined.end().await;
}

#[tokio::test]
async fn a_consumer_that_refuses_an_event_gets_the_next() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let mut consumer = Consumer::start().await;
    assert_returned(&client.connect_consumer("ticks", &consumer.reference).await);
    consumer.answer(&[Answer::Raise(Kind::BadParam)]);
    joined
        .publish(TICK, &[tick_json("a", 1), tick_json("a", 2)])
        .await;
    assert_eq!(consumer.event().await.value(), Ok(tick("a", 2)));
    joined.counted(|counts| counts.sent_out == 1).await;
    assert_eq!(joined.counts().not_crossed, [(Reason::RefusedThere, 1)]);
    joined.end().await;
}

/// Waits until the object of a reference is no longer there.
async fn await_gone(client: &mut Client, proxy: &[u8]) {
    loop {
        let there = client.call(proxy, "_non_existent", |_| Ok(())).await;
        match there {
            Outcome::SystemException(exception) => {
                return assert_eq!(exception.kind, Kind::ObjectNotExist);
            }
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn connect(client: &mut Client, consumer: &Ior) -> bytes::Bytes {
    let (_, admin) = client.obtain(b"ticks", "for_consumers").await;
    let (_, proxy) = client.obtain(&admin, "obtain_push_supplier").await;
    let connected = client
        .call(&proxy, "connect_push_consumer", |to| consumer.encode(to))
        .await;
    assert_returned(&connected);
    proxy
}

#[tokio::test]
async fn a_consumer_that_vanished_is_disconnected_and_its_events_are_counted() {
    let joined = start(floe_bridges::corba::Settings {
        consumer_patience: 0,
        ..settings()
    })
    .await;
    let mut client = Client::connect(&joined.address()).await;
    let mut stays = Consumer::start().await;
    let vanishes = Consumer::start().await;
    connect(&mut client, &stays.reference).await;
    let proxy = connect(&mut client, &vanishes.reference).await;
    vanishes.vanish().await;
    joined.publish(TICK, &[tick_json("a", 1)]).await;
    assert_eq!(stays.event().await.value(), Ok(tick("a", 1)));
    joined
        .counted(|counts| not_crossed(counts, Reason::WorldAway) == 1)
        .await;
    await_gone(&mut client, &proxy).await;
    joined.publish(TICK, &[tick_json("a", 2)]).await;
    assert_eq!(stays.event().await.value(), Ok(tick("a", 2)));
    joined.end().await;
}

#[tokio::test]
async fn a_consumer_that_raises_disconnected_is_gone() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let consumer = Consumer::start().await;
    let proxy = connect(&mut client, &consumer.reference).await;
    consumer.answer(&[Answer::RaiseDisconnected]);
    joined.publish(TICK, &[tick_json("a", 1)]).await;
    await_gone(&mut client, &proxy).await;
    joined.end().await;
}

#[tokio::test]
async fn a_consumer_that_does_not_answer_holds_up_nobody() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let (stuck, mut other) = (Consumer::start().await, Consumer::start().await);
    stuck.answer(&[Answer::Nothing]);
    connect(&mut client, &stuck.reference).await;
    connect(&mut client, &other.reference).await;
    for id in 0..20 {
        joined.publish(TICK, &[tick_json("a", id)]).await;
        assert_eq!(other.event().await.value(), Ok(tick("a", id)));
    }
    joined.end().await;
}

#[tokio::test]
async fn a_window_pushes_before_the_answers_came() {
    let joined = start(floe_bridges::corba::Settings {
        consumer_window: 8,
        ..settings()
    })
    .await;
    let mut client = Client::connect(&joined.address()).await;
    let mut consumer = Consumer::start().await;
    connect(&mut client, &consumer.reference).await;
    let events: Vec<_> = (0..100).map(|id| tick_json("a", id)).collect();
    joined.publish(TICK, &events).await;
    for id in 0..100 {
        assert_eq!(consumer.event().await.value(), Ok(tick("a", id)));
    }
    joined.counted(|counts| counts.sent_out == 100).await;
    joined.end().await;
}

#[tokio::test]
async fn a_bridge_that_ends_says_goodbye() {
    let mut joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let mut consumer = Consumer::start().await;
    connect(&mut client, &consumer.reference).await;
    let bridge = joined.bridge.take().expect("it runs");
    bridge.shut_down().await;
    assert_eq!(consumer.call().await.0, "disconnect_push_consumer");
    assert!(client.receive().await.is_none(), "the connection is closed");
    joined.end().await;
}
