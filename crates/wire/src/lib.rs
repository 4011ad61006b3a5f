//! The Ice protocol and encoding: bytes to meaning and back.
//!
//! Pure: bytes and a time go in; bytes, events and a deadline come out. No socket, no clock, no
//! async, no randomness. The runtime (package `floe`) moves the bytes.
//!
//! - [`compression`]: compressed messages, within bounds
//! - [`encoding`]: values, in encodings 1.0 and 1.1
//! - [`message`]: the header and the five protocol messages
//! - [`mod@reference`]: what a proxy holds, as text and as bytes
//! - [`connection`]: a connection as a state machine
//! - [`websocket`]: the opening and the frames of WebSockets

mod base64;
pub mod compression;
pub mod connection;
pub mod encoding;
pub mod message;
pub mod reference;
pub mod websocket;

pub use encoding::{
    Decode, DecodeError, DecodeErrorKind, Decoder, Encapsulation, Encode, EncodeError, Encoder,
    EncodingVersion, Packed, PackedBytes, ProtocolVersion, View,
};
