//! The state machine, against a peer that says exactly what a test wants.

use std::sync::Arc;

use super::*;
use crate::codec::{Raw, Symbol, Value};
use crate::frame::{AMQP_HEADER, SASL_HEADER, encode_frame};
use crate::performative::{
    Attach, DeliveryState, Detach, Disposition, Open, Outcome, ReceiverSettleMode, Role,
    SenderSettleMode, Transfer,
};
use crate::sasl::{Credentials, Init, SaslFrame, SaslOutcome};
use crate::terminus::{AnyTarget, Coordinator, Source, Target};

/// A connection and its peer.
struct Pair {
    connection: Connection,
    now: Instant,
    input: BytesMut,
}

fn settings() -> Settings {
    Settings {
        container_id: "server".to_owned(),
        mechanisms: vec![Mechanism::Plain],
        without_sasl: true,
        limits: Limits::default(),
    }
}

fn open() -> Open {
    Open {
        container_id: "client".to_owned(),
        hostname: None,
        max_frame_size: None,
        channel_max: None,
        idle_time_out: None,
        outgoing_locales: Vec::new(),
        incoming_locales: Vec::new(),
        offered_capabilities: Vec::new(),
        desired_capabilities: Vec::new(),
        properties: None,
    }
}

fn begin() -> Begin {
    Begin {
        remote_channel: None,
        next_outgoing_id: 0,
        incoming_window: 1000,
        outgoing_window: 1000,
        handle_max: None,
        offered_capabilities: Vec::new(),
        desired_capabilities: Vec::new(),
        properties: None,
    }
}

/// The peer is the sender, or the receiver, of a link to or from `news`.
fn attach(handle: u32, role: Role, name: &str) -> Attach {
    Attach {
        name: name.to_owned(),
        handle,
        role,
        snd_settle_mode: SenderSettleMode::Mixed,
        rcv_settle_mode: ReceiverSettleMode::First,
        source: Some(Source::at("news")),
        target: Some(AnyTarget::Node(Target::at("news"))),
        unsettled: None,
        incomplete_unsettled: false,
        initial_delivery_count: (role == Role::Sender).then_some(0),
        max_message_size: None,
        offered_capabilities: Vec::new(),
        desired_capabilities: Vec::new(),
        properties: None,
    }
}

fn credit(handle: u32, credit: u32) -> Flow {
    Flow {
        next_incoming_id: Some(0),
        incoming_window: 1000,
        outgoing_window: 1000,
        handle: Some(handle),
        delivery_count: Some(0),
        link_credit: Some(credit),
        ..Flow::default()
    }
}

fn transfer(handle: u32, id: u32) -> Transfer {
    Transfer {
        handle,
        delivery_id: Some(id),
        delivery_tag: Some(Bytes::from_static(b"t")),
        ..Transfer::default()
    }
}

fn settled(role: Role, first: u32, last: u32, outcome: Outcome) -> Performative {
    Performative::Disposition(Disposition {
        role,
        first,
        last: Some(last),
        settled: true,
        state: Some(DeliveryState::Outcome(outcome)),
        batchable: false,
    })
}

impl Pair {
    fn new(settings: Settings) -> Self {
        let now = Instant::now();
        Self {
            connection: Connection::new(settings, now),
            now,
            input: BytesMut::new(),
        }
    }

    /// A connection that is open and has a session.
    fn open() -> Self {
        Self::open_with(settings(), open(), begin())
    }

    fn open_with(settings: Settings, open: Open, begin: Begin) -> Self {
        let mut pair = Self::new(settings);
        pair.bytes(&AMQP_HEADER);
        pair.take_event();
        pair.connection.authenticate(true);
        pair.say(Performative::Open(open));
        pair.take_event();
        pair.connection.accept_open(OpenAcceptance::default());
        pair.say(Performative::Begin(begin));
        assert_eq!(pair.connection.poll_event(), None);
        assert_eq!(pair.take_header(), AMQP_HEADER);
        assert_eq!(pair.names(), ["open", "begin"]);
        pair
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.connection.handle_bytes(self.now, bytes);
    }

    fn say(&mut self, performative: Performative) {
        self.bytes(&encode_frame(0, &performative, &[]));
    }

    fn message(&mut self, transfer: Transfer, payload: &[u8]) {
        let transfer = Performative::Transfer(transfer);
        self.bytes(&encode_frame(0, &transfer, payload));
    }

    fn take_event(&mut self) -> Event {
        self.connection.poll_event().expect("an event")
    }

    fn no_event(&mut self) {
        assert_eq!(self.connection.poll_event(), None);
    }

    /// Attaches a link that is accepted.
    fn attach(&mut self, attach: Attach, credit: u32) -> LinkId {
        self.say(Performative::Attach(Box::new(attach)));
        let Event::Attach(request) = self.take_event() else {
            panic!("expected an attach")
        };
        let acceptance = AttachAcceptance {
            source: request.source,
            target: request.target,
            credit,
            ..AttachAcceptance::default()
        };
        let accepted = self.connection.accept_attach(request.link, acceptance);
        accepted.expect("it is decided now");
        request.link
    }

    fn receive(&mut self) {
        while let Some(bytes) = self.connection.poll_transmit(self.now) {
            self.input.extend_from_slice(&bytes);
        }
    }

    fn take_header(&mut self) -> [u8; 8] {
        self.receive();
        let header = self.input.split_to(8);
        header[..].try_into().expect("it has that length")
    }

    /// All frames that the connection has sent, with their payloads.
    fn frames(&mut self) -> Vec<(Performative, Bytes)> {
        self.receive();
        let mut frames = Vec::new();
        while let Some(frame) = take_frame(&mut self.input, u32::MAX).expect("frames") {
            if frame.body.is_empty() {
                continue;
            }
            let mut reader = Reader::new(&frame.body);
            let performative = Performative::decode(&mut reader).expect("a performative");
            let len = reader.position();
            frames.push((performative, frame.body.slice(len..)));
        }
        assert!(self.input.is_empty());
        frames
    }

