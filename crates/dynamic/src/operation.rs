//! Operations: requests and replies as JSON.

use std::fmt;

use floe_slice::model::{self, DefinitionId, DefinitionKind};
use floe_wire::EncodingVersion;
use floe_wire::encoding::ClassFormat;
use floe_wire::message::OperationMode;
use serde_json::Value as Json;

use crate::decode::{Opened, Trail};
use crate::json::{JsonReader, object};
use crate::slot::{self, Owner, Slot, list};
use crate::{Contract, DecodeValueError, JsonError, Unsupported, Value, decode, encode};

/// An operation of an interface, with types that are all supported. Cheap to clone, and good for
/// any number of calls: look it up once.
#[derive(Debug, Clone)]
pub struct Operation {
    contract: Contract,
    interface: DefinitionId,
    /// Index into the interface's operations.
    index: usize,
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
        self.encode_params(json, encoding, None)
    }

    /// As [`Operation::encode_request`], with another format than the metadata asks for.
    pub(crate) fn encode_params(
        &self,
        json: &Json,
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        let values = self.read(PARAMS, &self.inputs(), json)?;
        self.encode(PARAMS.root, &self.inputs(), &values, encoding, format)
    }

    /// Decodes the in-parameters of a request to an object by their names.
    ///
    /// # Errors
    /// [`DecodeValueError`]: the sender has other parameters in mind.
    pub fn decode_request(&self, encapsulation: &[u8]) -> Result<Json, DecodeValueError> {
        self.decode_params(decode::open(encapsulation))
    }

    /// As [`Operation::decode_request`], from the payload of an encapsulation.
    pub(crate) fn decode_params(&self, payload: Opened<'_>) -> Result<Json, DecodeValueError> {
        let inputs = self.inputs();
        let values = self.decode(PARAMS.root, &inputs, payload)?;
        Ok(Json::Object(object(&self.contract, &inputs, &values)))
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
        self.encode_results(json, encoding, None)
    }

    /// As [`Operation::encode_reply`], with another format than the metadata asks for.
    pub(crate) fn encode_results(
        &self,
        json: &Json,
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        let mut slots = self.outputs();
        let mut values = self.read(RESULTS, &slots, json)?;
        if self.declared().returns.is_some() {
            // On the wire the return value comes last.
            slots.rotate_left(1);
            values.rotate_left(1);
        }
        self.encode(RESULTS.root, &slots, &values, encoding, format)
    }

    /// Decodes the results of a reply with status 0 to an object: the return value under
    /// [`RETURN_KEY`], then the out-parameters by their names.
    ///
    /// # Errors
    /// [`DecodeValueError`]: the servant has other results in mind.
    pub fn decode_reply(&self, encapsulation: &[u8]) -> Result<Json, DecodeValueError> {
        self.decode_results(decode::open(encapsulation))
    }

    /// As [`Operation::decode_reply`], from the payload of an encapsulation.
    pub(crate) fn decode_results(&self, payload: Opened<'_>) -> Result<Json, DecodeValueError> {
        let mut slots = self.outputs();
        let returns = self.declared().returns.is_some();
        if returns {
            slots.rotate_left(1);
        }
        let mut values = self.decode(RESULTS.root, &slots, payload)?;
        if returns {
            slots.rotate_right(1);
            values.rotate_right(1);
        }
        Ok(Json::Object(object(&self.contract, &slots, &values)))
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

    pub(crate) fn inputs(&self) -> Vec<Slot<'_>> {
        self.declared().inputs().map(Slot::from).collect()
    }

    /// The return value, then the out-parameters.
    fn outputs(&self) -> Vec<Slot<'_>> {
        let declared = self.declared();
        let is_taken = declared.outputs().any(|output| output.name == RETURN_KEY);
        let returns = declared.returns.iter().map(|returned| Slot {
            name: if is_taken {
                RETURN_KEY_BESIDE_NAMESAKE
            } else {
                RETURN_KEY
            },
            r#type: returned.r#type,
            tag: slot::tag(returned.tag),
            default: None,
        });
        returns.chain(declared.outputs().map(Slot::from)).collect()
    }

    fn read(
        &self,
        list_of: ListOf,
        slots: &[Slot<'_>],
        json: &Json,
    ) -> Result<Vec<Value>, JsonError> {
        let owner = Owner {
            name: self.name(),
            noun: list_of.noun,
        };
        let mut reader = JsonReader::new(&self.contract, list_of.root);
        let values = match (json, slots) {
            (Json::Object(object), slots) => reader.members(owner, slots, object, &[]),
            (Json::Array(elements), slots) if fits(elements.len(), slots) => {
                let given = slots.iter().zip(elements).enumerate();
                let mut values: Vec<Value> = given
                    .filter_map(|(index, (slot, json))| reader.slot_at(index, slot, json))
                    .collect();
                let is_whole = values.len() == elements.len();
                values.resize(slots.len(), Value::Unset);
                is_whole.then_some(values)
            }
            (Json::Array(_), []) => reader.mismatch(format!("no {}s", list_of.noun), json),
            (Json::Array(_), slots) => {
                let least = slots.len() - optional_at_the_end(slots);
                let count = match least == slots.len() {
                    true => least.to_string(),
                    false => format!("{least} to {}", slots.len()),
                };
                reader.mismatch(format!("an array of {count} ({})", list(slots)), json)
            }
            (Json::Null, []) => Some(Vec::new()),
            (json, [slot]) => reader.member(slot, json).map(|value| vec![value]),
            (json, slots) => match only_required(slots) {
                Some(at) => reader.member(&slots[at], json).map(|value| {
                    let mut values = vec![Value::Unset; slots.len()];
                    values[at] = value;
                    values
                }),
                None => {
                    let names = list(slots);
                    reader.mismatch(format!("an object with {names}, or an array of them"), json)
                }
            },
        };
        let values = reader.linked(values);
        reader.finish(values)
    }

    fn encode(
        &self,
        root: &'static str,
        slots: &[Slot<'_>],
        values: &[Value],
        encoding: EncodingVersion,
        format: Option<ClassFormat>,
    ) -> Result<Vec<u8>, JsonError> {
        let format = format.or(self.format()).unwrap_or_default();
        let bytes = encode::encapsulation(encoding, |encoder| {
            encode::parameters(&self.contract, slots, values, format, encoder)
        });
        bytes.map_err(|error| JsonError::unencodable(root, &error))
    }

    fn decode(
        &self,
        root: &'static str,
        slots: &[Slot<'_>],
        payload: Opened<'_>,
    ) -> Result<Vec<Value>, DecodeValueError> {
        let at_root = |error| DecodeValueError::at_root(root, error);
        let trail = Trail::default();
        let mut decoder = payload.map_err(at_root)?.with_context(&trail);
        decoder.know_classes(self.contract.classes());
        if slots.is_empty() {
            decoder.nothing().map_err(at_root)?;
        }
        let values = decode::parameters(&self.contract, slots, &mut decoder)
            .map_err(|located| DecodeValueError::located(*located, root))?;
        decoder.finish().map_err(at_root)?;
        Ok(values)
    }
}

/// The name of a list of values in messages.
#[derive(Clone, Copy)]
struct ListOf {
    /// Where paths begin.
    root: &'static str,
    /// The name of one value.
    noun: &'static str,
}

const PARAMS: ListOf = ListOf {
    root: "params",
    noun: "parameter",
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

/// Returns true if an array of so many can be for the slots: optional ones at the end may be left out.
fn fits(len: usize, slots: &[Slot<'_>]) -> bool {
    (slots.len() - optional_at_the_end(slots)..=slots.len()).contains(&len)
}

/// How many slots at the end are optional.
fn optional_at_the_end(slots: &[Slot<'_>]) -> usize {
    let from_the_end = slots.iter().rev();
    from_the_end.take_while(|slot| slot.tag.is_some()).count()
}

/// The place of the one slot that is not optional: a bare value can only be for it.
fn only_required(slots: &[Slot<'_>]) -> Option<usize> {
    let mut required = (0..slots.len()).filter(|at| slots[*at].tag.is_none());
    required.next().filter(|_| required.next().is_none())
}
