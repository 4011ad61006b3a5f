//! The entries of a map that has come: found, and not decoded.

use std::borrow::Cow;
use std::collections::BTreeMap;

use floe_amqp::codec::{CodecError, Reader, Value};

use super::error::{EntryError, MessageProblem};
use super::payload::ROOT;

/// A value as it is encoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encoded<'m>(&'m [u8]);

/// The entries of a map by their names.
#[derive(Debug)]
pub(super) struct Entries<'m> {
    by_name: BTreeMap<&'m str, (Encoded<'m>, bool)>,
    unused: usize,
}

/// The most entries of a map that comes in: each takes more memory than bytes.
const ENTRIES_MAX: usize = 65_536;

/// The most bytes of a text that an error shows.
const SHOWN_LEN_MAX: usize = 60;

/// The constructor of a list without elements.
const EMPTY_LIST: u8 = 0x45;

/// What a codec error says was being read.
const READING: &str = "a value";

impl<'m> Encoded<'m> {
    /// The next value of a reader.
    pub(super) fn next(reader: &mut Reader<'m>) -> Result<Self, CodecError> {
        let start = reader.position();
        reader.skip(READING)?;
        Ok(Self(reader.since(start)))
    }

    fn reader(self) -> Reader<'m> {
        Reader::new(self.0)
    }

    pub(super) fn is_null(self) -> bool {
        self.reader().take_null()
    }

    /// The value, if it is no text, no bytes, and not made of other values.
    pub(super) fn scalar(self) -> Option<Value> {
        let code = *self.0.first()?;
        let is_small = (0x40..0xA0).contains(&code) && code != EMPTY_LIST;
        let decoded = is_small.then(|| Value::decode(&mut self.reader(), READING));
        decoded.and_then(Result::ok)
    }

    pub(super) fn text(self) -> Option<&'m str> {
        self.reader().string(READING).ok()
    }

    pub(super) fn bytes(self) -> Option<&'m [u8]> {
        self.reader().binary(READING).ok()
    }

    /// The number of elements of a list, and a reader of them.
    pub(super) fn list(self) -> Option<(usize, Reader<'m>)> {
        let (count, elements) = self.reader().list(READING).ok()?;
        Some((count as usize, elements))
    }

    /// The number of entries of a map, and a reader of them.
    pub(super) fn map(self) -> Option<(usize, Reader<'m>)> {
        let (count, entries) = self.reader().map(READING).ok()?;
        Some((count as usize / 2, entries))
    }

    /// As people read it.
    pub(super) fn describe(self) -> Cow<'static, str> {
        if let Some(text) = self.text() {
            return format!("the text \"{}\"", shown(text)).into();
        }
        match (self.0.first(), self.scalar()) {
            (_, Some(Value::Null)) => "null".into(),
            (_, Some(Value::Bool(value))) => format!("the boolean {value}").into(),
            (_, Some(Value::Char(value))) => format!("the character {value:?}").into(),
            (_, Some(Value::Float(value))) => format!("the float {value}").into(),
            (_, Some(Value::Double(value))) => format!("the double {value}").into(),
            (_, Some(value)) => match integer(&value) {
                Some(number) => format!("the number {number}").into(),
                None => "a value of a type that Slice does not have".into(),
            },
            (Some(0xA0 | 0xB0), None) => "bytes".into(),
            (Some(&EMPTY_LIST | 0xC0 | 0xD0), None) => "a list".into(),
            (Some(0xC1 | 0xD1), None) => "a map".into(),
            (_, None) => "a value of a type that Slice does not have".into(),
        }
    }

    /// The error for a value where another was expected.
    pub(super) fn is_not(self, expected: impl Into<String>) -> EntryError {
        EntryError {
            expected: expected.into(),
            found: self.describe().into_owned(),
        }
    }
}

/// An integer of any type.
pub(super) fn integer(value: &Value) -> Option<i128> {
    Some(match *value {
        Value::Byte(value) => value.into(),
        Value::Ubyte(value) => value.into(),
        Value::Short(value) => value.into(),
        Value::Ushort(value) => value.into(),
        Value::Int(value) => value.into(),
        Value::Uint(value) => value.into(),
        Value::Long(value) => value.into(),
        Value::Ulong(value) => value.into(),
        _ => return None,
    })
}

/// A text of a peer, cut so that it can stand in an error.
pub(super) fn shown(text: &str) -> String {
    if text.len() <= SHOWN_LEN_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(SHOWN_LEN_MAX);
    format!("{}...", &text[..end])
}

impl<'m> Entries<'m> {
    /// The entries of an encoded map.
    ///
    /// # Errors
    /// It is no map of texts, or has a name twice.
    pub(super) fn of(encoded: &'m [u8]) -> Result<Self, MessageProblem> {
        let broken = |error: CodecError| MessageProblem::new(format_args!("{ROOT}: {error}"));
        let mut reader = Reader::new(encoded);
        let mut by_name = BTreeMap::new();
        let (count, mut entries) = match reader.take_null() {
            true => (0, Reader::new(&[])),
            false => reader.map("a map").map_err(broken)?,
        };
        let count = count as usize / 2;
        if count > ENTRIES_MAX {
            return Err(MessageProblem::new(format_args!(
                "{ROOT}: expected a map of at most {ENTRIES_MAX} entries, got {count}"
            )));
        }
        for _ in 0..count {
            let name = entries.string("the name of an entry").map_err(broken)?;
            let value = Encoded::next(&mut entries).map_err(broken)?;
            if by_name.insert(name, (value, false)).is_some() {
                return Err(MessageProblem::new(format_args!(
                    "{ROOT}: expected each entry once, got `{}` twice",
                    shown(name)
                )));
            }
        }
        Ok(Self {
            unused: by_name.len(),
            by_name,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The entry of this name. It counts as used.
    pub(super) fn take(&mut self, name: &str) -> Option<Encoded<'m>> {
        let (value, is_used) = self.by_name.get_mut(name)?;
        self.unused -= usize::from(!*is_used);
        *is_used = true;
        Some(*value)
    }

    /// The entry of this name, which does not count as used.
    pub(super) fn peek(&self, name: &str) -> Option<Encoded<'m>> {
        self.by_name.get(name).map(|(value, _)| *value)
    }

    /// True if there is an entry of this name, or of a field within.
    pub(super) fn has(&self, path: &str) -> bool {
        let from = (std::ops::Bound::Included(path), std::ops::Bound::Unbounded);
        let entries = self.by_name.range::<str, _>(from);
        // Names with other characters behind the path may stand between it and those of fields within.
        let mut entries = entries.map(|(name, _)| name.strip_prefix(path));
        let next =
            |rest: Option<&str>| rest.map(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        loop {
            match entries.next().and_then(next) {
                Some(true) => return true,
                Some(false) => {}
                None => return false,
            }
        }
    }

    /// An entry that nobody has asked for.
    pub(super) fn unused(&self) -> Option<&'m str> {
        if self.unused == 0 {
            return None;
        }
        let mut entries = self.by_name.iter();
        entries
            .find(|(_, (_, is_used))| !is_used)
            .map(|(name, _)| *name)
    }
}
