//! Calls to the objects of the application that decide who gets a session.
//!
//! They are made untyped: an exception that the application has derived from the one of the contract goes on to the
//! client as it is.

use bytes::Bytes;
use floe::{
    DecodeError, Decoder, Encapsulation, Encoder, EncodingVersion, ExceptionReader, InvokeError,
    OperationMode, Outcome, Proxy, TypedProxy,
};

/// Why an application gave no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It threw the exception of the contract, or one derived from it: its encapsulation.
    Refused(Bytes),
    /// Anything else, for people.
    Failed(String),
}

/// A call of the application.
pub(super) struct Question<'a> {
    pub(super) proxy: Proxy,
    pub(super) operation: &'a str,
    pub(super) mode: OperationMode,
    /// The encoding that the client speaks.
    pub(super) encoding: EncodingVersion,
    /// The exception that may go on to the client.
    pub(super) exception: &'a str,
}

impl Question<'_> {
    /// Asks it.
    pub(super) async fn ask<T>(
        self,
        encode: impl FnOnce(&mut Encoder<'_>),
        decode: impl FnOnce(&mut Decoder<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, Failure> {
        let mut parameters = Vec::new();
        let mut encoder = Encoder::new(&mut parameters, self.encoding);
        encoder.encapsulation(self.encoding, encode);
        encoder.finish().map_err(failed)?;
        let proxy = self.proxy.ice_encoding(self.encoding);
        let invoked = proxy.invoke(self.operation, self.mode, &parameters).await;
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

/// Whether an encoded exception is of this type, or derived from it.
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

/// In a line: servants of Ice for Python answer with a whole trace.
fn failed(error: impl std::fmt::Display) -> Failure {
    let text = error.to_string();
    Failure::Failed(text.lines().collect::<Vec<_>>().join(" | "))
}