    fn names(&mut self) -> Vec<&'static str> {
        self.frames().iter().map(|frame| frame.0.name()).collect()
    }

    /// The condition of the error that the last frame tells.
    fn condition(&mut self) -> String {
        let frames = self.frames();
        let error = match &frames.last().expect("a frame").0 {
            Performative::Detach(detach) => &detach.error,
            Performative::End(end) => &end.error,
            Performative::Close(close) => &close.error,
            other => panic!("expected an error, got {other:?}"),
        };
        let error = error.as_ref().expect("an error");
        error.condition.as_str().to_owned()
    }

    fn flows(&mut self) -> Vec<Flow> {
        let frames = self.frames().into_iter();
        let flows = frames.filter_map(|(performative, _)| match performative {
            Performative::Flow(flow) => Some(flow),
            _ => None,
        });
        flows.collect()
    }
}

fn sasl(frame: &SaslFrame) -> Vec<u8> {
    let mut output = Output::new(512);
    output.sasl(frame);
    output.take().expect("a frame").to_vec()
}

fn plain(password: &str) -> Vec<u8> {
    sasl(&SaslFrame::Init(Init {
        mechanism: Symbol::new("PLAIN"),
        initial_response: Some(format!("\0ann\0{password}").into()),
        hostname: None,
    }))
}

#[test]
fn a_client_that_logs_in_with_all_its_bytes_at_once_is_answered_in_turn() {
    let mut pair = Pair::new(settings());
    let opening = encode_frame(0, &Performative::Open(open()), &[]);
    pair.bytes(&[&SASL_HEADER[..], &plain("tulip"), &AMQP_HEADER, &opening].concat());
    let Event::Authenticate(Credentials::Plain { user, password, .. }) = pair.take_event() else {
        panic!("expected credentials")
    };
    assert_eq!((&*user, &*password), ("ann", "tulip"));
    pair.no_event();
    assert!(!pair.connection.wants_bytes());
    pair.connection.authenticate(true);
    assert!(matches!(pair.take_event(), Event::Open(_)));
    assert_eq!(pair.take_header(), SASL_HEADER);
}

#[test]
fn a_wrong_password_ends_the_connection_with_an_outcome() {
    let mut pair = Pair::new(settings());
    pair.bytes(&[&SASL_HEADER[..], &plain("rose")].concat());
    pair.take_event();
    pair.connection.authenticate(false);
    assert!(matches!(
        pair.take_event(),
        Event::Closed { error: Some(_), .. }
    ));
    assert!(pair.connection.is_finished());
    let mut sent = pair.connection.poll_transmit(pair.now).expect("an outcome");
    let outcome = sasl(&SaslFrame::Outcome(SaslOutcome {
        code: 1,
        additional_data: None,
    }));
    assert_eq!(sent.split_off(sent.len() - outcome.len()), outcome);
}

#[test]
fn a_mechanism_that_was_not_offered_is_refused_without_a_question() {
    let mut pair = Pair::new(settings());
    let init = sasl(&SaslFrame::Init(Init {
        mechanism: Symbol::new("ANONYMOUS"),
        initial_response: None,
        hostname: None,
    }));
    pair.bytes(&[&SASL_HEADER[..], &init].concat());
    assert!(matches!(
        pair.take_event(),
        Event::Closed { error: Some(_), .. }
    ));
}

#[test]
fn a_wrong_header_is_answered_by_the_right_one_and_the_end() {
    let without_sasl = Settings {
        mechanisms: Vec::new(),
        ..settings()
    };
    let only_sasl = Settings {
        without_sasl: false,
        ..settings()
    };
    for (settings, came, right) in [
        (settings(), *b"GET / HT", SASL_HEADER),
        (without_sasl, SASL_HEADER, AMQP_HEADER),
        (only_sasl, AMQP_HEADER, SASL_HEADER),
    ] {
        let mut pair = Pair::new(settings);
        pair.bytes(&came);
        assert!(matches!(pair.take_event(), Event::Closed { .. }));
        assert_eq!(pair.take_header(), right);
        assert!(pair.connection.is_finished());
    }
}

#[test]
fn a_refused_open_says_so_before_it_closes() {
    let mut pair = Pair::new(settings());
    pair.bytes(&AMQP_HEADER);
    pair.take_event();
    pair.connection.authenticate(true);
    pair.say(Performative::Open(open()));
    pair.take_event();
    let error = AmqpError::new(condition::NOT_ALLOWED, "no");
    pair.connection.refuse_open(pair.now, error);
    pair.take_header();
    let frames = pair.frames();
    let Performative::Open(open) = &frames[0].0 else {
        panic!("expected an open")
    };
    let properties = format!("{:?}", open.properties);
    assert!(properties.contains("amqp:connection-establishment-failed"));
    assert!(matches!(&frames[1].0, Performative::Close(close) if close.error.is_some()));
    pair.no_event();
    pair.say(Performative::Close(Close { error: None }));
    assert!(matches!(
        pair.take_event(),
        Event::Closed { by_peer: true, .. }
    ));
}

#[test]
fn an_open_that_is_longer_than_the_peer_takes_is_answered_shortly_and_closed() {
    let mut pair = Pair::new(settings());
    pair.bytes(&AMQP_HEADER);
    pair.take_event();
    pair.connection.authenticate(true);
    pair.say(Performative::Open(Open {
        max_frame_size: Some(512),
        ..open()
    }));
    pair.take_event();
    pair.connection.accept_open(OpenAcceptance {
        properties: Some(Raw::of(&Value::Binary(vec![0; 600].into()))),
        ..OpenAcceptance::default()
    });
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    pair.take_header();
    assert_eq!(pair.names(), ["open", "close"]);
}

#[test]
fn a_message_goes_in_and_its_outcome_comes_back() {
    let mut pair = Pair::open();
    let link = pair.attach(attach(0, Role::Sender, "a"), 10);
    pair.message(transfer(0, 0), b"hello");
    let Event::Delivery(delivery) = pair.take_event() else {
        panic!("expected a delivery")
    };
    assert_eq!(
        (delivery.link, delivery.settled, &delivery.message[..]),
        (link, false, &b"hello"[..])
    );
    pair.frames();
    let done = pair
        .connection
        .settle(link, delivery.delivery, Outcome::Accepted);
    assert_eq!(done, Ok(()));
    let expected = Performative::Disposition(Disposition {
        role: Role::Receiver,
        first: 0,
        last: None,
        settled: true,
        state: Some(DeliveryState::Outcome(Outcome::Accepted)),
        batchable: false,
    });
    assert_eq!(pair.frames(), [(expected, Bytes::new())]);
    assert_eq!(pair.connection.credit(link), 9);
}

