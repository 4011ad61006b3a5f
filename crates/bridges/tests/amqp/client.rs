//! A client of AMQP that says exactly what a test wants.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use floe_amqp::codec::{Reader, Value};
use floe_amqp::frame::{AMQP_HEADER, encode_frame, take_frame};
use floe_amqp::message::{Body, Message, MessageBuilder};
use floe_amqp::performative::{
    Attach, Begin, DeliveryState, Disposition, Flow, Open, Outcome, Performative,
    ReceiverSettleMode, Role, SenderSettleMode, Transfer,
};
use floe_amqp::terminus::{AnyTarget, Source, Target};

/// A connection with one session. Its links have the handles that tests choose.
pub(crate) struct Client {
    stream: TcpStream,
    input: BytesMut,
    next_delivery: u32,
}

/// A message that has come.
pub(crate) struct Received {
    pub(crate) delivery: u32,
    pub(crate) message: Bytes,
}

/// Long, because machines that run tests are slow and loaded.
const PATIENCE: Duration = Duration::from_secs(30);

const FRAME_LEN_MAX: u32 = 65_536;

impl Client {
    /// Connects, without SASL, and begins a session.
    pub(crate) fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the broker listens");
        stream.set_nodelay(true).expect("it is a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("likewise");
        let mut client = Self {
            stream,
            input: BytesMut::new(),
            next_delivery: 0,
        };
        client.bytes(&AMQP_HEADER);
        client.say(Performative::Open(Open {
            container_id: "cli\nent".to_owned(),
            hostname: None,
            max_frame_size: Some(FRAME_LEN_MAX),
            channel_max: None,
            idle_time_out: None,
            outgoing_locales: Vec::new(),
            incoming_locales: Vec::new(),
            offered_capabilities: Vec::new(),
            desired_capabilities: Vec::new(),
            properties: None,
        }));
        client.say(Performative::Begin(Begin {
            remote_channel: None,
            next_outgoing_id: 0,
            incoming_window: 1_000_000,
            outgoing_window: 1_000_000,
            handle_max: None,
            offered_capabilities: Vec::new(),
            desired_capabilities: Vec::new(),
            properties: None,
        }));
        client.fill(AMQP_HEADER.len());
        assert_eq!(client.input.split_to(AMQP_HEADER.len())[..], AMQP_HEADER);
        assert!(matches!(client.hear(), Performative::Open(_)));
        assert!(matches!(client.hear(), Performative::Begin(_)));
        client
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the broker reads");
    }

    pub(crate) fn say(&mut self, performative: Performative) {
        self.bytes(&encode_frame(0, &performative, &[]));
    }

    fn fill(&mut self, len: usize) {
        let mut buffer = [0; 16 * 1024];
        while self.input.len() < len {
            match self.stream.read(&mut buffer) {
                Ok(0) => panic!("expected {len} bytes, got the end"),
                Ok(read) => self.input.extend_from_slice(&buffer[..read]),
                Err(error) => panic!("expected {len} bytes, got {error}"),
            }
        }
    }

    fn frame(&mut self) -> (Performative, Bytes) {
        loop {
            let Some(frame) = take_frame(&mut self.input, FRAME_LEN_MAX).expect("a frame") else {
                self.fill(self.input.len() + 1);
                continue;
            };
            if frame.body.is_empty() {
                continue;
            }
            let mut reader = Reader::new(&frame.body);
            let performative = Performative::decode(&mut reader).expect("a performative");
            let at = reader.position();
            return (performative, frame.body.slice(at..));
        }
    }

    /// The next performative that tells of more than windows.
    pub(crate) fn hear(&mut self) -> Performative {
        loop {
            match self.frame().0 {
                Performative::Flow(_) => {}
                other => return other,
            }
        }
    }

    /// The next flow of a link.
    pub(crate) fn hear_flow(&mut self) -> Flow {
        loop {
            if let (Performative::Flow(flow), _) = self.frame()
                && flow.handle.is_some()
            {
                return flow;
            }
        }
    }

    /// Attaches a link; the error if it is refused.
    pub(crate) fn attach(&mut self, attach: Attach) -> Result<(), String> {
        self.say(Performative::Attach(Box::new(attach)));
        let Performative::Attach(answer) = self.hear() else {
            panic!("expected an attach");
        };
        if answer.source.is_some() || answer.target.is_some() {
            return Ok(());
        }
        match self.hear() {
            Performative::Detach(detach) => Err(detach.error.expect("a reason").to_string()),
            other => panic!("expected a detach, got {other:?}"),
        }
    }

    /// Attaches a consumer.
    pub(crate) fn subscribe(&mut self, handle: u32, topic: &str) {
        self.attach(consumer(handle, topic))
            .expect("it is accepted");
    }

