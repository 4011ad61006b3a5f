//! Programs that get events.

use std::time::Duration;

use floe_amqp::codec::{Symbol, Value};
use floe_amqp::message::Message;
use floe_amqp::performative::{Detach, Modified, Outcome, Performative, SenderSettleMode};
use floe_amqp::terminus::{
    Durability, Filter, FilterKind, Filters, JMS_SELECTOR, NO_LOCAL, Source, capability,
};
use floe_bridges::core::account::Reason;

use crate::broker::{Broker, line, settings};
use crate::client::{Client, consumer, text_of};
use crate::eventually;

fn numbers(numbers: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    numbers.map(|number| number.to_string())
}

#[test]
fn each_consumer_gets_the_events_in_their_order() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.subscribe(1, "topic://lines");
    client.credit(0, 0, 1_000, false);
    client.credit(1, 0, 1_000, false);
    broker.publish("lines", numbers(0..100));
    // Both links are of one session, and their messages come in any order between the two.
    let mut counts = std::collections::BTreeMap::<String, u32>::new();
    for _ in 0..200 {
        let received = client.receive();
        client.settle(received.delivery, Outcome::Accepted);
        *counts.entry(text_of(&received.message)).or_default() += 1;
    }
    assert_eq!(counts.len(), 100);
    assert!(counts.values().all(|count| *count == 2));
    eventually("all to be settled", || {
        broker.counts("lines").sent_out == 200
    });

    let mut other = Client::connect(&broker.address());
    other.subscribe(0, "lines");
    other.credit(0, 0, 1_000, false);
    broker.publish("lines", numbers(0..100));
    for number in 0..100 {
        let received = other.receive();
        assert_eq!(text_of(&received.message), line(&number.to_string()));
    }
}

#[test]
fn a_message_names_operation_topic_and_type() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.credit(0, 0, 1, false);
    broker.publish("lines", numbers(7..8));
    let received = client.receive();
    let message = Message::locate(received.message).expect("a message");
    let message = floe_amqp::jms::JmsMessage::of(&message).expect("one of JMS");
    let expected = floe_amqp::jms::JmsBody::Text(Some(line("7")));
    assert_eq!(message.body, expected);
    let operation = floe_amqp::jms::JmsValue::String("said".to_owned());
    assert_eq!(message.properties, [("operation".to_owned(), operation)]);
    let destination = message.headers.destination.expect("it has one");
    assert_eq!(destination.address, "lines");
    assert_eq!(
        destination.kind,
        Some(floe_amqp::jms::DestinationKind::Topic)
    );
}

#[test]
fn no_more_messages_come_than_there_is_credit() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    broker.publish("lines", numbers(0..5));
    assert!(client.is_quiet(Duration::from_millis(100)));
    client.credit(0, 0, 2, false);
    for number in 0..2 {
        assert_eq!(
            text_of(&client.receive().message),
            line(&number.to_string())
        );
    }
    assert!(client.is_quiet(Duration::from_millis(100)));
    client.credit(0, 2, 3, false);
    for number in 2..5 {
        assert_eq!(
            text_of(&client.receive().message),
            line(&number.to_string())
        );
    }
}

#[test]
fn a_drain_gives_what_is_there_and_takes_the_credit_back() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.credit(0, 0, 5, true);
    let flow = client.hear_flow();
    assert_eq!((flow.link_credit, flow.delivery_count), (Some(0), Some(5)));
    broker.publish("lines", numbers(0..1));
    assert!(client.is_quiet(Duration::from_millis(100)));
    client.credit(0, 5, 1, false);
    assert_eq!(text_of(&client.receive().message), line("0"));
}

#[test]
fn a_program_may_collect_events_before_it_settles_any() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.credit(0, 0, 100, false);
    // Each comes as a batch of its own.
    let mut deliveries = Vec::new();
    for number in 0..20 {
        broker.publish("lines", numbers(number..number + 1));
        let received = client.receive();
        assert_eq!(text_of(&received.message), line(&number.to_string()));
        deliveries.push(received.delivery);
    }
    assert_eq!(broker.counts("lines").sent_out, 0);
    for delivery in deliveries {
        client.settle(delivery, Outcome::Accepted);
    }
    eventually("all to be settled", || {
        broker.counts("lines").sent_out == 20
    });
}

#[test]
fn an_event_that_was_not_taken_comes_again_in_its_place() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.credit(0, 0, 3, false);
    broker.publish("lines", numbers(0..3));
    let first = client.receive();
    let second = client.receive();
    let third = client.receive();
    client.settle(second.delivery, Outcome::Released);
    let failed = |undeliverable_here| {
        Outcome::Modified(Modified {
            delivery_failed: true,
            undeliverable_here,
            message_annotations: None,
        })
    };
    client.settle(first.delivery, failed(false));
    client.settle(third.delivery, failed(true));
    client.credit(0, 3, 3, false);
    for (text, failed_count) in [("0", Some(1)), ("1", None)] {
        let received = client.receive();
        assert_eq!(text_of(&received.message), line(text));
        let message = Message::locate(received.message).expect("a message");
        let header = message.header().expect("a header");
        assert_eq!(header.delivery_count, failed_count);
        client.settle(received.delivery, Outcome::Rejected(None));
    }
    eventually("two to be refused, and one not to be deliverable", || {
        broker.count("lines", Reason::RefusedThere) == 3
    });
    assert_eq!(broker.counts("lines").sent_out, 0);
}

