//! Bytes to values.

use std::any::Any;
use std::fmt;
use std::sync::Mutex;

use floe_slice::model::{DefinitionId, DefinitionKind, Dictionary, Enum, Primitive, Struct, Type};
use floe_wire::encoding::{CLASS_MEMORY_PER_BYTE, EnumWidth};
use floe_wire::reference::Reference;
use floe_wire::{Decode, DecodeError, DecodeErrorKind, Decoder, Encapsulation};

use crate::path::{Located, Path, Segment, Within};
use crate::slot::{Slot, untagged_types, wire_order};
use crate::{Contract, Instance, MAX_DEPTH, Value};

/// The most memory that decoding takes for each byte of input, whatever the bytes say.
///
/// Each level of a type holds at most one [`Value`] for each byte, in a list that grows as values
/// come (so it is at most three times as long while it grows); strings and byte sequences are no
/// longer than their bytes, which the last level pays for; a class instance takes at least a byte.
/// The memory of the type itself, such as the members of a struct or class, comes on top: that is the
/// contract's doing and not the sender's.
pub const MAX_MEMORY_PER_BYTE: usize =
    3 * size_of::<Value>() * (MAX_DEPTH + 1) + CLASS_MEMORY_PER_BYTE + size_of::<Instance>();

/// Elements for which room is made before they come. A peer can announce any number, again and
/// again inside one another.
const CAPACITY_MAX: usize = 64;

/// Bytes that are no value of the expected type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeValueError {
    /// Which part of the value: `params.items[3].name`.
    pub path: String,
    /// The error in its bytes.
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

    /// An error whose path begins with its first member, which stands for the root.
    pub(crate) fn without_root(located: Located<DecodeError>) -> Self {
        let mut located = Self::located(located, "");
        located.path.remove(0);
        located
    }

    pub(crate) fn located(located: Located<DecodeError>, root: &'static str) -> Self {
        let (path, error) = located.resolve(root);
        let path = path.to_string();
        Self { path, error }
    }
}

pub(crate) type Failure = Box<Located<DecodeError>>;

/// Reads a value, and the class instances that follow it in encoding 1.0.
pub(crate) fn only(
    contract: &Contract,
    r#type: Type,
    decoder: &mut Decoder<'_>,
) -> Result<Value, Failure> {
    let value = ValueDecoder { contract, decoder }.value(r#type)?;
    finish_classes(contract, [r#type], decoder)?;
    Ok(value)
}

/// Reads the values of the members of one slice, or of a struct.
pub(crate) fn slots(
    contract: &Contract,
    slots: &[Slot<'_>],
    decoder: &mut Decoder<'_>,
) -> Result<Vec<Value>, Failure> {
    let mut values = vec![Value::Unset; slots.len()];
    for index in wire_order(slots) {
        let slot = &slots[index];
        let mut decoder = ValueDecoder { contract, decoder };
        values[index] = decoder
            .slot(slot)
            .within(|| Segment::Member(slot.name.to_owned()))?;
    }
    Ok(values)
}

/// Reads the values of parameters or results, and the class instances that follow them in encoding
/// 1.0.
pub(crate) fn parameters(
    contract: &Contract,
    parameters: &[Slot<'_>],
    decoder: &mut Decoder<'_>,
) -> Result<Vec<Value>, Failure> {
    let values = slots(contract, parameters, decoder)?;
    finish_classes(contract, untagged_types(parameters), decoder)?;
    Ok(values)
}

fn finish_classes(
    contract: &Contract,
    types: impl IntoIterator<Item = Type>,
    decoder: &mut Decoder<'_>,
) -> Result<(), Failure> {
    if contract.has_classes(types) {
        let finished = decoder.finish_classes();
        finished.map_err(|error| Trail::follow(decoder.context(), error))?;
    }
    Ok(())
}

/// Takes the path of an error through functions that know only a [`DecodeError`].
pub(crate) fn carried<T>(
    run: impl FnOnce(&mut Option<Failure>) -> Result<T, DecodeError>,
) -> Result<T, Failure> {
    let mut failure = None;
    run(&mut failure).map_err(|error| failure.unwrap_or_else(|| Located::new(error)))
}

/// Where in a class instance decoding failed: the path from there to the reference that led to the
/// instance, which the decoder between them does not carry. It is the context of a decoder.
#[derive(Debug, Default)]
pub(crate) struct Trail(Mutex<Vec<Segment>>);

impl Trail {
    /// Leaves the path behind.
    pub(crate) fn leave(
        context: Option<&(dyn Any + Send + Sync)>,
        located: Located<DecodeError>,
    ) -> DecodeError {
        let (error, segments) = located.into_parts();
        if let Some(Self(trail)) = context.and_then(|context| context.downcast_ref())
            && let Ok(mut trail) = trail.lock()
        {
            *trail = segments;
        }
        error
    }

    /// Takes up the path that was left, if any was.
    pub(crate) fn follow(context: Option<&(dyn Any + Send + Sync)>, error: DecodeError) -> Failure {
        let trail = context.and_then(|context| context.downcast_ref());
        let segments = trail.and_then(|Self(trail)| Some(std::mem::take(&mut *trail.lock().ok()?)));
        Located::from_parts(error, segments.unwrap_or_default())
    }
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
    fn slot(&mut self, slot: &Slot<'_>) -> Result<Value, Failure> {
        // The members of a class are not checked when a value that has such instances is asked for.
        if self.contract.layout(slot.r#type).is_err() {
            return Err(self.unsupported());
        }
        let Some(tag) = slot.tag else {
            return self.value(slot.r#type);
        };
        let shape = self.contract.tag_shape(slot.r#type);
        let contract = self.contract;
        let value = carried(|failure| {
            let (format, has_len) = (shape.format, shape.has_len_in_front);
            self.decoder.tagged_with(tag, format, has_len, |decoder| {
                let value = ValueDecoder { contract, decoder }.value(slot.r#type);
                value.map_err(|located| failure.insert(located).error.clone())
            })
        });
        value.map(|value| value.unwrap_or(Value::Unset))
    }

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
                DefinitionKind::Class(_) | DefinitionKind::Interface(_) => self.instance(Some(id)),
                _ => Err(self.unsupported()),
            },
            _ => self.instance(None),
        }
    }

    fn instance(&mut self, class: Option<DefinitionId>) -> Result<Value, Failure> {
        let type_id = class.and_then(|class| self.contract.classes().type_id(class));
        let link = match type_id {
            Some(type_id) => self.decoder.class_link(type_id),
            None => self.decoder.get(),
        };
        link.map(Value::Instance)
            .map_err(|error| Trail::follow(self.decoder.context(), error))
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
        let count = self.count(&[element], "sequence")?;
        let mut elements = Vec::with_capacity(count.min(CAPACITY_MAX));
        for index in 0..count {
            elements.push(self.value(element).within(|| Segment::Index(index))?);
        }
        Ok(Value::Sequence(elements))
    }

    fn dictionary(&mut self, dictionary: &Dictionary) -> Result<Value, Failure> {
        let count = self.count(&[dictionary.key, dictionary.value], "dictionary")?;
        let mut entries = Vec::with_capacity(count.min(CAPACITY_MAX));
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

    /// A type that nests too deep, or one of an unchecked model.
    fn unsupported(&self) -> Failure {
        let kind = DecodeErrorKind::NotSupported("values of this type");
        Located::new(self.decoder.error("value", kind))
    }
}
