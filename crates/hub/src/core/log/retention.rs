//! How long a log keeps its events.

use std::time::Duration;

/// How long a log keeps its events. Without a limit it keeps all of them.
///
/// A log on disk drops whole segments, so it may keep a segment more than a limit says, and it never drops the segment
/// that it is writing.
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
