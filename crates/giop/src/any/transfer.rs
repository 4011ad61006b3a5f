//! Walks along a value, and copies it into another format: byte order, alignment, code sets, version.

use super::{EMPTY_VALUES_MAX, INNER_TYPES_WEIGHT_MAX, VALUE_DEPTH_MAX};
use crate::cdr::{DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder};
use crate::type_code::{Discriminator, NamedKind, TypeCode, TypePath};

/// Reads a value of type `code`, and forgets it.
///
/// # Errors
/// [`DecodeError`]: the bytes are no such value, or a limit of this module is reached.
pub fn skip_value(code: &TypeCode, from: &mut Decoder<'_>) -> Result<(), DecodeError> {
    skip_within(code, from, &mut Budget::new(), 0)
}

/// Reads a value at this depth of another one, within the budget of that.
pub(super) fn skip_within(
    code: &TypeCode,
    from: &mut Decoder<'_>,
    budget: &mut Budget,
    depth: usize,
) -> Result<(), DecodeError> {
    Transfer { to: None, budget }.value(&TypePath::new(code), from, depth)
}

/// Reads a value of type `code`, and appends it in the encoder's format and alignment.
///
/// # Errors
/// As [`skip_value`], and [`DecodeErrorKind::NotCopied`] for text that the encoder's code sets do not have. The encoder
/// then holds a part of the value.
pub fn copy_value(
    code: &TypeCode,
    from: &mut Decoder<'_>,
    to: &mut Encoder,
) -> Result<(), DecodeError> {
    let budget = &mut Budget::new();
    Transfer {
        to: Some(to),
        budget,
    }
    .value(&TypePath::new(code), from, 0)
}

struct Transfer<'e, 'b> {
    to: Option<&'e mut Encoder>,
    budget: &'b mut Budget,
}

/// How much there may be that takes no bytes, or fewer than it costs.
pub(super) struct Budget {
    empty_left: usize,
    types_left: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            empty_left: EMPTY_VALUES_MAX,
            types_left: INNER_TYPES_WEIGHT_MAX,
        }
    }

    /// Counts a value that began at `start`, a position of `from`.
    pub(super) fn count(&mut self, start: usize, from: &Decoder<'_>) -> Result<(), DecodeError> {
        if from.position() > start {
            return Ok(());
        }
        let left = self.empty_left.checked_sub(1);
        self.empty_left = left
            .ok_or_else(|| from.error("value", DecodeErrorKind::TooManyEmpty(EMPTY_VALUES_MAX)))?;
        Ok(())
    }

    pub(super) fn type_code(
        &mut self,
        from: &mut Decoder<'_>,
    ) -> Result<std::sync::Arc<TypeCode>, DecodeError> {
        TypeCode::decode_within(from, &mut self.types_left)
    }
}

/// The place of a value within another one.
pub(super) fn inner<'b>(
    path: &'b TypePath<'_>,
    code: &'b TypeCode,
    from: &Decoder<'_>,
) -> Result<TypePath<'b>, DecodeError> {
    let problem = "a recursion leads out of the type";
    let error = || from.error("value", DecodeErrorKind::InvalidType(problem));
    path.inner(code).ok_or_else(error)
}

/// Refuses a value at this depth.
pub(super) fn check_depth(depth: usize, from: &Decoder<'_>) -> Result<(), DecodeError> {
    match depth > VALUE_DEPTH_MAX {
        true => Err(from.error("value", DecodeErrorKind::TooDeep(VALUE_DEPTH_MAX))),
        false => Ok(()),
    }
}

/// Refuses a string or sequence above its bound; 0 means none.
pub(super) fn check_bound(len: usize, bound: u32, from: &Decoder<'_>) -> Result<(), DecodeError> {
    let (len, max) = (len as u64, u64::from(bound));
    match bound > 0 && len > max {
        true => Err(from.error("value", DecodeErrorKind::TooLong { len, max })),
        false => Ok(()),
    }
}

