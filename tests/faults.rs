//! Faults of peers, networks and clocks, a file per family; Floe on at least one side, with both faces.
//!
//! Each shows three things: the one who waits is told what was expected, what came, where, and what to
//! do; the wait is bounded by a setting that has a name; and nobody else is harmed.

#[path = "attacks/dispatches.rs"]
mod attacks_dispatches;
#[path = "attacks/replies.rs"]
mod attacks_replies;
#[path = "attacks/turns.rs"]
mod attacks_turns;
#[path = "attacks/unfinished.rs"]
mod attacks_unfinished;
#[path = "attacks/websocket.rs"]
mod attacks_websocket;
#[path = "faults/certificates.rs"]
mod certificates;
#[path = "faults/child.rs"]
mod child;
#[path = "faults/clock.rs"]
mod clock;
#[path = "faults/closing.rs"]
mod closing;
#[path = "faults/half_open.rs"]
mod half_open;
#[path = "faults/handshakes.rs"]
mod handshakes;
#[path = "faults/ice_37.rs"]
mod ice_37;
#[path = "faults/ice_38.rs"]
mod ice_38;
#[path = "faults/killed.rs"]
mod killed;
#[path = "faults/limits.rs"]
mod limits;
#[path = "faults/log.rs"]
mod log;
#[path = "faults/raw.rs"]
mod raw;
#[path = "faults/relay.rs"]
mod relay;
#[path = "faults/slow.rs"]
mod slow;
#[path = "faults/stage.rs"]
mod stage;
#[path = "faults/stalled.rs"]
mod stalled;
