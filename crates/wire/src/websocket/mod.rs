//! WebSockets as Ice uses them: the opening handshake and the frames, without I/O.
//!
//! The bytes of a connection travel in binary frames, whose boundaries have no meaning: a message may span several
//! frames. Pings are answered, and a close frame ends the stream.
//!
//! - `handshake.rs`: the request that opens a connection, and its response
//! - `frame.rs`: encodes frames; `reader.rs`: decodes them
//!
//! Source: RFC 6455. Vectors: `tests/vectors/websocket.json`.

mod error;
mod frame;
mod handshake;
mod reader;

pub use error::WebSocketError;
pub use frame::{
    CLOSE_NORMAL, CLOSE_PROTOCOL_ERROR, CLOSE_TOO_LONG, CONTROL_LEN_MAX, Mask, append_control,
    append_data_header, append_masked,
};
pub use handshake::{
    HEADER_LEN_MAX, Key, UpgradeRequest, append_request, append_response, check_request,
    check_response, head_len,
};
pub use reader::{FrameReader, Incoming, Side};

/// The type of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// The next part of a message that spans several frames.
    Continuation,
    /// A binary message, or its first frame.
    Binary,
    /// The last frame in its direction.
    Close,
    /// A ping, to be answered with a pong.
    Ping,
    /// Answers a ping.
    Pong,
}

impl Opcode {
    const fn code(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            0x0 => Some(Self::Continuation),
            0x2 => Some(Self::Binary),
            0x8 => Some(Self::Close),
            0x9 => Some(Self::Ping),
            0xA => Some(Self::Pong),
            _ => None,
        }
    }

    const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

#[cfg(test)]
mod tests;
