//! `floe call`: invokes an operation of any Ice or Floe server.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args};
use floe::message::Outcome;
use floe::{Communicator, Context, EncodingVersion, InvocationMode, Proxy, TypedProxy};
use floe_dynamic::{Contract, DecodeValueError, EXCEPTION_KEY, LookupError, Operation};
use serde_json::Value as Json;

use crate::compression::CompressArgument;
use crate::contract::ContractArguments;
use crate::exit::{Exit, Failure};
use crate::json_input;
use crate::near;
use crate::output::{self, Format, Output};
use crate::peer::{self, TimeoutArgument};
use crate::router::RouterArguments;

/// Invokes an operation of any Ice or Floe server
///
/// Parameters and results are JSON; the Slice file gives their types. ice_ping, ice_isA, ice_id and ice_ids
/// need no Slice file. A user exception is printed on standard output as {"$exception": "::M::Name", ...}, with
/// exit code 1. Exit code 4: the object, facet or operation does not exist. 5: the server cannot be reached.
#[derive(Debug, Args)]
pub(crate) struct Call {
    /// The object, such as 'greeter:tcp -h localhost -p 4061'
    proxy: String,

    /// The operation, or ::Module::Interface::name if several interfaces have it
    operation: String,

    /// The parameters: an object by name, such as '{"name": "Ada", "count": 2}', or an array in order, such as '["Ada",
    /// 2]'. A single parameter that is itself an array stands in an array: '[[1, 2]]'. - reads standard input
    #[arg(allow_negative_numbers = true)]
    json: Option<String>,

    #[command(flatten)]
    contract: ContractArguments,

    #[command(flatten)]
    timeout: TimeoutArgument,

    /// Sends the request and does not wait for an answer
    #[arg(long)]
    oneway: bool,

    /// Sends the request as a datagram over UDP
    #[arg(long, conflicts_with = "oneway")]
    datagram: bool,

    /// Adds an entry to the context of the request. Can be repeated
    #[arg(
        id = "request_context",
        long = "request-context",
        value_name = "KEY=VALUE",
        value_parser = parse_entry
    )]
    context: Vec<(String, String)>,

    /// The facet of the object: a second object under the same identity, such as another version or a facet for
    /// administrators. `floe proxy show` tells whether an object has it
    #[arg(long, value_name = "NAME")]
    facet: Option<String>,

    #[command(flatten)]
    encoding: EncodingArgument,

    #[command(flatten)]
    compress: CompressArgument,

    #[command(flatten)]
    router: RouterArguments,
}

/// The encoding of parameters.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct EncodingArgument {
    /// The encoding of the parameters [default: the encoding of the proxy]
    #[arg(long, value_parser = EncodingParser)]
    encoding: Option<Encoding>,
}

/// Versions of the encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Encoding {
    V1_0,
    V1_1,
}

/// Reads the version of an encoding. The library's own parser of names would call 1.0 similar to 2.0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodingParser;

impl TypedValueParser for EncodingParser {
    type Value = Encoding;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Encoding, clap::Error> {
        match value.to_str() {
            Some("1.0") => return Ok(Encoding::V1_0),
            Some("1.1") => return Ok(Encoding::V1_1),
            _ => {}
        }
        let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(command);
        let argument = argument.map_or_else(String::new, ToString::to_string);
        let value = value.to_string_lossy().into_owned();
        let versions = ["1.0", "1.1"].map(str::to_owned).to_vec();
        error.insert(ContextKind::InvalidArg, ContextValue::String(argument));
        error.insert(ContextKind::InvalidValue, ContextValue::String(value));
        error.insert(ContextKind::ValidValue, ContextValue::Strings(versions));
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new(["1.0", "1.1"].map(PossibleValue::new).into_iter()))
    }
}

impl Encoding {
    /// The version as the protocol has it.
    pub(crate) fn version(self) -> EncodingVersion {
        match self {
            Self::V1_0 => EncodingVersion::V1_0,
            Self::V1_1 => EncodingVersion::V1_1,
        }
    }
}

impl EncodingArgument {
    /// The encoding for requests through a proxy.
    ///
    /// # Errors
    /// The proxy asks for an encoding that does not exist.
    pub(crate) fn for_proxy(self, proxy: &Proxy) -> Result<EncodingVersion, Failure> {
        let of_proxy = proxy.reference().encoding;
        match self.encoding {
            Some(encoding) => Ok(encoding.version()),
            None => of_proxy.for_sending().ok_or_else(|| {
                Failure::usage(format_args!(
                    "the proxy asks for encoding {of_proxy}, expected 1.x"
                ))
                .help("add --encoding 1.1")
            }),
        }
    }
}

