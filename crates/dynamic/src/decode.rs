//! Bytes to values.

use std::fmt;

use floe_slice::model::{DefinitionKind, Dictionary, Enum, Primitive, Struct, Type};
use floe_wire::encoding::EnumWidth;
use floe_wire::reference::Reference;
use floe_wire::{Decode, DecodeError, DecodeErrorKind, Decoder, Encapsulation};

use crate::path::{Located, Path, Segment, Within};
use crate::slot::Slot;
use crate::{Contract, MAX_DEPTH, Value};

/// The most memory that decoding takes for each byte of input, whatever the bytes say.
///
/// Each level of a type holds at most one [`Value`] for each byte; strings and byte sequences are
/// no longer than their bytes, which the last level pays for. What a type takes by itself, as the
/// members of a struct, comes on top: that is the contract's doing and not the sender's.
pub const MAX_MEMORY_PER_BYTE: usize = size_of::<Value>() * (MAX_DEPTH + 1);

/// Bytes that are no value of the expected type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeValueError {
    /// Which part of the value: `params.items[3].name`.
    pub path: String,
    /// What is wrong with its bytes.
    pub error: DecodeError,
}

impl fmt::Display for DecodeValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.error)
    }
}

impl std::error::Error for DecodeValueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl DecodeValueError {
    /// An error of a whole list of values.
    pub(crate) fn at_root(root: &'static str, error: DecodeError) -> Self {
        let path = Path::new(root).to_string();
        Self { path, error }
    }

    pub(crate) fn located(located: Located<DecodeError>, root: &'static str) -> Self {
        let (path, error) = located.resolve(root);
        let path = path.to_string();
        Self { path, error }
    }
}

pub(crate) type Failure = Box<Located<DecodeError>>;

/// Reads a value of a type that the contract supports.
pub(crate) fn decode(
    contract: &Contract,
    r#type: Type,
    decoder: &mut Decoder<'_>,
) -> Result<Value, Failure> {
    ValueDecoder { contract, decoder }.value(r#type)
}

/// Reads the values of members or parameters, one after the other.
pub(crate) fn slots(
    contract: &Contract,
    slots: &[Slot<'_>],
    decoder: &mut Decoder<'_>,
) -> Result<Vec<Value>, Failure> {
    let mut values = Vec::with_capacity(slots.len());
    for slot in slots {
        let value = decode(contract, slot.r#type, decoder)
            .within(|| Segment::Member(slot.name.to_owned()))?;
        values.push(value);
    }
    Ok(values)
}

/// A decoder for the payload of an encapsulation, unless the header of that makes no sense.
pub(crate) type Opened<'a> = Result<Decoder<'a>, DecodeError>;

/// A decoder for the payload of an encapsulation that stands alone.
pub(crate) fn open(encapsulation: &[u8]) -> Opened<'_> {
    Encapsulation::parse(encapsulation)?.decoder()
}

struct ValueDecoder<'c, 'd, 'b> {
    contract: &'c Contract,
    decoder: &'d mut Decoder<'b>,
}

impl ValueDecoder<'_, '_, '_> {
    fn value(&mut self, r#type: Type) -> Result<Value, Failure> {
        match r#type {
            Type::Primitive(primitive) => self.primitive(primitive),
            Type::ObjectProxy | Type::Proxy(_) => {
                let proxy = self.get::<Option<Reference>>()?;
                Ok(Value::Proxy(proxy.map(Box::new)))
            }
            Type::Named(id) => match &self.contract.model().definition(id).kind {
                DefinitionKind::Enum(r#enum) => self.enumerator(r#enum),
                DefinitionKind::Struct(structure) => self.structure(structure),
                DefinitionKind::Sequence(sequence) => self.sequence(sequence.element),
                DefinitionKind::Dictionary(dictionary) => self.dictionary(dictionary),
                _ => Err(self.unsupported()),
            },
            _ => Err(self.unsupported()),
        }
    }

    fn primitive(&mut self, primitive: Primitive) -> Result<Value, Failure> {
        Ok(match primitive {
            Primitive::Bool => Value::Bool(self.get()?),
            Primitive::Byte => Value::Byte(self.get()?),
            Primitive::Short => Value::Short(self.get()?),
            Primitive::Int => Value::Int(self.get()?),
            Primitive::Long => Value::Long(self.get()?),
            Primitive::Float => Value::Float(self.get()?),
            Primitive::Double => Value::Double(self.get()?),
            Primitive::String => Value::String(self.get()?),
        })
    }

    fn enumerator(&mut self, r#enum: &Enum) -> Result<Value, Failure> {
        let start = self.decoder.clone();
        let value = EnumWidth::for_max(r#enum.max_value())
            .decode(self.decoder, "enumerator")
            .map_err(Located::new)?;
        let is_known = r#enum
            .enumerators
            .iter()
            .any(|enumerator| enumerator.value == value);
        if !is_known {
            let kind = DecodeErrorKind::UnknownEnumerator(value);
            return Err(Located::new(start.error("enumerator", kind)));
        }
        Ok(Value::Enumerator(value))
    }

    fn structure(&mut self, structure: &Struct) -> Result<Value, Failure> {
        let mut members = Vec::with_capacity(structure.members.len());
        for member in &structure.members {
            let value = self
                .value(member.r#type)
                .within(|| Segment::Member(member.name.clone()))?;
            members.push(value);
        }
        Ok(Value::Struct(members))
    }

    fn sequence(&mut self, element: Type) -> Result<Value, Failure> {
        if element == Type::Primitive(Primitive::Byte) {
            return self.get().map(Value::Bytes);
        }
        // The count is checked against the bytes that remain, so the capacity is earned.
        let count = self.count(&[element], "sequence")?;
        let mut elements = Vec::with_capacity(count);
        for index in 0..count {
            elements.push(self.value(element).within(|| Segment::Index(index))?);
        }
        Ok(Value::Sequence(elements))
    }

    fn dictionary(&mut self, dictionary: &Dictionary) -> Result<Value, Failure> {
        let count = self.count(&[dictionary.key, dictionary.value], "dictionary")?;
        let mut entries = Vec::with_capacity(count);
        for index in 0..count {
            let key = self
                .value(dictionary.key)
                .within(|| Segment::Index(index))?;
            let value = self
                .value(dictionary.value)
                .within(|| Segment::Index(index))?;
            entries.push((key, value));
        }
        Ok(Value::Dictionary(entries))
    }

    /// Reads the number of elements that consist of these types.
    fn count(&mut self, types: &[Type], what: &'static str) -> Result<usize, Failure> {
        let mut min_wire_len = 0_usize;
        for r#type in types {
            let layout = self.contract.layout(*r#type);
            let layout = layout.map_err(|_| self.unsupported())?;
            min_wire_len = min_wire_len.saturating_add(layout.min_wire_len);
        }
        self.decoder.count(min_wire_len, what).map_err(Located::new)
    }

    fn get<T: Decode>(&mut self) -> Result<T, Failure> {
        self.decoder.get().map_err(Located::new)
    }

    /// A [`DataType`] is supported, so that only a model that nobody checked ends here.
    fn unsupported(&self) -> Failure {
        let kind = DecodeErrorKind::NotSupported("classes");
        Located::new(self.decoder.error("value", kind))
    }
}
