//! A span of `tracing` around each invocation or dispatch.

use std::sync::Arc;

use tracing::{Instrument, field};

use super::{DispatchInterceptor, Interceptor, Invocation, InvokeFuture, Next, NextDispatch};
use crate::dispatch::{DispatchFuture, Request};

/// Opens a span of `tracing` around each invocation (`invoke`) or dispatch (`dispatch`), target `floe::calls`, level
/// info. The span shows which request a servant's log lines belong to. One value serves both sides.
///
/// A span has the fields `identity` and `operation`, and for a dispatch also `peer`. If it failed, it has `error`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spans;

impl Interceptor for Spans {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        let span = tracing::info_span!(
            target: "floe::calls",
            "invoke",
            identity = %invocation.target().identity,
            operation = invocation.operation(),
            error = field::Empty,
        );
        let current = span.clone();
        let invoking = async move {
            let result = next.invoke(invocation).await;
            if let Err(error) = &result {
                current.record("error", field::display(error));
            }
            result
        };
        Box::pin(invoking.instrument(span))
    }
}

impl DispatchInterceptor for Spans {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        let span = tracing::info_span!(
            target: "floe::calls",
            "dispatch",
            identity = %request.current().identity(),
            operation = request.operation(),
            peer = request.current().peer(),
            error = field::Empty,
        );
        let current = span.clone();
        let dispatching = async move {
            let result = next.dispatch(request).await;
            if let Err(exception) = &result {
                current.record("error", field::display(exception));
            }
            result
        };
        Box::pin(dispatching.instrument(span))
    }
}
