//! Programs that publish.

use bytes::Bytes;
use floe_amqp::codec::Value;
use floe_amqp::message::{Body, MessageBuilder, Properties};
use floe_amqp::performative::Outcome;
use floe_amqp::terminus::{AnyTarget, Coordinator, Target, capability};
use floe_bridges::core::account::Reason;

use crate::broker::{Broker, line, settings};
use crate::client::{Client, consumer, producer, text, text_of};
use crate::eventually;

#[test]
fn a_message_is_accepted_when_the_hub_has_its_event() {
    let broker = Broker::start();
    let mut events = broker.subscribe("lines");
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    let outcome = client.publish(0, &text(&line("hello")));
    assert_eq!(outcome, Outcome::Accepted);
    assert_eq!(broker.counts("lines").taken_in, 1);
    assert_eq!(broker.next(&mut events), "hello");
    let state = broker.bridge().state();
    assert_eq!(state.peer_count, 1);
    assert!(
        state.peers[0].starts_with("cli?ent@127.0.0.1:"),
        "{state:?}"
    );
}

#[test]
fn many_messages_keep_their_order_and_each_is_accepted() {
    const COUNT: u32 = 1_000;
    let broker = Broker::start();
    let mut events = broker.subscribe("lines");
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    let mut next = 0;
    while next < COUNT {
        let flow = client.hear_flow();
        let end = flow.delivery_count.expect("a link has it") + flow.link_credit.expect("likewise");
        for number in next..end.min(COUNT) {
            client.send(0, &text(&line(&number.to_string())), false);
        }
        next = next.max(end);
    }
    for number in 0..COUNT {
        assert_eq!(broker.next(&mut events), number.to_string());
    }
    eventually("all to be counted", || {
        broker.counts("lines").taken_in == u64::from(COUNT)
    });
}

#[test]
fn messages_that_were_settled_before_are_published_though_the_connection_closes() {
    let broker = Broker::start();
    let mut events = broker.subscribe("lines");
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    for number in 0..40 {
        client.send(0, &text(&line(&number.to_string())), true);
    }
    drop(client);
    for number in 0..40 {
        assert_eq!(broker.next(&mut events), number.to_string());
    }
}

#[test]
fn a_message_that_is_no_event_is_rejected_with_its_field() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    for (message, field) in [
        (text("{\"what\":7}"), "body.what: expected a string"),
        (text("what"), "body: expected JSON"),
        (
            Bytes::from_static(b"\x00\x53\x77\x40"),
            "body: expected a TextMessage",
        ),
    ] {
        let Outcome::Rejected(Some(error)) = client.publish(0, &message) else {
            panic!("expected it to be rejected");
        };
        let told = error.to_string();
        assert!(
            told.starts_with(&format!("amqp:invalid-field: {field}")),
            "{told}"
        );
    }
    assert_eq!(broker.count("lines", Reason::Malformed), 3);
    assert_eq!(client.publish(0, &text(&line("right"))), Outcome::Accepted);
}

