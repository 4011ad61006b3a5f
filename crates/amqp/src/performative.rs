//! The performatives: what a frame of a connection says.
//!
//! Source: OASIS AMQP 1.0, part 2, 2.7, and part 3, 3.4.

use bytes::Bytes;

use crate::codec::{
    CodecError, CodecErrorKind, Composite, Descriptor, Field, Raw, Reader, Symbol, Writer,
    composite,
};
use crate::condition::AmqpError;
use crate::terminus::{AnyTarget, Source};

composite! {
    /// Opens a connection.
    Open = 0x10 "amqp:open:list" {
        /// The name of the peer.
        container_id: String,
        /// The host that it means to speak to.
        hostname: Option<String>,
        /// The longest frame that it takes.
        max_frame_size: Option<u32>,
        /// The highest channel that it takes.
        channel_max: Option<u16>,
        /// Milliseconds without a frame after which it gives up.
        idle_time_out: Option<u32>,
        /// Languages of texts that it sends.
        outgoing_locales: Vec<Symbol>,
        /// Languages of texts that it reads.
        incoming_locales: Vec<Symbol>,
        /// Its capabilities.
        offered_capabilities: Vec<Symbol>,
        /// Capabilities that it wishes the other to have.
        desired_capabilities: Vec<Symbol>,
        /// A map of more.
        properties: Option<Raw>,
    }
}

composite! {
    /// Begins a session on a channel.
    Begin = 0x11 "amqp:begin:list" {
        /// In an answer: the channel of the begin that it answers.
        remote_channel: Option<u16>,
        /// The id of the first transfer.
        next_outgoing_id: u32,
        /// How many transfers its sender takes.
        incoming_window: u32,
        /// How many transfers it may send.
        outgoing_window: u32,
        /// The highest handle that it takes.
        handle_max: Option<u32>,
        /// Its capabilities.
        offered_capabilities: Vec<Symbol>,
        /// Capabilities that it wishes the other to have.
        desired_capabilities: Vec<Symbol>,
        /// A map of more.
        properties: Option<Raw>,
    }
}

composite! {
    /// Attaches a link to a session.
    Attach = 0x12 "amqp:attach:list" {
        /// The name of the link.
        name: String,
        /// The number of the link in frames of its sender.
        handle: u32,
        /// Which end of the link its sender is.
        role: Role,
        /// How the sending end settles.
        snd_settle_mode: SenderSettleMode,
        /// How the receiving end settles.
        rcv_settle_mode: ReceiverSettleMode,
        /// Where messages come from; none in the refusal of a link, and in a look-up.
        source: Option<Source>,
        /// Where messages go.
        target: Option<AnyTarget>,
        /// A map of deliveries that are to be resumed.
        unsettled: Option<Raw>,
        /// True if that map has not all of them.
        incomplete_unsettled: bool,
        /// The first delivery count, which the sending end names.
        initial_delivery_count: Option<u32>,
        /// The longest message that its sender takes; none or 0 for any.
        max_message_size: Option<u64>,
        /// Its capabilities.
        offered_capabilities: Vec<Symbol>,
        /// Capabilities that it wishes the other to have.
        desired_capabilities: Vec<Symbol>,
        /// A map of more.
        properties: Option<Raw>,
    }
}

composite! {
    /// Changes the windows of a session, and the credit of a link.
    #[derive(Default)]
    Flow = 0x13 "amqp:flow:list" {
        /// The transfer that its sender expects next; none before it has seen the begin of the other.
        next_incoming_id: Option<u32>,
        /// How many transfers it takes.
        incoming_window: u32,
        /// The id of its next transfer.
        next_outgoing_id: u32,
        /// How many transfers it may send.
        outgoing_window: u32,
        /// The link; none if only the session is meant.
        handle: Option<u32>,
        /// How many deliveries the link has seen.
        delivery_count: Option<u32>,
        /// How many deliveries the receiving end takes, from that count on.
        link_credit: Option<u32>,
        /// How many messages wait at the sending end.
        available: Option<u32>,
        /// True if credit that cannot be used at once shall be given back.
        drain: bool,
        /// True if an answer is wanted.
        echo: bool,
        /// A map of more.
        properties: Option<Raw>,
    }
}

