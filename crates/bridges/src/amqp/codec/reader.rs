//! Reads the entries of a MapMessage.

use std::borrow::Cow;
use std::fmt::Write as _;

use floe_amqp::codec::{Reader as AmqpReader, Value};
use floe_dynamic::{Enumeration, Layout, Order, Reader, Record, Shape};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use super::entries::{Encoded, Entries, integer, shown};
use super::error::{EntryError, MessageProblem};
use super::writer::LENGTH;

/// Reads values from the entries of a map, as [`MapWriter`](super::writer::MapWriter) writes them.
///
/// A program may leave out the length of a sequence with elements, and may send a map in the place of a struct or
/// dictionary, and a list in the place of a sequence, as AMQP has them and JMS does not.
#[derive(Debug)]
pub(crate) struct MapReader<'m> {
    entries: Entries<'m>,
    /// How many elements of sequences and dictionaries may still be announced. Each has an entry of its own at least.
    elements_left: usize,
    now: Now<'m>,
    path: String,
    around: Vec<Around<'m>>,
}

/// The source of the current value.
#[derive(Debug, Clone, Copy)]
enum Now<'m> {
    /// The entry of the current path, or those of its fields.
    Entries,
    /// A value within another.
    Value(Encoded<'m>),
}

/// A record, sequence or dictionary around the current value.
#[derive(Debug)]
struct Around<'m> {
    path_len: usize,
    parts: Parts<'m>,
}

#[derive(Debug)]
enum Parts<'m> {
    /// Entries, by their paths.
    Entries,
    /// Members by their positions, of a map in the place of a record.
    Members(Vec<Option<Encoded<'m>>>),
    /// Elements, or keys and values in turn.
    Values(AmqpReader<'m>),
}

impl<'m> MapReader<'m> {
    /// A reader of an encoded map.
    ///
    /// # Errors
    /// [`MessageProblem`]: it is no map of texts.
    pub(crate) fn new(encoded: &'m [u8]) -> Result<Self, MessageProblem> {
        let entries = Entries::of(encoded)?;
        Ok(Self {
            elements_left: entries.len(),
            entries,
            now: Now::Entries,
            path: String::new(),
            around: Vec::new(),
        })
    }

    /// The value here.
    fn value(&mut self, expected: &str) -> Result<Encoded<'m>, EntryError> {
        match self.now {
            Now::Value(value) => Ok(value),
            Now::Entries => self.entries.take(&self.path).ok_or_else(|| EntryError {
                expected: expected.to_owned(),
                found: format!("no entry `{}`", shown(&self.path)),
            }),
        }
    }

    /// The value here, as `take` sees one of the type.
    fn of<T>(
        &mut self,
        expected: &str,
        take: impl FnOnce(Encoded<'m>) -> Option<T>,
    ) -> Result<T, EntryError> {
        let value = self.value(expected)?;
        take(value).ok_or_else(|| value.is_not(expected))
    }

    fn integer<T: TryFrom<i128>>(&mut self, expected: &str) -> Result<T, EntryError> {
        self.of(expected, |value| {
            T::try_from(integer(&value.scalar()?)?).ok()
        })
    }

    /// A number of which nothing is lost.
    fn number(&mut self, expected: &str) -> Result<f64, EntryError> {
        self.of(expected, |value| match value.scalar()? {
            Value::Double(value) => Some(value),
            Value::Float(value) => Some(value.into()),
            value => {
                let number = integer(&value)?;
                let double = number as f64;
                (double as i128 == number).then_some(double)
            }
        })
    }

    /// The value of the entry here, if there is one, so that it need not be looked for again.
    fn found(&mut self) -> Option<Encoded<'m>> {
        match self.now {
            Now::Value(value) => Some(value),
            Now::Entries => self.entries.take(&self.path),
        }
    }

    fn begin(&mut self, parts: Parts<'m>) {
        let path_len = self.path.len();
        self.around.push(Around { path_len, parts });
    }

    fn end_parts(&mut self) {
        if let Some(around) = self.around.pop() {
            self.path.truncate(around.path_len);
        }
    }

    /// Goes to a part of what is around: `part` extends the path of its entry.
    fn go(&mut self, part: std::fmt::Arguments<'_>) -> Result<(), EntryError> {
        let Some(around) = self.around.last_mut() else {
            return Ok(());
        };
        self.path.truncate(around.path_len);
        // Nothing can go wrong with a string.
        let _ = self.path.write_fmt(part);
        self.now = match &mut around.parts {
            Parts::Entries => Now::Entries,
            Parts::Members(_) => self.now,
            Parts::Values(values) => {
                let next = Encoded::next(values).map_err(|error| EntryError {
                    expected: "a whole value".to_owned(),
                    found: format!("bytes that are none ({error})"),
                })?;
                Now::Value(next)
            }
        };
        Ok(())
    }

    /// Begins a sequence or dictionary: its number of elements.
    fn begin_counted(
        &mut self,
        expected: &str,
        values: impl FnOnce(Encoded<'m>) -> Option<(usize, AmqpReader<'m>)>,
    ) -> Result<usize, EntryError> {
        if let Some(value) = self.found() {
            let (count, reader) = values(value).ok_or_else(|| value.is_not(expected))?;
            self.begin(Parts::Values(reader));
            return Ok(count);
        }
        let count = self.count(expected)?;
        self.elements_left = self
            .elements_left
            .checked_sub(count)
            .ok_or_else(|| EntryError {
                expected: format!("an entry for each element of {expected}"),
                found: format!("a length of {count}, and fewer entries"),
            })?;
        self.begin(Parts::Entries);
        Ok(count)
    }

    /// The number of elements here: by the entry with the length, or as many as there are without a gap.
    fn count(&mut self, expected: &str) -> Result<usize, EntryError> {
        let path_len = self.path.len();
        self.path.push_str(LENGTH);
        let length = self.entries.take(&self.path);
        self.path.truncate(path_len);
        if let Some(length) = length {
            let number = length.scalar().and_then(|value| integer(&value));
            let number = number.and_then(|number| usize::try_from(number).ok());
            return number.ok_or_else(|| length.is_not("a length"));
        }
        let mut count = 0;
        loop {
            let _ = write!(self.path, "[{count}]");
            let is_there = self.entries.has(&self.path);
            self.path.truncate(path_len);
            if !is_there {
                break;
            }
            count += 1;
        }
        if count == 0 {
            return Err(EntryError {
                expected: format!("{expected}, by its elements or a length"),
                found: format!("no entry `{}{LENGTH}`", shown(&self.path)),
            });
        }
        Ok(count)
    }
}

