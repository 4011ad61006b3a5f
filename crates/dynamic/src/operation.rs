//! Operations: requests and replies, from any format and to any; JSON is the one that has methods of its own.

use std::fmt;
use std::sync::Arc;

use floe_slice::model::{self, DefinitionId, DefinitionKind};
use floe_wire::encoding::ClassFormat;
use floe_wire::message::OperationMode;
use floe_wire::{DecodeError, EncodeError, EncodingVersion};
use serde_json::Value as Json;

use crate::ice::{IceReader, IceWriter, Opened, Trail, decode_whole, encapsulation, open};
use crate::json::{JsonReader, JsonWriter, only_json, parse_own};
use crate::layout::tag;
use crate::walk::{Cause, Subject, walk_record, whole};
use crate::{
    Contract, DecodeValueError, IceReadError, JsonError, Member, Reader, Record, Unsupported,
    WalkError, Writer,
};

/// An operation of an interface, with types that are all supported. Cheap to clone, and good for
/// any number of calls: look it up once.
#[derive(Debug, Clone)]
pub struct Operation {
    contract: Contract,
    interface: DefinitionId,
    /// Index into the interface's operations.
    index: usize,
    inputs: Arc<Record>,
    outputs: Arc<Record>,
}

/// The key of the return value among the results of an operation.
///
/// An operation with an out-parameter of this name uses [`RETURN_KEY_BESIDE_NAMESAKE`] instead.
pub const RETURN_KEY: &str = "returnValue";

/// The key of the return value where an out-parameter is called [`RETURN_KEY`]. Slice names do not
/// begin with an underscore, so that nothing else can have it.
pub const RETURN_KEY_BESIDE_NAMESAKE: &str = "_returnValue";

