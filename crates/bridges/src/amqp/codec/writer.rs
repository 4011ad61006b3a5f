//! Writes the entries of a MapMessage.

use std::borrow::Cow;
use std::fmt;

use floe_amqp::codec::{Value, Writer as AmqpWriter};
use floe_dynamic::{Enumeration, Layout, Order, Record, Writer};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

/// Writes values as the entries of a map, whose names are the paths of fields.
///
/// ```text
/// struct Venue { string name; int line; }     venue.name: string   venue.line: int
/// sequence<Level> book                        book.length: int     book[0].price: double   book[0].size: long   book[1].price ...
/// dictionary<string, int> ages                ages.length: int     ages[0].key: string     ages[0].value: int   ages[1].key ...
/// ```
#[derive(Debug, Default)]
pub(crate) struct MapWriter {
    entries: AmqpWriter,
    /// How many names and values there are.
    count: u32,
    path: String,
    /// How long the paths of the records, sequences and dictionaries around the current value are.
    around: Vec<usize>,
}

/// A class instance, which no MapMessage can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InstanceError;

impl fmt::Display for InstanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected values that a MapMessage has, got an instance of a class")
    }
}

impl MapWriter {
    /// Appends the map to a message.
    pub(crate) fn append_to(self, message: &mut AmqpWriter) {
        let (count, entries) = (self.count, self.entries.into_bytes());
        message.map(|writer| {
            writer.encoded(&entries);
            count
        });
    }

    fn put(&mut self, write: impl FnOnce(&mut AmqpWriter)) -> Result<(), InstanceError> {
        self.entries.string(&self.path);
        write(&mut self.entries);
        self.count += 2;
        Ok(())
    }

    fn put_value(&mut self, value: Value) -> Result<(), InstanceError> {
        self.put(|writer| value.encode(writer))
    }

    fn begin(&mut self, length: Option<usize>) -> Result<(), InstanceError> {
        self.around.push(self.path.len());
        let Some(length) = length else {
            return Ok(());
        };
        let path_len = self.path.len();
        self.path.push_str(LENGTH);
        // Ice's sizes are signed numbers of 32 bits.
        self.put_value(Value::Int(i32::try_from(length).unwrap_or(i32::MAX)))?;
        self.path.truncate(path_len);
        Ok(())
    }

    /// Goes to a part of what is around.
    fn go(&mut self, part: fmt::Arguments<'_>) -> Result<(), InstanceError> {
        self.path
            .truncate(self.around.last().copied().unwrap_or_default());
        // Nothing can go wrong with a string.
        let _ = fmt::Write::write_fmt(&mut self.path, part);
        Ok(())
    }

    fn end(&mut self) -> Result<(), InstanceError> {
        let path_len = self.around.pop();
        self.path.truncate(path_len.unwrap_or_default());
        Ok(())
    }
}

/// Behind the path of a sequence or dictionary: the name of the entry with the number of its elements.
pub(super) const LENGTH: &str = ".length";

impl Writer for MapWriter {
    type Error = InstanceError;
    const ORDER: Order = Order::Any;
    const NEEDS_GRAPH: bool = false;

    fn bool(&mut self, value: bool) -> Result<(), InstanceError> {
        self.put_value(Value::Bool(value))
    }

    /// The same eight bits, with a sign, as Java has them.
    fn byte(&mut self, value: u8) -> Result<(), InstanceError> {
        self.put_value(Value::Byte(value as i8))
    }

    fn short(&mut self, value: i16) -> Result<(), InstanceError> {
        self.put_value(Value::Short(value))
    }

    fn int(&mut self, value: i32) -> Result<(), InstanceError> {
        self.put_value(Value::Int(value))
    }

    fn long(&mut self, value: i64) -> Result<(), InstanceError> {
        self.put_value(Value::Long(value))
    }

    fn float(&mut self, value: f32) -> Result<(), InstanceError> {
        self.put_value(Value::Float(value))
    }

    fn double(&mut self, value: f64) -> Result<(), InstanceError> {
        self.put_value(Value::Double(value))
    }

    fn string(&mut self, text: &str) -> Result<(), InstanceError> {
        self.put(|writer| writer.string(text))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), InstanceError> {
        self.put(|writer| writer.binary(bytes))
    }

    fn enumerator(&mut self, all: &Enumeration, index: usize) -> Result<(), InstanceError> {
        self.put(|writer| writer.string(all.name(index)))
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), InstanceError> {
        let text = proxy.map_or(String::new(), |proxy| proxy.to_string());
        self.put(|writer| writer.string(&text))
    }

    fn instance(&mut self, _link: &Link<dyn AnyClass>) -> Result<(), InstanceError> {
        Err(InstanceError)
    }

    fn begin_record(&mut self, _record: &Record) -> Result<(), InstanceError> {
        self.begin(None)
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, InstanceError> {
        let name = record.members()[index].name();
        match self.around.last() {
            Some(0) | None => self.go(format_args!("{name}"))?,
            Some(_) => self.go(format_args!(".{name}"))?,
        }
        Ok(true)
    }

    fn end_record(&mut self, _record: &Record) -> Result<(), InstanceError> {
        self.end()
    }

    fn begin_sequence(&mut self, _layout: &Layout, count: usize) -> Result<(), InstanceError> {
        self.begin(Some(count))
    }

    fn begin_element(&mut self, index: usize) -> Result<(), InstanceError> {
        self.go(format_args!("[{index}]"))
    }

    fn end_sequence(&mut self, _layout: &Layout) -> Result<(), InstanceError> {
        self.end()
    }

    fn begin_dictionary(&mut self, _layout: &Layout, count: usize) -> Result<(), InstanceError> {
        self.begin(Some(count))
    }

    fn begin_key(&mut self, index: usize) -> Result<(), InstanceError> {
        self.go(format_args!("[{index}].key"))
    }

    fn begin_value(&mut self, index: usize) -> Result<(), InstanceError> {
        self.go(format_args!("[{index}].value"))
    }

    fn end_dictionary(&mut self, _layout: &Layout) -> Result<(), InstanceError> {
        self.end()
    }
}
