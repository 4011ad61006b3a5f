//! One invocation, with its deadline and its retries.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use floe_wire::connection::Retries;
use floe_wire::message::IncomingReply;
use tokio::time::{Instant, sleep};

use super::time_limit::TimeLimit;
use crate::connection::{Connection, SendUntil, WriteMessages, WriteRequest};
use crate::deadline;
use crate::dispatch::AdapterCore;
use crate::error::{AttemptError, InvokeError, LocalError};
use crate::proxy::Proxy;
use crate::proxy::RoutedConnection;
use crate::proxy::router::{ADDITIONS_MAX, wants_object};

/// The terms of an invocation, fixed before its first attempt.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) operation: &'a str,
    pub(super) is_idempotent: bool,
    /// True if an attempt that fails before the request can have been executed may be followed by another.
    pub(super) is_retried: bool,
    /// The time limit for all attempts together.
    pub(super) limit: Option<Duration>,
    /// The deadline for all attempts together. It follows from the limit, unless the first attempt has already started
    /// the time.
    pub(super) deadline: Option<Instant>,
    /// The failure of a first attempt that the fast path made.
    pub(super) failed: Option<&'a AttemptError>,
}

/// The destination of an invocation.
pub(super) enum Route {
    Connection(RoutedConnection),
    /// An adapter of the same communicator.
    Collocated(Arc<AdapterCore>),
}

impl Proxy {
    /// Makes the connection for later invocations. It does nothing if there is a connection already, or if the object
    /// lives in the same communicator. While the connection is being made, requests may leave in any order. Afterwards
    /// they leave in the order in which they are first polled.
    ///
    /// # Errors
    /// [`InvokeError::NotDispatched`] if no endpoint answers in time.
    pub async fn connect(&self) -> Result<(), InvokeError> {
        self.connect_and_get().await.map(|_| ())
    }

    pub(crate) async fn connect_and_get(&self) -> Result<Option<Connection>, InvokeError> {
        let is_sent = AtomicBool::new(false);
        let terms = self.terms("(connect)", true);
        let run = |route| {
            std::future::ready(Ok(match route {
                Route::Connection(routed) => Some(Connection::new(routed.connection)),
                Route::Collocated(_) => None,
            }))
        };
        self.attempt(&terms, &is_sent, run).await
    }

