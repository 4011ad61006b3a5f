//! Typed calls and events over the Ice protocol.
//!
//! A program makes a [`Communicator`]; from it come proxies to objects elsewhere
//! ([`Communicator::proxy`]) and adapters for its own ([`Communicator::adapter`]). Types, proxies
//! and servant traits are generated from Slice contracts by `floe-codegen` in a build script and
//! included with [`include_contract!`].
//!
//! - [`Proxy`], [`TypedProxy`]: invoke
//! - [`Adapter`], [`Dispatcher`]: dispatch
//! - [`InvokeError`]: what can go wrong, sorted by what is known of the execution
//! - [`Event`]: a request on its way to another object, unopened
//! - [`contracts`]: the interfaces that Floe itself speaks

//!
//! Every program written with ZeroC Ice 3.7 or 3.8 is a peer.

mod adapter;
mod communicator;
mod connection;
pub mod contracts;
mod error;
mod event;
mod heartbeat;
mod include;
mod pipeline;
mod proxy;
mod settings;
mod transport;

pub use adapter::{
    Adapter, Current, DispatchFuture, Dispatcher, IntoIdentity, OperationError, Request, Response,
};
pub use communicator::Communicator;
pub use error::{AdapterError, InvokeError, LocalError};
pub use event::Event;
pub use proxy::{OperationInfo, Proxy, TypedProxy};
pub use settings::Settings;

pub use floe_wire::encoding::{
    Decode, DecodeError, DecodeErrorKind, Decoder, Encapsulation, Encode, EncodeError, Encoder,
    EncodingVersion, EnumWidth, ExceptionFormat, ExceptionReader, ExceptionWriter, Nilable,
    ProtocolVersion, UserException,
};
pub use floe_wire::message::{
    Context, OperationMode, Outcome, ProtocolError, RequestFailed, RequestId, SystemException,
};
pub use floe_wire::reference::{
    Endpoint, Identity, InvocationMode, ParseReferenceError, Reference, Target,
};
