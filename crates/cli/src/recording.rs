//! Recordings: events of topics in an MCAP file, which many tools read.
//!
//! A topic is a channel with the message encoding [`ENCODING`]: a message is the bytes of an event as the Ice protocol has
//! them: operation, mode, context and the encapsulation of the parameters. The Slice files are the schema, with the
//! encoding `slice`.
//!
//! - `recording/writer.rs`: writes a recording
//! - `recording/reader.rs`: reads one, which may come from anywhere; `recording/framing.rs` checks it first;
//!   `recording/read_ahead.rs` reads while others publish

mod framing;
mod read_ahead;
mod reader;
mod writer;

pub(crate) use read_ahead::ReadAhead;
pub(crate) use reader::{RecordedEvent, RecordingError, RecordingReader};
pub(crate) use writer::{RecordingFile, RecordingWriter, Schema};

/// How messages are encoded.
pub(crate) const ENCODING: &str = "ice-event";