composite! {
    /// Carries a message or a part of one, which follows in the frame.
    #[derive(Default)]
    Transfer = 0x14 "amqp:transfer:list" {
        /// The link.
        handle: u32,
        /// The delivery; left out in parts behind the first.
        delivery_id: Option<u32>,
        /// A name of the delivery, of at most [`TAG_LEN_MAX`] bytes.
        delivery_tag: Option<Bytes>,
        /// 0 for messages as part 3 of AMQP defines them.
        message_format: Option<u32>,
        /// True if its sender has settled it and expects no answer.
        settled: bool,
        /// True if the next transfer of the link continues the message.
        more: bool,
        /// How the receiving end settles this delivery.
        rcv_settle_mode: Option<ReceiverSettleMode>,
        /// The state at the sending end.
        state: Option<DeliveryState>,
        /// True if a delivery of an earlier attachment is resumed.
        resume: bool,
        /// True if the delivery is given up, with all its parts so far.
        aborted: bool,
        /// True if the answer may be put off.
        batchable: bool,
    }
}

composite! {
    /// Tells of the state of deliveries.
    Disposition = 0x15 "amqp:disposition:list" {
        /// Which end of the links its sender is.
        role: Role,
        /// The first delivery.
        first: u32,
        /// The last one; none if it is the first.
        last: Option<u32>,
        /// True if its sender has settled them.
        settled: bool,
        /// Their state.
        state: Option<DeliveryState>,
        /// True if the answer may be put off.
        batchable: bool,
    }
}

composite! {
    /// Detaches a link from its session.
    Detach = 0x16 "amqp:detach:list" {
        /// The link.
        handle: u32,
        /// True if the link ends, and false if it may be attached again.
        closed: bool,
        /// Why, if something is wrong.
        error: Option<AmqpError>,
    }
}

composite! {
    /// Ends a session.
    End = 0x17 "amqp:end:list" {
        /// Why, if something is wrong.
        error: Option<AmqpError>,
    }
}

composite! {
    /// Closes a connection.
    Close = 0x18 "amqp:close:list" {
        /// Why, if something is wrong.
        error: Option<AmqpError>,
    }
}

/// The most bytes of a delivery tag. Source: OASIS AMQP 1.0, 2.8.7.
pub const TAG_LEN_MAX: usize = 32;

/// Any performative.
#[derive(Debug, Clone, PartialEq)]
pub enum Performative {
    /// Opens a connection.
    Open(Open),
    /// Begins a session.
    Begin(Begin),
    /// Attaches a link.
    Attach(Box<Attach>),
    /// Changes windows and credit.
    Flow(Flow),
    /// Carries a message or a part of one.
    Transfer(Transfer),
    /// Tells of deliveries.
    Disposition(Disposition),
    /// Detaches a link.
    Detach(Detach),
    /// Ends a session.
    End(End),
    /// Closes a connection.
    Close(Close),
}

