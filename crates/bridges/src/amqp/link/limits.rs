//! How far a program may make things grow.

use std::time::Duration;

use floe_amqp::limits::Limits;

/// The most connections. Each may take what [`connection`] allows.
pub(crate) const CONNECTIONS_MAX: usize = 1_024;

/// How many messages of a producer may be on their way to the hub: its credit. It hides the time that a durable topic takes
/// to store them.
pub(crate) const CREDIT: u32 = 64;

/// The longest message, in bytes: a mebibyte of bytes takes four as JSON. To read JSON takes up to sixteen times its length.
const MESSAGE_LEN_MAX: usize = 8 << 20;

/// The most bytes of messages of a connection of which parts have come.
const PARTIAL_LEN_MAX: usize = 16 << 20;

/// How many bytes of messages of a connection may be on their way to the hub before no more is read from it. The messages that
/// were read by then come on top of it.
pub(crate) const PUBLISHING_LEN_MAX: usize = 8 << 20;

/// How many events a consumer may have that it has not settled, before it gets no more. A program that acknowledges by the
/// session collects some before it does; Qpid JMS fetches 1,000 ahead.
pub(crate) const HELD_MAX: usize = 1_000;

/// How many bytes those events may have; one event may have more.
pub(crate) const HELD_LEN_MAX: usize = 4 << 20;

/// How many commands of its tasks may wait for a connection.
pub(crate) const COMMANDS_MAX: usize = 64;

/// How many passwords are checked at a time: each takes tens of milliseconds of a processor, and megabytes.
pub(crate) const VERIFYING_MAX: usize = 2;

/// How many bytes are read at a time.
pub(crate) const READ_LEN: usize = 32 << 10;

/// How long a consumer that asks for what is there at once waits for the hub, if nothing is there.
pub(crate) const DRAIN_WAIT: Duration = Duration::from_millis(20);

/// How long the last bytes of a connection may take to leave, and its last messages to reach the hub.
pub(crate) const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

/// How long all connections together may take to end.
pub(crate) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The most bytes of the name by which a program is listed, and which its events carry as their origin.
pub(crate) const PARTICIPANT_LEN_MAX: usize = 128;

/// The limits of one connection.
pub(crate) fn connection() -> Limits {
    Limits {
        // Each link is a publisher or a subscription of the hub.
        sessions_max: 64,
        links_max: 256,
        message_len_max: MESSAGE_LEN_MAX,
        partial_len_max: PARTIAL_LEN_MAX,
        close_timeout: Duration::from_secs(1),
        ..Limits::default()
    }
}