impl Reader for MapReader<'_> {
    type Error = EntryError;
    const ORDER: Order = Order::Any;

    fn unsupported(&mut self, layout: &Layout) -> EntryError {
        EntryError {
            expected: "a value of a supported type".to_owned(),
            found: format!("one of {}", layout.name()),
        }
    }

    fn bool(&mut self) -> Result<bool, EntryError> {
        self.of("a boolean", |value| match value.scalar()? {
            Value::Bool(value) => Some(value),
            _ => None,
        })
    }

    /// A byte of Java has a sign.
    fn byte(&mut self) -> Result<u8, EntryError> {
        self.of("a byte (-128 to 255)", |value| {
            match integer(&value.scalar()?)? {
                number @ -128..0 => Some((number + 256) as u8),
                number => u8::try_from(number).ok(),
            }
        })
    }

    fn short(&mut self) -> Result<i16, EntryError> {
        self.integer("a short (-32768 to 32767)")
    }

    fn int(&mut self) -> Result<i32, EntryError> {
        self.integer("an int (-2147483648 to 2147483647)")
    }

    fn long(&mut self) -> Result<i64, EntryError> {
        self.integer("a long (-9223372036854775808 to 9223372036854775807)")
    }

    fn float(&mut self) -> Result<f32, EntryError> {
        const EXPECTED: &str = "a float";
        let double = self.number(EXPECTED)?;
        let float = double as f32;
        if f64::from(float) == double || double.is_nan() {
            return Ok(float);
        }
        Err(EntryError {
            expected: EXPECTED.to_owned(),
            found: format!("the double {double}, which is none"),
        })
    }

    fn double(&mut self) -> Result<f64, EntryError> {
        self.number("a double")
    }

    fn string(&mut self) -> Result<Cow<'_, str>, EntryError> {
        self.of("a string", |value| match value.scalar() {
            Some(Value::Char(value)) => Some(Cow::Owned(value.to_string())),
            _ => value.text().map(Cow::Borrowed),
        })
    }

    fn bytes(&mut self, layout: &Layout) -> Result<Cow<'_, [u8]>, EntryError> {
        let expected = format!("bytes for {}", layout.name());
        self.of(&expected, |value| value.bytes().map(Cow::Borrowed))
    }

    fn enumerator(&mut self, layout: &Layout, all: &Enumeration) -> Result<usize, EntryError> {
        let names: Vec<&str> = all.names().collect();
        let expected = format!("an enumerator of {} ({})", layout.name(), names.join(", "));
        self.of(&expected, |value| all.position_of(value.text()?))
    }

    fn proxy(&mut self, layout: &Layout) -> Result<Option<Cow<'_, Reference>>, EntryError> {
        let expected = format!("a proxy as text for {}", layout.name());
        let text = self.of(&expected, Encoded::text)?;
        let parsed = Reference::parse(text).map_err(|error| EntryError {
            expected,
            found: format!("\"{}\": {error}", shown(text)),
        })?;
        Ok(parsed.map(Cow::Owned))
    }

    fn instance(&mut self, layout: &Layout) -> Result<Link<dyn AnyClass>, EntryError> {
        Err(EntryError {
            expected: format!("no instance of {} in a message", layout.name()),
            found: "one".to_owned(),
        })
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), EntryError> {
        let is_whole = self.around.is_empty();
        let value = (!is_whole).then(|| self.found()).flatten();
        let Some(value) = value else {
            self.begin(Parts::Entries);
            return Ok(());
        };
        let expected = || format!("a map of the members of {}", record.name());
        let (count, mut entries) = value.map().ok_or_else(|| value.is_not(expected()))?;
        let members = record.members();
        let mut found = vec![None; members.len()];
        for _ in 0..count {
            let broken = |_| value.is_not(expected());
            let name = entries.string("a name").map_err(broken)?;
            let value = Encoded::next(&mut entries).map_err(broken)?;
            let index = members.iter().position(|member| member.name() == name);
            let is_new = index.is_some_and(|index| found[index].replace(value).is_none());
            if !is_new {
                return Err(EntryError {
                    expected: format!("{}, each once", expected()),
                    found: format!("`{}`", shown(name)),
                });
            }
        }
        self.begin(Parts::Members(found));
        Ok(())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, EntryError> {
        let member = &record.members()[index];
        let name = member.name();
        let is_whole = self.around.len() == 1;
        match is_whole {
            true => self.go(format_args!("{name}"))?,
            false => self.go(format_args!(".{name}"))?,
        }
        let parts = self.around.last().map(|around| &around.parts);
        let Some(Parts::Members(found)) = parts else {
            // A JMS program unsets an optional parameter by a null, or leaves it out.
            return Ok(member.tag().is_none() || self.is_set());
        };
        match found[index].filter(|value| !value.is_null()) {
            Some(value) => {
                self.now = Now::Value(value);
                Ok(true)
            }
            None if member.tag().is_some() => Ok(false),
            None => Err(EntryError {
                expected: format!("a value of {}", member.layout().name()),
                found: "none".to_owned(),
            }),
        }
    }

    fn end_record(&mut self, _record: &Record) -> Result<(), EntryError> {
        self.end_parts();
        Ok(())
    }

    fn begin_sequence(&mut self, layout: &Layout, _element: &Layout) -> Result<usize, EntryError> {
        self.begin_counted(layout.name(), Encoded::list)
    }

    fn begin_element(&mut self, index: usize) -> Result<(), EntryError> {
        self.go(format_args!("[{index}]"))
    }

    fn end_sequence(&mut self) -> Result<(), EntryError> {
        self.end_parts();
        Ok(())
    }

    fn begin_dictionary(
        &mut self,
        layout: &Layout,
        _key: &Layout,
        _value: &Layout,
    ) -> Result<usize, EntryError> {
        self.begin_counted(layout.name(), Encoded::map)
    }

    fn begin_key(&mut self, index: usize) -> Result<(), EntryError> {
        self.go(format_args!("[{index}].key"))
    }

    fn begin_value(&mut self, index: usize) -> Result<(), EntryError> {
        self.go(format_args!("[{index}].value"))
    }

    fn end(&mut self, _has_classes: bool) -> Result<(), EntryError> {
        match self.entries.unused() {
            None => Ok(()),
            Some(name) => Err(EntryError {
                expected: "entries of the contract alone".to_owned(),
                found: format!("an entry `{}`", shown(name)),
            }),
        }
    }
}

