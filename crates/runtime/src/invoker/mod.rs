//! Invoking: sending requests, and wrapping those that send them.
//!
//! - `invocation.rs`: a request before it is sent
//! - `interceptor.rs`: wraps an invoker
//!
//! `crate::dispatch` has the opposite direction: a dispatcher answers requests.

mod interceptor;
mod invocation;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use floe_wire::message::Outcome;

pub use interceptor::{Intercepted, Interceptor, Interceptors, Next};
pub use invocation::Invocation;

use crate::error::InvokeError;

/// Sends requests. [`Proxy`](crate::Proxy) and [`Communicator`](crate::Communicator) are invokers.
///
/// A request is an [`Invocation`]: target, operation, mode, context and the encapsulation of the parameters, which
/// stays undecoded on the way. An invoker may wrap another one, and a [`Dispatcher`](crate::Dispatcher) may forward its
/// requests through one.
///
/// ```
/// use floe::pipeline::{Invocation, InvokeFuture};
/// use floe::Invoker;
///
/// /// Sends each request to the next of several invokers.
/// struct Rotating {
///     invokers: Vec<Box<dyn Invoker>>,
///     count: std::sync::atomic::AtomicUsize,
/// }
///
/// impl Invoker for Rotating {
///     fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
///         let count = self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         self.invokers[count % self.invokers.len()].invoke(invocation)
///     }
/// }
/// ```
pub trait Invoker: Send + Sync {
    /// Sends a request. Dropping the future cancels the invocation.
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_>;
}

impl<I: Invoker + ?Sized> Invoker for Arc<I> {
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
        (**self).invoke(invocation)
    }
}

impl<I: Invoker + ?Sized> Invoker for Box<I> {
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
        (**self).invoke(invocation)
    }
}

/// An invocation under way. It ends like [`Proxy::invoke`](crate::Proxy::invoke): a user exception is an outcome, not
/// an error, and a request that gets no reply has no outcome.
pub type InvokeFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Outcome>, InvokeError>> + Send + 'a>>;
