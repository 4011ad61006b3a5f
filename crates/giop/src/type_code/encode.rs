//! Writes TypeCodes.
//!
//! Only recursion is written as an indirection; what repeats is written again.

use super::decode::Discriminator;
use super::{NamedKind, TYPE_CODE_DEPTH_MAX, TypeCode, TypeName};
use crate::cdr::{EncodeError, Encoder};

impl TypeCode {
    /// Appends the TypeCode.
    ///
    /// # Errors
    /// [`EncodeError`]: a name holds NUL, a union has a label that its discriminator does not have, or a recursion leads
    /// out of the type.
    pub fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        let open = Open {
            position: 0,
            outer: None,
        };
        encode(self, encoder, &open, 0)
    }

    /// The number of its kind. Source: CORBA 3.0.3, table 15-2.
    pub fn kind(&self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Void => 1,
            Self::Short => 2,
            Self::Long => 3,
            Self::UShort => 4,
            Self::ULong => 5,
            Self::Float => 6,
            Self::Double => 7,
            Self::Boolean => 8,
            Self::Char => 9,
            Self::Octet => 10,
            Self::Any => 11,
            Self::TypeCode => 12,
            Self::Principal => 13,
            Self::Named(NamedKind::ObjectReference, _) => 14,
            Self::Struct(_) => 15,
            Self::Union(_) => 16,
            Self::Enum(_) => 17,
            Self::String(_) => 18,
            Self::Sequence { .. } => 19,
            Self::Array { .. } => 20,
            Self::Alias { .. } => 21,
            Self::Except(_) => 22,
            Self::LongLong => 23,
            Self::ULongLong => 24,
            Self::LongDouble => 25,
            Self::WChar => 26,
            Self::WString(_) => 27,
            Self::Fixed { .. } => 28,
            Self::Value(code) => match code.is_event {
                false => 29,
                true => 36,
            },
            Self::ValueBox { .. } => 30,
            Self::Named(NamedKind::Native, _) => 31,
            Self::Named(NamedKind::AbstractInterface, _) => 32,
            Self::Named(NamedKind::LocalInterface, _) => 33,
            Self::Named(NamedKind::Component, _) => 34,
            Self::Named(NamedKind::Home, _) => 35,
            Self::Recursive(_) => 0xffff_ffff,
        }
    }
}

/// The types that are being written, from the innermost.
struct Open<'a> {
    /// The position of its kind in the encoder's bytes.
    position: usize,
    outer: Option<&'a Open<'a>>,
}

