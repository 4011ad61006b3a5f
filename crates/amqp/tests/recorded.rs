//! Recorded sessions of real clients, replayed: whole and in other pieces.

#[path = "recordings/mod.rs"]
mod recordings;

use std::time::Instant;
use std::{env, fs};

use bytes::Bytes;
use floe_amqp::connection::{
    AttachAcceptance, Connection, Event, LinkId, OpenAcceptance, Settings,
};
use floe_amqp::jms::JmsMessage;
use floe_amqp::limits::Limits;
use floe_amqp::message::Message;
use floe_amqp::performative::{Outcome, Role};
use floe_amqp::sasl::Mechanism;
use floe_amqp::terminus::{Source, Target};
use proptest::prelude::*;
use recordings::{folder, recordings};

fn settings() -> Settings {
    Settings {
        container_id: "recorded".to_owned(),
        mechanisms: vec![Mechanism::Plain, Mechanism::Anonymous],
        without_sasl: true,
        limits: Limits::default(),
    }
}

/// A program that accepts all, sends each message back to all receivers, and writes down what happens.
struct Program {
    connection: Connection,
    receivers: Vec<LinkId>,
    waiting: Vec<Bytes>,
    lines: Vec<String>,
}

impl Program {
    fn new() -> Self {
        Self {
            connection: Connection::new(settings(), Instant::now()),
            receivers: Vec::new(),
            waiting: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn events<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
        let mut program = Self::new();
        for chunk in chunks {
            program.connection.handle_bytes(Instant::now(), chunk);
            while let Some(event) = program.connection.poll_event() {
                program.handle(event);
            }
        }
        program.lines
    }

    fn handle(&mut self, event: Event) {
        self.lines.push(line(&event));
        let connection = &mut self.connection;
        match event {
            Event::Authenticate(_) => connection.authenticate(true),
            Event::Open(_) => connection.accept_open(OpenAcceptance::default()),
            Event::Attach(request) => {
                if request.peer_role == Role::Receiver {
                    self.receivers.push(request.link);
                }
                let acceptance = AttachAcceptance {
                    source: request.source.or_else(|| Some(Source::at("looked up"))),
                    target: request.target.or_else(|| Some(Target::default())),
                    credit: 100,
                    ..AttachAcceptance::default()
                };
                let accepted = connection.accept_attach(request.link, acceptance);
                accepted.expect("it was asked for now");
            }
            Event::Delivery(delivery) => {
                let settled =
                    connection.settle(delivery.link, delivery.delivery, Outcome::Accepted);
                settled.expect("it has just come");
                self.waiting.push(delivery.message);
            }
            Event::Credit { link, drain, .. } if drain => {
                connection.drained(link).expect("it was asked for");
            }
            Event::Detached { link, closed, .. } => {
                self.receivers.retain(|receiver| *receiver != link);
                connection.detach(link, closed, None).expect("it is there");
            }
            _ => {}
        }
        for message in self.waiting.drain(..) {
            for link in &self.receivers {
                let _ = self.connection.send(*link, message.clone(), false);
            }
        }
    }
}

/// The part of an event that a reader of the vectors wants to see.
fn line(event: &Event) -> String {
    match event {
        Event::Delivery(delivery) => {
            let message = Message::locate(delivery.message.clone());
            let read = message
                .map_err(|error| error.to_string())
                .and_then(|message| JmsMessage::of(&message).map_err(|error| error.to_string()));
            let id = (delivery.link, delivery.delivery, delivery.settled);
            format!("Delivery {id:?} {read:?}")
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn each_recording_gives_the_events_that_are_noted() {
    for (name, recording) in recordings() {
        let lines = Program::events(recording.iter().map(Vec::as_slice));
        let text = lines.join("\n") + "\n";
        let path = folder().join(format!("{name}.events"));
        if env::var_os("UPDATE").is_some() {
            fs::write(&path, &text).expect("there is room");
        }
        let noted = fs::read_to_string(&path).expect("it is noted");
        assert_eq!(text, noted, "{name}");
        assert!(
            lines.last().is_some_and(|line| line.starts_with("Closed")) || name.contains("wrong")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_stream_gives_the_same_events_in_whatever_pieces_it_comes(
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..40)
    ) {
        for (name, recording) in recordings() {
            let whole = recording.concat();
            let expected = Program::events(std::iter::once(&whole[..]));
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len())).collect();
            places.extend([0, whole.len()]);
            places.sort_unstable();
            let pieces = places.windows(2).map(|pair| &whole[pair[0]..pair[1]]);
            prop_assert_eq!(Program::events(pieces), expected, "{}", name);
        }
    }
}

#[test]
fn a_stream_that_comes_byte_by_byte_gives_the_same_events() {
    for (name, recording) in recordings() {
        let whole = recording.concat();
        let expected = Program::events(std::iter::once(&whole[..]));
        assert_eq!(Program::events(whole.chunks(1)), expected, "{name}");
    }
}