/// Refuses a number that is no enumerator.
pub(super) fn check_enumerator(
    number: u32,
    count: usize,
    from: &Decoder<'_>,
) -> Result<(), DecodeError> {
    match (number as usize) < count {
        true => Ok(()),
        false => Err(from.error("enumerator", DecodeErrorKind::InvalidValue(number.into()))),
    }
}

/// The number of bytes of a `fixed`: two digits a byte, and the sign.
pub(super) fn fixed_len(digits: u16) -> usize {
    usize::from(digits) / 2 + 1
}

/// How to refuse valuetypes, which this crate does not read.
pub(super) const VALUETYPES: DecodeErrorKind =
    DecodeErrorKind::NotSupported("valuetypes, other than null,");

/// How to refuse a type whose values stay in one process.
pub(super) const LOCAL: DecodeErrorKind =
    DecodeErrorKind::InvalidType("values of local and native types are not sent");

impl Transfer<'_, '_> {
    fn value(
        &mut self,
        path: &TypePath<'_>,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        check_depth(depth, from)?;
        let start = from.position();
        self.contents(path, from, depth)?;
        self.budget.count(start, from)
    }

    fn put(
        &mut self,
        from: &Decoder<'_>,
        write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
    ) -> Result<(), DecodeError> {
        let written = self.to.as_deref_mut().map_or(Ok(()), write);
        written.map_err(|error| from.error("value", DecodeErrorKind::NotCopied(error)))
    }

