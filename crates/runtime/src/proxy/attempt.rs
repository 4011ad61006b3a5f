//! One invocation, with its deadline and its retry.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use floe_wire::encoding::EncodeError;
use floe_wire::message::{Outcome, RequestId};
use tokio::time::{Instant, timeout_at};

use super::Proxy;
use crate::connection::{Connection, Failure};
use crate::error::{InvokeError, LocalError};
use crate::pipeline::retry::may_retry;

/// When something without an answer counts as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// It is in the output of a connection.
    Queued,
    /// The transport has it.
    Written,
}

impl Proxy {
    /// Makes the connection that the next invocations will use, if there is none. Requests that are
    /// started while a connection is being made may leave in another order; afterwards they leave in
    /// the order in which they are first polled.
    ///
    /// # Errors
    /// [`InvokeError::NotDispatched`] if no endpoint answers in time.
    #[doc(alias = "ice_getConnection")]
    pub async fn connect(&self) -> Result<(), InvokeError> {
        let is_sent = AtomicBool::new(false);
        let run = |_| std::future::ready(Ok(()));
        self.attempt("(connect)", true, &is_sent, run).await
    }

    /// Writes a twoway request and waits for its reply, again if that is safe.
    pub(super) async fn exchange(
        &self,
        operation: &str,
        is_idempotent: bool,
        write: impl Fn(&mut Vec<u8>, RequestId) -> Result<(), EncodeError>,
    ) -> Result<Outcome, InvokeError> {
        let is_sent = AtomicBool::new(false);
        let write = &|buffer: &mut Vec<u8>, id| {
            is_sent.store(true, Ordering::Relaxed);
            write(buffer, id)
        };
        let run = |connection: Arc<Connection>| async move { connection.request(write).await };
        let reply = self
            .attempt(operation, is_idempotent, &is_sent, run)
            .await?;
        reply.outcome().map_err(InvokeError::BadReply)
    }

    /// Writes messages that get no reply, again if that is safe.
    pub(super) async fn post(
        &self,
        operation: &str,
        is_idempotent: bool,
        until: Until,
        write: impl Fn(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), InvokeError> {
        let is_sent = AtomicBool::new(false);
        let write = &|buffer: &mut Vec<u8>| {
            is_sent.store(true, Ordering::Relaxed);
            write(buffer)
        };
        let run = |connection: Arc<Connection>| async move {
            match until {
                Until::Queued => connection.send(write).await,
                Until::Written => connection.send_written(write).await,
            }
        };
        self.attempt(operation, is_idempotent, &is_sent, run).await
    }

    /// Runs an attempt on a connection, and once more if the failure allows it.
    async fn attempt<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        operation: &str,
        is_idempotent: bool,
        is_sent: &AtomicBool,
        run: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T, InvokeError> {
        let deadline = self.timeout().map(|timeout| Instant::now() + timeout);
        let mut perhaps_dispatched = false;
        let mut attempt_count = 1;
        loop {
            is_sent.store(false, Ordering::Relaxed);
            // Pinned here, for it is large to move.
            let attempt = pin!(async {
                let connection = self.connection().await.map_err(not_sent)?;
                run(connection).await
            });
            let mut failure = match self.within(operation, deadline, is_sent, attempt).await {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let is_retried = may_retry(attempt_count, is_idempotent, &failure);
            // What an earlier attempt may have done, the last one cannot undo.
            perhaps_dispatched |= failure.perhaps_dispatched;
            if !is_retried {
                failure.perhaps_dispatched = perhaps_dispatched;
                return Err(failure.into());
            }
            tracing::debug!("retrying \"{operation}\": {}", failure.error);
            attempt_count += 1;
        }
    }

    async fn within<T>(
        &self,
        operation: &str,
        deadline: Option<Instant>,
        is_sent: &AtomicBool,
        attempt: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(deadline) = deadline else {
            return attempt.await;
        };
        timeout_at(deadline, attempt).await.unwrap_or_else(|_| {
            let error = LocalError::Timeout {
                operation: operation.to_owned(),
                after: self.timeout().unwrap_or_default(),
            };
            let perhaps_dispatched = is_sent.load(Ordering::Relaxed);
            Err(Failure {
                error,
                perhaps_dispatched,
            })
        })
    }
}

fn not_sent(error: LocalError) -> Failure {
    Failure {
        error,
        perhaps_dispatched: false,
    }
}

impl From<Failure> for InvokeError {
    fn from(failure: Failure) -> Self {
        if failure.perhaps_dispatched {
            Self::PerhapsDispatched(failure.error)
        } else {
            Self::NotDispatched(failure.error)
        }
    }
}
