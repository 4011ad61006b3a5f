//! Connections: drives the state machine of `floe-wire` over a transport.
//!
//! `core.rs` is the connection: how it starts and ends. `purpose.rs` is the purpose for which it is made, and
//! `outstanding.rs` the work that its end still waits for. Its parts:
//!
//! - sending: `appended.rs` appends requests to the send queue of `floe-wire`, for `reply.rs`, `reply_sink.rs` and
//!   `oneway.rs`; `send_half.rs` writes the queue, and has the lock that senders and reader share;
//!   `flush_thread.rs` writes the queue after a delay; `stream_compression.rs` depends on the order of messages
//! - reading: `reading.rs` handles the bytes that were read; `read_buffer.rs` and `read_buffers.rs` hold them;
//!   `buffer_pool.rs` keeps buffers for the next connection that the thread reads; `unfinished.rs` limits the wait for
//!   the rest of a message; `read_end.rs` ends the connection with its input
//! - the reader: `driver.rs` chooses a task, a thread, or the callers; one caller leads and the others follow
//!   (`leader.rs`, `followers.rs`); `reentrancy_guard.rs` refuses a wait for a reply that only the waiting thread could
//!   read
//! - replies: `reply.rs` is the future of one, `pending_reply.rs` the place where it arrives, `reply_recipient.rs` its
//!   recipient, and `reply_sink.rs` a recipient that gets replies where they are read
//! - requests of the peer: `dispatching.rs` dispatches them in place, within the limits of `budget.rs` and
//!   `quantum.rs`; `pending_dispatch.rs` runs the dispatches that must wait; `reply_flush.rs` decides when replies to
//!   events are written
//! - keepalive: `keepalive.rs` and `keepalive_thread.rs` check the connection, as `LivenessCheck` of `floe-wire`
//!   decides
//! - the connections of a communicator: `registry.rs`, and `pool.rs` for those that proxies share
//! - for users: `handle.rs`; blocking waits: `wait/`

mod appended;
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
pub(crate) mod oneway;
mod outstanding;
mod pending_dispatch;
mod pending_reply;
mod pool;
mod purpose;
mod quantum;
mod read_buffer;
mod read_buffers;
mod read_end;
mod reading;
mod reentrancy_guard;
mod registry;
mod reply;
mod reply_flush;
mod reply_recipient;
mod reply_sink;
mod send_half;
mod stream_compression;
mod unfinished;
pub(crate) mod wait;

pub(crate) use self::core::ConnectionCore;
pub use handle::Connection;
pub(crate) use oneway::{SendUntil, WriteMessages};
pub(crate) use purpose::Purpose;
pub(crate) use registry::Connections;
pub(crate) use reply::{ReceivedReply, Reply, ShortReply, WriteRequest};
pub use reply_sink::ReplySink;
pub(crate) use reply_sink::{outcome_of_event, try_send_to_sink};
