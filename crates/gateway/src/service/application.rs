//! Calls to the application's verifiers and session managers, which decide who gets a session.
//!
//! The calls are untyped, so that an exception that the application has derived from the contract's exception reaches
//! the client unchanged.

use bytes::Bytes;
use floe::encoding::{Decoder, Encapsulation, Encoder, ExceptionReader};
use floe::message::Outcome;
use floe::{
    DecodeError, EncodingVersion, InvokeError, OperationMode, Proxy, SystemException, TypedProxy,
};

use super::server_link::{Origin, ServerLink};

/// Why a call to the application gave no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// It threw the exception of the contract, or a derived one. This is the exception's encapsulation.
    Refused(Bytes),
    /// It failed in another way. This is the reason, for people.
    Failed(String),
    /// It has not answered the calls for other clients at the address. Contains the reason for the client.
    Overloaded(String),
}

/// A call to the application.
pub(super) struct ApplicationCall<'a> {
    pub(super) proxy: Proxy,
    /// The address of the client that the call is for.
    pub(super) origin: &'a Origin,
    pub(super) operation: &'a str,
    pub(super) mode: OperationMode,
    /// The encoding that the client speaks.
    pub(super) encoding: EncodingVersion,
    /// The type id of the exception that is passed on to the client.
    pub(super) exception: &'a str,
}

impl ApplicationCall<'_> {
    /// Makes the call, and decodes its result.
    pub(super) async fn invoke<T>(
        self,
        encode: impl FnOnce(&mut Encoder<'_>),
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, Failure> {
        let mut parameters = Vec::new();
        let mut encoder = Encoder::new(&mut parameters, self.encoding);
        encoder.encapsulation(self.encoding, encode);
        encoder.finish().map_err(failed)?;
        let proxy = self.proxy.ice_encoding(self.encoding);
        let link = ServerLink::connect(&proxy, self.origin).await;
        let mut room = match link.map_err(failed)? {
            Some(link) => {
                let room = link.to_server(self.origin, parameters.len()).await;
                Some(room.map_err(|error| match error {
                    SystemException::UnknownException(text) => Failure::Overloaded(text),
                    other => failed(other),
                })?)
            }
            None => None,
        };
        let invoked = proxy.invoke(self.operation, self.mode, &parameters).await;
        // A retry may have made another one.
        ServerLink::current(&proxy, self.origin);
        if let Some(room) = &mut room {
            room.answered(&invoked);
        }
        match invoked {
            Ok(Some(Outcome::Returned(bytes))) => {
                let encapsulation = Encapsulation::parse(&bytes).map_err(failed)?;
                let decoder = encapsulation.decoder().map_err(failed)?;
                let communicator = proxy.communicator();
                let mut decoder = match communicator {
                    Some(communicator) => decoder.with_context(communicator),
                    None => decoder,
                };
                decode(&mut decoder).map_err(failed)
            }
            Ok(Some(Outcome::UserException(bytes))) => match is_a(&bytes, self.exception) {
                Ok(true) => Err(Failure::Refused(bytes)),
                Ok(false) => Err(Failure::Failed(
                    "it threw an undeclared exception".to_owned(),
                )),
                Err(error) => Err(failed(error)),
            },
            Ok(_) => Err(Failure::Failed("expected a twoway proxy".to_owned())),
            Err(InvokeError::System(exception)) => Err(failed(exception)),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Returns true if an encoded exception is of this type, or derived from it.
fn is_a(encapsulation: &[u8], type_id: &str) -> Result<bool, DecodeError> {
    let encapsulation = Encapsulation::parse(encapsulation)?;
    let mut reader = ExceptionReader::new(encapsulation.decoder()?)?;
    while reader.type_id() != type_id {
        if !reader.skip()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The type id of an encoded exception.
pub(super) fn type_id(encapsulation: &[u8]) -> Result<String, DecodeError> {
    let encapsulation = Encapsulation::parse(encapsulation)?;
    let reader = ExceptionReader::new(encapsulation.decoder()?)?;
    Ok(reader.type_id().to_owned())
}

/// Joins the lines of the error to one, because servants of Ice for Python return a whole traceback.
fn failed(error: impl std::fmt::Display) -> Failure {
    let text = error.to_string();
    Failure::Failed(text.lines().collect::<Vec<_>>().join(" | "))
}
