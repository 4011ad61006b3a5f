//! Untyped invocations, and events that are forwarded and may have to wait. `forward.rs` has events that never wait.

use std::sync::atomic::AtomicBool;

use floe_wire::encoding::{Buffer, Encapsulation, Encoder, EncodingVersion};
use floe_wire::message::{OperationMode, Outcome, RequestHead, RequestId};
use floe_wire::reference::{InvocationMode, Reference};
use tokio::time::Instant;

use super::WriteParameters;
use super::attempt::Terms;
use crate::communicator::Communicator;
use crate::connection::{SendUntil, WriteMessages, outcome_of_event};
use crate::deadline;
use crate::error::{AttemptError, InvokeError, LocalError};
use crate::event::{Event, Events};
use crate::invoker::{Invocation, InvokeFuture, Invoker};
use crate::proxy::Proxy;
use crate::transport::udp::DATAGRAM_LEN_MAX;

impl Proxy {
    /// Invokes an operation with parameters that are already encoded as a whole encapsulation, header included. A user
    /// exception is an outcome and not an error, because only the caller may know its type. The outcome is `None` if
    /// the request gets no reply.
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
        check_encapsulation(parameters)?;
        let encapsulation = |encoder: &mut Encoder<'_>| encoder.bytes(parameters);
        self.invoke_encoded(operation, mode, (None, None), &encapsulation)
            .await
    }

    /// Sends an event to this object with its own operation, mode, context and parameters. The context of the proxy is
    /// not added. A oneway request is done when the transport has it. Events have no results, so a reply that cannot be
    /// decoded counts as one without an outcome.
    ///
    /// # Errors
    /// As [`Proxy::invoke`].
    pub async fn forward(&self, event: &Event) -> Result<Option<Outcome>, InvokeError> {
        self.forward_noting(event, &AtomicBool::new(false)).await
    }

    /// Sends an event as [`Proxy::forward`] does. With a twoway proxy, `has_left` becomes true when the event is in the
    /// send queue of a connection. Events sent later over the same connection arrive after it.
    ///
    /// # Errors
    /// As [`Proxy::invoke`].
    pub async fn forward_noting(
        &self,
        event: &Event,
        has_left: &AtomicBool,
    ) -> Result<Option<Outcome>, InvokeError> {
        match self.reference().mode {
            InvocationMode::Twoway => {
                let write = |buffer: &mut Buffer, id| {
                    self.target().write_event(buffer, id, event.as_bytes())
                };
                let terms = self.terms(event.operation(), false);
                outcome_of_event(self.await_reply(&terms, &write, has_left).await?)
            }
            InvocationMode::Oneway | InvocationMode::Datagram => {
                self.forward_all(&[event.clone().into()]).await?;
                Ok(None)
            }
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => {
                let target = self.target();
                self.collect(|batch, len_max| batch.push_event(target, event.as_bytes(), len_max))
                    .await?;
                Ok(None)
            }
        }
    }

    /// Sends events to this object in as few writes as possible, without waiting for replies. A oneway proxy sends
    /// requests; a batch proxy sends batches immediately. The future ends when the transport has all events.
    ///
    /// # Errors
    /// As [`Proxy::invoke`]; some of the events may have been sent.
    pub async fn forward_all(&self, events: &[Events]) -> Result<(), InvokeError> {
        let target = self.target();
        let each = || events.iter().flat_map(Events::iter);
        match self.reference().mode {
            InvocationMode::Twoway | InvocationMode::Oneway => {
                let write = |buffer: &mut Buffer| {
                    each()
                        .try_for_each(|event| target.write_event(buffer, RequestId::ONEWAY, event))
                };
                let terms = self.terms("(events)", false);
                self.post(&terms, SendUntil::Written, &write, &AtomicBool::new(false))
                    .await
            }
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => {
                self.forward_batch(events).await
            }
            InvocationMode::Datagram => {
                for event in each() {
                    let write =
                        |buffer: &mut Buffer| target.write_event(buffer, RequestId::ONEWAY, event);
                    self.post_datagram("(event)", &write).await?;
                }
                Ok(())
            }
        }
    }

    /// Invokes an operation. If the fast path made a first attempt, `first` is its failure and the deadline that it
    /// started. The outcome is `None` if the request gets no reply.
    pub(super) async fn invoke_encoded(
        &self,
        operation: &str,
        mode: OperationMode,
        first: (Option<AttemptError>, Option<Instant>),
        encapsulation: &WriteParameters<'_>,
    ) -> Result<Option<Outcome>, InvokeError> {
        if !self.inner.options.interceptors.is_empty() {
            let parameters = encode(encapsulation, self.sending_encoding())?;
            return self.intercept(operation, mode, parameters).await;
        }
        let context = self.sent_context();
        let header = self.request_head(operation, mode, &context);
        let mut terms = self.terms(operation, mode.is_idempotent());
        (terms.failed, terms.deadline) = (first.0.as_ref(), first.1);
        self.invoke_in_mode(&header, &terms, encapsulation).await
    }

    /// Sends a request in the mode of the proxy, or collects it. Returns the outcome of a twoway request.
    async fn invoke_in_mode(
        &self,
        header: &RequestHead<'_>,
        terms: &Terms<'_>,
        encapsulation: &WriteParameters<'_>,
    ) -> Result<Option<Outcome>, InvokeError> {
        let write = |buffer: &mut Buffer, id| header.write_with(buffer, id, encapsulation);
        let write_oneway = |buffer: &mut Buffer| write(buffer, RequestId::ONEWAY);
        let is_sent = AtomicBool::new(false);
        match self.reference().mode {
            InvocationMode::Twoway => {
                let reply = self.await_reply(terms, &write, &is_sent).await?;
                return match reply.into_outcome() {
                    Ok(Outcome::System(exception)) => Err(exception.into()),
                    Ok(outcome) => Ok(Some(outcome)),
                    Err(error) => Err(InvokeError::BadReply(error)),
                };
            }
            InvocationMode::Oneway => {
                self.post(terms, SendUntil::Queued, &write_oneway, &is_sent)
                    .await?;
            }
            InvocationMode::BatchOneway | InvocationMode::BatchDatagram => {
                self.collect(|batch, len_max| batch.push(header, len_max, encapsulation))
                    .await?;
            }
            InvocationMode::Datagram => self.post_datagram(terms.operation, &write_oneway).await?,
        }
        Ok(None)
    }

    /// Sends a message as a datagram, if it fits into one.
    async fn post_datagram(
        &self,
        operation: &str,
        write: &WriteMessages<'_>,
    ) -> Result<(), InvokeError> {
        let mut message = Buffer::joined();
        write(&mut message).map_err(|error| InvokeError::NotDispatched(error.into()))?;
        check_datagram(message.len()).map_err(InvokeError::NotDispatched)?;
        let write = |buffer: &mut Buffer| {
            buffer.bytes_mut().extend_from_slice(message.bytes());
            Ok(())
        };
        let terms = self.terms(operation, false);
        self.post(&terms, SendUntil::Written, &write, &AtomicBool::new(false))
            .await
    }

    async fn intercept(
        &self,
        operation: &str,
        mode: OperationMode,
        parameters: Vec<u8>,
    ) -> Result<Option<Outcome>, InvokeError> {
        let target = self.inner.reference.clone();
        let mut invocation = Invocation::new(target, operation, mode, parameters);
        *invocation.context_mut() = self.sent_context().into_owned();
        invocation.set_deadline(self.timeout().map(deadline::after));
        self.pass_interceptors(invocation).await
    }

    async fn pass_interceptors(
        &self,
        invocation: Invocation,
    ) -> Result<Option<Outcome>, InvokeError> {
        let interceptors = &self.inner.options.interceptors;
        interceptors
            .before(&DirectInvoker(self))
            .invoke(invocation)
            .await
    }

    /// Invokes an operation after all interceptors have passed it on.
    async fn invoke_intercepted(
        &self,
        invocation: &Invocation,
    ) -> Result<Option<Outcome>, InvokeError> {
        if **invocation.target() != *self.reference() {
            let target = Reference::clone(invocation.target());
            return self
                .with_reference(target)
                .send_invocation(invocation)
                .await;
        }
        self.send_invocation(invocation).await
    }

    async fn send_invocation(
        &self,
        invocation: &Invocation,
    ) -> Result<Option<Outcome>, InvokeError> {
        let (operation, mode) = (invocation.operation(), invocation.mode());
        let header = self.request_head(operation, mode, invocation.context());
        let mut terms = self.terms(operation, mode.is_idempotent());
        terms.limit = invocation.remaining();
        let encapsulation = |encoder: &mut Encoder<'_>| encoder.bytes(invocation.parameters());
        self.invoke_in_mode(&header, &terms, &encapsulation).await
    }
}