#[test]
fn outcomes_of_successive_deliveries_share_a_frame() {
    let mut pair = Pair::open();
    let link = pair.attach(attach(0, Role::Sender, "a"), 10);
    for id in 0..4 {
        pair.message(transfer(0, id), b"");
    }
    pair.frames();
    for id in 0..4 {
        let Event::Delivery(delivery) = pair.take_event() else {
            panic!("expected a delivery")
        };
        let outcome = if id < 3 {
            Outcome::Accepted
        } else {
            Outcome::Released
        };
        let settled = pair.connection.settle(link, delivery.delivery, outcome);
        settled.expect("it is there");
    }
    let frames = pair.frames();
    assert_eq!(frames.len(), 2);
    assert!(
        matches!(&frames[0].0, Performative::Disposition(d) if d.first == 0 && d.last == Some(2))
    );
}

#[test]
fn a_message_in_several_frames_is_put_together() {
    let mut pair = Pair::open();
    pair.attach(attach(0, Role::Sender, "a"), 10);
    pair.attach(attach(1, Role::Sender, "b"), 10);
    let more = |transfer| Transfer {
        more: true,
        ..transfer
    };
    let next = |handle| Transfer {
        handle,
        ..Transfer::default()
    };
    // Those of two links may alternate.
    pair.message(more(transfer(0, 0)), b"he");
    pair.message(more(transfer(1, 1)), b"wo");
    pair.message(more(next(0)), b"ll");
    pair.message(next(1), b"rld");
    pair.message(next(0), b"o");
    let mut texts = Vec::new();
    while let Some(event) = pair.connection.poll_event() {
        if let Event::Delivery(delivery) = event {
            texts.push(delivery.message);
        }
    }
    assert_eq!(texts, ["world", "hello"]);
    assert_eq!(pair.connection.partial_len, 0);
}

#[test]
fn an_aborted_message_leaves_nothing_and_uses_its_credit() {
    let mut pair = Pair::open();
    let link = pair.attach(attach(0, Role::Sender, "a"), 10);
    let mut first = transfer(0, 0);
    first.more = true;
    pair.message(first, b"half");
    let mut abort = transfer(0, 0);
    abort.aborted = true;
    pair.message(abort, b"");
    pair.message(transfer(0, 1), b"whole");
    let Event::Delivery(delivery) = pair.take_event() else {
        panic!("expected a delivery")
    };
    assert_eq!(delivery.message, "whole");
    assert_eq!(pair.connection.credit(link), 8);
    assert_eq!(pair.connection.partial_len, 0);
}

#[test]
fn a_message_that_is_too_long_detaches_its_link_and_no_other() {
    let mut settings = settings();
    settings.limits.message_len_max = 1000;
    let mut pair = Pair::open_with(settings, open(), begin());
    let link = pair.attach(attach(0, Role::Sender, "a"), 10);
    pair.attach(attach(1, Role::Sender, "b"), 10);
    pair.frames();
    let mut first = transfer(0, 0);
    first.more = true;
    pair.message(first, &[0; 600]);
    let rest = Transfer {
        handle: 0,
        ..Transfer::default()
    };
    pair.message(rest.clone(), &[0; 600]);
    // The peer does not know yet.
    pair.message(rest, &[0; 600]);
    pair.message(transfer(1, 1), b"ok");
    assert!(matches!(pair.take_event(), Event::LinkFailed { link: failed, .. } if failed == link));
    assert!(matches!(pair.take_event(), Event::Delivery(d) if d.message == "ok"));
    assert_eq!(pair.condition(), "amqp:link:message-size-exceeded");
    assert_eq!(pair.connection.partial_len, 0);
    // Its handle is free when the peer has detached as well.
    pair.say(Performative::Detach(Detach {
        handle: 0,
        closed: true,
        error: None,
    }));
    pair.attach(attach(0, Role::Sender, "a"), 10);
}

#[test]
fn unfinished_messages_have_a_limit_together() {
    let mut settings = settings();
    settings.limits.partial_len_max = 1000;
    let mut pair = Pair::open_with(settings, open(), begin());
    for handle in 0..2 {
        pair.attach(attach(handle, Role::Sender, &format!("{handle}")), 10);
        let mut first = transfer(handle, handle);
        first.more = true;
        pair.message(first, &[0; 600]);
    }
    assert!(matches!(pair.take_event(), Event::LinkFailed { .. }));
    assert_eq!(pair.condition(), "amqp:resource-limit-exceeded");
    assert_eq!(pair.connection.partial_len, 600);
}

#[test]
fn a_message_without_credit_detaches_its_link() {
    let mut pair = Pair::open();
    pair.attach(attach(0, Role::Sender, "a"), 1);
    pair.message(transfer(0, 0), b"");
    pair.message(transfer(0, 1), b"");
    assert!(matches!(pair.take_event(), Event::Delivery(_)));
    assert!(matches!(pair.take_event(), Event::LinkFailed { .. }));
    assert_eq!(pair.condition(), "amqp:link:transfer-limit-exceeded");
}

#[test]
fn messages_that_were_under_way_when_credit_was_lowered_are_taken() {
    let mut pair = Pair::open();
    let link = pair.attach(attach(0, Role::Sender, "a"), 3);
    pair.connection.set_credit(link, 0).expect("it is there");
    for id in 0..3 {
        pair.message(transfer(0, id), b"");
        assert!(matches!(pair.take_event(), Event::Delivery(_)));
    }
    pair.connection.set_credit(link, 1).expect("it is there");
    pair.message(transfer(0, 3), b"");
    assert!(matches!(pair.take_event(), Event::Delivery(_)));
    pair.message(transfer(0, 4), b"");
    assert!(matches!(pair.take_event(), Event::LinkFailed { .. }));
}