    /// Returns the terms of an invocation with the proxy's own timeout.
    pub(super) fn terms<'a>(&self, operation: &'a str, is_idempotent: bool) -> Terms<'a> {
        Terms {
            operation,
            is_idempotent,
            is_retried: !self.is_fixed(),
            limit: self.timeout(),
            deadline: None,
            failed: None,
        }
    }

    /// Sends a twoway request and waits for its reply. Retries if that is safe. `is_sent` becomes true as soon as the
    /// request is in the send queue of a connection.
    pub(super) async fn await_reply(
        &self,
        terms: &Terms<'_>,
        write: &WriteRequest<'_>,
        is_sent: &AtomicBool,
    ) -> Result<IncomingReply, InvokeError> {
        let run = |route| async move {
            match route {
                Route::Connection(routed) => {
                    routed.connection.set_polling(self.polling());
                    self.request_on(routed, write, is_sent).await
                }
                Route::Collocated(adapter) => {
                    is_sent.store(true, Ordering::Relaxed);
                    self.request_collocated(&adapter, write).await
                }
            }
        };
        let router = self.router();
        if router.is_none() && !self.is_located() {
            return self.attempt(terms, is_sent, run).await;
        }
        let deadline = terms.deadline.or_else(|| terms.limit.map(deadline::after));
        let terms = &Terms { deadline, ..*terms };
        if let Some(router) = router {
            for _ in 0..ADDITIONS_MAX {
                let reply = self.attempt(terms, is_sent, run).await?;
                if !wants_object(&reply) {
                    return Ok(reply);
                }
                router.forget(&self.reference().identity);
            }
            return self.attempt(terms, is_sent, run).await;
        }
        let reply = self.attempt(terms, is_sent, run).await?;
        if !terms.is_retried || !reply.is_of_missing_object() {
            return Ok(reply);
        }
        // The object may have moved to another server.
        self.forget_route();
        self.attempt(terms, is_sent, run).await
    }

    /// Sends messages without replies. Retries if that is safe. `is_sent` becomes true as soon as they are in the send
    /// queue of a connection.
    pub(super) async fn post(
        &self,
        terms: &Terms<'_>,
        until: SendUntil,
        write: &WriteMessages<'_>,
        is_sent: &AtomicBool,
    ) -> Result<(), InvokeError> {
        let run = |route| async move {
            match route {
                Route::Connection(routed) => self.post_on(routed, until, write, is_sent).await,
                Route::Collocated(adapter) => {
                    is_sent.store(true, Ordering::Relaxed);
                    self.send_collocated(&adapter, write)
                }
            }
        };
        self.attempt(terms, is_sent, run).await
    }

    /// Runs an attempt, and repeats it as long as its failure allows that.
    async fn attempt<T, F: Future<Output = Result<T, AttemptError>>>(
        &self,
        terms: &Terms<'_>,
        is_sent: &AtomicBool,
        run: impl Fn(Route) -> F,
    ) -> Result<T, InvokeError> {
        let deadline = terms.deadline.or_else(|| terms.limit.map(deadline::after));
        let mut retries = None;
        let mut failed = terms.failed.cloned();
        loop {
            let mut failure = match failed.take() {
                Some(failure) => failure,
                None => {
                    is_sent.store(false, Ordering::Relaxed);
                    // Pinned in place, because it is expensive to move.
                    let attempt = pin!(async {
                        let route = self.route().await.map_err(AttemptError::not_sent)?;
                        run(route).await
                    });
                    match within(terms, deadline, is_sent, attempt).await {
                        Ok(value) => return Ok(value),
                        Err(failure) => failure,
                    }
                }
            };
            let retries = retries.get_or_insert_with(|| self.retries(terms));
            let time_left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            let Some(wait) = retries.fail(failure.perhaps_dispatched, failure.end(), time_left)
            else {
                failure.perhaps_dispatched = retries.is_perhaps_dispatched();
                return Err(failure.into());
            };
            tracing::debug!("retrying \"{}\": {}", terms.operation, failure.error);
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
    }

    fn retries(&self, terms: &Terms<'_>) -> Retries<'_> {
        match self.communicator() {
            _ if !terms.is_retried => Retries::none(),
            Some(communicator) => Retries::new(
                terms.is_idempotent,
                &communicator.settings().retry_intervals,
            ),
            None => Retries::new(terms.is_idempotent, &[]),
        }
    }

    /// Returns an adapter of the same communicator or a connection, the last one used if it still works.
    async fn route(&self) -> Result<Route, LocalError> {
        match self.collocated() {
            Some(adapter) => Ok(Route::Collocated(adapter)),
            None => self.connection().await.map(Route::Connection),
        }
    }
}

/// Awaits an attempt, until the deadline at most.
async fn within<T>(
    terms: &Terms<'_>,
    deadline: Option<Instant>,
    is_sent: &AtomicBool,
    attempt: impl Future<Output = Result<T, AttemptError>>,
) -> Result<T, AttemptError> {
    let Some(deadline) = deadline else {
        return attempt.await;
    };
    let limit = terms.limit.unwrap_or_default();
    let bound = TimeLimit::until(deadline, limit).bound(attempt).await;
    bound.unwrap_or_else(|| {
        let is_sent = is_sent.load(Ordering::Relaxed);
        Err(timed_out(terms.operation, limit, is_sent))
    })
}

pub(super) fn timed_out(
    operation: &str,
    limit: Duration,
    perhaps_dispatched: bool,
) -> AttemptError {
    let error = LocalError::Timeout {
        operation: operation.to_owned(),
        after: limit,
    };
    AttemptError {
        error,
        perhaps_dispatched,
    }
}
