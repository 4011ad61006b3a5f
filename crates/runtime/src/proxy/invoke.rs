//! Untyped invocations, and how any invocation reaches a connection.

use std::future::Future;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use floe_wire::encoding::{EncodeError, Encoder};
use floe_wire::message::{
    BatchWriter, OperationMode, Outcome, RequestHeader, RequestId, forward_request,
};
use floe_wire::reference::{Endpoint, InvocationMode, Reference};
use tokio::time::{Instant, timeout_at};

use super::Proxy;
use crate::connection::{Connection, Failure};
use crate::error::{InvokeError, LocalError};
use crate::event::Event;
use crate::pipeline::retry::may_retry;

impl Proxy {
    /// Invokes an operation with parameters that are encoded already: a whole encapsulation, header
    /// included. A user exception is an outcome here and no error, for only the caller may know its
    /// type. `None` is the outcome of a request that gets no reply.
    ///
    /// # Errors
    /// [`InvokeError`]: a system exception, or a failure on this side.
    #[doc(alias = "ice_invoke")]
    pub async fn invoke(
        &self,
        operation: &str,
        mode: OperationMode,
        parameters: &[u8],
    ) -> Result<Option<Outcome>, InvokeError> {
        let encapsulation = |encoder: &mut Encoder<'_>| encoder.bytes(parameters);
        if self.reference().mode != InvocationMode::Twoway {
            self.send(operation, mode, encapsulation).await?;
            return Ok(None);
        }
        match self.request(operation, mode, encapsulation).await? {
            Outcome::System(exception) => Err(exception.into()),
            outcome => Ok(Some(outcome)),
        }
    }

    /// Invokes this object with an event: operation, mode, context and parameters are those of the
    /// request that it was. The context of the proxy is not added.
    ///
    /// # Errors
    /// As [`Proxy::invoke`].
    pub async fn forward(&self, event: &Event) -> Result<Option<Outcome>, InvokeError> {
        let reference = self.reference();
        let write = |buffer: &mut Vec<u8>, id: RequestId| {
            forward_request(
                buffer,
                id,
                &reference.identity,
                &reference.facet,
                event.as_bytes(),
            )
        };
        match reference.mode {
            InvocationMode::Twoway => {
                let outcome = self.exchange("(event)", false, write).await?;
                match outcome {
                    Outcome::System(exception) => Err(exception.into()),
                    outcome => Ok(Some(outcome)),
                }
            }
            InvocationMode::Oneway => {
                self.post("(event)", false, |buffer| write(buffer, RequestId::ONEWAY))
                    .await?;
                Ok(None)
            }
            InvocationMode::BatchOneway => {
                let len_max = self.batch_size_max();
                let full = self.lock_batch().push_event(
                    &reference.identity,
                    &reference.facet,
                    event.as_bytes(),
                    len_max,
                );
                self.post_batch(full.map_err(not_sent)?).await?;
                Ok(None)
            }
            InvocationMode::Datagram | InvocationMode::BatchDatagram => Err(self.no_datagrams()),
        }
    }

    /// Sends events to this object in as few writes as possible, and waits for no answer: oneway
    /// requests or, from a batch proxy, batches, which leave at once.
    ///
    /// # Errors
    /// As [`Proxy::invoke`]; some of the events may have been sent.
    pub async fn forward_all(&self, events: &[Event]) -> Result<(), InvokeError> {
        match self.reference().mode {
            InvocationMode::Twoway | InvocationMode::Oneway => self.forward_oneway(events).await,
            InvocationMode::BatchOneway => self.forward_batch(events).await,
            InvocationMode::Datagram | InvocationMode::BatchDatagram => Err(self.no_datagrams()),
        }
    }

