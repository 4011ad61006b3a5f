//! Values to bytes.

use std::fmt;

use floe_slice::model::{DefinitionKind, Dictionary, Enum, Primitive, Struct, Type};
use floe_wire::encoding::{AnyClass, ClassFormat, EnumWidth, Link, Nilable};
use floe_wire::{Encode, EncodeError, Encoder, EncodingVersion};

use crate::path::{Located, Segment, Within};
use crate::slot::{Slot, untagged_types, wire_order};
use crate::{Contract, Value};

/// A value that does not fit the type as which it is to be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeValueError {
    /// Which part of the value: `value.items[3].name`.
    pub path: String,
    /// The kind of error.
    pub kind: EncodeValueErrorKind,
}

/// A reason why a value cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeValueErrorKind {
    /// The value is of another kind than its type.
    Mismatch {
        /// The type, as written in Slice.
        expected: String,
        /// The kind of the value, or the class of an instance.
        found: String,
    },
    /// The value has no encoding.
    Encode(EncodeError),
}

impl fmt::Display for EncodeValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}

impl fmt::Display for EncodeValueErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { expected, found } => write!(f, "expected {expected}, got {found}"),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EncodeValueError {}

impl EncodeValueError {
    pub(crate) fn located(located: Located<EncodeValueErrorKind>, root: &'static str) -> Self {
        let (path, kind) = located.resolve(root);
        let path = path.to_string();
        Self { path, kind }
    }
}

pub(crate) type Failure = Box<Located<EncodeValueErrorKind>>;

