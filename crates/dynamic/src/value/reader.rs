//! Reads a tree of values.

use std::borrow::Cow;
use std::collections::HashMap;

use floe_slice::model::Primitive;
use floe_wire::EncodeError;
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use crate::{EncodeValueErrorKind, Enumeration, Layout, Order, Reader, Record, Shape, Value};

/// Reads a [`Value`], which may not be of the type along which it is walked.
#[derive(Debug)]
pub struct ValueReader<'v> {
    now: Now<'v>,
    /// The values around the current one.
    around: Vec<Frame<'v>>,
    /// True if of entries with one key only the last is read.
    has_keys_once: bool,
}

#[derive(Debug, Clone, Copy)]
enum Now<'v> {
    Value(&'v Value),
    /// The members of one slice of a class or exception, which are no value of their own.
    Members(&'v [Value]),
}

#[derive(Debug)]
enum Frame<'v> {
    Values(&'v [Value]),
    /// Entries, and those of them that are read, if not all are.
    Entries(&'v [(Value, Value)], Option<Vec<usize>>),
}

type Mismatch = EncodeValueErrorKind;

impl<'v> ValueReader<'v> {
    /// A reader of one value; a [`Value::Struct`] is also one of the parameters or results of an operation. With
    /// `has_keys_once`, of entries of a dictionary that have one key only the last is read.
    pub fn new(value: &'v Value, has_keys_once: bool) -> Self {
        Self {
            now: Now::Value(value),
            around: Vec::new(),
            has_keys_once,
        }
    }

    pub(crate) fn of_members(members: &'v [Value], has_keys_once: bool) -> Self {
        Self {
            now: Now::Members(members),
            ..Self::new(&Value::Unset, has_keys_once)
        }
    }

    fn mismatch(&self, expected: &str) -> Mismatch {
        let found = match self.now {
            Now::Value(value) => value.kind(),
            Now::Members(_) => "struct",
        };
        Mismatch::Mismatch {
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }

    /// The value, as `take` sees one of the type.
    fn take<T>(
        &self,
        expected: &str,
        take: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<T, Mismatch> {
        let taken = match self.now {
            Now::Value(value) => take(value),
            Now::Members(_) => None,
        };
        taken.ok_or_else(|| self.mismatch(expected))
    }

    fn entry(&self, index: usize) -> &'v (Value, Value) {
        match self.around.last() {
            Some(Frame::Entries(entries, None)) => &entries[index],
            Some(Frame::Entries(entries, Some(kept))) => &entries[kept[index]],
            _ => unreachable!(
                "an entry is asked for between the begin and the end of its dictionary"
            ),
        }
    }
}

macro_rules! primitive {
    ($($name:ident, $type:ty, $kind:ident);*) => {$(
        fn $name(&mut self) -> Result<$type, Mismatch> {
            self.take(Primitive::$kind.keyword(), |value| match value {
                Value::$kind(value) => Some(*value),
                _ => None,
            })
        }
    )*};
}

impl Reader for ValueReader<'_> {
    type Error = EncodeValueErrorKind;
    const ORDER: Order = Order::Any;

    fn unsupported(&mut self, layout: &Layout) -> Mismatch {
        self.mismatch(layout.name())
    }

    primitive!(
        bool, bool, Bool; byte, u8, Byte; short, i16, Short; int, i32, Int; long, i64, Long; float, f32, Float;
        double, f64, Double
    );

    fn string(&mut self) -> Result<Cow<'_, str>, Mismatch> {
        self.take("string", |value| match value {
            Value::String(text) => Some(Cow::Borrowed(text.as_str())),
            _ => None,
        })
    }

    fn bytes(&mut self, layout: &Layout) -> Result<Cow<'_, [u8]>, Mismatch> {
        self.take(layout.name(), |value| match value {
            Value::Bytes(bytes) => Some(Cow::Borrowed(bytes.as_slice())),
            _ => None,
        })
    }

    fn enumerator(&mut self, layout: &Layout, all: &Enumeration) -> Result<usize, Mismatch> {
        let value = self.take(layout.name(), |value| match value {
            Value::Enumerator(value) => Some(*value),
            _ => None,
        })?;
        let found = all.position(value);
        found.ok_or(Mismatch::Encode(EncodeError::InvalidEnumerator(value)))
    }

    fn proxy(&mut self, layout: &Layout) -> Result<Option<Cow<'_, Reference>>, Mismatch> {
        self.take(layout.name(), |value| match value {
            Value::Proxy(proxy) => Some(proxy.as_deref().map(Cow::Borrowed)),
            _ => None,
        })
    }

    fn instance(&mut self, layout: &Layout) -> Result<Link<dyn AnyClass>, Mismatch> {
        let link = self.take(layout.name(), |value| match value {
            Value::Instance(link) => Some(link),
            _ => None,
        })?;
        let Shape::Class { type_id, .. } = layout.shape() else {
            return Err(self.mismatch(layout.name()));
        };
        if let (Some(wanted), Some(instance)) = (type_id, link.get()) {
            let mut levels = std::iter::successors(Some(instance.any()), |level| level.base());
            if !levels.any(|level| level.class_type_id() == &**wanted) {
                return Err(Mismatch::Mismatch {
                    expected: layout.name().to_owned(),
                    found: format!("an instance of {}", instance.any().class_type_id()),
                });
            }
        }
        Ok(link.clone())
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), Mismatch> {
        let members = match self.now {
            Now::Value(Value::Struct(members)) => Some(members.as_slice()),
            Now::Members(members) => Some(members),
            Now::Value(_) => None,
        };
        let fits = |members: &&[Value]| members.len() == record.members().len();
        let members = members.filter(fits);
        let members = members.ok_or_else(|| self.mismatch(record.name()))?;
        self.around.push(Frame::Values(members));
        Ok(())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, Mismatch> {
        self.begin_element(index)?;
        let is_unset = matches!(self.now, Now::Value(Value::Unset));
        Ok(!is_unset || record.members()[index].tag().is_none())
    }

    fn end_record(&mut self, _record: &Record) -> Result<(), Mismatch> {
        self.end_sequence()
    }

    fn begin_sequence(&mut self, layout: &Layout, _element: &Layout) -> Result<usize, Mismatch> {
        let elements = self.take(layout.name(), |value| match value {
            Value::Sequence(elements) => Some(elements.as_slice()),
            _ => None,
        })?;
        self.around.push(Frame::Values(elements));
        Ok(elements.len())
    }

    fn begin_element(&mut self, index: usize) -> Result<(), Mismatch> {
        match self.around.last() {
            Some(Frame::Values(values)) => self.now = Now::Value(&values[index]),
            _ => {
                unreachable!("a walk asks for elements between the begin and the end of a sequence")
            }
        }
        Ok(())
    }

    fn end_sequence(&mut self) -> Result<(), Mismatch> {
        self.around.pop();
        Ok(())
    }

    fn begin_dictionary(
        &mut self,
        layout: &Layout,
        _key: &Layout,
        _value: &Layout,
    ) -> Result<usize, Mismatch> {
        let entries = self.take(layout.name(), |value| match value {
            Value::Dictionary(entries) => Some(entries.as_slice()),
            _ => None,
        })?;
        let kept = self.has_keys_once.then(|| last_of_each(entries)).flatten();
        let count = kept.as_ref().map_or(entries.len(), Vec::len);
        self.around.push(Frame::Entries(entries, kept));
        Ok(count)
    }

    fn begin_key(&mut self, index: usize) -> Result<(), Mismatch> {
        self.now = Now::Value(&self.entry(index).0);
        Ok(())
    }

    fn begin_value(&mut self, index: usize) -> Result<(), Mismatch> {
        self.now = Now::Value(&self.entry(index).1);
        Ok(())
    }
}

