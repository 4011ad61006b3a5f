//! Builds a tree of values.

use std::borrow::Cow;
use std::convert::Infallible;

use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use crate::{Enumeration, Layout, Order, Record, Value, Writer};

/// Elements for which room is made before they come. A peer can announce any number, again and
/// again inside one another.
const CAPACITY_MAX: usize = 64;

/// Builds a [`Value`].
#[derive(Debug, Default)]
pub struct ValueWriter {
    /// The values that are not finished, outermost first.
    open: Vec<Open>,
    done: Option<Value>,
}

#[derive(Debug)]
enum Open {
    /// Members, and the position of the one that is written.
    Record(Vec<Value>, usize),
    Sequence(Vec<Value>),
    /// Entries, and the key that waits for its value.
    Dictionary(Vec<(Value, Value)>, Option<Value>),
}

impl ValueWriter {
    /// The value that was written; [`Value::Unset`] if none was. Parameters and results are a [`Value::Struct`].
    pub fn into_value(self) -> Value {
        self.done.unwrap_or(Value::Unset)
    }

    pub(crate) fn into_members(self) -> Vec<Value> {
        match self.into_value() {
            Value::Struct(members) => members,
            _ => Vec::new(),
        }
    }

    fn put(&mut self, value: Value) -> Result<(), Infallible> {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Open::Record(members, index)) => members[*index] = value,
            Some(Open::Sequence(elements)) => elements.push(value),
            Some(Open::Dictionary(entries, key)) => match key.take() {
                None => *key = Some(value),
                Some(key) => entries.push((key, value)),
            },
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Infallible> {
        match self.open.pop() {
            Some(Open::Record(members, _)) => self.put(Value::Struct(members)),
            Some(Open::Sequence(elements)) => self.put(Value::Sequence(elements)),
            Some(Open::Dictionary(entries, _)) => self.put(Value::Dictionary(entries)),
            None => Ok(()),
        }
    }
}

macro_rules! primitive {
    ($($name:ident, $type:ty, $kind:ident);*) => {$(
        fn $name(&mut self, value: $type) -> Result<(), Infallible> {
            self.put(Value::$kind(value))
        }
    )*};
}

impl Writer for ValueWriter {
    type Error = Infallible;
    const ORDER: Order = Order::Any;
    /// A link may lead to an instance that is read later.
    const NEEDS_GRAPH: bool = false;

    primitive!(
        bool, bool, Bool; byte, u8, Byte; short, i16, Short; int, i32, Int; long, i64, Long; float, f32, Float;
        double, f64, Double
    );

    fn string(&mut self, text: &str) -> Result<(), Infallible> {
        self.put(Value::String(text.to_owned()))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.put(Value::Bytes(bytes.to_vec()))
    }

    fn enumerator(&mut self, all: &Enumeration, index: usize) -> Result<(), Infallible> {
        self.put(Value::Enumerator(all.value(index)))
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), Infallible> {
        self.put(Value::Proxy(
            proxy.map(|proxy| Box::new(proxy.into_owned())),
        ))
    }

    fn instance(&mut self, link: &Link<dyn AnyClass>) -> Result<(), Infallible> {
        self.put(Value::Instance(link.clone()))
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), Infallible> {
        let members = vec![Value::Unset; record.members().len()];
        self.open.push(Open::Record(members, 0));
        Ok(())
    }

    fn begin_member(&mut self, _record: &Record, index: usize) -> Result<bool, Infallible> {
        if let Some(Open::Record(_, at)) = self.open.last_mut() {
            *at = index;
        }
        Ok(true)
    }

    fn end_record(&mut self, _record: &Record) -> Result<(), Infallible> {
        self.close()
    }

    fn begin_sequence(&mut self, _layout: &Layout, count: usize) -> Result<(), Infallible> {
        let elements = Vec::with_capacity(count.min(CAPACITY_MAX));
        self.open.push(Open::Sequence(elements));
        Ok(())
    }

    fn end_sequence(&mut self, _layout: &Layout) -> Result<(), Infallible> {
        self.close()
    }

    fn begin_dictionary(&mut self, _layout: &Layout, count: usize) -> Result<(), Infallible> {
        let entries = Vec::with_capacity(count.min(CAPACITY_MAX));
        self.open.push(Open::Dictionary(entries, None));
        Ok(())
    }

    fn end_dictionary(&mut self, _layout: &Layout) -> Result<(), Infallible> {
        self.close()
    }
}
