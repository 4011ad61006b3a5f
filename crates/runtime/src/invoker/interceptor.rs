//! Interceptors of invocations: they wrap an invoker.

use std::fmt;
use std::sync::Arc;

use super::{Invocation, InvokeFuture, Invoker};

/// Wraps invocations. It sees each invocation before it is sent, and its result. It may change the invocation, repeat
/// it, cancel it, or answer in the object's place.
///
/// Events that a proxy forwards ([`Proxy::forward`](crate::Proxy::forward)) do not pass interceptors.
pub trait Interceptor: Send + Sync + 'static {
    /// Invokes, mostly through `next`, any number of times. Dropping the future cancels the invocation.
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a>;
}

/// An interceptor may be shared, for example to read its counters.
impl<I: Interceptor + ?Sized> Interceptor for Arc<I> {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        (**self).invoke(invocation, next)
    }
}

/// The remaining interceptors, further in, and then the invoker that they wrap. A copy makes another attempt.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    interceptors: &'a [Arc<dyn Interceptor>],
    last: &'a dyn Invoker,
}

impl<'a> Next<'a> {
    /// Invokes.
    pub fn invoke(self, invocation: Invocation) -> InvokeFuture<'a> {
        match self.interceptors.split_first() {
            Some((first, interceptors)) => first.invoke(
                invocation,
                Next {
                    interceptors,
                    ..self
                },
            ),
            None => self.last.invoke(invocation),
        }
    }
}

impl Invoker for Next<'_> {
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
        Next::invoke(*self, invocation)
    }
}

/// An invoker behind interceptors.
#[derive(Debug, Clone)]
pub struct Intercepted<I> {
    interceptors: Interceptors,
    invoker: I,
}

impl<I: Invoker> Intercepted<I> {
    /// Wraps an invoker. An invocation passes the interceptors, outermost first, and then reaches it.
    pub fn new(interceptors: Interceptors, invoker: I) -> Self {
        Self {
            interceptors,
            invoker,
        }
    }
}

impl<I: Invoker> Invoker for Intercepted<I> {
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
        self.interceptors.before(&self.invoker).invoke(invocation)
    }
}

/// A list of interceptors, outermost first.
#[derive(Clone, Default)]
pub struct Interceptors {
    list: Option<Arc<[Arc<dyn Interceptor>]>>,
}

impl Interceptors {
    /// Adds an interceptor inside the present ones.
    pub fn push(&mut self, interceptor: impl Interceptor) {
        let list = self.list.as_deref().unwrap_or_default().iter().cloned();
        let added: Arc<dyn Interceptor> = Arc::new(interceptor);
        self.list = Some(list.chain([added]).collect());
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.list.is_none()
    }

    /// The chain of all interceptors, ending at this invoker.
    pub(crate) fn before<'a>(&'a self, last: &'a dyn Invoker) -> Next<'a> {
        Next {
            interceptors: self.list.as_deref().unwrap_or_default(),
            last,
        }
    }
}

impl fmt::Debug for Interceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.list.as_deref().unwrap_or_default().len();
        write!(f, "Interceptors({count})")
    }
}
