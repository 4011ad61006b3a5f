//! User exceptions as JSON.
//!
//! ```json
//! {"$exception": "::M::Timeout", "reason": "late", "seconds": 30}
//! ```
//!
//! Members of bases stand in front of those of what extends them. Slice names do not begin with
//! `$`, so that no member can be mistaken for one of the keys here.

use floe_slice::model::{DefinitionId, DefinitionKind, Member};
use floe_wire::encoding::{ClassFormat, ExceptionFormat, ExceptionReader, ExceptionWriter};
use floe_wire::{DecodeError, DecodeErrorKind, EncodingVersion};
use serde_json::{Map, Value as Json};

use crate::decode::{Opened, Trail};
use crate::json::{JsonReader, object};
use crate::slot::{Owner, Slot, untagged_types};
use crate::wording::quote;
use crate::{Contract, DecodeValueError, JsonError, Operation, Unsupported, Value, decode, encode};

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
        self.decode_thrown(decode::open(encapsulation))
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
                let mut json = heading(self, &chain, thrown);
                let values = self.members(&mut reader, &chain, &trail)?;
                reader.finish().map_err(|error| located(&trail, error))?;
                json.extend(object(self, &bases_first(self, &chain), &values));
                return Ok(Json::Object(json));
            }
            if !reader.skip().map_err(at_root)? {
                break;
            }
        }
        let mut json = Map::new();
        json.insert(EXCEPTION_KEY.to_owned(), Json::from(thrown));
        json.insert(UNKNOWN_KEY.to_owned(), Json::from(true));
        Ok(Json::Object(json))
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
        let slots = own_slots(self, id);
        let expected = &self.model().definition(id).scoped;
        let type_id = reader.next_type_id();
        let is_expected =
            type_id.map_err(|error| DecodeValueError::at_root(ROOT, error))? == expected;
        let mut failure = None;
        let values = reader.members(|decoder| {
            if !is_expected {
                let kind =
                    DecodeErrorKind::NotSupported("exceptions with other bases than declared");
                return Err(decoder.error("exception slice", kind));
            }
            decode::slots(self, &slots, decoder)
                .map_err(|located| failure.insert(located).error.clone())
        });
        values.map_err(|error| match failure {
            Some(failure) => DecodeValueError::located(*failure, ROOT),
            None => located(trail, error),
        })
    }
}

/// An error in class instances, whose path was left on the trail.
fn located(trail: &Trail, error: DecodeError) -> DecodeValueError {
    DecodeValueError::located(*Trail::follow(Some(trail), error), ROOT)
}

/// The members of an exception and of its bases, those of bases first.
fn bases_first<'c>(contract: &'c Contract, chain: &[DefinitionId]) -> Vec<Slot<'c>> {
    let chain = chain.iter().rev();
    chain.flat_map(|id| own_slots(contract, *id)).collect()
}

/// The format of exceptions that goes with a format of class instances.
pub(crate) fn of_classes(format: ClassFormat) -> ExceptionFormat {
    match format {
        ClassFormat::Compact => ExceptionFormat::Compact,
        ClassFormat::Sliced => ExceptionFormat::Sliced,
    }
}

/// The keys in front of the members.
fn heading(contract: &Contract, chain: &[DefinitionId], thrown: &str) -> Map<String, Json> {
    let known = contract.model().definition(chain[0]).scoped.as_str();
    let mut heading = Map::new();
    heading.insert(EXCEPTION_KEY.to_owned(), Json::from(known));
    if known != thrown {
        heading.insert(THROWN_KEY.to_owned(), Json::from(thrown));
    }
    heading
}

/// Encodes a user exception: a whole encapsulation.
pub(crate) fn encode_exception(
    contract: &Contract,
    json: &Json,
    encoding: EncodingVersion,
    format: ExceptionFormat,
) -> Result<Vec<u8>, JsonError> {
    let mut reader = JsonReader::new(contract, ROOT);
    let slices = read_slices(contract, &mut reader, json);
    let slices = reader.finish(slices)?;
    let mut result = Ok(());
    let bytes = encode::encapsulation(encoding, |encoder| {
        let mut writer = ExceptionWriter::new(encoder, format);
        let mut write = |writer: &mut ExceptionWriter<'_, '_>| {
            for (index, (id, values)) in slices.iter().enumerate() {
                let type_id = &contract.model().definition(*id).scoped;
                writer.slice(type_id, index + 1 == slices.len(), |encoder| {
                    let slots = own_slots(contract, *id);
                    let encoded = encode::slots(contract, &slots, values, encoder);
                    result = std::mem::replace(&mut result, Ok(())).and(encoded);
                });
            }
        };
        let mut slots = slices.iter().map(|(id, _)| own_slots(contract, *id));
        match slots.any(|slots| contract.has_classes(untagged_types(&slots))) {
            true => writer.with_classes(write),
            false => write(&mut writer),
        }
        result
    });
    bytes.map_err(|error| JsonError::unencodable(ROOT, &error))
}

/// The slices of an exception, most derived first, each with the values of its own members.
fn read_slices(
    contract: &Contract,
    reader: &mut JsonReader<'_>,
    json: &Json,
) -> Option<Vec<(DefinitionId, Vec<Value>)>> {
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
    let slots = bases_first(contract, &chain);
    let ignored = [EXCEPTION_KEY, THROWN_KEY];
    let values = reader.members(Owner::of_members(type_id), &slots, members, &ignored);
    let mut values = reader.linked(values)?;
    let slices = chain.iter().map(|id| {
        let own = values.split_off(values.len() - own_slots(contract, *id).len());
        (*id, own)
    });
    Some(slices.collect())
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
    for id in contract.model().exception_chain(id) {
        for member in own_members(contract, id) {
            contract.check(member.r#type)?;
        }
    }
    Ok(())
}

fn own_members(contract: &Contract, id: DefinitionId) -> &[Member] {
    match &contract.model().definition(id).kind {
        DefinitionKind::Exception(exception) => &exception.members,
        _ => &[],
    }
}

fn own_slots(contract: &Contract, id: DefinitionId) -> Vec<Slot<'_>> {
    own_members(contract, id).iter().map(Slot::from).collect()
}
