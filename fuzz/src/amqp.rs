//! Bytes as an AMQP client sends them when it has logged in.

use std::time::{Duration, Instant};

use floe_amqp::connection::{
    AttachAcceptance, Connection, Event, LinkId, OpenAcceptance, Settings,
};
use floe_amqp::jms::JmsMessage;
use floe_amqp::limits::Limits;
use floe_amqp::message::{Header, Message};
use floe_amqp::performative::{Outcome, Role};
use floe_amqp::sasl::Mechanism;
use floe_amqp::terminus::{Source, Target};

/// Serves `input`, in pieces whose length its first byte says, by a program that accepts all and sends each message back
/// to all receivers.
///
/// Whatever the bytes are, this must end without a panic and within limits, and what happens must not depend on the pieces.
pub(crate) fn run(input: &[u8]) {
    let Some((&first, bytes)) = input.split_first() else {
        return;
    };
    let whole = Served::of(std::iter::once(bytes));
    let pieces = Served::of(bytes.chunks(usize::from(first) + 1));
    assert_eq!(whole, pieces, "however the bytes come");
}

/// The results of a session.
#[derive(Debug, Default, PartialEq, Eq)]
struct Served {
    event_count: usize,
    message_len: usize,
    is_finished: bool,
}

impl Served {
    fn of<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut now = Instant::now();
        let mut connection = logged_in(now);
        let mut served = Self::default();
        let mut receivers = Vec::new();
        for piece in pieces {
            connection.handle_bytes(now, piece);
            while let Some(event) = connection.poll_event() {
                served.event_count += 1;
                served.answer(&mut connection, &mut receivers, event);
                // Nothing waits longer than its limit and what one event adds.
                while connection.poll_transmit(now).is_some() {}
            }
        }
        // Time passes, and the deadlines with it.
        for _ in 0..4 {
            now += Duration::from_secs(100);
            connection.handle_timeout(now);
            while connection.poll_event().is_some() {}
            while connection.poll_transmit(now).is_some() {}
        }
        served.is_finished = connection.is_finished();
        served
    }

    fn answer(&mut self, connection: &mut Connection, receivers: &mut Vec<LinkId>, event: Event) {
        match event {
            Event::Open(_) => connection.accept_open(OpenAcceptance::default()),
            Event::Attach(request) => {
                if request.peer_role == Role::Receiver && receivers.len() < RECEIVERS_MAX {
                    receivers.push(request.link);
                }
                let acceptance = AttachAcceptance {
                    source: request.source.or_else(|| Some(Source::at("looked up"))),
                    target: request.target.or_else(|| Some(Target::default())),
                    credit: 10,
                    ..AttachAcceptance::default()
                };
                // An answer that is too long for the peer ends the connection.
                let _ = connection.accept_attach(request.link, acceptance);
            }
            Event::Delivery(delivery) => {
                self.message_len += delivery.message.len();
                if let Ok(message) = Message::locate(delivery.message.clone()) {
                    let _ = JmsMessage::of(&message);
                    let forwarded = message.forwarded(&Header::default(), &[]);
                    let again = Message::locate(forwarded).map(|again| again.bare());
                    assert_eq!(again, Ok(message.bare()), "it is passed on as it came");
                }
                let _ = connection.settle(delivery.link, delivery.delivery, Outcome::Accepted);
                let _ = connection.set_credit(delivery.link, 10);
                for receiver in receivers {
                    let _ = connection.send(*receiver, delivery.message.clone(), false);
                }
            }
            Event::Credit { link, drain, .. } if drain => {
                let _ = connection.drained(link);
            }
            Event::Detached { link, closed, .. } => {
                receivers.retain(|receiver| *receiver != link);
                let _ = connection.detach(link, closed, None);
            }
            _ => {}
        }
    }
}

/// A connection whose client has logged in.
fn logged_in(now: Instant) -> Connection {
    let settings = Settings {
        container_id: "fuzz".to_owned(),
        mechanisms: vec![Mechanism::Anonymous],
        without_sasl: false,
        limits: Limits {
            message_len_max: 4_096,
            partial_len_max: 8_192,
            output_len_max: 65_536,
            unsettled_max: 64,
            links_max: 16,
            session_window: 16,
            ..Limits::default()
        },
    };
    let mut connection = Connection::new(settings, now);
    connection.handle_bytes(now, LOGIN);
    let event = connection.poll_event();
    assert!(matches!(event, Some(Event::Authenticate(_))));
    connection.authenticate(true);
    connection
}

/// The header of SASL, the choice of ANONYMOUS, and the header of AMQP.
const LOGIN: &[u8] = b"AMQP\x03\x01\x00\x00\
    \x00\x00\x00\x19\x02\x01\x00\x00\x00\x53\x41\xC0\x0C\x01\xA3\x09ANONYMOUS\
    AMQP\x00\x01\x00\x00";

/// So that one message causes few.
const RECEIVERS_MAX: usize = 4;
