//! `floe encode`: JSON to the bytes that travel.

use clap::Args;
use floe_dynamic::to_hex;

use crate::exit::{Exit, Failure};
use crate::json_input;
use crate::output::Output;
use crate::payload::PayloadArguments;

/// Encodes JSON to the bytes of the wire, for debugging
///
/// The JSON is a value of --type, or the parameters, results or exception of --operation; docs/guides/json.md
/// describes it. The output is the payload of an encapsulation, without its header of six bytes, as hexadecimal
/// digits on one line. `floe decode` with the same arguments returns the JSON.
///
/// Exit code 2: the JSON does not fit, or the arguments are wrong. 100: the Slice files have errors.
#[derive(Debug, Args)]
pub(crate) struct Encode {
    /// The value. - or nothing reads standard input
    #[arg(allow_negative_numbers = true)]
    json: Option<String>,

    #[command(flatten)]
    payload: PayloadArguments,
}

impl Encode {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let payload_type = self.payload.payload_type()?;
        let json = json_input::value(self.json.as_deref())?;
        let encoded = payload_type.encode(&json, self.payload.encoding(), self.payload.format());
        let bytes = encoded.map_err(Failure::usage)?;
        match self.payload.is_binary() {
            true => output.bytes(&bytes)?,
            false => output.line(to_hex(&bytes))?,
        }
        Ok(Exit::Success)
    }
}
