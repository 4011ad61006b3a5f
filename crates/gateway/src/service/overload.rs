//! What callers are told if the gateway is overloaded, or goes away.

/// The text of an exception begins with this if the gateway has too much to do: try again later.
pub const OVERLOADED: &str = "gateway overloaded: ";

/// The text of an exception begins with this if the gateway ends: use another one.
pub const GOING_AWAY: &str = "gateway going away: ";

/// What is wrong, behind [`OVERLOADED`].
pub(super) fn overloaded(what: &str) -> String {
    format!("{OVERLOADED}{what}")
}

/// What is wrong, behind [`GOING_AWAY`].
pub(super) fn going_away(what: &str) -> String {
    format!("{GOING_AWAY}{what}")
}
