//! Reads a value as a tree.

use super::transfer::{
    Budget, LOCAL, VALUETYPES, check_bound, check_depth, check_enumerator, fixed_len, inner,
};
use super::value::UnionValue;
use super::{Any, Value};
use crate::cdr::{DecodeError, DecodeErrorKind, Decoder};
use crate::reference::Ior;
use crate::type_code::{Discriminator, NamedKind, TypeCode, TypePath};

impl Value {
    /// Reads a value of type `code`.
    ///
    /// # Errors
    /// [`DecodeError`]: the bytes are no such value, or a limit of `any/` is reached.
    pub fn decode(code: &TypeCode, from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut reading = ValueReader(Budget::new());
        reading.value(&TypePath::new(code), from, 0)
    }
}

struct ValueReader(Budget);

impl ValueReader {
    fn value(
        &mut self,
        path: &TypePath<'_>,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        check_depth(depth, from)?;
        let start = from.position();
        let value = self.contents(path, from, depth)?;
        self.0.count(start, from)?;
        Ok(value)
    }

    fn contents(
        &mut self,
        path: &TypePath<'_>,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        Ok(match path.code {
            TypeCode::Null | TypeCode::Void => Value::Null,
            TypeCode::Boolean => Value::Boolean(from.boolean("boolean")?),
            TypeCode::Octet => Value::Octet(from.octet("octet")?),
            TypeCode::Char => Value::Char(from.char("char")?),
            TypeCode::WChar => Value::WChar(from.wchar("wchar")?),
            TypeCode::Short => Value::Short(from.short("short")?),
            TypeCode::UShort => Value::UShort(from.ushort("unsigned short")?),
            TypeCode::Long => Value::Long(from.long("long")?),
            TypeCode::ULong => Value::ULong(from.ulong("unsigned long")?),
            TypeCode::LongLong => Value::LongLong(from.longlong("long long")?),
            TypeCode::ULongLong => Value::ULongLong(from.ulonglong("unsigned long long")?),
            TypeCode::Float => Value::Float(from.float("float")?),
            TypeCode::Double => Value::Double(from.double("double")?),
            TypeCode::LongDouble => Value::LongDouble(from.long_double("long double")?),
            TypeCode::String(bound) => {
                let text = from.string("string")?;
                check_bound(text.chars().count(), *bound, from)?;
                Value::String(text)
            }
            TypeCode::WString(bound) => {
                let text = from.wstring("wstring")?;
                check_bound(text.chars().count(), *bound, from)?;
                Value::WString(text)
            }
            TypeCode::Fixed { digits, .. } => {
                Value::Fixed(from.octets(fixed_len(*digits), "fixed")?.to_vec())
            }
            TypeCode::Enum(code) => {
                let number = from.ulong("enumerator")?;
                check_enumerator(number, code.enumerators.len(), from)?;
                Value::Enum(number)
            }
            TypeCode::Principal => Value::Octets(from.octet_sequence("principal")?.to_vec()),
            TypeCode::TypeCode => Value::TypeCode(self.0.type_code(from)?),
            TypeCode::Any => {
                let code = self.0.type_code(from)?;
                let any = Any::decode_within(code, from, &mut self.0, depth + 1)?;
                Value::Any(Box::new(any))
            }
            TypeCode::Struct(code) => Value::Struct(self.members(
                path,
                code.members.iter().map(|m| &*m.code),
                from,
                depth,
            )?),
            TypeCode::Except(code) => {
                from.name("repository id of an exception")?;
                Value::Struct(self.members(
                    path,
                    code.members.iter().map(|m| &*m.code),
                    from,
                    depth,
                )?)
            }
            TypeCode::Union(code) => {
                let problem = DecodeErrorKind::InvalidType("a union without a discriminator");
                let kind = Discriminator::of(&code.discriminator);
                let kind = kind.ok_or_else(|| from.error("union", problem))?;
                let discriminator = kind.decode(from)?;
                let case = code.case(discriminator).map(|case| &*case.code);
                let member = self.members(path, case.into_iter(), from, depth)?.pop();
                Value::Union(Box::new(UnionValue {
                    discriminator,
                    member,
                }))
            }
            TypeCode::Sequence { element, bound } => {
                let count = from.count(element.value_len_min(), usize::MAX, "sequence")?;
                check_bound(count, *bound, from)?;
                self.elements(path, element, count, from, depth)?
            }
            TypeCode::Array { element, len } => {
                self.elements(path, element, *len as usize, from, depth)?
            }
            TypeCode::Alias { original, .. } => {
                let inner = inner(path, original, from)?;
                self.value(&inner, from, depth + 1)?
            }
            TypeCode::Named(kind, _) => named(*kind, from)?,
            TypeCode::Value(_) | TypeCode::ValueBox { .. } => null(from)?,
            TypeCode::Recursive(_) => {
                let problem = "a recursion is no type by itself";
                return Err(from.error("value", DecodeErrorKind::InvalidType(problem)));
            }
        })
    }

    fn members<'c>(
        &mut self,
        path: &TypePath<'_>,
        members: impl Iterator<Item = &'c TypeCode>,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<Vec<Value>, DecodeError> {
        let values = members.map(|code| {
            let inner = inner(path, code, from)?;
            self.value(&inner, from, depth + 1)
        });
        values.collect()
    }

    fn elements(
        &mut self,
        path: &TypePath<'_>,
        element: &TypeCode,
        count: usize,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        if *element.original() == TypeCode::Octet {
            return Ok(Value::Octets(from.octets(count, "octets")?.to_vec()));
        }
        let inner = inner(path, element, from)?;
        let values = (0..count).map(|_| self.value(&inner, from, depth + 1));
        Ok(Value::Sequence(values.collect::<Result<_, _>>()?))
    }
}

fn named(kind: NamedKind, from: &mut Decoder<'_>) -> Result<Value, DecodeError> {
    let is_reference = match kind {
        NamedKind::ObjectReference | NamedKind::Component | NamedKind::Home => true,
        NamedKind::AbstractInterface => from.boolean("abstract interface")?,
        NamedKind::Native | NamedKind::LocalInterface => return Err(from.error("value", LOCAL)),
    };
    match is_reference {
        true => Ok(Value::Reference(Box::new(Ior::decode(from)?))),
        false => null(from),
    }
}

fn null(from: &mut Decoder<'_>) -> Result<Value, DecodeError> {
    let here = from.clone();
    match from.ulong("tag of a valuetype")? {
        0 => Ok(Value::Null),
        _ => Err(here.error("valuetype", VALUETYPES)),
    }
}