#[test]
fn a_message_before_the_answer_to_its_attach_fails_the_link_for_the_program() {
    let mut pair = Pair::open();
    pair.say(Performative::Attach(Box::new(attach(0, Role::Sender, "a"))));
    let Event::Attach(request) = pair.take_event() else {
        panic!("expected an attach")
    };
    pair.message(transfer(0, 0), b"");
    assert!(matches!(pair.take_event(), Event::LinkFailed { .. }));
    let accepted = pair
        .connection
        .accept_attach(request.link, AttachAcceptance::default());
    assert_eq!(accepted, Err(CommandError::NotNow));
    assert_eq!(pair.names(), ["attach", "detach"]);
}

#[test]
fn a_sender_and_a_receiver_of_one_name_are_two_links() {
    let mut pair = Pair::open();
    let to = pair.attach(attach(0, Role::Sender, "x"), 1);
    let from = pair.attach(attach(1, Role::Receiver, "x"), 0);
    assert_ne!(to, from);
    pair.frames();
    pair.say(Performative::Attach(Box::new(attach(2, Role::Sender, "x"))));
    pair.no_event();
    assert_eq!(pair.condition(), "amqp:resource-locked");
}

#[test]
fn the_coordinator_of_transactions_is_refused_clearly() {
    let mut pair = Pair::open();
    let mut coordinator = attach(0, Role::Sender, "t");
    coordinator.target = Some(AnyTarget::Coordinator(Coordinator {
        capabilities: Vec::new(),
    }));
    pair.say(Performative::Attach(Box::new(coordinator)));
    pair.no_event();
    let frames = pair.frames();
    let Performative::Attach(answer) = &frames[0].0 else {
        panic!("expected an attach")
    };
    assert_eq!((&answer.source, &answer.target), (&None, &None));
    let Performative::Detach(detach) = &frames[1].0 else {
        panic!("expected a detach")
    };
    let error = detach.error.as_ref().expect("an error").to_string();
    let text =
        "amqp:not-implemented: expected a target that is a node: transactions are not implemented";
    assert_eq!(error, text);
}

#[test]
fn resuming_deliveries_is_refused_clearly_and_an_empty_list_of_them_is_none() {
    let mut pair = Pair::open();
    let mut resuming = attach(0, Role::Sender, "a");
    let tag = Value::Binary(Bytes::from_static(b"t"));
    resuming.unsettled = Some(Raw::of(&Value::Map(vec![(tag, Value::Null)])));
    pair.say(Performative::Attach(Box::new(resuming.clone())));
    pair.no_event();
    assert_eq!(pair.condition(), "amqp:not-implemented");
    resuming.handle = 1;
    resuming.name = "b".to_owned();
    resuming.unsettled = Some(Raw::of(&Value::Map(Vec::new())));
    pair.attach(resuming, 1);
    let mut again = transfer(1, 0);
    again.resume = true;
    pair.frames();
    pair.message(again, b"");
    assert!(matches!(pair.take_event(), Event::LinkFailed { .. }));
    assert_eq!(pair.condition(), "amqp:not-implemented");
}

#[test]
fn messages_go_out_within_credit_and_are_settled_over_ranges() {
    let mut pair = Pair::open();
    let link = pair.attach(attach(0, Role::Receiver, "a"), 0);
    let message = || Bytes::from_static(b"m");
    assert_eq!(
        pair.connection.send(link, message(), false),
        Err(CommandError::NoCredit)
    );
    pair.say(Performative::Flow(credit(0, 3)));
    assert_eq!(
        pair.take_event(),
        Event::Credit {
            link,
            credit: 3,
            drain: false
        }
    );
    let sent: Vec<_> = (0..4)
        .map(|_| pair.connection.send(link, message(), false))
        .collect();
    assert!(sent[..3].iter().all(Result::is_ok));
    assert_eq!(sent[3], Err(CommandError::NoCredit));
    assert_eq!(pair.names(), ["attach", "transfer", "transfer", "transfer"]);
    pair.say(settled(Role::Receiver, 0, 1, Outcome::Accepted));
    // Beyond what was sent, and what is settled already, nothing is there.
    pair.say(settled(Role::Receiver, 1, 1000, Outcome::Released));
    let mut seen = Vec::new();
    while let Some(event) = pair.connection.poll_event() {
        let Event::Settled {
            delivery, outcome, ..
        } = event
        else {
            panic!("expected outcomes, got {event:?}")
        };
        let outcome = outcome.expect("it was told");
        seen.push((Ok(delivery), Outcome::clone(&outcome)));
    }
    assert_eq!(
        seen,
        [
            (sent[0], Outcome::Accepted),
            (sent[1], Outcome::Accepted),
            (sent[2], Outcome::Released)
        ]
    );
}

#[test]
fn an_outcome_of_many_deliveries_is_held_once_and_answered_shortly() {
    let mut pair = Pair::open();
    let mut second = attach(0, Role::Receiver, "a");
    second.rcv_settle_mode = ReceiverSettleMode::Second;
    let link = pair.attach(second, 0);
    pair.say(Performative::Flow(credit(0, 100)));
    pair.take_event();
    for _ in 0..100 {
        let sent = pair.connection.send(link, Bytes::new(), false);
        sent.expect("there is credit");
    }
    // Every other one is gone, so that no two are answered together.
    for id in (0..100).step_by(2) {
        pair.say(settled(Role::Receiver, id, id, Outcome::Accepted));
        pair.take_event();
    }
    pair.receive();
    pair.input.clear();
    let error = AmqpError::new(condition::INVALID_FIELD, "x".repeat(60_000));
    pair.say(Performative::Disposition(Disposition {
        role: Role::Receiver,
        first: 0,
        last: Some(99),
        settled: false,
        state: Some(DeliveryState::Outcome(Outcome::Rejected(Some(error)))),
        batchable: false,
    }));
    let mut outcomes = Vec::new();
    while let Some(Event::Settled { outcome, .. }) = pair.connection.poll_event() {
        outcomes.push(outcome.expect("it was told"));
    }
    assert_eq!(outcomes.len(), 50);
    assert!(outcomes.windows(2).all(|two| Arc::ptr_eq(&two[0], &two[1])));
    pair.receive();
    assert!(pair.input.len() < 50 * 64, "{} bytes", pair.input.len());
}

