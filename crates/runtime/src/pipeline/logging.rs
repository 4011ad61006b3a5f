//! An interceptor that logs each completed invocation or dispatch.

use std::sync::Arc;

use floe_wire::message::Outcome;
use tokio::time::Instant;

use super::{DispatchInterceptor, Interceptor, Invocation, InvokeFuture, Next, NextDispatch};
use crate::dispatch::{DispatchFuture, Request};

/// Logs with `tracing`, target `floe::calls`: successes at level debug, failures at level warn. One value serves both
/// sides.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logging;

impl Interceptor for Logging {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        Box::pin(async move {
            let identity = invocation.target().identity.to_string();
            let operation = invocation.operation().to_owned();
            let start = Instant::now();
            let result = next.invoke(invocation).await;
            let elapsed = start.elapsed();
            match &result {
                Ok(outcome) => {
                    let end = match outcome {
                        Some(Outcome::UserException(_)) => "a user exception",
                        Some(_) => "a result",
                        None => "no reply due",
                    };
                    tracing::debug!(target: TARGET, %identity, operation, ?elapsed, "invoked: {end}");
                }
                Err(error) => {
                    tracing::warn!(target: TARGET, %identity, operation, ?elapsed, "failed: {error}");
                }
            }
            result
        })
    }
}

impl DispatchInterceptor for Logging {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        Box::pin(async move {
            let identity = request.current().identity().to_string();
            let operation = request.operation().to_owned();
            let peer = request.current().peer().to_owned();
            let start = Instant::now();
            let result = next.dispatch(request).await;
            let elapsed = start.elapsed();
            match &result {
                Ok(response) => {
                    let end = match response.is_user_exception() {
                        true => "a user exception",
                        false => "a result",
                    };
                    tracing::debug!(target: TARGET, %identity, operation, peer, ?elapsed, "dispatched: {end}");
                }
                Err(exception) => {
                    tracing::warn!(target: TARGET, %identity, operation, peer, ?elapsed, "failed: {exception}");
                }
            }
            result
        })
    }
}

const TARGET: &str = "floe::calls";
