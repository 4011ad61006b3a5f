//! Helpers for the tests that span crates: the workspace's own programs, a hub, peers as processes, and installed peers.
//!
//! They are for tests, so they panic with a message that says what was expected and what the peer printed.

pub mod certificates;
pub mod gateway;
pub mod hub;
pub mod ice;
pub mod machines;
pub mod mutation;
pub mod peer;
pub mod ports;
pub mod skip;
pub mod workspace;
