//! The arguments that `floe decode` and `floe encode` share: the type of a payload as arguments, and hexadecimal
//! text.

use clap::{Args, ValueEnum};
use floe::EncodingVersion;
use floe::encoding::ClassFormat;
use floe_dynamic::{Contract, LookupError, Operation, PayloadType};

use crate::command::call::{Encoding, EncodingParser, no_operation};
use crate::contract::ContractArguments;
use crate::exit::Failure;

/// The type and the encoding of a payload.
#[derive(Debug, Args)]
pub(crate) struct PayloadArguments {
    /// The type of the value: a built-in type (int, string, Object*, Value), ::Module::Type, a proxy
    /// '::Module::Interface*', or an exception
    #[arg(
        long = "type",
        value_name = "TYPE",
        conflicts_with_all = ["operation", "interface"]
    )]
    type_name: Option<String>,

    /// The value is optional and has this tag
    #[arg(
        long,
        value_name = "N",
        requires = "type_name",
        value_parser = parse_tag,
        allow_negative_numbers = true
    )]
    tag: Option<i32>,

    /// The operation that the parameters or results belong to, or ::Module::Interface::name if several
    /// interfaces have it
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,

    /// The in-parameters of the operation
    #[arg(long, requires = "operation", conflicts_with_all = ["reply", "exception"])]
    request: bool,

    /// The results of the operation: return value and out-parameters, or when encoding also a user exception
    #[arg(long, requires = "operation")]
    reply: bool,

    /// A user exception of the operation
    #[arg(long, requires = "operation")]
    exception: bool,

    #[command(flatten)]
    contract: ContractArguments,

    /// The encoding of the payload [default: 1.1]
    #[arg(long, value_parser = EncodingParser)]
    encoding: Option<Encoding>,

    /// How class instances and user exceptions are encoded in 1.1; not needed for decoding [default: as the
    /// operation's metadata says, otherwise compact instances and sliced exceptions]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// The payload is raw bytes instead of hexadecimal digits
    #[arg(long)]
    binary: bool,
}

/// Formats of what has bases.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Shortest; the receiver must know the type
    Compact,
    /// With sizes, so that a receiver that knows only a base type can skip the rest
    Sliced,
}

impl PayloadArguments {
    /// The type of the payload.
    ///
    /// # Errors
    /// Neither a type nor an operation, a name that the contract does not have, or a type that is
    /// not supported.
    pub(crate) fn payload_type(&self) -> Result<PayloadType, Failure> {
        let contract = self.contract.load_or_empty()?;
        if let Some(name) = &self.type_name {
            let found = PayloadType::named(&contract, name, self.tag);
            return found.map_err(|error| self.no_type(&error));
        }
        let Some(operation) = self.operation_in(&contract)? else {
            let message = "expected what the bytes stand for, got nothing";
            return Err(Failure::usage(message)
                .help("add --type TYPE, or --operation NAME with --request or --reply"));
        };
        match (self.request, self.reply, self.exception) {
            (true, ..) => Ok(PayloadType::params(&operation)),
            (_, _, true) => Ok(PayloadType::thrown(&operation)),
            (_, true, _) => Ok(PayloadType::results(&operation)),
            _ => Err(Failure::usage(
                "expected --request, --reply or --exception beside --operation, got none",
            )),
        }
    }

    /// The operation that was named.
    ///
    /// # Errors
    /// The contract has none of this name, or several.
    pub(crate) fn operation_in(&self, contract: &Contract) -> Result<Option<Operation>, Failure> {
        let Some(name) = &self.operation else {
            return Ok(None);
        };
        let found = contract.operation(&self.contract.qualified(name));
        found
            .map(Some)
            .map_err(|error| no_operation(contract, &error))
    }

    /// The Slice files.
    pub(crate) fn contract(&self) -> &ContractArguments {
        &self.contract
    }

    /// The encoding of the payload.
    pub(crate) fn encoding(&self) -> EncodingVersion {
        self.encoding
            .map_or(EncodingVersion::V1_1, Encoding::version)
    }

    /// The format that was asked for.
    pub(crate) fn format(&self) -> Option<ClassFormat> {
        self.format.map(|format| match format {
            Format::Compact => ClassFormat::Compact,
            Format::Sliced => ClassFormat::Sliced,
        })
    }

    /// Returns true if bytes are read or written as they are.
    pub(crate) fn is_binary(&self) -> bool {
        self.binary
    }

    fn no_type(&self, error: &LookupError) -> Failure {
        let failure = Failure::usage(error);
        match error {
            LookupError::NoSuchType { .. } if !self.contract.is_given() => {
                failure.help("add --slice FILE; only built-in types need none")
            }
            _ => failure,
        }
    }
}

fn parse_tag(text: &str) -> Result<i32, String> {
    let tag = text.parse().ok().filter(|tag| *tag >= 0);
    tag.ok_or_else(|| format!("expected a tag from 0 to {}", i32::MAX))
}