#[test]
fn a_producer_without_a_topic_names_it_in_each_message() {
    let broker = Broker::start();
    let mut events = broker.subscribe("in");
    let mut client = Client::connect(&broker.address());
    client.attach(producer(0, None)).expect("it is accepted");
    let message = |to: Option<&str>| {
        let mut builder = MessageBuilder::new(Body::Value(Value::text(&line("hello"))));
        builder.properties = Properties {
            to: to.map(str::to_owned),
            ..Properties::default()
        };
        builder.build()
    };
    let outcome = client.publish(0, &message(Some("topic://in")));
    assert_eq!(outcome, Outcome::Accepted);
    assert_eq!(broker.next(&mut events), "hello");
    for (to, expected) in [
        (
            None,
            "amqp:invalid-field: property to: expected the name of a topic, got none",
        ),
        (
            Some("out"),
            "amqp:not-allowed: expected a topic that takes messages, got out: its direction is \"out\"",
        ),
        (
            Some("nowhere"),
            "amqp:not-found: expected a topic of this bridge (in, lines, out), got nowhere",
        ),
    ] {
        let Outcome::Rejected(Some(error)) = client.publish(0, &message(to)) else {
            panic!("expected it to be rejected");
        };
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_producer_of_something_else_than_a_topic_that_takes_messages_is_refused() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    let mut refused = |attach| client.attach(attach).expect_err("it is refused");
    assert!(refused(producer(0, Some("out"))).contains("its direction is \"out\""));
    assert!(refused(producer(1, Some("nowhere"))).contains("amqp:not-found"));
    let mut queue = producer(2, Some("lines"));
    queue.target = Some(AnyTarget::Node(Target {
        capabilities: vec![capability::QUEUE],
        ..Target::at("lines")
    }));
    assert!(refused(queue).contains("expected a topic, got a queue"));
    let mut temporary = producer(3, None);
    temporary.target = Some(AnyTarget::Node(Target {
        dynamic: true,
        ..Target::default()
    }));
    assert!(refused(temporary).contains("a temporary queue or topic"));
    let mut coordinator = producer(4, None);
    coordinator.target = Some(AnyTarget::Coordinator(Coordinator {
        capabilities: Vec::new(),
    }));
    assert!(refused(coordinator).contains("transactions are not implemented"));
}

/// A message of exactly a mebibyte, and its text.
fn a_mebibyte() -> (Bytes, String) {
    let body = line(&"x".repeat((1 << 20) - text(&line("")).len() - 3));
    let message = text(&body);
    assert_eq!(message.len(), 1 << 20);
    (message, body)
}

#[test]
fn a_message_of_a_mebibyte_passes_both_ways() {
    let broker = Broker::in_process();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.credit(0, 0, 10, false);
    client.publisher(1, "lines");
    let (message, body) = a_mebibyte();
    client.send(1, &message, true);
    let received = client.receive();
    assert_eq!(text_of(&received.message), body);
}

#[test]
fn a_message_longer_than_the_connection_to_the_hub_takes_is_not_accepted() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    let outcome = client.publish(0, &a_mebibyte().0);
    // The hub closes the connection, and does not say why.
    assert!(matches!(outcome, Outcome::Modified(_)), "{outcome:?}");
    assert_eq!(broker.count("lines", Reason::HubAway), 1);
    assert_eq!(client.publish(0, &text(&line("short"))), Outcome::Accepted);
}

#[test]
fn a_program_is_told_that_the_hub_is_away() {
    let mut broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.publisher(0, "lines");
    assert_eq!(client.publish(0, &text(&line("1"))), Outcome::Accepted);
    let hub = broker.hub.take().expect("it runs");
    broker.runtime.block_on(hub.shutdown());
    let outcome = client.publish(0, &text(&line("2")));
    assert_ne!(outcome, Outcome::Accepted);
    let counts = broker.counts("lines");
    assert_eq!(counts.taken_in, 1);
    assert_eq!(
        counts
            .not_crossed
            .iter()
            .map(|(_, count)| count)
            .sum::<u64>(),
        1
    );
    let refused = client.attach(consumer(1, "lines"));
    let refused = refused.expect_err("the hub is away");
    assert!(refused.starts_with("amqp:internal-error"), "{refused}");
}

#[test]
fn it_listens_on_loopback_alone() {
    let broker = Broker::start();
    let started = broker.try_start(floe_bridges::amqp::Settings {
        listen: "0.0.0.0:0".to_owned(),
        ..settings()
    });
    let error = started.expect_err("others reach it").to_string();
    assert!(error.contains("other computers reach 0.0.0.0:0"), "{error}");
    let started = broker.try_start(floe_bridges::amqp::Settings {
        listen: broker.address(),
        ..settings()
    });
    let error = started.expect_err("it is taken").to_string();
    assert!(error.contains("cannot listen at 127.0.0.1:"), "{error}");
}
