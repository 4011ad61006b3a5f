//! `floe decode`: bytes that travelled, as JSON.

use std::io;

use bytes::Bytes;
use clap::Args;
use floe::regular_file;
use floe_dynamic::{DecodePayloadError, MessageError, MessageReader, from_hex};

use crate::exit::{Exit, Failure};
use crate::input;
use crate::output::{self, Output};
use crate::payload::PayloadArguments;

/// Decodes bytes from the wire to JSON, for debugging
///
/// The input is the payload of an encapsulation, without its header of six bytes, as hexadecimal digits; white
/// space is ignored. It is a value of --type, or the parameters, results or exception of --operation. With
/// --message, the input is one or more whole protocol messages, and each becomes an object on its own line.
/// docs/guides/json.md describes the JSON. `floe encode` with the same arguments returns the bytes.
///
/// Exit code 2: the bytes are something else, or the arguments are wrong. 100: the Slice files have errors. 1,
/// with --message: some part does not fit the Slice files, and has a key "error".
#[derive(Debug, Args)]
pub(crate) struct Decode {
    /// The bytes. - or nothing reads standard input
    hex: Option<String>,

    /// Decodes whole messages: with --slice also their parameters and exceptions, and with --operation, which
    /// replies do not name, also results
    #[arg(
        long,
        conflicts_with_all = ["type_name", "request", "reply", "exception", "encoding", "format"]
    )]
    message: bool,

    #[command(flatten)]
    payload: PayloadArguments,
}

impl Decode {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        if self.message {
            return self.messages(output);
        }
        let payload_type = self.payload.payload_type()?;
        let payload = self.bytes()?;
        let json = payload_type.decode(&payload, self.payload.encoding());
        let json = json.map_err(|error| refused(&error, &payload))?;
        output.value(&json, &json)?;
        Ok(Exit::Success)
    }

    fn messages(&self, output: &Output) -> Result<Exit, Failure> {
        let reader = self.message_reader()?;
        let mut rest = Bytes::from(self.bytes()?);
        let len = rest.len();
        let mut error_count = 0;
        loop {
            let offset = len - rest.len();
            let message = reader.read(&mut rest);
            let message = message.map_err(|error| no_message(&error, offset, &rest))?;
            output.value(&message.json, &message.json)?;
            error_count += message.error_count;
            if rest.is_empty() {
                break;
            }
        }
        if error_count == 0 {
            return Ok(Exit::Success);
        }
        output::talk("floe: error: not all could be decoded; see \"error\"");
        Ok(Exit::Failure)
    }

    fn message_reader(&self) -> Result<MessageReader, Failure> {
        let arguments = self.payload.contract();
        let contract = arguments.load_or_empty()?;
        let mut reader = MessageReader::default();
        if arguments.is_given() {
            reader = reader.with_contract(&contract, arguments.interface());
        }
        let operation = self.payload.operation_in(&contract)?;
        Ok(match operation {
            Some(operation) => reader.with_operation(&operation),
            None => reader,
        })
    }

    /// The bytes of the argument, or of standard input.
    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let hex = self.hex.as_deref().filter(|hex| *hex != "-");
        match hex {
            Some(_) if self.payload.is_binary() => {
                let message = "expected raw bytes on standard input, got an argument";
                return Err(Failure::usage(message).help("omit --binary or the digits"));
            }
            Some(hex) => return parse(hex, "argument HEX"),
            None => {}
        }
        let place = "standard input";
        let bytes = input::bytes(io::stdin().lock(), place)?;
        match self.payload.is_binary() {
            true => Ok(bytes),
            false => parse(
                &String::from_utf8_lossy(regular_file::without_mark(&bytes)),
                place,
            ),
        }
    }
}

fn parse(text: &str, place: &str) -> Result<Vec<u8>, Failure> {
    from_hex(text).map_err(|error| {
        Failure::usage(format_args!("{place}: {error}")).help("raw bytes need --binary")
    })
}

/// Bytes that are no message.
fn no_message(error: &MessageError, offset: usize, bytes: &[u8]) -> Failure {
    let failure = Failure::usage(error).when(format_args!("message at byte {offset}"));
    match bytes.starts_with(b"IceP") {
        true => failure,
        false => failure.help("for the payload of an encapsulation leave out --message"),
    }
}

/// Bytes that are not what was expected, with the mistakes that come to mind.
fn refused(error: &DecodePayloadError, payload: &[u8]) -> Failure {
    let failure = Failure::usage(error);
    let size = payload
        .first_chunk()
        .map(|size| u32::from_le_bytes(*size) as usize);
    let has_header = size == Some(payload.len()) && matches!(payload.get(4..6), Some([1, 0 | 1]));
    match payload {
        [b'I', b'c', b'e', b'P', ..] => {
            failure.help("these bytes begin as a whole message: use --message")
        }
        _ if has_header => failure
            .help("the first six bytes look like the header of the encapsulation: leave them out"),
        _ => failure,
    }
}
