//! How far a peer may make things grow.

use std::time::Duration;

/// Limits of one connection. All memory that its peer can take is bounded by them.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest frame, in bytes. Longer messages come in several. 64 KiB, which is one read of a socket.
    pub frame_len_max: u32,
    /// The most sessions. 256: a JMS program has one for each of its sessions, which are threads.
    pub sessions_max: u16,
    /// The most links of all sessions. 1,024: a JMS program has one for each consumer and producer.
    pub links_max: usize,
    /// The longest name of a link, a container or a node, in bytes. 1,024; Qpid JMS makes names of some 100.
    pub name_len_max: usize,
    /// How many frames with messages a session takes before it reports that more may come. 2,048, as Qpid JMS has it.
    pub session_window: u32,
    /// The most deliveries of a session, for each direction, that are not settled. 16,384: sixteen JMS consumers that
    /// acknowledge nothing. It also bounds how many events one frame can cause.
    pub unsettled_max: usize,
    /// The longest message, in bytes. 16 MiB.
    pub message_len_max: usize,
    /// The most bytes of messages of which parts have come, over all links. 64 MiB.
    pub partial_len_max: usize,
    /// How many bytes may wait to be sent before no more input is handled and no more messages are taken. 4 MiB. One
    /// message or the answers to one frame may come on top of it.
    pub output_len_max: usize,
    /// How long a peer may take until its connection is open, the program's decisions included. 30 s.
    pub open_timeout: Duration,
    /// How long a peer may take to answer a close. 5 s.
    pub close_timeout: Duration,
    /// The peer is asked to send something at least this often; after twice the time its connection ends. 60 s.
    pub idle_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_len_max: 65_536,
            sessions_max: 256,
            links_max: 1_024,
            name_len_max: 1_024,
            session_window: 2_048,
            unsettled_max: 16_384,
            message_len_max: 16 << 20,
            partial_len_max: 64 << 20,
            output_len_max: 4 << 20,
            open_timeout: Duration::from_secs(30),
            close_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
        }
    }
}

/// The shortest time without a frame that a peer may ask for. Signs of life cost a wake-up each.
pub const PEER_IDLE_TIMEOUT_MIN: Duration = Duration::from_millis(500);

/// The longest frame before the peer is known. Source: OASIS AMQP 1.0, part 5, 5.3.1.
pub const SASL_FRAME_LEN_MAX: u32 = 512;