impl Operation {
    /// The operation that an interface declares itself.
    pub(crate) fn new(
        contract: &Contract,
        interface: DefinitionId,
        name: &str,
    ) -> Result<Self, Unsupported> {
        let operations = match &contract.model().definition(interface).kind {
            DefinitionKind::Interface(interface) => interface.operations.as_slice(),
            _ => &[],
        };
        let index = operations.iter().position(|known| known.name == name);
        let index = index.expect("the caller found the operation in this interface");
        let declared = &operations[index];
        let returns = declared.returns.iter();
        let returns = returns.map(|returned| returned.r#type);
        let parameters = declared.parameters.iter().map(|known| known.r#type);
        for r#type in parameters.chain(returns) {
            contract.check(r#type)?;
        }
        Ok(Self {
            inputs: Arc::new(inputs(contract, declared)),
            outputs: Arc::new(outputs(contract, declared)),
            contract: contract.clone(),
            interface,
            index,
        })
    }

    /// Its name on the wire.
    pub fn name(&self) -> &str {
        &self.declared().name
    }

    /// Type id of the interface that declares it.
    pub fn interface(&self) -> &str {
        &self.contract.model().definition(self.interface).scoped
    }

    /// Its mode in a request, which also tells whether it may be repeated.
    pub fn mode(&self) -> OperationMode {
        match self.declared().mode() {
            model::OperationMode::Normal => OperationMode::Normal,
            model::OperationMode::Nonmutating => OperationMode::Nonmutating,
            model::OperationMode::Idempotent => OperationMode::Idempotent,
        }
    }

    /// Returns true if something comes back, so that it must be invoked twoway.
    pub fn returns_data(&self) -> bool {
        self.declared().returns_data()
    }

    /// The contract that it belongs to.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The in-parameters, in order of declaration.
    pub fn inputs(&self) -> &Record {
        &self.inputs
    }

    /// The results: the return value, whose name is [`RETURN_KEY`], then the out-parameters.
    pub fn outputs(&self) -> &Record {
        &self.outputs
    }

    /// Writes the in-parameters of a request, which are a whole encapsulation, to any format.
    ///
    /// # Errors
    /// [`WalkError`]: the sender has other parameters in mind, or the format cannot say one of them.
    pub fn request_to<W: Writer>(
        &self,
        encapsulation: &[u8],
        writer: &mut W,
    ) -> Result<(), WalkError<IceReadError, W::Error>> {
        self.walk_to(PARAMS, encapsulation, writer)
    }

    /// Encodes the in-parameters of a request from any format: a whole encapsulation. Class instances are in the format of
    /// [`Operation::encode_request`].
    ///
    /// # Errors
    /// [`WalkError`]: the format has other parameters.
    pub fn request_from<R: Reader>(
        &self,
        reader: &mut R,
        encoding: EncodingVersion,
    ) -> Result<Vec<u8>, WalkError<R::Error, EncodeError>> {
        self.walk_from(PARAMS, reader, encoding)
    }

    /// Writes the results of a reply with status 0, which are a whole encapsulation, to any format.
    ///
    /// # Errors
    /// [`WalkError`]: the servant has other results in mind, or the format cannot say one of them.
    pub fn reply_to<W: Writer>(
        &self,
        encapsulation: &[u8],
        writer: &mut W,
    ) -> Result<(), WalkError<IceReadError, W::Error>> {
        self.walk_to(RESULTS, encapsulation, writer)
    }

    /// Encodes the results of a reply with status 0 from any format: a whole encapsulation.
    ///
    /// # Errors
    /// [`WalkError`]: the format has other results.
    pub fn reply_from<R: Reader>(
        &self,
        reader: &mut R,
        encoding: EncodingVersion,
    ) -> Result<Vec<u8>, WalkError<R::Error, EncodeError>> {
        self.walk_from(RESULTS, reader, encoding)
    }

    /// Encodes the in-parameters of a request: a whole encapsulation, its header included. Class
    /// instances are compact, unless the operation or its interface has the metadata
    /// `format:sliced`.
    ///
    /// An object gives the parameters by name, an array in order. Where there is exactly one
    /// parameter, a string, number, bool or null is its value. Where there is none, null will do.
    ///
    /// # Errors
    /// [`JsonError`] with everything that does not fit the parameters; its paths begin with `params`.
    pub fn encode_request(
        &self,
        json: &Json,
        encoding: EncodingVersion,
    ) -> Result<Vec<u8>, JsonError> {
        self.encode(PARAMS, json, encoding, None)
    }

    /// As [`Operation::encode_request`], with another format than the metadata asks for.
    pub(crate) fn encode_params(
        &self,
        json: &Json,
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        self.encode(PARAMS, json, encoding, format)
    }

    /// Decodes the in-parameters of a request to an object by their names.
    ///
    /// # Errors
    /// [`DecodeValueError`]: the sender has other parameters in mind.
    pub fn decode_request(&self, encapsulation: &[u8]) -> Result<Json, DecodeValueError> {
        self.decode_params(open(encapsulation))
    }

    /// Decodes the in-parameters of a request to the text of what [`Operation::decode_request`] gives. No tree of JSON is built
    /// on the way.
    ///
    /// # Errors
    /// [`DecodeValueError`]: the sender has other parameters in mind.
    pub fn request_text(&self, encapsulation: &[u8]) -> Result<String, DecodeValueError> {
        self.text(PARAMS, open(encapsulation))
    }

    /// As [`Operation::decode_request`], from the payload of an encapsulation.
    pub(crate) fn decode_params(&self, payload: Opened<'_>) -> Result<Json, DecodeValueError> {
        self.text(PARAMS, payload).map(|text| parse_own(&text))
    }

    /// Encodes the results of a reply with status 0: a whole encapsulation.
    ///
    /// The JSON is as [`Operation::decode_reply`] gives it; the forms of
    /// [`Operation::encode_request`] are accepted too, with the return value first.
    ///
    /// # Errors
    /// [`JsonError`] with everything that does not fit the results; its paths begin with `results`.
    pub fn encode_reply(
        &self,
        json: &Json,
        encoding: EncodingVersion,
    ) -> Result<Vec<u8>, JsonError> {
        self.encode(RESULTS, json, encoding, None)
    }

    /// As [`Operation::encode_reply`], with another format than the metadata asks for.
    pub(crate) fn encode_results(
        &self,
        json: &Json,
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        self.encode(RESULTS, json, encoding, format)
    }

    /// Decodes the results of a reply with status 0 to an object: the return value under
    /// [`RETURN_KEY`], then the out-parameters by their names.
    ///
    /// # Errors
    /// [`DecodeValueError`]: the servant has other results in mind.
    pub fn decode_reply(&self, encapsulation: &[u8]) -> Result<Json, DecodeValueError> {
        self.decode_results(open(encapsulation))
    }

    /// As [`Operation::decode_reply`], from the payload of an encapsulation.
    pub(crate) fn decode_results(&self, payload: Opened<'_>) -> Result<Json, DecodeValueError> {
        self.text(RESULTS, payload).map(|text| parse_own(&text))
    }

    pub(crate) fn declared(&self) -> &model::Operation {
        match &self.contract.model().definition(self.interface).kind {
            DefinitionKind::Interface(interface) => &interface.operations[self.index],
            _ => unreachable!("an operation is only made for an interface"),
        }
    }

    /// The format that the metadata of the operation asks for, or that of its interface.
    pub(crate) fn format(&self) -> Option<ClassFormat> {
        let interface = self.contract.model().definition(self.interface);
        let mut all = self.declared().metadata.iter().chain(&interface.metadata);
        let format = all.find_map(|metadata| metadata.text.strip_prefix("format:"));
        match format {
            Some("compact") => Some(ClassFormat::Compact),
            Some("sliced") => Some(ClassFormat::Sliced),
            _ => None,
        }
    }

    fn record(&self, list: ListOf) -> &Record {
        match list.noun {
            PARAMS_NOUN => &self.inputs,
            _ => &self.outputs,
        }
    }

    fn walk_to<W: Writer>(
        &self,
        list: ListOf,
        encapsulation: &[u8],
        writer: &mut W,
    ) -> Result<(), WalkError<IceReadError, W::Error>> {
        let at_root = |error: DecodeError| WalkError {
            path: list.root.to_owned(),
            cause: Cause::Read(error.into()),
        };
        let record = self.record(list);
        let mut decoder = open(encapsulation).map_err(at_root)?;
        if record.members().is_empty() {
            decoder.nothing().map_err(at_root)?;
        }
        let mut reader = IceReader::new(&self.contract, &mut decoder);
        walk_record(record, list.root, &mut reader, writer)?;
        decoder.finish().map_err(at_root)
    }

    fn walk_from<R: Reader>(
        &self,
        list: ListOf,
        reader: &mut R,
        encoding: EncodingVersion,
    ) -> Result<Vec<u8>, WalkError<R::Error, EncodeError>> {
        let format = self.format().unwrap_or_default();
        let bytes = encapsulation(encoding, format, |encoder| {
            let mut writer = IceWriter::new(encoder);
            walk_record(self.record(list), list.root, reader, &mut writer)
        });
        let bytes = bytes.map_err(|error| WalkError {
            path: error.path,
            cause: Cause::Read(error.cause.only_read()),
        })?;
        bytes.map_err(|error| WalkError {
            path: list.root.to_owned(),
            cause: Cause::Write(error),
        })
    }

    fn encode(
        &self,
        list: ListOf,
        json: &Json,
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        let format = format.or(self.format()).unwrap_or_default();
        let mut reader = JsonReader::new(&self.contract, list.root, json);
        let bytes = encapsulation(encoding, format, |encoder| {
            let subject = Subject::Record(self.record(list));
            whole(&subject, &mut reader, &mut IceWriter::new(encoder))
                .map_err(|lost| only_json(*lost))
        })?;
        bytes.map_err(|error| JsonError::unencodable(list.root, &error))
    }

    fn text(&self, list: ListOf, payload: Opened<'_>) -> Result<String, DecodeValueError> {
        let at_root = |error| DecodeValueError::at_root(list.root, error);
        let record = self.record(list);
        let trail = Trail::default();
        let mut decoder = payload.map_err(at_root)?.with_context(&trail);
        if record.members().is_empty() {
            decoder.nothing().map_err(at_root)?;
        }
        let mut writer = JsonWriter::new(&self.contract);
        decode_whole(
            &self.contract,
            &Subject::Record(record),
            &mut decoder,
            &mut writer,
        )
        .map_err(|located| DecodeValueError::located(*located, list.root))?;
        decoder.finish().map_err(at_root)?;
        Ok(writer.into_text())
    }
}

fn inputs(contract: &Contract, declared: &model::Operation) -> Record {
    let members = declared.inputs().map(|input| parameter(contract, input));
    Record::new(&declared.name, PARAMS_NOUN, members.collect(), None)
}

/// The return value, then the out-parameters.
fn outputs(contract: &Contract, declared: &model::Operation) -> Record {
    let is_taken = declared.outputs().any(|output| output.name == RETURN_KEY);
    let name = match is_taken {
        true => RETURN_KEY_BESIDE_NAMESAKE,
        false => RETURN_KEY,
    };
    let returns = declared.returns.iter().map(|returned| {
        let (r#type, tag) = (returned.r#type, tag(returned.tag));
        contract
            .layouts()
            .parameter(name, r#type, tag, contract.model())
    });
    let outputs = declared.outputs().map(|output| parameter(contract, output));
    let last_on_wire = declared.returns.as_ref().map(|_| 0);
    Record::new(
        &declared.name,
        RESULTS.noun,
        returns.chain(outputs).collect(),
        last_on_wire,
    )
}

fn parameter(contract: &Contract, declared: &model::Parameter) -> Member {
    let (name, tag) = (&declared.name, tag(declared.tag));
    contract
        .layouts()
        .parameter(name, declared.r#type, tag, contract.model())
}

/// The name of a list of values in messages.
#[derive(Clone, Copy)]
struct ListOf {
    /// Where paths begin.
    root: &'static str,
    /// The name of one value.
    noun: &'static str,
}

const PARAMS_NOUN: &str = "parameter";
const PARAMS: ListOf = ListOf {
    root: "params",
    noun: PARAMS_NOUN,
};
const RESULTS: ListOf = ListOf {
    root: "results",
    noun: "result",
};

/// As declared in Slice, types by their full names.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.contract.signature(self.declared()))
    }
}