#[test]
fn credit_counts_from_what_the_peer_had_seen() {
    let mut pair = Pair::open();
    let link = pair.attach(attach(0, Role::Receiver, "a"), 0);
    pair.say(Performative::Flow(credit(0, 3)));
    pair.take_event();
    for _ in 0..2 {
        let sent = pair.connection.send(link, Bytes::new(), true);
        sent.expect("there is credit");
    }
    // The peer has seen none of the two.
    pair.say(Performative::Flow(credit(0, 5)));
    assert!(matches!(pair.take_event(), Event::Credit { credit: 3, .. }));
    pair.say(Performative::Flow(credit(0, 1)));
    pair.no_event();
    assert_eq!(pair.connection.credit(link), 0);
}

#[test]
fn a_drain_gives_back_the_credit_behind_the_messages_that_were_sent() {
    let mut pair = Pair::open_with(
        settings(),
        open(),
        Begin {
            incoming_window: 0,
            ..begin()
        },
    );
    let link = pair.attach(attach(0, Role::Receiver, "a"), 0);
    let mut flow = credit(0, 10);
    flow.incoming_window = 0;
    flow.drain = true;
    pair.say(Performative::Flow(flow));
    assert!(matches!(
        pair.take_event(),
        Event::Credit {
            drain: true,
            credit: 10,
            ..
        }
    ));
    let sent = pair.connection.send(link, Bytes::from_static(b"m"), true);
    sent.expect("there is credit");
    pair.connection.drained(link).expect("it was asked for");
    assert_eq!(pair.connection.drained(link), Err(CommandError::NotNow));
    assert_eq!(pair.names(), ["attach"], "the window is closed");
    pair.say(Performative::Flow(Flow {
        next_incoming_id: Some(0),
        incoming_window: 10,
        ..Flow::default()
    }));
    pair.no_event();
    let frames = pair.frames();
    assert!(matches!(&frames[0].0, Performative::Transfer(_)));
    let Performative::Flow(flow) = &frames[1].0 else {
        panic!("expected a flow")
    };
    assert_eq!(
        (flow.delivery_count, flow.link_credit, flow.drain),
        (Some(10), Some(0), true)
    );
}

#[test]
fn an_echo_is_answered_for_the_session_and_for_a_link() {
    let mut pair = Pair::open();
    pair.attach(attach(3, Role::Sender, "a"), 7);
    pair.frames();
    let mut flow = Flow {
        next_incoming_id: Some(0),
        echo: true,
        ..Flow::default()
    };
    pair.say(Performative::Flow(flow.clone()));
    flow.handle = Some(3);
    pair.say(Performative::Flow(flow));
    pair.no_event();
    let flows = pair.flows();
    assert_eq!((flows[0].handle, flows[0].link_credit), (None, None));
    assert_eq!((flows[1].handle, flows[1].link_credit), (Some(3), Some(7)));
    assert_eq!(flows[1].next_incoming_id, Some(0));
}

#[test]
fn a_long_message_goes_out_in_frames_that_the_peer_takes_as_its_window_allows() {
    let open = Open {
        max_frame_size: Some(512),
        ..open()
    };
    let begin = Begin {
        incoming_window: 2,
        ..begin()
    };
    let mut pair = Pair::open_with(settings(), open, begin);
    let link = pair.attach(attach(0, Role::Receiver, "a"), 0);
    let mut flow = credit(0, 10);
    flow.incoming_window = 2;
    pair.say(Performative::Flow(flow));
    pair.take_event();
    let message: Bytes = (0..2000u32).map(|n| n as u8).collect();
    let sent = pair.connection.send(link, message.clone(), true);
    sent.expect("there is credit");
    let mut got = Vec::new();
    let mut frame_count = 0;
    let mut is_whole = false;
    while !is_whole {
        for (performative, payload) in pair.frames() {
            if let Performative::Transfer(transfer) = performative {
                assert_eq!(transfer.delivery_id.is_some(), frame_count == 0);
                frame_count += 1;
                got.extend_from_slice(&payload);
                is_whole = !transfer.more;
            }
        }
        assert!(frame_count % 2 == 0 || is_whole);
        pair.say(Performative::Flow(Flow {
            next_incoming_id: Some(frame_count),
            incoming_window: 2,
            ..Flow::default()
        }));
        pair.no_event();
    }
    assert_eq!(got, message);
    assert!(frame_count >= 5, "{frame_count} frames of 512 bytes");
    assert_eq!(pair.connection.pending_len, 0);
}

#[test]
fn a_message_that_waits_for_the_window_of_the_peer_does_not_keep_its_flow_out() {
    let mut settings = settings();
    settings.limits.output_len_max = 1000;
    let mut pair = Pair::open_with(settings, open(), begin());
    let link = pair.attach(attach(0, Role::Receiver, "a"), 0);
    let mut flow = credit(0, 10);
    flow.incoming_window = 0;
    pair.say(Performative::Flow(flow));
    pair.take_event();
    let message = Bytes::from(vec![0; 1500]);
    let sent = pair.connection.send(link, message.clone(), true);
    sent.expect("one is taken on top");
    let another = pair.connection.send(link, message, true);
    assert_eq!(another, Err(CommandError::Backlogged));
    pair.receive();
    assert!(pair.connection.wants_bytes());
    pair.say(Performative::Flow(credit(0, 10)));
    pair.no_event();
    assert_eq!(pair.names(), ["attach", "transfer"]);
    assert!(!pair.connection.is_backlogged());
}

#[test]
fn output_that_nobody_reads_has_a_limit() {
    let mut settings = settings();
    settings.limits.output_len_max = 1000;
    let mut pair = Pair::open_with(settings, open(), begin());
    let link = pair.attach(attach(0, Role::Receiver, "a"), 0);
    pair.say(Performative::Flow(credit(0, 10)));
    pair.take_event();
    let message = Bytes::from(vec![0; 1500]);
    let sent = pair.connection.send(link, message.clone(), true);
    sent.expect("one is taken on top");
    assert_eq!(
        pair.connection.send(link, message.clone(), true),
        Err(CommandError::Backlogged)
    );
    assert!(!pair.connection.wants_bytes());
    // What the peer asks meanwhile waits, too.
    pair.say(Performative::Close(Close { error: None }));
    pair.no_event();
    pair.receive();
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
}