/// Sends an invocation to its target over the connection of the proxy, with the options of the proxy: context, timeout
/// and interceptors. The invocation's own context and deadline take precedence.
impl Invoker for Proxy {
    fn invoke(&self, mut invocation: Invocation) -> InvokeFuture<'_> {
        Box::pin(async move {
            check_encapsulation(invocation.parameters())?;
            let own = self.sent_context();
            if !own.is_empty() {
                let given = std::mem::replace(invocation.context_mut(), own.into_owned());
                invocation.context_mut().extend(given);
            }
            if invocation.deadline().is_none() {
                invocation.set_deadline(self.timeout().map(deadline::after));
            }
            self.pass_interceptors(invocation).await
        })
    }
}

/// Sends an invocation to its target, with the settings of the communicator.
impl Invoker for Communicator {
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
        Box::pin(async move {
            let proxy = self.proxy_from(Reference::clone(invocation.target()));
            Invoker::invoke(&proxy, invocation).await
        })
    }
}

/// The end of a proxy's chain of interceptors, which sends the invocation.
struct DirectInvoker<'a>(&'a Proxy);

impl Invoker for DirectInvoker<'_> {
    fn invoke(&self, invocation: Invocation) -> InvokeFuture<'_> {
        Box::pin(async move { self.0.invoke_intercepted(&invocation).await })
    }
}

fn check_encapsulation(parameters: &[u8]) -> Result<(), InvokeError> {
    match Encapsulation::parse(parameters) {
        Ok(_) => Ok(()),
        Err(error) => Err(InvokeError::NotDispatched(LocalError::Parameters(error))),
    }
}

/// Checks that a message of this length fits into a datagram.
pub(super) fn check_datagram(len: usize) -> Result<(), LocalError> {
    let limit = DATAGRAM_LEN_MAX;
    match len > limit {
        true => Err(LocalError::DatagramTooLong { len, limit }),
        false => Ok(()),
    }
}

/// Encodes parameters as a whole encapsulation.
fn encode(
    encapsulation: &WriteParameters<'_>,
    encoding: EncodingVersion,
) -> Result<Vec<u8>, InvokeError> {
    let mut parameters = Vec::new();
    let mut encoder = Encoder::new(&mut parameters, encoding);
    encapsulation(&mut encoder);
    let written = encoder.finish();
    written.map_err(|error| InvokeError::NotDispatched(error.into()))?;
    Ok(parameters)
}