impl Performative {
    /// Reads the performative at the beginning of a frame's body; the payload of a transfer stays in the reader.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        use crate::codec::read_list;
        const READING: &str = "a performative";
        let code = match reader.descriptor(READING)? {
            Descriptor::Code(code) => code,
            Descriptor::Name(name) => {
                let known = NAMES.iter().find(|(known, _)| *known == name);
                known.map_or(u64::MAX, |(_, code)| *code)
            }
        };
        Ok(match code {
            Open::CODE => Self::Open(read_list(reader)?),
            Begin::CODE => Self::Begin(read_list(reader)?),
            Attach::CODE => Self::Attach(Box::new(read_list(reader)?)),
            Flow::CODE => Self::Flow(read_list(reader)?),
            Transfer::CODE => Self::Transfer(read_list(reader)?),
            Disposition::CODE => Self::Disposition(read_list(reader)?),
            Detach::CODE => Self::Detach(read_list(reader)?),
            End::CODE => Self::End(read_list(reader)?),
            Close::CODE => Self::Close(read_list(reader)?),
            _ => return Err(reader.error(READING, CodecErrorKind::UnknownDescriptor)),
        })
    }

    /// Writes it.
    pub fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Open(open) => open.encode(writer),
            Self::Begin(begin) => begin.encode(writer),
            Self::Attach(attach) => attach.encode(writer),
            Self::Flow(flow) => flow.encode(writer),
            Self::Transfer(transfer) => transfer.encode(writer),
            Self::Disposition(disposition) => disposition.encode(writer),
            Self::Detach(detach) => detach.encode(writer),
            Self::End(end) => end.encode(writer),
            Self::Close(close) => close.encode(writer),
        }
    }

    /// Its name in errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open(_) => "open",
            Self::Begin(_) => "begin",
            Self::Attach(_) => "attach",
            Self::Flow(_) => "flow",
            Self::Transfer(_) => "transfer",
            Self::Disposition(_) => "disposition",
            Self::Detach(_) => "detach",
            Self::End(_) => "end",
            Self::Close(_) => "close",
        }
    }
}

const NAMES: [(&str, u64); 9] = [
    (Open::NAME, Open::CODE),
    (Begin::NAME, Begin::CODE),
    (Attach::NAME, Attach::CODE),
    (Flow::NAME, Flow::CODE),
    (Transfer::NAME, Transfer::CODE),
    (Disposition::NAME, Disposition::CODE),
    (Detach::NAME, Detach::CODE),
    (End::NAME, End::CODE),
    (Close::NAME, Close::CODE),
];

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The end that sends messages.
    Sender,
    /// The end that receives messages.
    Receiver,
}

impl Field for Role {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let is_receiver = bool::decode(reader, reading)?;
        Ok(if is_receiver {
            Self::Receiver
        } else {
            Self::Sender
        })
    }

    fn encode(&self, writer: &mut Writer) {
        writer.bool(*self == Self::Receiver);
    }
}

/// Which deliveries the sending end settles at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SenderSettleMode {
    /// None.
    Unsettled,
    /// All.
    Settled,
    /// As each transfer says.
    #[default]
    Mixed,
}

impl Field for SenderSettleMode {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match u8::decode(reader, reading)? {
            0 => Ok(Self::Unsettled),
            1 => Ok(Self::Settled),
            2 => Ok(Self::Mixed),
            other => Err(reader.error(reading, CodecErrorKind::UndefinedValue(other.into()))),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.ubyte(*self as u8);
    }

    fn absent() -> Option<Self> {
        Some(Self::Mixed)
    }

    fn is_absent(&self) -> bool {
        *self == Self::Mixed
    }
}

/// When the receiving end settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReceiverSettleMode {
    /// At once, with its outcome.
    #[default]
    First,
    /// After the sending end has settled, which it does when it knows the outcome.
    Second,
}

impl Field for ReceiverSettleMode {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        match u8::decode(reader, reading)? {
            0 => Ok(Self::First),
            1 => Ok(Self::Second),
            other => Err(reader.error(reading, CodecErrorKind::UndefinedValue(other.into()))),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        writer.ubyte(*self as u8);
    }

    fn absent() -> Option<Self> {
        Some(Self::First)
    }

    fn is_absent(&self) -> bool {
        *self == Self::First
    }
}

composite! {
    /// How far a delivery has come.
    #[derive(Default)]
    Received = 0x23 "amqp:received:list" {
        /// The section.
        section_number: Option<u32>,
        /// Bytes within it.
        section_offset: Option<u64>,
    }
}

