//! Typed calls and events over the Ice protocol.
//!
//! A program makes a [`Communicator`]. The communicator makes proxies to remote objects ([`Communicator::proxy`]) and
//! adapters for the program's own objects ([`Communicator::adapter`]). In a build script, `floe-codegen` generates
//! types, proxies and servant traits from Slice contracts; [`include_contract!`] includes them.
//!
//! - [`Proxy`], [`TypedProxy`], [`Invoker`]: invoke
//! - [`Adapter`], [`Current`], [`Dispatcher`]: dispatch
//! - [`InvokeError`]: failures, sorted by whether the operation may have been executed
//! - [`hub`]: topics of a hub, publishers, and subscriptions as streams
//! - [`Connection`]: properties of a connection, and calls back over it
//! - [`Settings`], [`settings`], [`tls`]: limits, timeouts, and certificates
//! - [`blocking`]: the same without async
//!
//! Here are the names that most programs need. The modules have the others, by topic: [`classes`] of Slice and their
//! graphs; how values are encoded ([`encoding`]), messages ([`message`]) and proxies as data
//! ([`reference`](mod@reference)); requests as a dispatcher sees them ([`dispatch`]), their interceptors
//! ([`pipeline`]), and how they go on to another object undecoded ([`forwarding`]). [`contracts`] has the interfaces
//! that Floe itself uses.
//!
//! Programs written with ZeroC Ice 3.7 or 3.8 are peers without any change.
//!
//! ```no_run
//! use floe::{Communicator, Proxy, TypedProxy};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let communicator = Communicator::new();
//! let object: Proxy = communicator.proxy("greeter:tcp -h 127.0.0.1 -p 4061")?;
//! object.ice_ping().await?;
//! println!("it is a {}", object.ice_id().await?);
//! communicator.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! A servant returns what its caller gets: a result, or a user exception with `Err(exception.into())`. With `?` it
//! passes on the error of its own invocation. If a servant panics, that caller alone gets an `UnknownException`. The
//! methods that all proxies share (`ice_ping`, `ice_oneway`, `ice_timeout` ...) are in the trait [`TypedProxy`], which
//! you must import. Publish and subscribe to events with [`hub`]; the example `ticker` shows both.

mod adapter;
mod adaptive_poll;
mod address_turn;
mod admission;
mod background;
pub mod blocking;
mod byte_account;
mod call;
pub mod classes;
#[doc(hidden)]
pub mod codegen;
mod communicator;
mod condition;
mod connection;
pub mod contracts;
mod deadline;
pub mod dispatch;
pub mod encoding;
mod environment;
mod error;
mod event;
pub mod forwarding;
pub mod hub;
mod implicit_context;
mod include;
mod invoker;
#[doc(hidden)]
pub mod line_queue;
mod locator_cache;
mod log_limiter;
#[cfg(feature = "log")]
mod log_to_stderr;
pub mod message;
pub mod pipeline;
mod proxy;
pub mod reference;
#[doc(hidden)]
pub mod regular_file;
mod router;
pub mod settings;
mod shutdown;
mod signals;
mod sync;
pub mod tls;
mod transport;

pub use adapter::{Adapter, IntoIdentity};
pub use admission::AdapterCounts;
pub use call::Call;
pub use communicator::Communicator;
pub use connection::Connection;
pub use dispatch::{Current, Dispatcher};
pub use error::{AdapterError, InvokeError, LocalError, OperationError, RegistrationError};
pub use implicit_context::ImplicitContext;
pub use invoker::Invoker;
#[cfg(feature = "log")]
pub use log_to_stderr::log_to_stderr;
pub use proxy::{InterfaceByValue, Proxy, TypedProxy};
pub use settings::Settings;
pub use signals::Signals;
pub use transport::ConnectionInfo;

pub use bytes::Bytes;
pub use floe_wire::encoding::{
    Collected, DecodeError, EncodeError, EncodingVersion, PackedBytes, UserException,
};
pub use floe_wire::message::{Context, OperationMode, SystemException};
pub use floe_wire::reference::{Endpoint, Identity, InvocationMode, Reference};
