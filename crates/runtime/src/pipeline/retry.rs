//! An interceptor that tries failed invocations again.

use std::time::Duration;

use floe_wire::connection::AttemptEnd;
use floe_wire::message::OperationMode;

use super::{Interceptor, Invocation, InvokeFuture, Next};
use crate::error::{InvokeError, LocalError, attempt_end};

/// Tries an invocation again that failed on this side of the wire, more patiently than the
/// communicator by itself: with a wait that doubles, until it succeeds, the attempts are used up,
/// or the deadline is over. At most once is kept: what was perhaps executed is tried again only if
/// the operation is idempotent.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    count: u32,
    first_wait: Duration,
}

impl Retry {
    /// So many attempts beyond the first, the first of them after this wait.
    pub fn new(count: u32, first_wait: Duration) -> Self {
        Self { count, first_wait }
    }
}

impl Interceptor for Retry {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        Box::pin(async move {
            let mut wait = self.first_wait;
            let mut is_doubtful = false;
            for _ in 0..self.count {
                let result = next.invoke(invocation.clone()).await;
                match result {
                    Err(error) if may_repeat(invocation.mode(), &error) => {
                        is_doubtful |= matches!(error, InvokeError::PerhapsDispatched(_));
                        if invocation.remaining().is_some_and(|left| left <= wait) {
                            return Err(in_doubt(error, is_doubtful));
                        }
                        tracing::debug!("retrying \"{}\": {error}", invocation.operation());
                        tokio::time::sleep(wait).await;
                        wait = wait.saturating_mul(2);
                    }
                    result => return result.map_err(|error| in_doubt(error, is_doubtful)),
                }
            }
            let result = next.invoke(invocation).await;
            result.map_err(|error| in_doubt(error, is_doubtful))
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

/// What an earlier attempt may have done, the last one cannot undo.
fn in_doubt(error: InvokeError, is_doubtful: bool) -> InvokeError {
    match error {
        InvokeError::NotDispatched(error) if is_doubtful => InvokeError::PerhapsDispatched(error),
        error => error,
    }
}

fn is_worthwhile(error: &LocalError, perhaps_dispatched: bool) -> bool {
    attempt_end(error, perhaps_dispatched) != AttemptEnd::Final
}