    async fn forward_oneway(&self, events: &[Event]) -> Result<(), InvokeError> {
        let Reference {
            identity, facet, ..
        } = self.reference();
        self.post("(events)", false, |buffer| {
            let start = buffer.len();
            let written = events.iter().try_for_each(|event| {
                forward_request(buffer, RequestId::ONEWAY, identity, facet, event.as_bytes())
            });
            if written.is_err() {
                buffer.truncate(start);
            }
            written
        })
        .await
    }

    async fn forward_batch(&self, events: &[Event]) -> Result<(), InvokeError> {
        let Reference {
            identity, facet, ..
        } = self.reference();
        let len_max = self.batch_size_max();
        let mut batch = BatchWriter::default();
        for event in events {
            let full = batch.push_event(identity, facet, event.as_bytes(), len_max);
            self.post_batch(full.map_err(not_sent)?).await?;
        }
        self.post_batch(batch.finish()).await
    }

    /// Sends the requests that a batch proxy has collected; nothing if there are none.
    ///
    /// # Errors
    /// [`InvokeError`] if they could not be sent; they are lost then.
    #[doc(alias = "ice_flushBatchRequests")]
    pub async fn flush_batch(&self) -> Result<(), InvokeError> {
        let batch = self.lock_batch().finish();
        self.post_batch(batch).await
    }

