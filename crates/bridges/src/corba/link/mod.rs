//! Sockets and sessions.
//!
//! - [`listener`]: accepts connections, and ends them
//! - [`incoming`]: a connection of a program, and its requests; [`visitor`]: the program
//! - [`consumer`]: pushes to a consumer; [`outgoing`]: the connection to it

pub(super) mod consumer;
pub(super) mod incoming;
pub(super) mod listener;
pub(super) mod outgoing;
pub(super) mod visitor;