/// The positions of the entries whose keys no later entry has; `None` if these are all.
fn last_of_each(entries: &[(Value, Value)]) -> Option<Vec<usize>> {
    let mut last = HashMap::with_capacity(entries.len());
    for (index, (key, _)) in entries.iter().enumerate() {
        last.insert(Key::of(key)?, index);
    }
    let mut kept: Vec<usize> = last.into_values().collect();
    kept.sort_unstable();
    (kept.len() < entries.len()).then_some(kept)
}

/// A key that formats write as text.
#[derive(PartialEq, Eq, Hash)]
enum Key<'v> {
    Integer(i64),
    Text(&'v str),
}

impl<'v> Key<'v> {
    fn of(value: &'v Value) -> Option<Self> {
        Some(match value {
            Value::Bool(value) => Self::Integer(i64::from(*value)),
            Value::Byte(value) => Self::Integer(i64::from(*value)),
            Value::Short(value) => Self::Integer(i64::from(*value)),
            Value::Int(value) | Value::Enumerator(value) => Self::Integer(i64::from(*value)),
            Value::Long(value) => Self::Integer(*value),
            Value::String(text) => Self::Text(text),
            _ => return None,
        })
    }
}

/// The links to class instances in a value, in the order in which a [`ValueReader`] comes to them.
pub(crate) fn links(value: &Value, has_keys_once: bool, found: &mut Vec<Link<dyn AnyClass>>) {
    match value {
        Value::Struct(values) | Value::Sequence(values) => {
            for value in values {
                links(value, has_keys_once, found);
            }
        }
        Value::Dictionary(entries) => {
            let kept = has_keys_once.then(|| last_of_each(entries)).flatten();
            for (index, (_, value)) in entries.iter().enumerate() {
                if kept
                    .as_ref()
                    .is_none_or(|kept| kept.binary_search(&index).is_ok())
                {
                    links(value, has_keys_once, found);
                }
            }
        }
        Value::Instance(link) => found.push(link.clone()),
        _ => {}
    }
}
