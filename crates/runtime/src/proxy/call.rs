//! Typed invocations, as generated proxies make them.

use std::future::Future;

use bytes::Bytes;
use floe_wire::encoding::{
    DecodeError, Decoder, Encapsulation, Encoder, EncodingVersion, ExceptionReader,
};
use floe_wire::message::{IncomingReply, OperationMode, Outcome, reply};
use floe_wire::reference::InvocationMode;

use super::Proxy;
use super::at_once::{AtOnce, Begun};
use super::calling::Calling;
use crate::adapter::OperationError;
use crate::connection::{Failure, Short};
use crate::error::{InvokeError, LocalError};

/// What a generated proxy knows of an operation.
#[derive(Debug, Clone, Copy)]
pub struct OperationInfo {
    /// Its name.
    pub name: &'static str,
    /// Whether it may be repeated.
    pub mode: OperationMode,
    /// Whether it returns something or declares exceptions: then only a twoway proxy can invoke it.
    pub returns_data: bool,
}

impl Proxy {
    /// Invokes an operation, in the mode of the proxy. Without a twoway proxy it is done when the
    /// request has been handed over or, in a batch, collected.
    ///
    /// `encode` writes the parameters; it may run again for a retry. `decode` reads the results.
    /// Dropping the future gives the request up; whether it was executed is then unknown.
    ///
    /// # Errors
    /// A user exception that the operation declares, or an [`InvokeError`].
    #[inline]
    pub fn call<R, E: OperationError>(
        &self,
        operation: &'static OperationInfo,
        encode: impl Fn(&mut Encoder<'_>),
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    ) -> impl Future<Output = Result<R, E>> {
        Calling::new(self, operation, encode, decode, Self::make_call)
    }

    /// Makes a call that [`Proxy::is_done_shortly`] or [`Proxy::ask`] did not do, or failed to do.
    async fn make_call<R, E, Encode, Decode>(
        &self,
        operation: &'static OperationInfo,
        encode: Encode,
        decode: Decode,
        failed: Option<Box<Failure>>,
    ) -> Result<R, E>
    where
        E: OperationError,
        Encode: Fn(&mut Encoder<'_>),
        Decode: FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    {
        if self.reference().mode != InvocationMode::Twoway {
            if operation.returns_data {
                let operation = operation.name.to_owned();
                return Err(InvokeError::NotDispatched(LocalError::NotTwoway { operation }).into());
            }
            // What seldom has to wait is boxed when it does: each call would be as long as that.
            let sent = match failed {
                Some(failure) => AtOnce::Not(Some(*failure)),
                None => self.send_at_once(operation, &encode)?,
            };
            match sent {
                AtOnce::Done => {}
                AtOnce::Full(full) => Box::pin(self.post_full(full)).await?,
                AtOnce::Not(failed) => {
                    let (name, mode) = (operation.name, operation.mode);
                    let encoding = self.sending_encoding();
                    let write =
                        |encoder: &mut Encoder<'_>| encoder.encapsulation(encoding, &encode);
                    Box::pin(self.send(name, mode, failed, write)).await?;
                }
            }
            return decode_nothing(decode);
        }
        let begun = match failed {
            Some(failure) => Begun::Not(Some(*failure)),
            None => self.request_at_once(operation, &encode),
        };
        let first = match begun {
            Begun::Sent(reply) => match self.in_time(operation.name, reply).await {
                Ok(reply) => return self.open_reply(operation, reply, decode),
                Err(first) => *first,
            },
            Begun::Not(failed) => failed.into(),
        };
        let encoding = self.sending_encoding();
        let write = |encoder: &mut Encoder<'_>| encoder.encapsulation(encoding, &encode);
        let requested = self.request(operation.name, operation.mode, first, write);
        let outcome = Box::pin(requested).await?;
        self.open(&outcome, decode)
    }

    /// The encoding of parameters: that of the proxy, or ours if it asks for a newer one.
    pub(super) fn sending_encoding(&self) -> EncodingVersion {
        self.reference().encoding.for_sending().unwrap_or_default()
    }

    /// What a short reply says.
    #[inline]
    pub(super) fn open_short<R, E: OperationError>(
        &self,
        operation: &'static OperationInfo,
        short: &Short,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    ) -> Result<R, E> {
        if !operation.returns_data && reply::returned_nothing(short.as_bytes()) {
            return decode_nothing(decode);
        }
        let results = reply::returned(short.as_bytes()).unwrap_or_default();
        let decoder = self.decoder(results);
        decoder
            .and_then(|decoder| read_results(decoder, decode))
            .map_err(|error| bad_reply(error).into())
    }

    /// What a reply says.
    pub(super) fn open_reply<R, E: OperationError>(
        &self,
        operation: &'static OperationInfo,
        reply: IncomingReply,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    ) -> Result<R, E> {
        if !operation.returns_data && reply.returned_nothing() {
            return decode_nothing(decode);
        }
        let outcome = reply.into_outcome().map_err(InvokeError::BadReply)?;
        self.open(&outcome, decode)
    }

    fn open<R, E: OperationError>(
        &self,
        outcome: &Outcome,
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
    ) -> Result<R, E> {
        match outcome {
            Outcome::Returned(bytes) => {
                let decoder = self.decoder(bytes);
                decoder
                    .and_then(|decoder| read_results(decoder.with_owner(bytes), decode))
                    .map_err(|error| bad_reply(error).into())
            }
            Outcome::UserException(bytes) => Err(self.user_exception(bytes)),
            Outcome::System(exception) => Err(InvokeError::System(exception.clone()).into()),
        }
    }

    fn user_exception<E: OperationError>(&self, bytes: &Bytes) -> E {
        self.try_user_exception(bytes)
            .unwrap_or_else(|error| bad_reply(error).into())
    }

    /// The exception as the nearest type that the operation declares.
    fn try_user_exception<E: OperationError>(&self, bytes: &Bytes) -> Result<E, DecodeError> {
        let mut reader = ExceptionReader::new(self.decoder(bytes)?.with_owner(bytes))?;
        let type_id = reader.type_id().to_owned();
        loop {
            if let Some(exception) = E::decode(&mut reader)? {
                reader.finish()?;
                return Ok(exception);
            }
            if !reader.skip()? {
                return Ok(InvokeError::UndeclaredException { type_id }.into());
            }
        }
    }

    #[inline]
    fn decoder<'a>(&'a self, encapsulation: &'a [u8]) -> Result<Decoder<'a>, DecodeError> {
        let mut decoder = Encapsulation::parse(encapsulation)?.decoder()?;
        let Some(communicator) = self.communicator() else {
            return Ok(decoder);
        };
        communicator.settings().make_known(&mut decoder);
        Ok(decoder.with_context(communicator))
    }
}

/// The results that a decoder gives, which are all that it has.
#[inline]
fn read_results<R>(
    mut decoder: Decoder<'_>,
    decode: impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
) -> Result<R, DecodeError> {
    let results = decode(&mut decoder)?;
    decoder.finish()?;
    Ok(results)
}

/// The results of an operation that has none.
#[inline]
pub(super) fn decode_nothing<R, E: OperationError>(
    decode: impl FnOnce(&mut Decoder<'_>) -> Result<R, DecodeError>,
) -> Result<R, E> {
    decode(&mut Decoder::new(&[], EncodingVersion::default())).map_err(|e| bad_reply(e).into())
}

fn bad_reply(error: DecodeError) -> InvokeError {
    InvokeError::BadReply(error)
}
