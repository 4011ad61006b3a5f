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
//! - `hub.rs`: a hub and its topics
//! - `servant.rs`: [`Servant`]
//! - `wait.rs`, `look.rs`, `sleeper.rs`: how a thread waits, and for what
//! - `background.rs`: the thread that does what no caller waits for

pub(crate) mod background;
mod communicator;
mod hub;
mod look;
mod servant;
mod sleeper;
mod wait;

pub use communicator::Communicator;
pub use servant::Servant;
pub use wait::Wait;

#[cfg(unix)]
pub(crate) use look::wait_for_reply;
pub(crate) use look::{is_waiting, wait_depth, wait_until};
pub(crate) use sleeper::Sleeper;
#[cfg(unix)]
pub(crate) use wait::mark_prepared;
pub(crate) use wait::may_wait_here;
