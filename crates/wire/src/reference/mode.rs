//! Invocation modes.

/// How an invocation through a proxy is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum InvocationMode {
    /// A request with a reply.
    #[default]
    Twoway,
    /// A request without a reply.
    Oneway,
    /// Oneway requests that are collected and sent as one message.
    BatchOneway,
    /// A request in a datagram.
    Datagram,
    /// Requests that are collected and sent as one datagram.
    BatchDatagram,
}

impl InvocationMode {
    const ALL: [(Self, char); 5] = [
        (Self::Twoway, 't'),
        (Self::Oneway, 'o'),
        (Self::BatchOneway, 'O'),
        (Self::Datagram, 'd'),
        (Self::BatchDatagram, 'D'),
    ];

    /// Returns true if invocations have replies.
    pub const fn is_twoway(self) -> bool {
        matches!(self, Self::Twoway)
    }

    /// Returns true if invocations are collected until a flush.
    pub const fn is_batch(self) -> bool {
        matches!(self, Self::BatchOneway | Self::BatchDatagram)
    }

    /// Returns true if invocations travel as datagrams.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::Datagram | Self::BatchDatagram)
    }

    /// The byte on the wire.
    pub(super) const fn to_byte(self) -> u8 {
        self as u8
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).map(|(mode, _)| *mode)
    }

    /// The letter of the mode's option in a stringified proxy.
    pub(super) const fn letter(self) -> char {
        Self::ALL[self as usize].1
    }

    pub(super) fn from_letter(letter: char) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == letter);
        found.map(|(mode, _)| *mode)
    }
}
