//! Events: what the peer did that the program must know or decide.

use std::sync::Arc;

use bytes::Bytes;

use crate::codec::{Raw, Symbol};
use crate::condition::AmqpError;
use crate::performative::{Outcome, ReceiverSettleMode, Role, SenderSettleMode};
use crate::sasl::Credentials;
use crate::terminus::{Source, Target};

/// A link of a connection. Numbers are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub(super) u64);

/// A session of a connection, by its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub(super) u16);

/// A delivery of a link. Numbers are not used again within a session and a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId(pub(super) u64);

/// Something that the program must know or decide.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The peer says who it is. Answer with [`authenticate`](super::Connection::authenticate); nothing is read before.
    Authenticate(Credentials),
    /// The peer opens the connection. Answer with [`accept_open`](super::Connection::accept_open) or
    /// [`refuse_open`](super::Connection::refuse_open); nothing is read before.
    Open(OpenRequest),
    /// The peer attaches a link. Answer with [`accept_attach`](super::Connection::accept_attach) or
    /// [`refuse_attach`](super::Connection::refuse_attach).
    Attach(Box<AttachRequest>),
    /// A message has come. If it is not settled, settle it with [`settle`](super::Connection::settle).
    Delivery(Delivery),
    /// The peer takes messages.
    Credit {
        /// The link, of which this is the sending end.
        link: LinkId,
        /// How many messages it takes now.
        credit: u32,
        /// True if credit that cannot be used at once shall be given back, by
        /// [`drained`](super::Connection::drained).
        drain: bool,
    },
    /// The peer is done with a message that was sent to it. It needs no answer.
    Settled {
        /// The link.
        link: LinkId,
        /// The delivery.
        delivery: DeliveryId,
        /// The end of the delivery; none if it said nothing, so that the default of the source holds. All
        /// deliveries of a frame share it.
        outcome: Option<Arc<Outcome>>,
    },
    /// The peer detaches a link. Answer with [`detach`](super::Connection::detach). Deliveries that are not settled have
    /// no outcome.
    Detached {
        /// The link.
        link: LinkId,
        /// True if the link ends, and false if it may come back: a subscription outlives it.
        closed: bool,
        /// Why, if something was wrong.
        error: Option<AmqpError>,
    },
    /// The peer broke a rule of a link, which has been detached. It needs no answer.
    LinkFailed {
        /// The link.
        link: LinkId,
        /// The rule.
        error: AmqpError,
    },
    /// A session has ended, with these links. It needs no answer.
    SessionEnded {
        /// The session.
        session: SessionId,
        /// Its links, which were not detached.
        links: Vec<LinkId>,
        /// Why, if something was wrong.
        error: Option<AmqpError>,
    },
    /// The connection ends, with all its links. Send what [`poll_transmit`](super::Connection::poll_transmit) still
    /// has; this is the last event.
    Closed {
        /// Why, if something was wrong.
        error: Option<AmqpError>,
        /// True if the peer closed, and false if it broke a rule or was late.
        by_peer: bool,
    },
}

/// A peer that opens a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRequest {
    /// Its name; the client id of a JMS program.
    pub container_id: String,
    /// The host that it means to speak to.
    pub hostname: Option<String>,
    /// Capabilities that it wishes.
    pub desired_capabilities: Vec<Symbol>,
    /// A map of more.
    pub properties: Option<Raw>,
}

/// The answer to an [`OpenRequest`].
#[derive(Debug, Clone, Default)]
pub struct OpenAcceptance {
    /// Capabilities of this side.
    pub offered_capabilities: Vec<Symbol>,
    /// A map of more.
    pub properties: Option<Raw>,
}

/// A peer that attaches a link.
#[derive(Debug, Clone, PartialEq)]
pub struct AttachRequest {
    /// The link.
    pub link: LinkId,
    /// Its session.
    pub session: SessionId,
    /// Its name. The name of a durable subscription, if it is one.
    pub name: String,
    /// Which end of the link the peer is: a [`Role::Sender`] publishes.
    pub peer_role: Role,
    /// Where messages come from. None, of a receiver, asks for the source that a link of this name has: answer with it or
    /// refuse with `amqp:not-found`.
    pub source: Option<Source>,
    /// Where messages go.
    pub target: Option<Target>,
    /// How the sending end settles.
    pub snd_settle_mode: SenderSettleMode,
    /// How the receiving end settles.
    pub rcv_settle_mode: ReceiverSettleMode,
    /// The longest message that the peer takes, in bytes; none for any.
    pub max_message_size: Option<u64>,
    /// Capabilities of the peer.
    pub offered_capabilities: Vec<Symbol>,
    /// Capabilities that it wishes.
    pub desired_capabilities: Vec<Symbol>,
    /// A map of more.
    pub properties: Option<Raw>,
}

/// The answer to an [`AttachRequest`].
#[derive(Debug, Clone, Default)]
pub struct AttachAcceptance {
    /// Where messages come from, as this side understands it.
    pub source: Option<Source>,
    /// Where messages go, as this side understands it.
    pub target: Option<Target>,
    /// How many messages the peer may send at first, if it is the sender.
    pub credit: u32,
    /// Capabilities of this side.
    pub offered_capabilities: Vec<Symbol>,
    /// A map of more.
    pub properties: Option<Raw>,
}

/// A message that has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The link.
    pub link: LinkId,
    /// The delivery.
    pub delivery: DeliveryId,
    /// True if the peer expects no outcome.
    pub settled: bool,
    /// 0 for messages as [`message`](crate::message) reads them.
    pub format: u32,
    /// The message. It may share memory with other input: copy it to keep it for long.
    pub message: Bytes,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandError {
    /// The link, or the delivery, is gone, which an event has told or will tell.
    Gone,
    /// The command is for the other end of a link, or for another state.
    NotNow,
    /// The peer takes no more messages of this link now; [`Event::Credit`] tells when it does.
    NoCredit,
    /// So much waits to be sent that no more is taken: send what there is first.
    Backlogged,
    /// The peer has [`Limits::unsettled_max`](crate::limits::Limits::unsettled_max) messages of this session that it has
    /// not settled.
    Unsettled,
    /// The message is longer than the peer takes.
    TooLong,
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gone => "expected a link and delivery that exist, got one that is gone",
            Self::NotNow => "expected a command that fits the link and its state",
            Self::NoCredit => "expected the peer to take messages, but it gave no credit",
            Self::Backlogged => "expected that waiting output is sent first",
            Self::Unsettled => "expected the peer to settle deliveries, but too many are open",
            Self::TooLong => "expected a message as short as the peer takes",
        })
    }
}

impl std::error::Error for CommandError {}
