//! Connections: drives the state machine of `floe-wire` over a transport.
//!
//! `core.rs` is the connection: how it starts, sends and ends. Its parts:
//!
//! - sending: `send_half.rs` writes the send queue of `floe-wire`, and `flush_thread.rs` does so after a delay;
//!   `state.rs`
//!   is shared by senders and reader; `stream_compression.rs` depends on the order of messages
//! - reading: `reading.rs` handles the bytes that were read; `read_buffer.rs` and `read_buffers.rs` hold them, and
//!   `buffer_pool.rs` keeps buffers for the next connection that the thread reads; `unfinished.rs` limits the wait for the rest of a message
//! - the reader: `driver.rs` chooses a task, a thread, or the callers; one caller leads and the others follow
//!   (`leader.rs`,
//!   `followers.rs`); `reentrancy_guard.rs` refuses a wait for a reply that only the waiting thread could read
//! - replies: `reply.rs` is the future of one, and `pending_reply.rs` the place where it arrives; `received_reply.rs`
//!   is a
//!   reply that its own thread has read; `reply_sink.rs` has the recipients
//! - requests of the peer: `dispatching.rs` dispatches them in place, within the limits of `budget.rs` and
//!   `quantum.rs`;
//!   `servant_cache.rs`
//!   keeps the last dispatcher, `pending_dispatch.rs` runs the dispatches that must wait, and `reply_flush.rs` decides when
//!   replies to events are written
//! - keepalive: `keepalive.rs` and `keepalive_thread.rs` check the connection, as `LivenessCheck` of
//!   `floe-wire` decides
//! - the connections of a communicator: `registry.rs`, and `pool.rs` for those that proxies share
//! - for users: `handle.rs`; blocking waits: `wait/`

mod budget;
mod buffer_pool;
mod core;
mod dispatching;
mod driver;
mod flush_thread;
#[cfg(unix)]
mod followers;
mod handle;
mod keepalive;
mod keepalive_thread;
#[cfg(unix)]
mod leader;
mod pending_dispatch;
mod pending_reply;
mod pool;
mod quantum;
mod read_buffer;
mod read_buffers;
mod reading;
#[cfg_attr(not(unix), allow(dead_code, reason = "only on Unix do callers read"))]
mod received_reply;
mod reentrancy_guard;
mod registry;
mod reply;
mod reply_flush;
mod reply_sink;
mod send_half;
mod servant_cache;
mod state;
mod stream_compression;
mod unfinished;
pub(crate) mod wait;

pub(crate) use self::core::{ConnectionCore, Purpose, SendUntil};
pub use handle::Connection;
pub(crate) use received_reply::{ReceivedReply, ShortReply};
pub(crate) use registry::Connections;
pub(crate) use reply::Reply;
pub use reply_sink::ReplySink;
pub(crate) use reply_sink::outcome_of_event;