#[test]
fn deliveries_that_the_peer_does_not_settle_have_a_limit() {
    let mut settings = settings();
    settings.limits.unsettled_max = 2;
    let mut pair = Pair::open_with(settings, open(), begin());
    let link = pair.attach(attach(0, Role::Receiver, "a"), 0);
    pair.say(Performative::Flow(credit(0, 10)));
    pair.take_event();
    let mut send = |settled| pair.connection.send(link, Bytes::new(), settled);
    assert!(send(false).is_ok() && send(false).is_ok());
    assert_eq!(send(false), Err(CommandError::Unsettled));
    assert!(send(true).is_ok());
}

#[test]
fn deliveries_that_the_program_does_not_settle_have_a_limit() {
    let mut settings = settings();
    settings.limits.unsettled_max = 2;
    let mut pair = Pair::open_with(settings, open(), begin());
    pair.attach(attach(0, Role::Sender, "a"), 10);
    for id in 0..3 {
        pair.message(transfer(0, id), b"");
    }
    assert!(matches!(pair.take_event(), Event::Delivery(_)));
    assert!(matches!(pair.take_event(), Event::Delivery(_)));
    assert!(matches!(pair.take_event(), Event::SessionEnded { .. }));
    assert_eq!(pair.condition(), "amqp:resource-limit-exceeded");
}

#[test]
fn a_rejection_with_a_long_reason_fits_the_shortest_frame() {
    let shortest = Open {
        max_frame_size: Some(512),
        ..open()
    };
    let mut pair = Pair::open_with(settings(), shortest, begin());
    let link = pair.attach(attach(0, Role::Sender, "a"), 1);
    pair.message(transfer(0, 0), b"");
    let Event::Delivery(delivery) = pair.take_event() else {
        panic!("expected a delivery")
    };
    pair.frames();
    let error = AmqpError::new(condition::INVALID_FIELD, "é".repeat(1_000));
    let rejected = Outcome::Rejected(Some(error));
    let settled = pair.connection.settle(link, delivery.delivery, rejected);
    assert_eq!(settled, Ok(()));
    let frames = pair.frames();
    let [(Performative::Disposition(disposition), _)] = &frames[..] else {
        panic!("expected a disposition, got {frames:?}")
    };
    let Some(DeliveryState::Outcome(Outcome::Rejected(Some(error)))) = &disposition.state else {
        panic!("expected a rejection, got {disposition:?}")
    };
    assert_eq!(error.description, Some("é".repeat(150)));
}

#[test]
fn a_receiver_that_settles_second_is_told_that_the_sender_has_settled() {
    let mut pair = Pair::open();
    let mut second = attach(0, Role::Receiver, "a");
    second.rcv_settle_mode = ReceiverSettleMode::Second;
    let link = pair.attach(second, 0);
    pair.say(Performative::Flow(credit(0, 1)));
    pair.take_event();
    let sent = pair.connection.send(link, Bytes::new(), false);
    let delivery = sent.expect("there is credit");
    pair.frames();
    pair.say(Performative::Disposition(Disposition {
        role: Role::Receiver,
        first: 0,
        last: None,
        settled: false,
        state: Some(DeliveryState::Outcome(Outcome::Accepted)),
        batchable: false,
    }));
    let told = Event::Settled {
        link,
        delivery,
        outcome: Some(Arc::new(Outcome::Accepted)),
    };
    assert_eq!(pair.take_event(), told);
    let frames = pair.frames();
    assert!(
        matches!(&frames[0].0, Performative::Disposition(d) if d.settled && d.role == Role::Sender)
    );
}

#[test]
fn a_program_that_settles_second_waits_for_the_sender_to_settle() {
    let mut pair = Pair::open();
    let mut second = attach(0, Role::Sender, "a");
    second.rcv_settle_mode = ReceiverSettleMode::Second;
    let link = pair.attach(second, 1);
    pair.message(transfer(0, 0), b"");
    let Event::Delivery(delivery) = pair.take_event() else {
        panic!("expected a delivery")
    };
    pair.frames();
    let id = delivery.delivery;
    assert_eq!(pair.connection.settle(link, id, Outcome::Accepted), Ok(()));
    assert_eq!(
        pair.connection.settle(link, id, Outcome::Accepted),
        Err(CommandError::NotNow)
    );
    let frames = pair.frames();
    assert!(matches!(&frames[..], [(Performative::Disposition(d), _)] if !d.settled));
    pair.say(settled(Role::Sender, 0, 0, Outcome::Accepted));
    pair.no_event();
    assert_eq!(
        pair.connection.settle(link, id, Outcome::Accepted),
        Ok(()),
        "it is over"
    );
    assert!(pair.frames().is_empty());
}

#[test]
fn a_receiver_that_wants_all_settled_gets_them_so() {
    let mut pair = Pair::open();
    let mut presettled = attach(0, Role::Receiver, "a");
    presettled.snd_settle_mode = SenderSettleMode::Settled;
    let link = pair.attach(presettled, 0);
    pair.say(Performative::Flow(credit(0, 1)));
    pair.take_event();
    let sent = pair.connection.send(link, Bytes::new(), false);
    sent.expect("there is credit");
    let frames = pair.frames();
    assert!(matches!(&frames[1].0, Performative::Transfer(t) if t.settled));
}

#[test]
fn a_message_that_is_longer_than_the_receiver_takes_is_not_sent() {
    let mut pair = Pair::open();
    let mut short = attach(0, Role::Receiver, "a");
    short.max_message_size = Some(3);
    let link = pair.attach(short, 0);
    pair.say(Performative::Flow(credit(0, 1)));
    pair.take_event();
    let sent = pair
        .connection
        .send(link, Bytes::from_static(b"four"), true);
    assert_eq!(sent, Err(CommandError::TooLong));
}

