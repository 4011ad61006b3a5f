//! Recordings: events of topics in an MCAP file, which many tools read.
//!
//! A topic is a channel with the message encoding [`ENCODING`]: a message is the bytes of an event as the Ice protocol has
//! them: operation, mode, context and the encapsulation of the parameters. The Slice files are the schema, with the
//! encoding `slice`.
//!
//! Viewers such as Foxglove read no Slice. For them, a recording can have a second channel for each operation of a topic, with
//! the same events as JSON and a JSON schema. These channels are named `topic/operation`, and a replay passes over them.
//!
//! - `recording/writer.rs`: writes a recording; `recording/view.rs`: the same events for viewers
//! - `recording/reader.rs`: reads one, which may come from anywhere; `recording/unpacked.rs` unpacks compressed chunks,
//!   and `recording/framing.rs` checks the bytes first; `recording/read_ahead.rs` reads while others publish

mod framing;
mod read_ahead;
mod reader;
mod unpacked;
mod view;
mod writer;

use mcap::McapError;

pub(crate) use read_ahead::ReadAhead;
pub(crate) use reader::{RecordedEvent, RecordingError, RecordingReader};
pub(crate) use view::View;
pub(crate) use writer::{RecordingFile, RecordingWriter, Schema};

/// How messages are encoded.
pub(crate) const ENCODING: &str = "ice-event";

/// Returns true if this is an operation that every object has, and so no event: `ice_ping` is how a subscription checks
/// whether its hub still delivers.
pub(crate) fn is_no_event(operation: &str) -> bool {
    matches!(operation, "ice_ping" | "ice_isA" | "ice_id" | "ice_ids")
}

/// Tells what is wrong, in the words of the system if it refused something: the text of the library does not name that.
pub(crate) fn cause(error: &McapError) -> String {
    match error {
        McapError::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}
