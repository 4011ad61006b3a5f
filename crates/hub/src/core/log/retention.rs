//! How long a log keeps its events.

use std::time::Duration;

/// How long a log keeps its events. Without a limit it keeps all of them.
///
/// No reader gets an event beyond the limit on events, nor one that is older than the age and a hundredth of it. A log on disk
/// removes whole files: those of which it keeps no event, and the oldest while the others have as many bytes as it keeps. So its
/// files may be a segment longer than the limit on bytes, and it never removes the segment that it is writing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retention {
    /// Older events are dropped.
    pub age: Option<Duration>,
    /// If the log is longer, its oldest events are dropped. Bytes include the records' own headers.
    pub bytes: Option<u64>,
    /// If there are more, the oldest are dropped.
    pub events: Option<u64>,
    /// Only the newest events of each key are kept.
    pub per_key: Option<PerKey>,
}

/// Only the newest events of each key are kept. Events without a key stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerKey {
    /// The entry of an event's context whose value is its key.
    pub context_key: String,
    /// How many events of each key are kept; at least 1.
    pub count: u64,
}
