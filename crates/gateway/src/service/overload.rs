//! Error texts for callers when the gateway is overloaded or shuts down.

/// The text of an exception begins with this if the gateway has too much to do: try again later.
pub const OVERLOADED: &str = "gateway overloaded: ";

/// The text of an exception begins with this if the gateway ends: use another one.
pub const GOING_AWAY: &str = "gateway going away: ";

/// The sessions of an address hold too much memory.
pub(super) const NO_MEMORY: &str =
    "the sessions of this address hold as much memory as they may (memory-bytes)";

/// The sessions of an address have too many connections to servers.
pub(super) const NO_CONNECTION: &str = "the sessions of this address have as many connections to servers as they may \
    (server-connection-limit)";

/// Returns the text of an exception: `what` is wrong, after [`OVERLOADED`].
pub(super) fn overloaded(what: &str) -> String {
    format!("{OVERLOADED}{what}")
}

/// Returns the text of an exception: `what` is wrong, after [`GOING_AWAY`].
pub(super) fn going_away(what: &str) -> String {
    format!("{GOING_AWAY}{what}")
}