#[test]
fn a_presettled_link_needs_no_outcomes() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    let mut attach = consumer(0, "lines");
    attach.snd_settle_mode = SenderSettleMode::Settled;
    client.attach(attach).expect("it is accepted");
    client.credit(0, 0, 100_000, false);
    broker.publish("lines", numbers(0..1_500));
    for number in 0..1_500 {
        assert_eq!(
            text_of(&client.receive().message),
            line(&number.to_string())
        );
    }
    eventually("all to be counted", || {
        broker.counts("lines").sent_out == 1_500
    });
}

#[test]
fn a_subscription_ends_with_its_link_and_others_go_on() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.subscribe(1, "lines");
    client.credit(1, 0, 10, false);
    client.say(Performative::Detach(Detach {
        handle: 0,
        closed: true,
        error: None,
    }));
    assert!(matches!(client.hear(), Performative::Detach(_)));
    broker.publish("lines", numbers(0..1));
    assert_eq!(text_of(&client.receive().message), line("0"));
}

#[test]
fn a_slow_consumer_costs_the_others_nothing_and_its_losses_are_counted() {
    const COUNT: u32 = 3_000;
    let broker = Broker::with(settings(), |hub| {
        hub.queue_limits.events = 50;
        hub.queue_limits.patience = Duration::ZERO;
    });
    let mut slow = Client::connect(&broker.address());
    slow.subscribe(0, "lines");
    slow.credit(0, 0, 1, false);
    let mut quick = Client::connect(&broker.address());
    quick.subscribe(0, "lines");
    quick.credit(0, 0, COUNT, false);
    for start in (0..COUNT).step_by(20) {
        broker.publish("lines", numbers(start..start + 20));
        for number in start..start + 20 {
            let received = quick.receive();
            assert_eq!(text_of(&received.message), line(&number.to_string()));
            quick.settle(received.delivery, Outcome::Accepted);
        }
    }
    assert_eq!(text_of(&slow.receive().message), line("0"));
    // When it takes more, it gets the events that were kept for it, and the hub tells of the others.
    slow.credit(0, 1, COUNT, false);
    broker.publish("lines", ["last".to_owned()]);
    let mut count = 1;
    loop {
        let received = slow.receive();
        slow.settle(received.delivery, Outcome::Accepted);
        count += 1;
        if text_of(&received.message) == line("last") {
            break;
        }
    }
    assert!(count < u64::from(COUNT), "it has lost some");
    eventually("its losses to be counted", || {
        count + broker.count("lines", Reason::Dropped) == u64::from(COUNT) + 1
    });
}

type Change<'a> = dyn Fn(&mut Source) + 'a;

#[test]
fn a_subscription_that_is_no_plain_one_of_a_topic_is_refused_with_its_kind() {
    let broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    let mut handle = 0;
    let mut refused = |change: &Change<'_>| {
        let mut attach = consumer(handle, "lines");
        handle += 1;
        change(attach.source.as_mut().expect("it has one"));
        client.attach(attach).expect_err("it is refused")
    };
    let filter = |code, value| {
        Filters::new(vec![Filter {
            name: Symbol::new("filter"),
            kind: Some(FilterKind::Code(code)),
            value,
        }])
    };
    let cases: [(&Change<'_>, &str); 8] = [
        (
            &|it| it.durable = Durability::UnsettledState,
            "a durable subscription",
        ),
        (
            &|it| it.capabilities = vec![capability::SHARED],
            "a shared subscription",
        ),
        (
            &|it| it.filter = filter(JMS_SELECTOR, Value::text("a = 1")),
            "a message selector",
        ),
        (
            &|it| it.filter = filter(NO_LOCAL, Value::List(Vec::new())),
            "noLocal",
        ),
        (&|it| it.capabilities = vec![capability::QUEUE], "a queue"),
        (&|it| it.dynamic = true, "a temporary queue or topic"),
        (
            &|it| it.address = Some("nowhere".to_owned()),
            "expected a topic of this bridge (in, lines, out), got nowhere",
        ),
        (
            &|it| it.address = Some("in".to_owned()),
            "its direction is \"in\"",
        ),
    ];
    for (change, expected) in cases {
        let told = refused(change);
        assert!(told.contains(expected), "{told}");
    }
    let mut attach = consumer(20, "lines");
    attach.source = None;
    let told = client.attach(attach).expect_err("there is none");
    assert!(
        told.starts_with("amqp:not-found: expected the name of a durable subscription"),
        "{told}"
    );
}

#[test]
fn a_connection_is_told_that_the_bridge_ends() {
    let mut broker = Broker::start();
    let mut client = Client::connect(&broker.address());
    client.subscribe(0, "lines");
    client.credit(0, 0, 10, false);
    broker.publish("lines", numbers(0..1));
    assert_eq!(text_of(&client.receive().message), line("0"));
    let bridge = broker.bridge.take().expect("it runs");
    let address = bridge.address().expect("it listens");
    broker.runtime.block_on(bridge.shut_down());
    let Performative::Close(close) = client.hear() else {
        panic!("expected a close");
    };
    let error = close.error.expect("a reason").to_string();
    assert_eq!(error, "amqp:connection:forced: the broker shuts down");
    assert!(std::net::TcpStream::connect(address).is_err());
}