    /// Attaches a producer.
    pub(crate) fn publisher(&mut self, handle: u32, topic: &str) {
        self.attach(producer(handle, Some(topic)))
            .expect("it is accepted");
    }

    /// Takes so many messages more of a link that has had `seen` so far.
    pub(crate) fn credit(&mut self, handle: u32, seen: u32, credit: u32, drain: bool) {
        self.say(Performative::Flow(Flow {
            next_incoming_id: Some(0),
            incoming_window: 1_000_000,
            outgoing_window: 1_000_000,
            handle: Some(handle),
            delivery_count: Some(seen),
            link_credit: Some(credit),
            drain,
            ..Flow::default()
        }));
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, handle: u32, message: &[u8], settled: bool) {
        let id = self.next_delivery;
        self.next_delivery += 1;
        let mut chunks = message.chunks(60_000).peekable();
        while let Some(chunk) = chunks.next() {
            let transfer = Transfer {
                handle,
                delivery_id: Some(id),
                delivery_tag: Some(Bytes::copy_from_slice(&id.to_be_bytes())),
                settled,
                more: chunks.peek().is_some(),
                ..Transfer::default()
            };
            self.bytes(&encode_frame(0, &Performative::Transfer(transfer), chunk));
        }
    }

    /// Sends a message and waits for its outcome.
    pub(crate) fn publish(&mut self, handle: u32, message: &[u8]) -> Outcome {
        self.send(handle, message, false);
        self.outcome()
    }

    /// The next outcome that the broker tells.
    pub(crate) fn outcome(&mut self) -> Outcome {
        match self.hear() {
            Performative::Disposition(disposition) => match disposition.state {
                Some(DeliveryState::Outcome(outcome)) => outcome,
                other => panic!("expected an outcome, got {other:?}"),
            },
            other => panic!("expected a disposition, got {other:?}"),
        }
    }

    /// The next message.
    pub(crate) fn receive(&mut self) -> Received {
        let mut whole = BytesMut::new();
        let mut delivery = None;
        loop {
            let (performative, payload) = self.frame();
            match performative {
                Performative::Transfer(transfer) => {
                    delivery = delivery.or(transfer.delivery_id);
                    whole.extend_from_slice(&payload);
                    if !transfer.more {
                        return Received {
                            delivery: delivery.expect("the first part has it"),
                            message: whole.freeze(),
                        };
                    }
                }
                Performative::Flow(_) => {}
                other => panic!("expected a transfer, got {other:?}"),
            }
        }
    }

    /// True if nothing comes for a while.
    pub(crate) fn is_quiet(&mut self, wait: Duration) -> bool {
        self.stream.set_read_timeout(Some(wait)).expect("a socket");
        let mut buffer = [0; 1024];
        let read = self.stream.read(&mut buffer);
        self.stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket");
        match read {
            Ok(len) => {
                self.input.extend_from_slice(&buffer[..len]);
                false
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }

    /// Tells the outcome of a message.
    pub(crate) fn settle(&mut self, delivery: u32, outcome: Outcome) {
        self.say(Performative::Disposition(Disposition {
            role: Role::Receiver,
            first: delivery,
            last: None,
            settled: true,
            state: Some(DeliveryState::Outcome(outcome)),
            batchable: false,
        }));
    }
}

fn attach(handle: u32, role: Role) -> Attach {
    Attach {
        name: format!("link {handle}"),
        handle,
        role,
        snd_settle_mode: SenderSettleMode::Mixed,
        rcv_settle_mode: ReceiverSettleMode::First,
        source: Some(Source::default()),
        target: Some(AnyTarget::Node(Target::default())),
        unsettled: None,
        incomplete_unsettled: false,
        initial_delivery_count: (role == Role::Sender).then_some(0),
        max_message_size: None,
        offered_capabilities: Vec::new(),
        desired_capabilities: Vec::new(),
        properties: None,
    }
}

/// A consumer of a topic.
pub(crate) fn consumer(handle: u32, topic: &str) -> Attach {
    Attach {
        source: Some(Source::at(topic)),
        ..attach(handle, Role::Receiver)
    }
}

/// A producer of a topic, or of the topics that its messages name.
pub(crate) fn producer(handle: u32, topic: Option<&str>) -> Attach {
    let target = Target {
        address: topic.map(str::to_owned),
        ..Target::default()
    };
    Attach {
        target: Some(AnyTarget::Node(target)),
        ..attach(handle, Role::Sender)
    }
}

/// A message with a text.
pub(crate) fn text(text: &str) -> Bytes {
    MessageBuilder::new(Body::Value(Value::text(text))).build()
}

/// The text of a message.
pub(crate) fn text_of(message: &Bytes) -> String {
    let message = Message::locate(message.clone()).expect("a message");
    match message.body() {
        Ok(Body::Value(Value::String(text))) => text,
        other => panic!("expected a text, got {other:?}"),
    }
}
