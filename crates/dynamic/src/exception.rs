//! User exceptions as JSON.
//!
//! ```json
//! {"$exception": "::M::Timeout", "reason": "late", "seconds": 30}
//! ```
//!
//! Members of bases stand in front of those of what extends them. Slice names do not begin with
//! `$`, so that no member can be mistaken for one of the keys here.

use floe_slice::model::{DefinitionId, DefinitionKind};
use floe_wire::encoding::{ClassFormat, ExceptionFormat, ExceptionReader, ExceptionWriter};
use floe_wire::{DecodeError, DecodeErrorKind, EncodingVersion};
use serde_json::{Value as Json, json};

use crate::ice::{Opened, Trail, decode_slots, encapsulation, encode_slots, open};
use crate::json::{JsonReader, JsonWriter, parse_own};
use crate::wording::quote;
use crate::{Contract, DecodeValueError, JsonError, Operation, Shape, Unsupported, Value};

/// The key of an exception's type id.
pub const EXCEPTION_KEY: &str = "$exception";

/// The key of the type id that the servant threw, where the contract knows only a base of it.
pub const THROWN_KEY: &str = "$thrown";

/// The key that is `true` where the contract knows nothing of the exception but its type id.
pub const UNKNOWN_KEY: &str = "$unknown";

/// The name of an exception in a path.
pub(crate) const ROOT: &str = "exception";

impl Operation {
    /// Decodes the user exception of a reply with status 1, as [`Contract::decode_exception`].
    ///
    /// Exceptions that the operation does not declare are decoded too; see [`Operation::throws`].
    ///
    /// # Errors
    /// [`DecodeValueError`] if the bytes are no exception, or not the one that they say.
    pub fn decode_exception(&self, encapsulation: &[u8]) -> Result<Json, DecodeValueError> {
        self.contract().decode_exception(encapsulation)
    }

    /// Encodes a user exception for a reply with status 1: a whole encapsulation.
    ///
    /// The JSON is as [`Operation::decode_exception`] gives it. In encoding 1.1 the sliced format
    /// is used, so that a receiver may know only a base, unless the operation or its interface
    /// has the metadata `format:compact`.
    ///
    /// # Errors
    /// [`JsonError`] with everything that does not fit; its paths begin with `exception`.
    pub fn encode_exception(
        &self,
        json: &Json,
        encoding: EncodingVersion,
    ) -> Result<Vec<u8>, JsonError> {
        encode_exception(self.contract(), json, encoding, self.exception_format())
    }

    /// The format of its exceptions.
    pub(crate) fn exception_format(&self) -> ExceptionFormat {
        self.format().map_or(ExceptionFormat::Sliced, of_classes)
    }

    /// Returns true if the operation declares an exception, by itself or by a base of it.
    pub fn throws(&self, type_id: &str) -> bool {
        let model = self.contract().model();
        let chain = exception(self.contract(), type_id).map(|id| model.exception_chain(id));
        let declared = &self.declared().throws;
        chain.is_some_and(|chain| chain.iter().any(|id| declared.contains(id)))
    }
}

impl Contract {
    /// Decodes a user exception to an object with its type id under [`EXCEPTION_KEY`] and all its
    /// members, those of bases first.
    ///
    /// Of an exception that the contract does not know, the nearest known base is decoded, and
    /// [`THROWN_KEY`] tells what was thrown. Without a known base there is only the type id, and
    /// [`UNKNOWN_KEY`] is true.
    ///
    /// # Errors
    /// [`DecodeValueError`] if the bytes are no exception, or not the one that they say.
    pub fn decode_exception(&self, encapsulation: &[u8]) -> Result<Json, DecodeValueError> {
        self.decode_thrown(open(encapsulation))
    }

    /// As [`Contract::decode_exception`], from the payload of an encapsulation.
    pub(crate) fn decode_thrown(&self, payload: Opened<'_>) -> Result<Json, DecodeValueError> {
        let at_root = |error| DecodeValueError::at_root(ROOT, error);
        let trail = Trail::default();
        let decoder = payload.map_err(at_root)?.with_context(&trail);
        let mut reader = ExceptionReader::new(decoder).map_err(at_root)?;
        reader.know_classes(self.classes());
        let thrown = reader.type_id();
        loop {
            if let Some(chain) = supported_chain(self, reader.type_id()) {
                let values = self.members(&mut reader, &chain, &trail)?;
                reader.finish().map_err(|error| located(&trail, error))?;
                let record = self.whole_record(chain[0]);
                let mut heading = vec![(EXCEPTION_KEY, record.name())];
                if record.name() != thrown {
                    heading.push((THROWN_KEY, thrown));
                }
                let mut writer = JsonWriter::new(self);
                writer.object(&heading, record, &values);
                return Ok(parse_own(&writer.into_text()));
            }
            if !reader.skip().map_err(at_root)? {
                break;
            }
        }
        Ok(json!({ EXCEPTION_KEY: thrown, UNKNOWN_KEY: true }))
    }

    /// The members of the known slices, bases first.
    fn members(
        &self,
        reader: &mut ExceptionReader<'_>,
        chain: &[DefinitionId],
        trail: &Trail,
    ) -> Result<Vec<Value>, DecodeValueError> {
        let mut slices = Vec::with_capacity(chain.len());
        for id in chain {
            slices.push(self.slice(reader, *id, trail)?);
        }
        Ok(slices.into_iter().rev().flatten().collect())
    }

