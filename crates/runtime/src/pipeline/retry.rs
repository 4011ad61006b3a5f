//! An interceptor that tries failed invocations again.

use std::time::Duration;

use floe_wire::connection::AttemptEnd;
use floe_wire::message::OperationMode;

use super::{Interceptor, Invocation, InvokeFuture, Next};
use crate::error::{InvokeError, LocalError, attempt_end};

/// Retries an invocation that failed on this side. It is more patient than the communicator: the
/// delay doubles with each attempt, until one succeeds, the attempts are used up, or the deadline
/// is over. A request is never executed twice: if the operation may have been executed, it is
/// retried only if it is idempotent.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    count: u32,
    first_wait: Duration,
}

impl Retry {
    /// Makes this many attempts beyond the first. The first of them comes after this delay.
    pub fn new(count: u32, first_wait: Duration) -> Self {
        Self { count, first_wait }
    }
}

impl Interceptor for Retry {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        Box::pin(async move {
            let mut wait = self.first_wait;
            let mut may_have_executed = false;
            for _ in 0..self.count {
                let result = next.invoke(invocation.clone()).await;
                match result {
                    Err(error) if may_repeat(invocation.mode(), &error) => {
                        may_have_executed |= matches!(error, InvokeError::PerhapsDispatched(_));
                        if invocation.remaining().is_some_and(|left| left <= wait) {
                            return Err(keep_doubt(error, may_have_executed));
                        }
                        tracing::debug!("retrying \"{}\": {error}", invocation.operation());
                        tokio::time::sleep(wait).await;
                        wait = wait.saturating_mul(2);
                    }
                    result => return result.map_err(|error| keep_doubt(error, may_have_executed)),
                }
            }
            let result = next.invoke(invocation).await;
            result.map_err(|error| keep_doubt(error, may_have_executed))
        })
    }
}

fn may_repeat(mode: OperationMode, error: &InvokeError) -> bool {
    match error {
        InvokeError::NotDispatched(error) => is_worthwhile(error, false),
        InvokeError::PerhapsDispatched(error) => mode.is_idempotent() && is_worthwhile(error, true),
        _ => false,
    }
}

/// If an earlier attempt may have executed the operation, the last one cannot undo that.
fn keep_doubt(error: InvokeError, may_have_executed: bool) -> InvokeError {
    match error {
        InvokeError::NotDispatched(error) if may_have_executed => {
            InvokeError::PerhapsDispatched(error)
        }
        error => error,
    }
}

fn is_worthwhile(error: &LocalError, perhaps_dispatched: bool) -> bool {
    attempt_end(error, perhaps_dispatched) != AttemptEnd::Final
}