#[test]
fn a_peer_that_sends_beyond_the_window_of_its_session_ends_it() {
    let mut settings = settings();
    settings.limits.session_window = 4;
    let mut pair = Pair::open_with(settings, open(), begin());
    let link = pair.attach(attach(0, Role::Sender, "a"), 100);
    pair.frames();
    for id in 0..100 {
        pair.message(transfer(0, id), b"");
        assert!(matches!(pair.take_event(), Event::Delivery(_)));
        // A window that is half used is opened again, so that the peer never waits.
        let flows = pair.flows();
        assert_eq!(flows.len(), usize::from(id % 2 == 1));
        assert!(flows.iter().all(|flow| flow.incoming_window == 4));
    }
    let session = pair.connection.sessions.get_mut(&0).expect("it is there");
    let mut closed = Session::begun_by(&begin(), 0);
    closed.handles = std::mem::take(&mut session.handles);
    *session = closed;
    pair.message(transfer(0, 100), b"");
    let Event::SessionEnded { links, .. } = pair.take_event() else {
        panic!("expected the end of the session")
    };
    assert_eq!(links, [link]);
    assert_eq!(pair.condition(), "amqp:session:window-violation");
    // The peer does not know yet; then its channel is free.
    pair.message(transfer(0, 101), b"");
    pair.say(Performative::End(End { error: None }));
    pair.say(Performative::Begin(begin()));
    pair.no_event();
    assert_eq!(pair.names(), ["begin"]);
}

#[test]
fn frames_for_links_that_are_not_there_end_their_session() {
    let detach = Performative::Detach(Detach {
        handle: 9,
        closed: true,
        error: None,
    });
    for frame in [
        Performative::Flow(credit(9, 1)),
        Performative::Transfer(transfer(9, 0)),
        detach,
    ] {
        let mut pair = Pair::open();
        pair.say(frame);
        assert!(matches!(pair.take_event(), Event::SessionEnded { .. }));
        assert_eq!(pair.condition(), "amqp:session:unattached-handle");
    }
}

#[test]
fn a_handle_that_is_taken_or_too_high_ends_its_session() {
    let mut pair = Pair::open();
    pair.attach(attach(0, Role::Sender, "a"), 1);
    pair.say(Performative::Attach(Box::new(attach(0, Role::Sender, "b"))));
    assert!(matches!(pair.take_event(), Event::SessionEnded { .. }));
    assert_eq!(pair.condition(), "amqp:session:handle-in-use");
    let mut pair = Pair::open();
    let attach = attach(1024, Role::Sender, "a");
    pair.say(Performative::Attach(Box::new(attach)));
    assert!(matches!(pair.take_event(), Event::SessionEnded { .. }));
    assert_eq!(pair.condition(), "amqp:not-allowed");
}

#[test]
fn links_sessions_and_names_have_limits() {
    let mut settings = settings();
    settings.limits.links_max = 2;
    settings.limits.sessions_max = 2;
    settings.limits.name_len_max = 10;
    let mut pair = Pair::open_with(settings.clone(), open(), begin());
    pair.attach(attach(0, Role::Sender, "a"), 1);
    pair.attach(attach(1, Role::Sender, "b"), 1);
    let other = |performative| encode_frame(1, &performative, &[]);
    pair.bytes(&other(Performative::Begin(begin())));
    let third = attach(0, Role::Sender, "c");
    pair.bytes(&other(Performative::Attach(Box::new(third))));
    assert!(matches!(pair.take_event(), Event::SessionEnded { .. }));
    assert_eq!(pair.condition(), "amqp:resource-limit-exceeded");

    let mut pair = Pair::open_with(settings.clone(), open(), begin());
    pair.bytes(&encode_frame(2, &Performative::Begin(begin()), &[]));
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    assert_eq!(pair.condition(), "amqp:not-allowed");

    let mut pair = Pair::open_with(settings.clone(), open(), begin());
    let long = attach(0, Role::Sender, "0123456789a");
    pair.say(Performative::Attach(Box::new(long)));
    assert!(matches!(pair.take_event(), Event::SessionEnded { .. }));
    assert_eq!(pair.condition(), "amqp:resource-limit-exceeded");

    let mut pair = Pair::open_with(settings, open(), begin());
    let mut long = attach(0, Role::Sender, "a");
    long.target = Some(AnyTarget::Node(Target::at("0123456789a")));
    pair.say(Performative::Attach(Box::new(long)));
    pair.no_event();
    assert_eq!(pair.condition(), "amqp:resource-limit-exceeded");
}

#[test]
fn an_unsubscribing_client_asks_by_a_link_without_a_source() {
    let mut pair = Pair::open();
    let mut look_up = attach(0, Role::Receiver, "sub-1");
    look_up.source = None;
    pair.say(Performative::Attach(Box::new(look_up.clone())));
    let Event::Attach(request) = pair.take_event() else {
        panic!("expected an attach")
    };
    assert_eq!((&*request.name, &request.source), ("sub-1", &None));
    let known = AttachAcceptance {
        source: Some(Source::at("news")),
        ..AttachAcceptance::default()
    };
    let accepted = pair.connection.accept_attach(request.link, known);
    accepted.expect("it is decided now");
    pair.say(Performative::Detach(Detach {
        handle: 0,
        closed: true,
        error: None,
    }));
    assert!(matches!(
        pair.take_event(),
        Event::Detached { closed: true, .. }
    ));
    assert_eq!(pair.names(), ["attach"], "the program answers");
    let detached = pair.connection.detach(request.link, true, None);
    detached.expect("it is there");
    assert_eq!(pair.names(), ["detach"]);

    pair.say(Performative::Attach(Box::new(look_up)));
    let Event::Attach(request) = pair.take_event() else {
        panic!("expected an attach")
    };
    let error = AmqpError::new(condition::NOT_FOUND, "no such subscription");
    let refused = pair.connection.refuse_attach(request.link, error);
    refused.expect("it is decided now");
    assert_eq!(pair.condition(), "amqp:not-found");
}

#[test]
fn a_link_that_is_detached_before_the_program_decides_is_answered_in_order() {
    let mut pair = Pair::open();
    pair.say(Performative::Attach(Box::new(attach(
        0,
        Role::Receiver,
        "a",
    ))));
    pair.say(Performative::Detach(Detach {
        handle: 0,
        closed: true,
        error: None,
    }));
    let Event::Attach(request) = pair.take_event() else {
        panic!("expected an attach")
    };
    assert!(matches!(pair.take_event(), Event::Detached { .. }));
    let accepted = pair
        .connection
        .accept_attach(request.link, AttachAcceptance::default());
    assert_eq!(accepted, Ok(()));
    let sent = pair.connection.send(request.link, Bytes::new(), true);
    assert_eq!(sent, Err(CommandError::Gone));
    let detached = pair.connection.detach(request.link, true, None);
    assert_eq!(detached, Ok(()));
    assert_eq!(pair.names(), ["attach", "detach"]);
}

