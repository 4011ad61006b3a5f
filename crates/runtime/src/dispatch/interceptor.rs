//! Interceptors of dispatches.

use std::sync::Arc;

use floe_wire::message::SystemException;

use super::{DispatchFuture, Dispatcher, Request, dispatch_alone};

/// Wraps the dispatches of an adapter. It gets each request before the servant does, and gets the
/// servant's response. It may answer in the servant's place. It also gets requests to objects that
/// do not exist.
#[doc(alias = "Ice.DispatchInterceptor")]
pub trait DispatchInterceptor: Send + Sync + 'static {
    /// Dispatches the request, mostly by calling `next`.
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture;
}

/// An interceptor may be shared, for example to read its counters.
impl<I: DispatchInterceptor + ?Sized> DispatchInterceptor for Arc<I> {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        Arc::clone(&*self).dispatch(request, next)
    }
}

/// The interceptors of an adapter, outermost first; `None` if there is none.
pub(crate) type DispatchInterceptors = Option<Arc<[Arc<dyn DispatchInterceptor>]>>;

/// Adds an interceptor. It becomes the innermost one.
pub(crate) fn push(interceptors: &mut DispatchInterceptors, added: Arc<dyn DispatchInterceptor>) {
    let list = interceptors.as_deref().unwrap_or_default().iter().cloned();
    *interceptors = Some(list.chain([added]).collect());
}

/// The rest of a dispatch: the interceptors further in, and then the servant.
pub struct NextDispatch {
    interceptors: Arc<[Arc<dyn DispatchInterceptor>]>,
    at: usize,
    /// The servant, or the exception if there is none. The exception gets the target of the request.
    servant: Result<Arc<dyn Dispatcher>, SystemException>,
}

impl NextDispatch {
    pub(crate) fn new(
        interceptors: Arc<[Arc<dyn DispatchInterceptor>]>,
        servant: Result<Arc<dyn Dispatcher>, SystemException>,
    ) -> Self {
        Self {
            interceptors,
            at: 0,
            servant,
        }
    }

    /// Passes the request on.
    pub fn dispatch(mut self, request: Request) -> DispatchFuture {
        if let Some(interceptor) = self.interceptors.get(self.at).cloned() {
            self.at += 1;
            return interceptor.dispatch(request, self);
        }
        match self.servant {
            Ok(servant) => dispatch_alone(servant, request),
            Err(missing) => {
                let missing = missing.with_target(&request.current().target());
                Box::pin(std::future::ready(Err(missing)))
            }
        }
    }
}