fn encode(
    code: &TypeCode,
    encoder: &mut Encoder,
    outer: &Open<'_>,
    depth: usize,
) -> Result<(), EncodeError> {
    if depth >= TYPE_CODE_DEPTH_MAX {
        return Err(EncodeError::TooDeep(TYPE_CODE_DEPTH_MAX));
    }
    encoder.align(4);
    let open = Open {
        position: encoder.len(),
        outer: Some(outer),
    };
    encoder.ulong(code.kind());
    let child = |code: &TypeCode, encoder: &mut Encoder| encode(code, encoder, &open, depth + 1);
    match code {
        TypeCode::Recursive(levels) => {
            let target = target(outer, *levels);
            let target = target.ok_or(EncodeError::NotOfType("a recursion within the TypeCode"))?;
            let offset = encoder.len() - target;
            let len = offset;
            let offset = i32::try_from(offset);
            let what = "TypeCode";
            encoder.long(-offset.map_err(|_| EncodeError::TooLong { what, len })?);
            Ok(())
        }
        TypeCode::String(bound) | TypeCode::WString(bound) => {
            encoder.ulong(*bound);
            Ok(())
        }
        TypeCode::Fixed { digits, scale } => {
            encoder.ushort(*digits);
            encoder.short(*scale);
            Ok(())
        }
        TypeCode::Named(_, code_name) => encoder.encapsulation(|encoder| name(code_name, encoder)),
        TypeCode::Struct(code) | TypeCode::Except(code) => encoder.encapsulation(|encoder| {
            name(&code.name, encoder)?;
            encoder.len_of("list of members", code.members.len())?;
            for member in &code.members {
                encoder.name(&member.name)?;
                child(&member.code, encoder)?;
            }
            Ok(())
        }),
        TypeCode::Union(code) => encoder.encapsulation(|encoder| {
            name(&code.name, encoder)?;
            child(&code.discriminator, encoder)?;
            let discriminator = Discriminator::of(&code.discriminator);
            let discriminator =
                discriminator.ok_or(EncodeError::NotOfType("a discriminator of a union"))?;
            // A list that long cannot be encoded, as is said then.
            let default = code.default.map(|at| i32::try_from(at).unwrap_or(i32::MAX));
            encoder.long(default.unwrap_or(-1));
            encoder.len_of("list of cases", code.cases.len())?;
            for case in &code.cases {
                discriminator.encode(case.label, encoder)?;
                encoder.name(&case.name)?;
                child(&case.code, encoder)?;
            }
            Ok(())
        }),
        TypeCode::Enum(code) => encoder.encapsulation(|encoder| {
            name(&code.name, encoder)?;
            encoder.len_of("list of enumerators", code.enumerators.len())?;
            code.enumerators
                .iter()
                .try_for_each(|name| encoder.name(name))
        }),
        TypeCode::Sequence {
            element,
            bound: len,
        }
        | TypeCode::Array { element, len } => encoder.encapsulation(|encoder| {
            child(element, encoder)?;
            encoder.ulong(*len);
            Ok(())
        }),
        TypeCode::Alias {
            name: own,
            original: inner,
        }
        | TypeCode::ValueBox {
            name: own,
            boxed: inner,
        } => encoder.encapsulation(|encoder| {
            name(own, encoder)?;
            child(inner, encoder)
        }),
        TypeCode::Value(code) => encoder.encapsulation(|encoder| {
            name(&code.name, encoder)?;
            encoder.short(code.modifier);
            child(&code.base, encoder)?;
            encoder.len_of("list of members", code.members.len())?;
            for member in &code.members {
                encoder.name(&member.name)?;
                child(&member.code, encoder)?;
                encoder.short(member.visibility);
            }
            Ok(())
        }),
        _ => Ok(()),
    }
}

fn name(name: &TypeName, encoder: &mut Encoder) -> Result<(), EncodeError> {
    encoder.name(&name.id)?;
    encoder.name(&name.name)
}

/// The position of the type `levels` up; the outermost entry is none.
fn target(mut open: &Open<'_>, levels: usize) -> Option<usize> {
    for _ in 1..levels {
        open = open.outer?;
    }
    open.outer.map(|_| open.position)
}

impl Discriminator {
    pub(crate) fn encode(self, value: i128, encoder: &mut Encoder) -> Result<(), EncodeError> {
        let out_of_range = EncodeError::NotOfType("a discriminator within the range of its type");
        let error = |_| out_of_range.clone();
        let character = || char::from_u32(u32::try_from(value).ok()?);
        match self {
            Self::Short => encoder.short(value.try_into().map_err(error)?),
            Self::UShort => encoder.ushort(value.try_into().map_err(error)?),
            Self::Long => encoder.long(value.try_into().map_err(error)?),
            Self::ULong => encoder.ulong(value.try_into().map_err(error)?),
            Self::LongLong => encoder.longlong(value.try_into().map_err(error)?),
            Self::ULongLong => encoder.ulonglong(value.try_into().map_err(error)?),
            Self::Boolean => match value {
                0 | 1 => encoder.boolean(value == 1),
                _ => return Err(out_of_range),
            },
            Self::Char => encoder.char(character().ok_or(out_of_range)?)?,
            Self::WChar => encoder.wchar(character().ok_or(out_of_range)?)?,
        }
        Ok(())
    }
}