    fn slice(
        &self,
        reader: &mut ExceptionReader<'_>,
        id: DefinitionId,
        trail: &Trail,
    ) -> Result<Vec<Value>, DecodeValueError> {
        let record = self.own_record(id);
        let type_id = reader.next_type_id();
        let is_expected =
            type_id.map_err(|error| DecodeValueError::at_root(ROOT, error))? == record.name();
        let mut failure = None;
        let values = reader.members(|decoder| {
            if !is_expected {
                let kind =
                    DecodeErrorKind::NotSupported("exceptions with other bases than declared");
                return Err(decoder.error("exception slice", kind));
            }
            decode_slots(record, decoder).map_err(|located| failure.insert(located).error.clone())
        });
        values.map_err(|error| match failure {
            Some(failure) => DecodeValueError::located(*failure, ROOT),
            None => located(trail, error),
        })
    }
}

/// An error in class instances, whose path was left on the trail.
fn located(trail: &Trail, error: DecodeError) -> DecodeValueError {
    let error: Box<_> = Trail::follow(Some(trail), error).into();
    DecodeValueError::located(*error, ROOT)
}

/// The format of exceptions that goes with a format of class instances.
pub(crate) fn of_classes(format: ClassFormat) -> ExceptionFormat {
    match format {
        ClassFormat::Compact => ExceptionFormat::Compact,
        ClassFormat::Sliced => ExceptionFormat::Sliced,
    }
}

/// Encodes a user exception: a whole encapsulation.
pub(crate) fn encode_exception(
    contract: &Contract,
    json: &Json,
    encoding: EncodingVersion,
    format: ExceptionFormat,
) -> Result<Vec<u8>, JsonError> {
    let slices = read_slices(contract, json)?;
    let bytes = encapsulation(encoding, ClassFormat::default(), |encoder| {
        let mut result = Ok(());
        let mut writer = ExceptionWriter::new(encoder, format);
        let mut write = |writer: &mut ExceptionWriter<'_, '_>| {
            for (index, (id, values)) in slices.iter().enumerate() {
                let record = contract.own_record(*id);
                writer.slice(record.name(), index + 1 == slices.len(), |encoder| {
                    let encoded = encode_slots(record, values, encoder);
                    result = std::mem::replace(&mut result, Ok(())).and(encoded);
                });
            }
        };
        let mut records = slices.iter().map(|(id, _)| contract.own_record(*id));
        match records.any(|record| record.has_untagged_classes) {
            true => writer.with_classes(write),
            false => write(&mut writer),
        }
        result
    });
    let bytes = bytes.map_err(|located| JsonError::unencodable(ROOT, &located.error))?;
    bytes.map_err(|error| JsonError::unencodable(ROOT, &error))
}

/// The slices of an exception, most derived first, each with the values of its own members.
fn read_slices(
    contract: &Contract,
    json: &Json,
) -> Result<Vec<(DefinitionId, Vec<Value>)>, JsonError> {
    let mut reader = JsonReader::new(contract, ROOT, json);
    let mut slices = Vec::new();
    if let Some((chain, mut values)) = read_members(contract, &mut reader, json) {
        for id in chain {
            let own_count = contract.own_record(id).members().len();
            let own = values.split_off(values.len() - own_count);
            slices.push((id, own));
        }
    }
    reader.finish()?;
    Ok(slices)
}

/// The classes of an exception, most derived first, and the members of all, those of bases first.
fn read_members<'j>(
    contract: &Contract,
    reader: &mut JsonReader<'j>,
    json: &'j Json,
) -> Option<(Vec<DefinitionId>, Vec<Value>)> {
    let expected = format!("an object with {EXCEPTION_KEY:?} and the members of the exception");
    let Json::Object(members) = json else {
        return reader.mismatch(expected, json);
    };
    let Some(type_id) = members.get(EXCEPTION_KEY).and_then(Json::as_str) else {
        return reader.mismatch(expected, json);
    };
    let Some(chain) = supported_chain(contract, type_id) else {
        let help = "the Slice files define none of this name that is supported".to_owned();
        return reader.problem("the type id of an exception", quote(type_id), Some(help));
    };
    let record = contract.whole_record(chain[0]);
    let values = reader.members(record, members, &[EXCEPTION_KEY, THROWN_KEY])?;
    Some((chain, values))
}

/// The exception of this name.
pub(crate) fn exception(contract: &Contract, type_id: &str) -> Option<DefinitionId> {
    let id = contract.model().find(type_id)?;
    let kind = &contract.model().definition(id).kind;
    matches!(kind, DefinitionKind::Exception(_)).then_some(id)
}

/// The exception of this name and its bases, most derived first, if all their members are supported.
fn supported_chain(contract: &Contract, type_id: &str) -> Option<Vec<DefinitionId>> {
    let id = exception(contract, type_id)?;
    check_members(contract, id).ok()?;
    Some(contract.model().exception_chain(id))
}

/// Checks that all members of an exception are supported, also those of its bases.
pub(crate) fn check_members(contract: &Contract, id: DefinitionId) -> Result<(), Unsupported> {
    for member in contract.whole_record(id).members() {
        if let Shape::Unsupported = member.layout().shape() {
            return Err(Unsupported::TooDeep(member.layout().name().to_owned()));
        }
    }
    Ok(())
}
