//! The parts of a server: a file for each, with the function that starts it if its settings are there. To add one, add a
//! file, its table of rows in `settings/rows/`, and its line in `server.rs`.

#[cfg_attr(not(feature = "bridges"), path = "no_bridges.rs")]
pub(crate) mod bridges;
pub(crate) mod console;
pub(crate) mod gateway;
pub(crate) mod hub;
pub(crate) mod metrics;
