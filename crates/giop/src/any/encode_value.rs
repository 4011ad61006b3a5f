//! Writes a tree as a value.

use super::transfer::fixed_len;
use super::{VALUE_DEPTH_MAX, Value};
use crate::cdr::{EncodeError, Encoder};
use crate::type_code::{Discriminator, NamedKind, TypeCode, TypePath};

impl Value {
    /// Appends the value as one of type `code`.
    ///
    /// # Errors
    /// [`EncodeError::NotOfType`] if it is not of that type, and others if it has no encoding in the encoder's format.
    pub fn encode(&self, code: &TypeCode, to: &mut Encoder) -> Result<(), EncodeError> {
        encode(self, &TypePath::new(code), to, 0)
    }
}

fn encode(
    value: &Value,
    path: &TypePath<'_>,
    to: &mut Encoder,
    depth: usize,
) -> Result<(), EncodeError> {
    if depth > VALUE_DEPTH_MAX {
        return Err(EncodeError::TooDeep(VALUE_DEPTH_MAX));
    }
    let inner = |code, value: &Value, to: &mut Encoder| {
        let inner = path.inner(code);
        let inner = inner.ok_or(EncodeError::NotOfType("a recursion within the type"))?;
        encode(value, &inner, to, depth + 1)
    };
    match (path.code, value) {
        (TypeCode::Null | TypeCode::Void, Value::Null) => {}
        (TypeCode::Boolean, Value::Boolean(value)) => to.boolean(*value),
        (TypeCode::Octet, Value::Octet(value)) => to.octet(*value),
        (TypeCode::Char, Value::Char(value)) => to.char(*value)?,
        (TypeCode::WChar, Value::WChar(value)) => to.wchar(*value)?,
        (TypeCode::Short, Value::Short(value)) => to.short(*value),
        (TypeCode::UShort, Value::UShort(value)) => to.ushort(*value),
        (TypeCode::Long, Value::Long(value)) => to.long(*value),
        (TypeCode::ULong, Value::ULong(value)) => to.ulong(*value),
        (TypeCode::LongLong, Value::LongLong(value)) => to.longlong(*value),
        (TypeCode::ULongLong, Value::ULongLong(value)) => to.ulonglong(*value),
        (TypeCode::Float, Value::Float(value)) => to.float(*value),
        (TypeCode::Double, Value::Double(value)) => to.double(*value),
        (TypeCode::LongDouble, Value::LongDouble(value)) => to.long_double(*value),
        (TypeCode::String(bound), Value::String(text)) => {
            check_bound(text.chars().count(), *bound, "a string within its bound")?;
            to.string(text)?;
        }
        (TypeCode::WString(bound), Value::WString(text)) => {
            check_bound(
                text.chars().count(),
                *bound,
                "a wide string within its bound",
            )?;
            to.wstring(text)?;
        }
        (TypeCode::Fixed { digits, .. }, Value::Fixed(bytes)) => {
            if bytes.len() != fixed_len(*digits) {
                return Err(EncodeError::NotOfType("a fixed of another length"));
            }
            to.octets(bytes);
        }
        (TypeCode::Enum(code), Value::Enum(number)) => {
            if *number as usize >= code.enumerators.len() {
                return Err(EncodeError::NotOfType("the number of an enumerator"));
            }
            to.ulong(*number);
        }
        (TypeCode::Principal, Value::Octets(bytes)) => to.octet_sequence(bytes)?,
        (TypeCode::TypeCode, Value::TypeCode(code)) => code.encode(to)?,
        (TypeCode::Any, Value::Any(any)) => any.encode(to)?,
        (TypeCode::Struct(code) | TypeCode::Except(code), Value::Struct(values)) => {
            if let TypeCode::Except(_) = path.code {
                to.name(&code.name.id)?;
            }
            if code.members.len() != values.len() {
                return Err(EncodeError::NotOfType(
                    "a value for each member of a struct",
                ));
            }
            let mut members = code.members.iter().zip(values);
            members.try_for_each(|(member, value)| inner(&member.code, value, to))?;
        }
        (TypeCode::Union(code), Value::Union(union)) => {
            let kind = Discriminator::of(&code.discriminator);
            let kind = kind.ok_or(EncodeError::NotOfType("a discriminator of a union"))?;
            kind.encode(union.discriminator, to)?;
            match (code.case(union.discriminator), &union.member) {
                (Some(case), Some(value)) => inner(&case.code, value, to)?,
                (None, None) => {}
                _ => {
                    return Err(EncodeError::NotOfType(
                        "the member that the discriminator selects",
                    ));
                }
            }
        }
        (TypeCode::Sequence { element, bound }, Value::Sequence(values)) => {
            check_bound(values.len(), *bound, "a sequence within its bound")?;
            to.len_of("sequence", values.len())?;
            values
                .iter()
                .try_for_each(|value| inner(element, value, to))?;
        }
        (TypeCode::Array { element, len }, Value::Sequence(values)) => {
            check_len(values.len(), *len)?;
            values
                .iter()
                .try_for_each(|value| inner(element, value, to))?;
        }
        (TypeCode::Sequence { element, bound }, Value::Octets(bytes))
            if *element.original() == TypeCode::Octet =>
        {
            check_bound(bytes.len(), *bound, "a sequence within its bound")?;
            to.octet_sequence(bytes)?;
        }
        (TypeCode::Array { element, len }, Value::Octets(bytes))
            if *element.original() == TypeCode::Octet =>
        {
            check_len(bytes.len(), *len)?;
            to.octets(bytes);
        }
        (TypeCode::Alias { original, .. }, value) => inner(original, value, to)?,
        (TypeCode::Named(kind, _), Value::Reference(reference)) => {
            if let NamedKind::AbstractInterface = kind {
                to.boolean(true);
            }
            reference.encode(to)?;
        }
        (TypeCode::Named(NamedKind::AbstractInterface, _), Value::Null) => {
            to.boolean(false);
            to.ulong(0);
        }
        (TypeCode::Value(_) | TypeCode::ValueBox { .. }, Value::Null) => to.ulong(0),
        (code, _) => return Err(EncodeError::NotOfType(expected(code))),
    }
    Ok(())
}

fn check_bound(len: usize, bound: u32, expected: &'static str) -> Result<(), EncodeError> {
    match bound == 0 || len <= bound as usize {
        true => Ok(()),
        false => Err(EncodeError::NotOfType(expected)),
    }
}

fn check_len(len: usize, expected: u32) -> Result<(), EncodeError> {
    match len == expected as usize {
        true => Ok(()),
        false => Err(EncodeError::NotOfType("an array of another length")),
    }
}

fn expected(code: &TypeCode) -> &'static str {
    match code {
        TypeCode::Struct(_) | TypeCode::Except(_) => "a struct",
        TypeCode::Union(_) => "a union",
        TypeCode::Enum(_) => "an enumerator",
        TypeCode::String(_) | TypeCode::WString(_) => "a string",
        TypeCode::Sequence { .. } | TypeCode::Array { .. } => "a sequence or an array",
        TypeCode::Named(..) => "a reference",
        TypeCode::Value(_) | TypeCode::ValueBox { .. } => {
            "null, because valuetypes are not supported"
        }
        TypeCode::Boolean => "a boolean",
        TypeCode::Char | TypeCode::WChar => "a character",
        TypeCode::Any => "an any",
        TypeCode::TypeCode => "a TypeCode",
        _ => "a number",
    }
}