    fn contents(
        &mut self,
        path: &TypePath<'_>,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        match path.code {
            TypeCode::Null | TypeCode::Void => Ok(()),
            TypeCode::Boolean => {
                let value = from.boolean("boolean")?;
                self.put(from, |to| {
                    to.boolean(value);
                    Ok(())
                })
            }
            TypeCode::Char => {
                let value = from.char("char")?;
                self.put(from, |to| to.char(value))
            }
            TypeCode::WChar => {
                let value = from.wchar("wchar")?;
                self.put(from, |to| to.wchar(value))
            }
            TypeCode::String(bound) => {
                let text = from.string("string")?;
                check_bound(text.chars().count(), *bound, from)?;
                self.put(from, |to| to.string(&text))
            }
            TypeCode::WString(bound) => {
                let text = from.wstring("wstring")?;
                check_bound(text.chars().count(), *bound, from)?;
                self.put(from, |to| to.wstring(&text))
            }
            TypeCode::Fixed { digits, .. } => {
                let bytes = from.octets(fixed_len(*digits), "fixed")?;
                self.put(from, |to| {
                    to.octets(bytes);
                    Ok(())
                })
            }
            TypeCode::Enum(code) => {
                let number = from.ulong("enumerator")?;
                check_enumerator(number, code.enumerators.len(), from)?;
                self.ulong(number, from)
            }
            TypeCode::Principal => self.octet_sequence(from),
            TypeCode::TypeCode => self.type_code(from).map(drop),
            TypeCode::Any => {
                let code = self.type_code(from)?;
                self.value(&TypePath::new(&code), from, depth + 1)
            }
            TypeCode::Struct(code) => {
                self.members(path, code.members.iter().map(|m| &*m.code), from, depth)
            }
            TypeCode::Except(code) => {
                let id = from.name("repository id of an exception")?;
                self.put(from, |to| to.name(&id))?;
                self.members(path, code.members.iter().map(|m| &*m.code), from, depth)
            }
            TypeCode::Union(code) => {
                let problem = DecodeErrorKind::InvalidType("a union without a discriminator");
                let kind = Discriminator::of(&code.discriminator);
                let kind = kind.ok_or_else(|| from.error("union", problem))?;
                let selected = kind.decode(from)?;
                self.put(from, |to| kind.encode(selected, to))?;
                let case = code.case(selected).map(|case| &*case.code);
                self.members(path, case.into_iter(), from, depth)
            }
            TypeCode::Sequence { element, bound } => {
                let count = from.count(element.value_len_min(), usize::MAX, "sequence")?;
                check_bound(count, *bound, from)?;
                // It was an unsigned long.
                self.ulong(count as u32, from)?;
                self.elements(path, element, count, from, depth)
            }
            TypeCode::Array { element, len } => {
                self.elements(path, element, *len as usize, from, depth)
            }
            TypeCode::Alias { original, .. } => {
                let inner = inner(path, original, from)?;
                self.value(&inner, from, depth + 1)
            }
            TypeCode::Named(kind, _) => self.named(*kind, from),
            TypeCode::Value(_) | TypeCode::ValueBox { .. } => self.null(from),
            TypeCode::Recursive(_) => {
                let problem = "a recursion is no type by itself";
                Err(from.error("value", DecodeErrorKind::InvalidType(problem)))
            }
            code => {
                let len = code.packed_len().unwrap_or(1);
                self.packed(len, 1, from)
            }
        }
    }

    fn ulong(&mut self, value: u32, from: &Decoder<'_>) -> Result<(), DecodeError> {
        self.put(from, |to| {
            to.ulong(value);
            Ok(())
        })
    }

    fn octet_sequence(&mut self, from: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let bytes = from.octet_sequence("sequence of octets")?;
        self.put(from, |to| to.octet_sequence(bytes))
    }

    fn type_code(
        &mut self,
        from: &mut Decoder<'_>,
    ) -> Result<std::sync::Arc<TypeCode>, DecodeError> {
        let code = self.budget.type_code(from)?;
        self.put(from, |to| code.encode(to))?;
        Ok(code)
    }

    fn members<'c>(
        &mut self,
        path: &TypePath<'_>,
        mut members: impl Iterator<Item = &'c TypeCode>,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        members.try_for_each(|code| {
            let inner = inner(path, code, from)?;
            self.value(&inner, from, depth + 1)
        })
    }

    fn elements(
        &mut self,
        path: &TypePath<'_>,
        element: &TypeCode,
        count: usize,
        from: &mut Decoder<'_>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if let Some(len) = element.packed_len() {
            return self.packed(len, count, from);
        }
        let inner = inner(path, element, from)?;
        (0..count).try_for_each(|_| self.value(&inner, from, depth + 1))
    }

    /// Copies `count` numbers of `len` bytes each.
    fn packed(
        &mut self,
        len: usize,
        count: usize,
        from: &mut Decoder<'_>,
    ) -> Result<(), DecodeError> {
        if count == 0 {
            return Ok(());
        }
        from.align(len.min(8), "number")?;
        let bytes = from.octets(len.saturating_mul(count), "numbers")?;
        let endian = from.format().endian;
        self.put(from, |to| {
            to.align(len.min(8));
            if len == 1 || to.format().endian == endian {
                to.octets(bytes);
                return Ok(());
            }
            let mut swapped = bytes.to_vec();
            swapped.chunks_exact_mut(len).for_each(<[u8]>::reverse);
            to.octets(&swapped);
            Ok(())
        })
    }

    fn named(&mut self, kind: NamedKind, from: &mut Decoder<'_>) -> Result<(), DecodeError> {
        match kind {
            NamedKind::ObjectReference | NamedKind::Component | NamedKind::Home => {
                self.reference(from)
            }
            NamedKind::AbstractInterface => {
                let is_reference = from.boolean("abstract interface")?;
                self.put(from, |to| {
                    to.boolean(is_reference);
                    Ok(())
                })?;
                match is_reference {
                    true => self.reference(from),
                    false => self.null(from),
                }
            }
            NamedKind::Native | NamedKind::LocalInterface => Err(from.error("value", LOCAL)),
        }
    }

    /// The profiles of a reference are sequences of octets, whatever they hold.
    fn reference(&mut self, from: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let type_id = from.name("type id of a reference")?;
        self.put(from, |to| to.name(&type_id))?;
        let count = from.count(8, usize::MAX, "profiles of a reference")?;
        self.ulong(count as u32, from)?;
        (0..count).try_for_each(|_| {
            let tag = from.ulong("tag of a profile")?;
            self.ulong(tag, from)?;
            self.octet_sequence(from)
        })
    }

    fn null(&mut self, from: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let here = from.clone();
        match from.ulong("tag of a valuetype")? {
            0 => self.ulong(0, from),
            _ => Err(here.error("valuetype", VALUETYPES)),
        }
    }
}
