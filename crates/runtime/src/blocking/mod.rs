//! The blocking API: calls and servers for programs without async.
//!
//! A [`Communicator`] of this module makes proxies and adapters like any other. A call on a proxy still returns a
//! future, and [`Wait::wait`] waits for it. The calling thread sends its request and reads its reply itself: one system
//! call each, and no other thread is woken. Several threads may share a connection: one of the waiting threads reads
//! for all.
//!
//! ```no_run
//! use floe::blocking::{Communicator, Wait};
//! use floe::{Proxy, TypedProxy};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let communicator = Communicator::new();
//! let object: Proxy = communicator.proxy("greeter:tcp -h 127.0.0.1 -p 4061")?;
//! object.ice_ping().wait()?;
//! println!("it is a {}", object.ice_id().wait()?);
//! communicator.shutdown();
//! # Ok(())
//! # }
//! ```
//!
//! A thread that has several calls to make need not wait for each before it begins the next: see [`wait_all`].
//!
//! A servant without async implements the trait `GreeterBlocking`. `floe-codegen` generates it beside `Greeter` when
//! the build script calls `.blocking()`; register the servant as `GreeterDispatcher::blocking(servant)`. The example
//! `blocking` shows the whole of it.
//!
//! Such a servant runs on the thread that reads its connection. It may wait for calls over other connections, but not
//! for a call back over its own, because no thread would read the reply: such a call fails with
//! [`LocalError::OwnReader`](crate::LocalError::OwnReader). An async servant may make that call.
//!
//! Messages without a reply that follow each other closely leave together, up to a tenth of a millisecond later. A
//! message that comes alone leaves immediately.
//!
//! - `communicator.rs`: [`Communicator`]
//! - `hub.rs`: a hub and its topics
//! - `wait_all.rs`: several calls at the same time
//!
//! `codegen/servant.rs` has [`Servant`], and `connection/wait/` explains how a thread waits.

mod communicator;
mod hub;
mod wait_all;

pub use crate::codegen::Servant;
pub use crate::connection::wait::Wait;
pub use communicator::Communicator;
pub use wait_all::wait_all;
