//! Events of which a subscriber dies, and positions that do not exist.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use floe::dispatch::{DispatchSlot, Request, Requests};
use floe::{Communicator, Dispatcher, OperationMode, Settings, TypedProxy};
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::DurableTopicsProxy;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::durable::{DURABLE, hub_in, publish_with, topic};
use crate::world::{
    Directory, Subscribers, encapsulation, publish, publish_many, publisher, soon, subscribe,
};

const THREE_ATTEMPTS: &[(&str, &str)] = &[
    ("floe.attempts", "3"),
    ("floe.backOff", "1"),
    ("floe.stamps", "yes"),
];

/// Loses its connection by the event `poison`, as a program does that dies of it.
struct Victim(mpsc::UnboundedSender<(String, String)>);

impl Dispatcher for Victim {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            if note(&self.0, &request) {
                let connection = request.current().connection();
                connection.expect("a connection").abort();
            }
            async move { request.returned_nothing() }
        });
    }
}

/// Works on `poison` for a while, so that other events come meanwhile, and then ends. Nobody listens any more.
struct SlowVictim {
    seen: mpsc::UnboundedSender<(String, String)>,
    program: Communicator,
    is_dying: Arc<AtomicBool>,
}

impl Dispatcher for SlowVictim {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let (program, is_dying) = (self.program.clone(), self.is_dying.clone());
            if note(&self.seen, &request) {
                is_dying.store(true, Ordering::Relaxed);
                let connection = request.current().connection().expect("a connection");
                tokio::spawn(async move {
                    sleep(Duration::from_millis(30)).await;
                    connection.abort();
                    program.shutdown().await;
                });
            }
            async move {
                if is_dying.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
                request.returned_nothing()
            }
        });
    }
}

/// Notes an event and its attempt. Returns true if it is `poison`.
fn note(seen: &mpsc::UnboundedSender<(String, String)>, request: &Request) -> bool {
    let attempt = request.current().context().remove("floe.attempt");
    let _ = seen.send((request.operation().to_owned(), attempt.unwrap_or_default()));
    request.operation() == "poison"
}

#[tokio::test]
async fn an_event_of_which_its_subscriber_dies_becomes_a_dead_letter_and_the_others_arrive() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let (sender, mut seen) = mpsc::unbounded_channel();
    let proxy = subscribers.adapter.add("s", Victim(sender)).unwrap();
    publish_many(&publisher, 3).await;
    publish(&publisher, "poison").await;
    publish_many(&publisher, 3).await;
    subscribe(&topic, &proxy, &[DURABLE, THREE_ATTEMPTS].concat()).await;
    let is_over = |info: &floe_hub::contracts::floe::TopicInfo| {
        let subscriber = &info.subscribers[0];
        subscriber.queued == 0 && subscriber.outstanding == 0
    };
    world.dead_letters_when("t", 1).await;
    world.info_when("t", is_over).await;
    let mut attempts = Vec::new();
    while let Ok((operation, attempt)) = seen.try_recv() {
        if operation == "poison" {
            attempts.push(attempt);
        }
    }
    assert_eq!(attempts, ["1", "2", "3"]);
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    let dead = soon(topics.contents("t.dead")).await.unwrap();
    assert_eq!(
        dead.events, 1,
        "those that were in flight beside it are none"
    );
}

#[tokio::test]
async fn a_program_that_subscribes_anew_each_time_it_has_died_of_an_event_gets_rid_of_it() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    publish(&publisher, "poison").await;
    publish_many(&publisher, 3).await;
    let (sender, mut seen) = mpsc::unbounded_channel();
    let mut deaths = 0;
    loop {
        let subscribers = Subscribers::start().await;
        let victim = SlowVictim {
            seen: sender.clone(),
            program: subscribers.communicator.clone(),
            is_dying: Arc::default(),
        };
        let proxy = subscribers.adapter.add("s", victim).unwrap();
        subscribe(&topic, &proxy, &[DURABLE, THREE_ATTEMPTS].concat()).await;
        while soon(seen.recv())
            .await
            .is_some_and(|it| it.0 != "poison" && it.0 != "e2")
        {}
        sleep(Duration::from_millis(60)).await;
        let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
        if soon(topics.contents("t.dead"))
            .await
            .is_ok_and(|dead| dead.events == 1)
        {
            break;
        }
        deaths += 1;
        assert!(deaths < 20, "it comes for ever");
    }
}

#[tokio::test]
async fn an_event_that_is_longer_than_its_subscriber_takes_becomes_a_dead_letter() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let mut settings = Settings::default();
    settings.message_size_max = 10_000;
    let subscribers = Subscribers::with(settings, "tcp -h 127.0.0.1 -p 0").await;
    let (proxy, mut inbox) = subscribers.add("s");
    subscribe(&topic, &proxy, &[DURABLE, THREE_ATTEMPTS].concat()).await;
    publish(&publisher, "first").await;
    let long = encapsulation(floe::EncodingVersion::V1_1, &"x".repeat(20_000));
    soon(publisher.invoke("long", OperationMode::Normal, &long))
        .await
        .unwrap();
    publish(&publisher, "last").await;
    world.dead_letters_when("t", 1).await;
    let mut operations = vec![inbox.next().await.operation];
    while operations.last().is_none_or(|last| last != "last") {
        operations.push(inbox.next().await.operation);
    }
    assert!(!operations.contains(&"long".to_owned()));
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    assert_eq!(soon(topics.contents("t.dead")).await.unwrap().events, 1);
}

#[tokio::test]
async fn a_subscriber_that_is_away_costs_no_attempt() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    let subscribers = Subscribers::start().await;
    let endpoint = subscribers.adapter.endpoints()[0].to_string();
    let (proxy, _) = subscribers.add("s");
    subscribe(&topic, &proxy, &[DURABLE, THREE_ATTEMPTS].concat()).await;
    subscribers.stop().await;
    publish_with(&publisher, "e", &[]).await.unwrap();
    // Many attempts to connect.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let subscribers = Subscribers::at(&endpoint).await;
    let (_proxy, mut inbox) = subscribers.add("s");
    let event = inbox.next().await;
    assert_eq!(event.context["floe.attempt"], "1");
}

#[tokio::test]
async fn a_position_behind_the_end_of_a_log_is_its_end() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let topic = topic(&world, "t").await;
    let publisher = publisher(&topic).await;
    publish_many(&publisher, 3).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    assert_eq!(soon(topics.locate("t", "seq:1000000")).await.unwrap(), 4);
    let subscribers = Subscribers::start().await;
    let (proxy, mut inbox) = subscribers.add("s");
    let wishes = [("floe.durable", "d"), ("floe.from", "seq:1000000")];
    subscribe(&topic, &proxy, &wishes).await;
    publish(&publisher, "next").await;
    assert_eq!(inbox.next().await.operation, "next");
    world
        .info_when("t", |info| info.subscribers[0].outstanding == 0)
        .await;
    let far = format!("seq:{}", u64::MAX);
    soon(topics.set_position("t", "d", &far)).await.unwrap();
    publish(&publisher, "after").await;
    assert_eq!(inbox.next().await.operation, "after");
}