#[test]
fn credit_that_came_before_the_answer_is_told_after_it() {
    let mut pair = Pair::open();
    pair.say(Performative::Attach(Box::new(attach(
        0,
        Role::Receiver,
        "a",
    ))));
    pair.say(Performative::Flow(credit(0, 5)));
    let Event::Attach(request) = pair.take_event() else {
        panic!("expected an attach")
    };
    pair.no_event();
    let accepted = pair
        .connection
        .accept_attach(request.link, AttachAcceptance::default());
    accepted.expect("it is decided now");
    assert!(matches!(pair.take_event(), Event::Credit { credit: 5, .. }));
}

#[test]
fn a_session_that_ends_names_its_links() {
    let mut pair = Pair::open();
    let link = pair.attach(attach(0, Role::Sender, "a"), 1);
    pair.frames();
    pair.say(Performative::End(End { error: None }));
    let ended = Event::SessionEnded {
        session: SessionId(0),
        links: vec![link],
        error: None,
    };
    assert_eq!(pair.take_event(), ended);
    assert_eq!(pair.names(), ["end"]);
    assert_eq!(pair.connection.set_credit(link, 1), Err(CommandError::Gone));
}

#[test]
fn what_is_no_frame_closes_the_connection_with_its_condition() {
    let cases: [(&[u8], &str); 4] = [
        (b"\0\0\0\x07\x02\0\0\0", "amqp:connection:framing-error"),
        (
            b"\x7F\xFF\xFF\xFF\x02\0\0\0",
            "amqp:connection:framing-error",
        ),
        (b"\0\0\0\x08\x02\x01\0\0", "amqp:connection:framing-error"),
        (b"\0\0\0\x0A\x02\0\0\0\0\x3F", "amqp:decode-error"),
    ];
    for (bytes, condition) in cases {
        let mut pair = Pair::open();
        pair.bytes(bytes);
        assert!(matches!(
            pair.take_event(),
            Event::Closed { by_peer: false, .. }
        ));
        assert_eq!(pair.condition(), condition);
        assert!(pair.connection.is_finished());
    }
}

#[test]
fn a_frame_that_may_not_come_now_closes_the_connection() {
    let mut pair = Pair::open();
    pair.say(Performative::Open(open()));
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    assert_eq!(pair.condition(), "amqp:illegal-state");
    let mut pair = Pair::open();
    pair.bytes(&encode_frame(7, &Performative::Flow(credit(0, 1)), &[]));
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    assert_eq!(pair.condition(), "amqp:not-allowed");
}

#[test]
fn a_peer_that_is_silent_is_closed_and_one_that_asks_gets_signs_of_life() {
    let open = Open {
        idle_time_out: Some(2000),
        ..open()
    };
    let mut pair = Pair::open_with(settings(), open, begin());
    let start = pair.now;
    assert_eq!(
        pair.connection.poll_timeout(),
        Some(start + Duration::from_secs(1))
    );
    for second in 1..120 {
        pair.now = start + Duration::from_secs(second);
        pair.connection.handle_timeout(pair.now);
        let sent = pair.connection.poll_transmit(pair.now);
        assert_eq!(sent.as_deref(), Some(&b"\0\0\0\x08\x02\0\0\0"[..]));
        pair.no_event();
    }
    pair.now = start + Duration::from_secs(120);
    pair.connection.handle_timeout(pair.now);
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    assert_eq!(pair.condition(), "amqp:resource-limit-exceeded");
    assert_eq!(pair.connection.poll_timeout(), None);
}

#[test]
fn an_idle_time_out_that_costs_too_many_wake_ups_is_refused() {
    let mut pair = Pair::new(settings());
    pair.bytes(&AMQP_HEADER);
    pair.take_event();
    pair.connection.authenticate(true);
    pair.say(Performative::Open(Open {
        idle_time_out: Some(1),
        ..open()
    }));
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    pair.take_header();
    assert_eq!(pair.condition(), "amqp:not-allowed");
}

#[test]
fn a_peer_that_never_opens_is_closed() {
    let mut pair = Pair::new(settings());
    pair.bytes(&SASL_HEADER);
    pair.no_event();
    let at = pair.connection.poll_timeout().expect("a deadline");
    assert_eq!(at, pair.now + settings().limits.open_timeout);
    pair.connection.handle_timeout(at);
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    assert!(pair.connection.is_finished());
}

#[test]
fn a_close_of_this_side_waits_for_the_peer_and_not_for_long() {
    let mut pair = Pair::open();
    // Nothing was said for a while.
    pair.now += Duration::from_secs(50);
    pair.connection.close(pair.now, None);
    assert_eq!(pair.names(), ["close"]);
    // The peer does not know yet.
    pair.say(Performative::Begin(begin()));
    pair.no_event();
    let at = pair.connection.poll_timeout().expect("a deadline");
    assert_eq!(at, pair.now + settings().limits.close_timeout);
    pair.connection.handle_timeout(at);
    assert_eq!(
        pair.take_event(),
        Event::Closed {
            error: None,
            by_peer: false
        }
    );
    assert!(pair.frames().is_empty());
}

#[test]
fn an_error_with_a_long_text_fits_the_shortest_frame() {
    let open = Open {
        max_frame_size: Some(512),
        ..open()
    };
    let mut pair = Pair::open_with(settings(), open, begin());
    let error = AmqpError::new(condition::INTERNAL_ERROR, "ä".repeat(1000));
    pair.connection.close(pair.now, Some(error));
    pair.receive();
    assert!(pair.input.len() <= 512);
    assert_eq!(pair.names(), ["close"]);
}

#[test]
fn an_answer_that_is_longer_than_the_peer_takes_closes_the_connection() {
    let open = Open {
        max_frame_size: Some(512),
        ..open()
    };
    let mut pair = Pair::open_with(settings(), open, begin());
    let mut long = attach(0, Role::Receiver, "a");
    long.source = Some(Source::at("x".repeat(600)));
    pair.attach(long, 0);
    assert!(matches!(pair.take_event(), Event::Closed { .. }));
    assert_eq!(pair.names(), ["close"], "the peer never sees it");
}