impl MapReader<'_> {
    /// True if the optional value here is set. An entry that is null counts as used.
    fn is_set(&mut self) -> bool {
        let value = self
            .entries
            .has(&self.path)
            .then(|| self.entries.peek(&self.path));
        match value.flatten() {
            Some(value) if value.is_null() => {
                self.entries.take(&self.path);
                false
            }
            _ => value.is_some(),
        }
    }
}

/// The error of a type of which programs of JMS have no values.
pub(crate) fn can_be_text(layout: &Layout) -> Result<(), String> {
    match layout.shape() {
        Shape::Class { .. } => Err(format!(
            "an instance of {} can be nil, shared or part of a circle, and no type of JMS says that",
            layout.name()
        )),
        Shape::Unsupported => Err("it nests too deep".to_owned()),
        _ => Ok(()),
    }
}

/// The error of a type of which a map has no values.
pub(crate) fn can_be_entries(layout: &Layout) -> Result<(), String> {
    match layout.shape() {
        Shape::Sequence(element) if is_nothing(element) => Err(format!(
            "an element of type {} has no entries, so that none can be counted",
            element.name()
        )),
        Shape::Dictionary { key, .. } if is_nothing(key) => {
            Err(format!("a key of type {} has no entries", key.name()))
        }
        _ => can_be_text(layout),
    }
}

/// True if values of the type have no entries: it is a struct without members, or with such members alone.
fn is_nothing(layout: &Layout) -> bool {
    match layout.shape() {
        Shape::Struct(record) => record
            .members()
            .iter()
            .all(|member| is_nothing(member.layout())),
        _ => false,
    }
}
