//! Interceptors of invocations.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use floe_wire::message::{Context, OperationMode, Outcome};
use tokio::time::Instant;

use crate::deadline;
use crate::error::InvokeError;
use crate::proxy::Proxy;

/// Wraps invocations: it sees each before it leaves and its end, may change it, try it again, give
/// it up, or answer in the object's place.
///
/// Events that a proxy forwards ([`Proxy::forward`]) pass by, unopened.
pub trait Interceptor: Send + Sync + 'static {
    /// Invokes: mostly through `next`, as often as it likes. Dropping the future gives the
    /// invocation up.
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a>;
}

/// An interceptor may be shared, for example with whoever looks at what it counted.
impl<I: Interceptor + ?Sized> Interceptor for Arc<I> {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        (**self).invoke(invocation, next)
    }
}

/// An invocation under way. Its end is as that of [`Proxy::invoke`]: a user exception is an outcome
/// and no error, and a request that gets no reply has none.
pub type InvokeFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Outcome>, InvokeError>> + Send + 'a>>;

/// What is about to be invoked. A clone shares the parameters.
#[derive(Debug, Clone)]
pub struct Invocation {
    proxy: Proxy,
    operation: Arc<str>,
    mode: OperationMode,
    context: Context,
    deadline: Option<Instant>,
    parameters: Bytes,
}

impl Invocation {
    pub(crate) fn new(
        proxy: &Proxy,
        operation: &str,
        mode: OperationMode,
        context: Context,
        parameters: Vec<u8>,
    ) -> Self {
        Self {
            proxy: proxy.clone(),
            operation: operation.into(),
            mode,
            context,
            deadline: proxy.timeout().map(deadline::after),
            parameters: parameters.into(),
        }
    }

    /// The proxy that invokes.
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Whether it may be repeated.
    pub fn mode(&self) -> OperationMode {
        self.mode
    }

    /// What travels beside the parameters: that of the proxy and the communicator together.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The same, to be changed.
    pub fn context_mut(&mut self) -> &mut Context {
        &mut self.context
    }

    /// When it is given up, all attempts together; `None` is never.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Lets it be given up at this time.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// How much time it has; `None` is any.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The parameters, encoded, with their encapsulation header.
    pub fn parameters(&self) -> &Bytes {
        &self.parameters
    }

    /// Gives it other parameters: a whole encapsulation.
    pub fn set_parameters(&mut self, parameters: Bytes) {
        self.parameters = parameters;
    }
}

/// The rest of the way: the interceptors further in, and then the connection. A copy is another
/// attempt.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    interceptors: &'a [Arc<dyn Interceptor>],
}

impl<'a> Next<'a> {
    /// Invokes.
    pub fn invoke(self, invocation: Invocation) -> InvokeFuture<'a> {
        match self.interceptors.split_first() {
            Some((first, interceptors)) => first.invoke(invocation, Next { interceptors }),
            None => Box::pin(async move {
                let proxy = invocation.proxy.clone();
                proxy.invoke_intercepted(&invocation).await
            }),
        }
    }
}

/// A list of interceptors, outermost first.
#[derive(Clone, Default)]
pub struct Interceptors {
    list: Option<Arc<[Arc<dyn Interceptor>]>>,
}

impl Interceptors {
    /// Adds one inside those that are there.
    pub fn push(&mut self, interceptor: impl Interceptor) {
        let list = self.list.as_deref().unwrap_or_default().iter().cloned();
        let added: Arc<dyn Interceptor> = Arc::new(interceptor);
        self.list = Some(list.chain([added]).collect());
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_none()
    }

    pub(crate) fn begin(&self) -> Next<'_> {
        Next {
            interceptors: self.list.as_deref().unwrap_or_default(),
        }
    }
}

impl fmt::Debug for Interceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.list.as_deref().unwrap_or_default().len();
        write!(f, "Interceptors({count})")
    }
}