composite! {
    /// The message was taken.
    #[derive(Default)]
    Accepted = 0x24 "amqp:accepted:list" {}
}

composite! {
    /// The message is invalid and cannot be taken.
    #[derive(Default)]
    Rejected = 0x25 "amqp:rejected:list" {
        /// Why.
        error: Option<AmqpError>,
    }
}

composite! {
    /// The message was not taken and may be delivered to others or again.
    #[derive(Default)]
    Released = 0x26 "amqp:released:list" {}
}

composite! {
    /// The message was not taken, and is changed before it is delivered to others or again.
    #[derive(Default)]
    Modified = 0x27 "amqp:modified:list" {
        /// True if its count of failed deliveries goes up.
        delivery_failed: bool,
        /// True if this link shall not get it again.
        undeliverable_here: bool,
        /// A map of annotations that it gets.
        message_annotations: Option<Raw>,
    }
}

/// The state of a delivery.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum DeliveryState {
    /// A part of it has come.
    Received(Received),
    /// It is final.
    Outcome(Outcome),
    /// A state of another kind, such as one of transactions; its descriptor.
    Other(u64),
}

/// The end of a delivery.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The message was taken.
    Accepted,
    /// The message is invalid.
    Rejected(Option<AmqpError>),
    /// The message was not taken.
    Released,
    /// The message was not taken, and something is said about that.
    Modified(Modified),
}

impl Field for DeliveryState {
    fn decode(reader: &mut Reader<'_>, reading: &'static str) -> Result<Self, CodecError> {
        let code = match reader.clone().descriptor(reading)? {
            Descriptor::Code(code) => code,
            Descriptor::Name(Received::NAME) => Received::CODE,
            Descriptor::Name(Accepted::NAME) => Accepted::CODE,
            Descriptor::Name(Rejected::NAME) => Rejected::CODE,
            Descriptor::Name(Released::NAME) => Released::CODE,
            Descriptor::Name(Modified::NAME) => Modified::CODE,
            Descriptor::Name(_) => u64::MAX,
        };
        Ok(match code {
            Received::CODE => Self::Received(Received::decode(reader, reading)?),
            Accepted::CODE => {
                Accepted::decode(reader, reading)?;
                Self::Outcome(Outcome::Accepted)
            }
            Rejected::CODE => {
                let rejected = Rejected::decode(reader, reading)?;
                Self::Outcome(Outcome::Rejected(rejected.error))
            }
            Released::CODE => {
                Released::decode(reader, reading)?;
                Self::Outcome(Outcome::Released)
            }
            Modified::CODE => Self::Outcome(Outcome::Modified(Modified::decode(reader, reading)?)),
            other => {
                reader.check(reading)?;
                Self::Other(other)
            }
        })
    }

    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Received(received) => received.encode(writer),
            Self::Outcome(outcome) => outcome.encode(writer),
            Self::Other(code) => {
                writer.descriptor(*code);
                writer.list(|_| 0);
            }
        }
    }
}

impl Outcome {
    /// The kind of outcome, without texts and annotations of a peer.
    pub(crate) fn without_details(&self) -> Self {
        match self {
            Self::Accepted => Self::Accepted,
            Self::Rejected(_) => Self::Rejected(None),
            Self::Released => Self::Released,
            Self::Modified(modified) => Self::Modified(Modified {
                message_annotations: None,
                ..*modified
            }),
        }
    }

    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Accepted => Accepted {}.encode(writer),
            Self::Rejected(error) => Rejected {
                error: error.clone(),
            }
            .encode(writer),
            Self::Released => Released {}.encode(writer),
            Self::Modified(modified) => modified.encode(writer),
        }
    }
}

/// The names of the outcomes that a source offers.
pub fn outcome_names() -> Vec<Symbol> {
    [
        Accepted::NAME,
        Rejected::NAME,
        Released::NAME,
        Modified::NAME,
    ]
    .map(Symbol::new)
    .to_vec()
}