    /// Sends a twoway request and waits for its outcome.
    pub(super) async fn request(
        &self,
        operation: &str,
        mode: OperationMode,
        encapsulation: impl Fn(&mut Encoder<'_>),
    ) -> Result<Outcome, InvokeError> {
        let header = self.header(operation, mode);
        self.exchange(operation, mode.is_idempotent(), |buffer, id| {
            header.write_with(buffer, id, &encapsulation)
        })
        .await
    }

    /// Sends a request that gets no reply, or collects it.
    pub(super) async fn send(
        &self,
        operation: &str,
        mode: OperationMode,
        encapsulation: impl Fn(&mut Encoder<'_>),
    ) -> Result<(), InvokeError> {
        let header = self.header(operation, mode);
        match self.reference().mode {
            InvocationMode::Twoway | InvocationMode::Oneway => {
                self.post(operation, mode.is_idempotent(), |buffer| {
                    header.write_with(buffer, RequestId::ONEWAY, &encapsulation)
                })
                .await
            }
            InvocationMode::BatchOneway => {
                let len_max = self.batch_size_max();
                let full = self.lock_batch().push(&header, len_max, &encapsulation);
                self.post_batch(full.map_err(not_sent)?).await
            }
            InvocationMode::Datagram | InvocationMode::BatchDatagram => Err(self.no_datagrams()),
        }
    }

    async fn post_batch(&self, batch: Option<Vec<u8>>) -> Result<(), InvokeError> {
        let Some(batch) = batch else { return Ok(()) };
        let batch = Bytes::from(batch);
        self.post("(batch)", false, |buffer| {
            buffer.extend_from_slice(&batch);
            Ok(())
        })
        .await
    }

    /// Writes a twoway request and waits for its reply, again if that is safe.
    async fn exchange(
        &self,
        operation: &str,
        is_idempotent: bool,
        write: impl Fn(&mut Vec<u8>, RequestId) -> Result<(), EncodeError>,
    ) -> Result<Outcome, InvokeError> {
        let deadline = self.deadline();
        let write = &write;
        let attempt = |connection: Arc<Connection>| async move { connection.request(write).await };
        let reply = self
            .attempt(operation, is_idempotent, deadline, attempt)
            .await?;
        reply.outcome().map_err(InvokeError::BadReply)
    }

    /// Writes messages that get no reply, again if that is safe.
    async fn post(
        &self,
        operation: &str,
        is_idempotent: bool,
        write: impl Fn(&mut Vec<u8>) -> Result<(), EncodeError>,
    ) -> Result<(), InvokeError> {
        let deadline = self.deadline();
        let write = &write;
        let attempt = |connection: Arc<Connection>| async move { connection.send(write).await };
        self.attempt(operation, is_idempotent, deadline, attempt)
            .await
    }

    /// Runs an attempt on a connection, and once more if the failure allows it.
    async fn attempt<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        operation: &str,
        is_idempotent: bool,
        deadline: Option<Instant>,
        run: impl Fn(Arc<Connection>) -> F,
    ) -> Result<T, InvokeError> {
        let mut attempt_count = 1;
        loop {
            let result = match self
                .within(operation, deadline, false, self.connection())
                .await
            {
                Ok(connection) => {
                    self.within(operation, deadline, true, run(connection))
                        .await
                }
                Err(failure) => Err(failure),
            };
            match result {
                Ok(value) => return Ok(value),
                Err(failure) if may_retry(attempt_count, is_idempotent, &failure) => {
                    tracing::debug!("retrying \"{operation}\": {}", failure.error);
                    attempt_count += 1;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    async fn within<T>(
        &self,
        operation: &str,
        deadline: Option<Instant>,
        perhaps_dispatched: bool,
        step: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(deadline) = deadline else {
            return step.await;
        };
        timeout_at(deadline, step).await.unwrap_or_else(|_| {
            let operation = operation.to_owned();
            let after = self.timeout().unwrap_or_default();
            Err(Failure {
                error: LocalError::Timeout { operation, after },
                perhaps_dispatched,
            })
        })
    }

    /// The connection used last, or one to the first endpoint that answers.
    async fn connection(&self) -> Result<Arc<Connection>, Failure> {
        let cached = self.lock_connection().upgrade();
        if let Some(connection) = cached
            && connection.is_active()
        {
            return Ok(connection);
        }
        let connection = self.connect().await?;
        *self.lock_connection() = Arc::downgrade(&connection);
        Ok(connection)
    }

    async fn connect(&self) -> Result<Arc<Connection>, Failure> {
        let Some(communicator) = self.communicator() else {
            return Err(Failure {
                error: LocalError::Unbound,
                perhaps_dispatched: false,
            });
        };
        if communicator.core().is_shut_down() {
            return Err(Failure {
                error: LocalError::Shutdown,
                perhaps_dispatched: false,
            });
        }
        let mut last = self.no_endpoint("a tcp endpoint (locators are not yet supported)");
        let usable = |endpoint: &&Endpoint| matches!(endpoint, Endpoint::Tcp(_));
        for endpoint in self.reference().endpoints().iter().filter(usable) {
            match communicator
                .core()
                .pool()
                .connection(endpoint, communicator)
                .await
            {
                Ok(connection) => return Ok(connection),
                Err(failure) => last = failure,
            }
        }
        Err(last)
    }

    fn header<'a>(&'a self, operation: &'a str, mode: OperationMode) -> RequestHeader<'a> {
        let reference = self.reference();
        RequestHeader {
            identity: &reference.identity,
            facet: &reference.facet,
            operation,
            mode,
            context: self.context(),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timeout().map(|timeout| Instant::now() + timeout)
    }

    fn batch_size_max(&self) -> usize {
        self.communicator()
            .map_or(usize::MAX, |c| c.settings().batch_size_max)
    }

    fn no_datagrams(&self) -> InvokeError {
        self.no_endpoint("a mode other than datagram (datagrams are not yet supported)")
            .into()
    }

    fn no_endpoint(&self, wanted: &'static str) -> Failure {
        let proxy = self.to_string();
        Failure {
            error: LocalError::NoEndpoint { proxy, wanted },
            perhaps_dispatched: false,
        }
    }

    fn lock_batch(&self) -> std::sync::MutexGuard<'_, floe_wire::message::BatchWriter> {
        self.inner
            .batch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_connection(&self) -> std::sync::MutexGuard<'_, std::sync::Weak<Connection>> {
        self.inner
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

fn not_sent(error: EncodeError) -> InvokeError {
    InvokeError::NotDispatched(error.into())
}
