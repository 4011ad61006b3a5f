//! Connections: drives the state machine of `floe-wire` over a transport.
//!
//! A connection is `core.rs`: how it starts, sends and ends. What it consists of:
//!
//! - sending: `send_half.rs` writes; `send_queue.rs` has the bytes that wait, `flush_policy.rs` says when they leave,
//!   `state.rs` is what senders and the reader share, `stream_compression.rs` depends on the order of messages
//! - reading: `reading.rs` handles what was read; `read_buffer.rs` and `read_buffers.rs` have the bytes, `buffer_pool.rs`
//!   keeps buffers for the next connection of the thread that reads, `unfinished.rs` bounds the wait for the rest of a message
//! - who reads: `driver.rs`, a task, a thread, or the callers; of these one leads and the others follow (`leader.rs`,
//!   `followers.rs`), and a thread must not wait for what it alone would read (`reentrancy_guard.rs`)
//! - replies: `reply.rs` is the future of one, `pending_reply.rs` where it arrives, `received_reply.rs` what a thread gets
//!   that reads its own, `reply_sink.rs` who gets the others
//! - requests of the peer: `dispatching.rs` dispatches them in place, within a `budget.rs` and a `turn.rs`; `servant_cache.rs`,
//!   `pending_dispatch.rs` (those that wait), `reply_flush.rs` (when the replies to events leave)
//! - life: `keepalive.rs` and `keepalive_thread.rs` look at it, `liveness_check.rs` decides, `readiness.rs` tells callers
//! - all of a communicator: `registry.rs`, and those that proxies share `pool.rs`
//! - what users see: `handle.rs`; how a thread waits: `wait/`

mod budget;
mod buffer_pool;
mod core;
mod dispatching;
mod driver;
mod flush_policy;
#[cfg(unix)]
mod followers;
mod handle;
mod keepalive;
mod keepalive_thread;
#[cfg(unix)]
mod leader;
mod liveness_check;
mod pending_dispatch;
mod pending_reply;
mod pool;
mod read_buffer;
mod read_buffers;
mod readiness;
mod reading;
#[cfg_attr(not(unix), allow(dead_code, reason = "only on Unix do callers read"))]
mod received_reply;
mod reentrancy_guard;
mod registry;
mod reply;
mod reply_flush;
mod reply_sink;
mod send_half;
mod send_queue;
mod servant_cache;
mod state;
mod stream_compression;
mod turn;
mod unfinished;
pub(crate) mod wait;

pub(crate) use self::core::{ConnectionCore, Purpose, SendUntil};
pub use handle::Connection;
pub(crate) use received_reply::{ReceivedReply, ShortReply};
pub(crate) use registry::Connections;
pub(crate) use reply::Reply;
pub use reply_sink::ReplySink;
pub(crate) use reply_sink::outcome_of_event;