/// Appends a value, and the class instances that follow it in encoding 1.0. After an error the
/// bytes have no meaning.
pub(crate) fn only(
    contract: &Contract,
    r#type: Type,
    value: &Value,
    encoder: &mut Encoder<'_>,
) -> Result<(), Failure> {
    ValueEncoder { contract, encoder }.value(r#type, value)?;
    if contract.has_classes([r#type]) {
        encoder.finish_classes();
    }
    Ok(())
}

/// Appends the values of the members of one slice, or of a struct.
pub(crate) fn slots(
    contract: &Contract,
    slots: &[Slot<'_>],
    values: &[Value],
    encoder: &mut Encoder<'_>,
) -> Result<(), Failure> {
    wire_order(slots).into_iter().try_for_each(|index| {
        let (slot, value) = (&slots[index], &values[index]);
        ValueEncoder { contract, encoder }
            .slot(slot, value)
            .within(|| Segment::Member(slot.name.to_owned()))
    })
}

/// Appends the values of parameters or results, and the class instances that follow them in
/// encoding 1.0.
pub(crate) fn parameters(
    contract: &Contract,
    parameters: &[Slot<'_>],
    values: &[Value],
    format: ClassFormat,
    encoder: &mut Encoder<'_>,
) -> Result<(), Failure> {
    encoder.set_class_format(format);
    slots(contract, parameters, values, encoder)?;
    if contract.has_classes(untagged_types(parameters)) {
        encoder.finish_classes();
    }
    Ok(())
}

/// A whole encapsulation with what `body` writes.
pub(crate) fn encapsulation(
    encoding: EncodingVersion,
    body: impl FnOnce(&mut Encoder<'_>) -> Result<(), Failure>,
) -> Result<Vec<u8>, EncodeValueErrorKind> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    let mut result = Ok(());
    encoder.encapsulation(encoding, |encoder| result = body(encoder));
    result.map_err(|located| located.error)?;
    encoder.finish().map_err(EncodeValueErrorKind::Encode)?;
    Ok(bytes)
}

struct ValueEncoder<'c, 'e, 'b> {
    contract: &'c Contract,
    encoder: &'e mut Encoder<'b>,
}

impl ValueEncoder<'_, '_, '_> {
    fn slot(&mut self, slot: &Slot<'_>, value: &Value) -> Result<(), Failure> {
        let (contract, r#type) = (self.contract, slot.r#type);
        if contract.layout(r#type).is_err() {
            return Err(self.mismatch(r#type, value));
        }
        let Some(tag) = slot.tag else {
            return self.value(r#type, value);
        };
        if *value == Value::Unset {
            return Ok(());
        }
        let shape = contract.tag_shape(r#type);
        let len = shape
            .has_len_in_front
            .then(|| contract.len_in_front(r#type, value));
        let mut result = Ok(());
        self.encoder.tagged_with(tag, shape.format, len, |encoder| {
            result = ValueEncoder { contract, encoder }.value(r#type, value);
        });
        result
    }

    fn value(&mut self, r#type: Type, value: &Value) -> Result<(), Failure> {
        match (r#type, value) {
            (r#type, Value::Instance(link)) if self.contract.is_class(r#type) => {
                self.instance(r#type, link)
            }
            (Type::Primitive(primitive), value) => self.primitive(primitive, value),
            (Type::ObjectProxy | Type::Proxy(_), Value::Proxy(proxy)) => {
                Nilable::encode_nilable(proxy.as_deref(), self.encoder);
                Ok(())
            }
            (Type::Named(id), value) => {
                let definition = self.contract.model().definition(id);
                match (&definition.kind, value) {
                    (DefinitionKind::Enum(r#enum), Value::Enumerator(value)) => {
                        self.enumerator(r#enum, *value)
                    }
                    (DefinitionKind::Struct(structure), Value::Struct(members))
                        if members.len() == structure.members.len() =>
                    {
                        self.structure(structure, members)
                    }
                    (DefinitionKind::Sequence(sequence), value) => {
                        self.sequence(r#type, sequence.element, value)
                    }
                    (DefinitionKind::Dictionary(dictionary), Value::Dictionary(entries)) => {
                        self.dictionary(dictionary, entries)
                    }
                    _ => Err(self.mismatch(r#type, value)),
                }
            }
            _ => Err(self.mismatch(r#type, value)),
        }
    }

    fn instance(&mut self, r#type: Type, link: &Link<dyn AnyClass>) -> Result<(), Failure> {
        let wanted = match r#type {
            Type::Named(class) => self.contract.classes().type_id(class),
            _ => None,
        };
        if let (Some(wanted), Some(instance)) = (wanted, link.get()) {
            let mut levels = std::iter::successors(Some(instance.any()), |level| level.base());
            if !levels.any(|level| level.class_type_id() == &**wanted) {
                return Err(Located::new(EncodeValueErrorKind::Mismatch {
                    expected: self.contract.type_name(r#type),
                    found: format!("an instance of {}", instance.any().class_type_id()),
                }));
            }
        }
        self.put(link)
    }

    fn primitive(&mut self, primitive: Primitive, value: &Value) -> Result<(), Failure> {
        match (primitive, value) {
            (Primitive::Bool, Value::Bool(value)) => self.put(value),
            (Primitive::Byte, Value::Byte(value)) => self.put(value),
            (Primitive::Short, Value::Short(value)) => self.put(value),
            (Primitive::Int, Value::Int(value)) => self.put(value),
            (Primitive::Long, Value::Long(value)) => self.put(value),
            (Primitive::Float, Value::Float(value)) => self.put(value),
            (Primitive::Double, Value::Double(value)) => self.put(value),
            (Primitive::String, Value::String(value)) => self.put(value),
            _ => Err(self.mismatch(Type::Primitive(primitive), value)),
        }
    }

    fn enumerator(&mut self, r#enum: &Enum, value: i32) -> Result<(), Failure> {
        let mut enumerators = r#enum.enumerators.iter();
        if !enumerators.any(|enumerator| enumerator.value == value) {
            let error = EncodeError::InvalidEnumerator(value);
            return Err(Located::new(EncodeValueErrorKind::Encode(error)));
        }
        EnumWidth::for_max(r#enum.max_value()).encode(value, self.encoder);
        Ok(())
    }

    fn structure(&mut self, structure: &Struct, members: &[Value]) -> Result<(), Failure> {
        for (member, value) in structure.members.iter().zip(members) {
            self.value(member.r#type, value)
                .within(|| Segment::Member(member.name.clone()))?;
        }
        Ok(())
    }

    fn sequence(&mut self, r#type: Type, element: Type, value: &Value) -> Result<(), Failure> {
        let is_bytes = element == Type::Primitive(Primitive::Byte);
        match value {
            Value::Bytes(bytes) if is_bytes => self.put(bytes),
            Value::Sequence(elements) if !is_bytes => {
                self.encoder.size(elements.len());
                for (index, value) in elements.iter().enumerate() {
                    self.value(element, value)
                        .within(|| Segment::Index(index))?;
                }
                Ok(())
            }
            _ => Err(self.mismatch(r#type, value)),
        }
    }

    fn dictionary(
        &mut self,
        dictionary: &Dictionary,
        entries: &[(Value, Value)],
    ) -> Result<(), Failure> {
        self.encoder.size(entries.len());
        for (index, (key, value)) in entries.iter().enumerate() {
            self.value(dictionary.key, key)
                .within(|| Segment::Index(index))?;
            self.value(dictionary.value, value)
                .within(|| Segment::Index(index))?;
        }
        Ok(())
    }

    fn put<T: Encode>(&mut self, value: &T) -> Result<(), Failure> {
        self.encoder.put(value);
        Ok(())
    }

    fn mismatch(&self, r#type: Type, value: &Value) -> Failure {
        Located::new(EncodeValueErrorKind::Mismatch {
            expected: self.contract.type_name(r#type),
            found: value.kind().to_owned(),
        })
    }
}
