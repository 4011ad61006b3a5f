//! Typed calls and events over the Ice protocol.
//!
//! A program makes a [`Communicator`]. The communicator makes proxies to remote objects ([`Communicator::proxy`]) and
//! adapters for the program's own objects ([`Communicator::adapter`]). In a build script, `floe-codegen` generates
//! types, proxies and servant traits from Slice contracts; [`include_contract!`] includes them.
//!
//! - [`Proxy`], [`TypedProxy`], [`Invoker`]: invoke
//! - [`Adapter`], [`Dispatcher`]: dispatch
//! - [`InvokeError`]: failures, sorted by whether the operation may have been executed
//! - [`Event`], [`Events`]: undecoded requests on their way to another object
//! - [`hub`]: topics of a hub, publishers, and subscriptions as streams
//! - [`Connection`]: properties of a connection, and calls back over it
//! - [`pipeline`]: interceptors of invocations and dispatches
//! - [`contracts`]: the interfaces that Floe itself uses
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
mod admission;
mod background;
pub mod blocking;
mod busy_poll;
mod byte_account;
mod call;
#[doc(hidden)]
pub mod codegen;
mod communicator;
mod connection;
pub mod contracts;
mod deadline;
mod dispatch;
mod environment;
mod error;
mod event;
pub mod hub;
mod implicit_context;
mod include;
mod invoker;
mod liveness;
mod locator_cache;
mod log_limiter;
#[cfg(feature = "log")]
mod log_to_stderr;
pub mod pipeline;
mod proxy;
mod router;
mod settings;
mod shutdown;
mod signals;
mod sync;
mod transport;

pub use adapter::{Adapter, IntoIdentity};
pub use admission::AdapterCounts;
pub use call::{Call, ConnectionToken, PendingEvent, PendingEvents};
pub use communicator::Communicator;
pub use connection::{Connection, ReplySink};
pub use dispatch::{
    Cookie, Current, DispatchFuture, DispatchSlot, Dispatcher, LocateFuture, Located, LocatorError,
    Request, Requests, Response, ServantLocator, TakenEvents, dispatch_fn,
};
pub use error::{AdapterError, InvokeError, LocalError, OperationError, RegistrationError};
pub use event::{Event, EventParts, Events, EventsBuilder};
pub use implicit_context::ImplicitContext;
pub use invoker::{Invocation, InvokeFuture, Invoker};
pub use liveness::{Heartbeats, IdleCheck, Liveness};
#[cfg(feature = "log")]
pub use log_to_stderr::log_to_stderr;
pub use proxy::{InterfaceByValue, OperationInfo, Proxy, TypedProxy};
pub use settings::{AdapterSettings, EndpointSelection, Settings};
pub use signals::Signals;
pub use transport::ConnectionInfo;
pub use transport::tls::{ClientCertificates, Tls, TlsError, TlsFile, TlsIdentity, TlsSettings};

pub use bytes::Bytes;
pub use floe_wire::compression::{Compression, CompressionError};
pub use floe_wire::encoding::{
    AnyClass, Class, ClassFormat, ClassInfo, ClassReader, ClassTable, ClassType, Classes,
    ClassesOf, Collected, Decode, DecodeError, DecodeErrorKind, Decoder, Draft, Encapsulation,
    Encode, EncodeError, Encoder, EncodingVersion, EnumWidth, ExceptionFormat, ExceptionReader,
    ExceptionWriter, Extends, Graph, Link, Nilable, Packed, PackedBytes, ProtocolVersion, Ref,
    SliceId, TagFormat, Tagged, UnknownClass, UnknownSlice, UserException, View, packed_len,
};
pub use floe_wire::message::{
    Context, OperationMode, Outcome, ProtocolError, RequestFailed, RequestId, SystemException,
};
pub use floe_wire::reference::{
    Endpoint, Identity, InvocationMode, ParseReferenceError, Reference, Target,
};