impl Call {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let contract = self.contract.load_or_empty()?;
        let json = json_input::one(self.json.as_deref())?;
        let login = self.router.login()?;
        peer::run_through(login, self.timeout, async |communicator| {
            self.invoke(&communicator, &contract, &json, output).await
        })
    }

    async fn invoke(
        &self,
        communicator: &Communicator,
        contract: &Contract,
        json: &Json,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let proxy = self.proxy(communicator)?;
        match self.invoke_over(&proxy, contract, json, output).await {
            Ok(exit) => Ok(exit),
            Err(failure) => Err(near::explained(failure, &proxy).await),
        }
    }

    async fn invoke_over(
        &self,
        proxy: &Proxy,
        contract: &Contract,
        json: &Json,
        output: &Output,
    ) -> Result<Exit, Failure> {
        let operation = self.operation(contract, proxy).await?;
        let mode = proxy.reference().mode;
        if mode != InvocationMode::Twoway && operation.returns_data() {
            return Err(not_twoway(&operation));
        }
        let parameters = operation
            .encode_request(json, self.encoding.for_proxy(proxy)?)
            .map_err(|error| json_input::misfit(&error, &operation))?;
        let outcome = proxy
            .invoke(operation.name(), operation.mode(), &parameters)
            .await?;
        if mode.is_batch() {
            proxy.flush_batch().await?;
        }
        match outcome {
            None => Ok(Exit::Success),
            Some(outcome) => show(&operation, &outcome, output),
        }
    }

    fn proxy(&self, communicator: &Communicator) -> Result<Proxy, Failure> {
        let mut proxy: Proxy = peer::proxy(communicator, &self.proxy)?;
        if let Some(facet) = &self.facet {
            proxy = proxy.ice_facet(facet);
        }
        if self.oneway {
            proxy = proxy.ice_oneway();
        }
        if self.datagram {
            proxy = proxy.ice_datagram();
        }
        if !self.context.is_empty() {
            proxy = proxy.ice_context(self.context.iter().cloned().collect::<Context>());
        }
        Ok(self.compress.apply(proxy))
    }

    /// The operation; where several interfaces have one, the object is asked for its types.
    async fn operation(&self, contract: &Contract, proxy: &Proxy) -> Result<Operation, Failure> {
        let name = self.contract.qualified(&self.operation);
        match contract.operation(&name) {
            Err(LookupError::Ambiguous { .. }) => {
                let type_ids = proxy.ice_twoway().ice_ids().await?;
                let found = contract.operation_of_object(&type_ids, &name);
                found.map_err(|error| no_operation(contract, &error))
            }
            found => found.map_err(|error| no_operation(contract, &error)),
        }
    }
}

/// An operation that the contract cannot answer for.
pub(crate) fn no_operation(contract: &Contract, error: &LookupError) -> Failure {
    let failure = Failure::usage(error);
    match error {
        LookupError::Ambiguous { .. } => failure.help("or add --interface ::M::I"),
        LookupError::NoSuchOperation { .. } if contract.interface_names().is_empty() => {
            failure.help("add --slice FILE with the interface of the object; only ice_ping, ice_isA, ice_id and ice_ids need none")
        }
        _ => failure,
    }
}

fn not_twoway(operation: &Operation) -> Failure {
    Failure::usage(format_args!(
        "`{operation}` returns data or throws, and a oneway request gets no answer"
    ))
    .help("omit --oneway or --datagram, or -o or -d in the proxy")
}

/// Writes the results, or the exception.
fn show(operation: &Operation, outcome: &Outcome, output: &Output) -> Result<Exit, Failure> {
    match outcome {
        Outcome::Returned(bytes) => {
            let results = operation
                .decode_reply(bytes)
                .map_err(|e| misunderstood(operation, &e))?;
            show_results(&results, output)?;
            Ok(Exit::Success)
        }
        Outcome::UserException(bytes) => {
            let thrown = operation.decode_exception(bytes);
            let thrown = thrown.map_err(|error| misunderstood(operation, &error))?;
            show_exception(&thrown, output)?;
            Ok(Exit::Failure)
        }
        Outcome::System(exception) => Err(floe::InvokeError::from(exception.clone()).into()),
    }
}

/// A single result is its own bare value; nothing is shown as nothing where people read.
fn show_results(results: &Json, output: &Output) -> Result<(), Failure> {
    let members = results.as_object();
    let count = members.map_or(0, |members| members.len());
    let only = members
        .filter(|_| count == 1)
        .and_then(|members| members.values().next());
    if count == 0 && matches!(output.format(), Format::Table | Format::Raw) {
        return Ok(());
    }
    output.value(results, only.unwrap_or(results))
}

fn show_exception(thrown: &Json, output: &Output) -> Result<(), Failure> {
    let type_id = output::bare(&thrown[EXCEPTION_KEY]);
    output.value(thrown, thrown)?;
    let type_id = output::shown_in_talk(&type_id);
    output::talk(format_args!("floe: error: the operation threw {type_id}"));
    Ok(())
}

fn misunderstood(operation: &Operation, error: &DecodeValueError) -> Failure {
    Failure::new(
        Exit::Failure,
        format_args!("the answer does not fit `{operation}`: {error}"),
    )
    .help("compile both sides from the same Slice file")
}

/// An entry of a context.
pub(crate) fn parse_entry(text: &str) -> Result<(String, String), String> {
    let entry = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = entry.ok_or_else(|| format!("expected KEY=VALUE, got `{text}`"))?;
    Ok((key.to_owned(), value.to_owned()))
}
