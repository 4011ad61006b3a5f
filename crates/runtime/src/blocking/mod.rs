//! The blocking face: calls and servers for programs without async.
//!
//! A [`Communicator`] of this module makes proxies and adapters like any other. What a proxy gives is
//! a future still, and [`Wait::wait`] waits for it. The calling thread sends its request and reads its
//! reply itself: one system call each, and no other thread is woken for it. Several threads may share
//! a connection: one of those that wait reads for all.
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
//! A servant without async implements the trait `GreeterBlocking`, which `floe-codegen` makes beside
//! `Greeter` when the build script says `.blocking()`; `GreeterDispatcher::blocking(servant)` goes
//! into an adapter. The example `blocking` has all of it.
//!
//! Such a servant runs on the thread that reads its connection. It may wait for calls over other
//! connections, but not for one back over its own: nobody would read the reply, so that this is
//! [`LocalError::OwnReader`](crate::LocalError::OwnReader). One with async may.
//!
//! Messages without a reply that follow each other closely leave together, up to a tenth of a
//! millisecond later; one that comes alone leaves at once.
//!
//! - `communicator.rs`: [`Communicator`]
//! - `servant.rs`: [`Servant`]
//!
//! How a thread waits is told in `connection/wait/`.

mod communicator;

pub use crate::codegen::Servant;
pub use crate::connection::wait::Wait;
pub use communicator::Communicator;
