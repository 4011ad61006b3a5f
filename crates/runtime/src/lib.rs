//! Typed calls and events over the Ice protocol.
//!
//! A program makes a [`Communicator`]; from it come proxies to objects elsewhere
//! ([`Communicator::proxy`]) and adapters for its own ([`Communicator::adapter`]). Types, proxies
//! and servant traits are generated from Slice contracts by `floe-codegen` in a build script and
//! included with [`include_contract!`].
//!
//! - [`Proxy`], [`TypedProxy`], [`Invoker`]: invoke
//! - [`Adapter`], [`Dispatcher`]: dispatch
//! - [`InvokeError`]: what can go wrong, sorted by what is known of the execution
//! - [`Event`], [`Events`]: requests on their way to another object, unopened
//! - [`hub`]: topics of a hub, publishers, and subscriptions as streams
//! - [`Connection`]: what is known of a connection, and calls back over it
//! - [`pipeline`]: what wraps invocations and dispatches
//! - [`contracts`]: the interfaces that Floe itself speaks
//!
//! Every program written with ZeroC Ice 3.7 or 3.8 is a peer.
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
//! A servant returns what its caller gets: a result, a user exception with `Err(exception.into())`,
//! or with `?` what an invocation of its own failed with. A panic of a servant is an
//! `UnknownException` for that caller alone. What every proxy has in common (`ice_ping`,
//! `ice_oneway`, `ice_timeout` ...) is in the trait [`TypedProxy`], which must be imported. Events are
//! published and subscribed to with [`hub`]; the example `ticker` has both.

mod adapter;
mod admission;
mod background;
pub mod blocking;
mod busy_poll;
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
mod input_memory;
mod invoker;
mod liveness;
mod locator_cache;
mod log_limiter;
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
pub use proxy::{OperationInfo, Proxy, TypedProxy};
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
