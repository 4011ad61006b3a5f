//! Writes JSON text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Write;

use floe_slice::model::Primitive;
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;
use serde::Serialize;

use super::instance_writer::Shared;
use crate::value::{ValueReader, links};
use crate::walk::value as walk_value;
use crate::{Contract, Enumeration, Layout, Order, Record, Shape, Value, Writer};

/// Writes values as JSON text, as the page on the JSON form of Slice describes it.
///
/// JSON can say every value but the payload of a NaN.
#[derive(Debug)]
pub struct JsonWriter {
    contract: Contract,
    pub(super) out: Vec<u8>,
    /// The dictionaries, and the records whose members do not come in order, around the current value.
    around: Vec<Around>,
    /// Where the entries or members of those begin.
    marks: Vec<Mark>,
    pub(super) shared: Shared,
    /// How many instances are around what is being written.
    pub(super) depth: usize,
}

/// A dictionary or record that is being written.
#[derive(Debug)]
struct Around {
    /// Where its text begins.
    start: usize,
    /// Where its marks begin.
    first_mark: usize,
    keys: Keys,
    /// True if a key begins as those keys do that have a meaning of their own.
    has_marked_key: bool,
    /// True if a key is not above the one before it, so that it may have been there already.
    is_unsorted: bool,
}

/// How the keys of a dictionary are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// As keys of an object; they are text already.
    Text,
    /// As keys of an object, between quotes.
    Quoted,
    /// In pairs.
    Pairs,
    /// They are the names of a record's members.
    Names,
}

/// Room for the text, in bytes, before it comes: that of most events.
const ROOM: usize = 256;

/// An entry of a dictionary, or a member.
#[derive(Debug, Clone, Copy)]
struct Mark {
    /// Where its key begins.
    key: usize,
    /// Where its value begins; of a member, its position in the record.
    value: usize,
}

impl JsonWriter {
    /// A writer of values of the types of a contract.
    pub fn new(contract: &Contract) -> Self {
        Self {
            contract: contract.clone(),
            out: Vec::with_capacity(ROOM),
            around: Vec::new(),
            marks: Vec::new(),
            shared: Shared::default(),
            depth: 0,
        }
    }

    /// The text.
    pub fn into_text(self) -> String {
        String::from_utf8(self.out).expect("names, strings and numbers are UTF-8")
    }

    pub(super) fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Appends a number, bool or string.
    #[inline]
    pub(super) fn scalar(&mut self, value: &(impl Serialize + ?Sized)) {
        // Nothing can go wrong with a buffer, and all that is written here is text or a number.
        let _ = serde_json::to_writer(&mut self.out, value);
    }

    /// Appends a key, with a comma if there is one before it.
    #[inline]
    pub(super) fn key(&mut self, key: &str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.out.reserve(key.len() + 3);
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// Writes an object of some keys with text, and the members of a record that have values.
    pub(crate) fn object(&mut self, heading: &[(&str, &str)], record: &Record, members: &[Value]) {
        let mut found = Vec::new();
        for value in members {
            links(value, Self::HAS_KEYS_ONCE, &mut found);
        }
        let _ = self.begin_graph(&found);
        self.out.push(b'{');
        for (key, text) in heading {
            self.key(key);
            self.scalar(text);
        }
        self.members(record, members);
        self.out.push(b'}');
    }

    /// Writes the members of a record that have values, within an object.
    pub(super) fn members(&mut self, record: &Record, values: &[Value]) {
        for (member, value) in record.members().iter().zip(values) {
            if !matches!(value, Value::Unset) {
                self.key(member.name());
                self.value(member.layout(), value);
            }
        }
    }

    /// Writes a value; one that is not of the type, as what it is.
    pub(crate) fn value(&mut self, layout: &Layout, value: &Value) {
        let start = self.out.len();
        let (around, marks) = (self.around.len(), self.marks.len());
        let mut reader = ValueReader::new(value, Self::HAS_KEYS_ONCE);
        if walk_value(layout, &mut reader, self).is_err() {
            self.out.truncate(start);
            self.around.truncate(around);
            self.marks.truncate(marks);
            self.natural(value);
        }
    }

    /// Writes a value by its own kind.
    fn natural(&mut self, value: &Value) {
        let _ = match value {
            Value::Bool(value) => self.bool(*value),
            Value::Byte(value) => self.byte(*value),
            Value::Short(value) => self.short(*value),
            Value::Int(value) | Value::Enumerator(value) => self.int(*value),
            Value::Long(value) => self.long(*value),
            Value::Float(value) => self.float(*value),
            Value::Double(value) => self.double(*value),
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) => self.bytes(bytes),
            Value::Proxy(proxy) => self.proxy(proxy.as_deref().map(Cow::Borrowed)),
            Value::Struct(values) | Value::Sequence(values) => {
                self.list(values, Self::natural);
                Ok(())
            }
            Value::Dictionary(entries) => {
                self.list(entries, |writer, (key, value)| {
                    writer.list(&[key, value], |writer, value| writer.natural(value));
                });
                Ok(())
            }
            // Of no type that has instances, so that nothing is known of them.
            Value::Instance(_) | Value::Unset => {
                self.out.extend_from_slice(b"null");
                Ok(())
            }
        };
    }

    pub(super) fn list<T>(&mut self, elements: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push(b'[');
        for (index, element) in elements.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            write(self, element);
        }
        self.out.push(b']');
    }

    fn open(&mut self, keys: Keys) {
        self.around.push(Around {
            start: self.out.len(),
            first_mark: self.marks.len(),
            keys,
            has_marked_key: false,
            is_unsorted: false,
        });
    }

    /// Puts the members of a record that came in another order into that of their declaration.
    fn sort_members(&mut self, around: &Around) {
        let marks = &self.marks[around.first_mark..];
        if marks.is_sorted_by_key(|mark| mark.value) {
            return;
        }
        let ends = marks.iter().skip(1).map(|next| next.key - 1);
        let ends = ends.chain([self.out.len()]);
        let mut members: Vec<(usize, &[u8])> = marks
            .iter()
            .zip(ends)
            .map(|(mark, end)| (mark.value, &self.out[mark.key..end]))
            .collect();
        members.sort_unstable_by_key(|(index, _)| *index);
        let texts: Vec<&[u8]> = members.into_iter().map(|(_, text)| text).collect();
        let sorted = texts.join(&b","[..]);
        self.out.truncate(around.start);
        self.out.push(b'{');
        self.out.extend_from_slice(&sorted);
    }

    /// Writes a dictionary again whose keys an object cannot have: keys that stand twice, of which the last counts, or keys
    /// with a meaning of their own.
    fn mend_dictionary(&mut self, around: &Around) {
        let marks = &self.marks[around.first_mark..];
        let ends = marks.iter().skip(1).map(|next| next.key - 1);
        let ends = ends.chain([self.out.len()]);
        let entries = marks.iter().zip(ends).map(|(mark, end)| {
            // The colon stands in front of the value.
            (
                &self.out[mark.key..mark.value - 1],
                &self.out[mark.value..end],
            )
        });
        let entries: Vec<(&[u8], &[u8])> = entries.collect();
        let keys = entries.iter().enumerate();
        let last: HashMap<&[u8], usize> = keys.map(|(at, (key, _))| (*key, at)).collect();
        if last.len() == entries.len() && !around.has_marked_key {
            return;
        }
        let (between, open, close) = match around.has_marked_key {
            true => (b',', &b"["[..], &b"]"[..]),
            false => (b':', &b""[..], &b""[..]),
        };
        let mut mended = Vec::with_capacity(self.out.len() - around.start);
        mended.push(if around.has_marked_key { b'[' } else { b'{' });
        for (at, (key, value)) in entries.iter().enumerate() {
            if last[key] == at {
                if mended.len() > 1 {
                    mended.push(b',');
                }
                mended.extend_from_slice(open);
                mended.extend_from_slice(key);
                mended.push(between);
                mended.extend_from_slice(value);
                mended.extend_from_slice(close);
            }
        }
        self.out.truncate(around.start);
        self.out.extend_from_slice(&mended);
    }
}

impl Writer for JsonWriter {
    type Error = Infallible;
    const ORDER: Order = Order::Any;
    const HAS_KEYS_ONCE: bool = true;

    #[inline]
    fn bool(&mut self, value: bool) -> Result<(), Infallible> {
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(text);
        Ok(())
    }

    #[inline]
    fn byte(&mut self, value: u8) -> Result<(), Infallible> {
        self.scalar(&value);
        Ok(())
    }

    #[inline]
    fn short(&mut self, value: i16) -> Result<(), Infallible> {
        self.scalar(&value);
        Ok(())
    }

    #[inline]
    fn int(&mut self, value: i32) -> Result<(), Infallible> {
        self.scalar(&value);
        Ok(())
    }

    #[inline]
    fn long(&mut self, value: i64) -> Result<(), Infallible> {
        self.scalar(&value);
        Ok(())
    }

    fn float(&mut self, value: f32) -> Result<(), Infallible> {
        self.double(shortest(value))
    }

    #[inline]
    fn double(&mut self, value: f64) -> Result<(), Infallible> {
        match value.is_finite() {
            true => self.scalar(&value),
            false if value.is_nan() => self.scalar("NaN"),
            false if value > 0.0 => self.scalar("Infinity"),
            false => self.scalar("-Infinity"),
        }
        Ok(())
    }

    #[inline]
    fn string(&mut self, text: &str) -> Result<(), Infallible> {
        self.scalar(text);
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.list(bytes, |writer, byte| writer.scalar(byte));
        Ok(())
    }

    fn enumerator(&mut self, all: &Enumeration, index: usize) -> Result<(), Infallible> {
        self.scalar(all.name(index));
        Ok(())
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), Infallible> {
        match proxy {
            Some(proxy) => self.scalar(&proxy.to_string()),
            None => self.out.extend_from_slice(b"null"),
        }
        Ok(())
    }

    fn begin_graph(&mut self, links: &[Link<dyn AnyClass>]) -> Result<(), Infallible> {
        self.shared = Shared::of(links, &self.contract);
        Ok(())
    }

    fn instance(&mut self, link: &Link<dyn AnyClass>) -> Result<(), Infallible> {
        self.link(link);
        Ok(())
    }

    #[inline]
    fn begin_record(&mut self, record: &Record) -> Result<(), Infallible> {
        if !record.is_in_wire_order() {
            self.open(Keys::Names);
        }
        self.out.push(b'{');
        Ok(())
    }

    #[inline]
    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, Infallible> {
        self.key(record.members()[index].name());
        if !record.is_in_wire_order() {
            let key = self.out.len() - record.members()[index].name().len() - 3;
            self.marks.push(Mark { key, value: index });
        }
        Ok(true)
    }

    #[inline]
    fn end_record(&mut self, record: &Record) -> Result<(), Infallible> {
        if !record.is_in_wire_order()
            && let Some(around) = self.around.pop()
        {
            self.sort_members(&around);
            self.marks.truncate(around.first_mark);
        }
        self.out.push(b'}');
        Ok(())
    }

    #[inline]
    fn begin_sequence(&mut self, _layout: &Layout, _count: usize) -> Result<(), Infallible> {
        self.out.push(b'[');
        Ok(())
    }

    #[inline]
    fn begin_element(&mut self, index: usize) -> Result<(), Infallible> {
        if index > 0 {
            self.out.push(b',');
        }
        Ok(())
    }

    #[inline]
    fn end_sequence(&mut self, _layout: &Layout) -> Result<(), Infallible> {
        self.out.push(b']');
        Ok(())
    }

    fn begin_dictionary(&mut self, layout: &Layout, _count: usize) -> Result<(), Infallible> {
        let keys = match layout.shape() {
            Shape::Dictionary { key, .. } => match key.shape() {
                Shape::Primitive(Primitive::String) | Shape::Enum(_) => Keys::Text,
                Shape::Primitive(_) => Keys::Quoted,
                _ => Keys::Pairs,
            },
            _ => Keys::Pairs,
        };
        self.open(keys);
        let open = if keys == Keys::Pairs { b'[' } else { b'{' };
        self.out.push(open);
        Ok(())
    }

    fn begin_key(&mut self, index: usize) -> Result<(), Infallible> {
        if index > 0 {
            self.end_entry();
            self.out.push(b',');
        }
        let key = self.out.len();
        self.marks.push(Mark { key, value: 0 });
        match self.around.last().map(|around| around.keys) {
            Some(Keys::Pairs) => self.out.push(b'['),
            Some(Keys::Quoted) => self.out.push(b'"'),
            _ => {}
        }
        Ok(())
    }

    fn begin_value(&mut self, _index: usize) -> Result<(), Infallible> {
        let Some(around) = self.around.last_mut() else {
            return Ok(());
        };
        match around.keys {
            Keys::Pairs => {
                self.out.push(b',');
                return Ok(());
            }
            Keys::Quoted => self.out.push(b'"'),
            _ => {}
        }
        self.out.push(b':');
        let value = self.out.len();
        if let [before @ .., mark] = &mut self.marks[around.first_mark..] {
            mark.value = value;
            let key = &self.out[mark.key..value - 1];
            around.has_marked_key |= key.starts_with(b"\"$");
            if let Some(last) = before.last() {
                around.is_unsorted |= &self.out[last.key..last.value - 1] >= key;
            }
        }
        Ok(())
    }

    fn end_dictionary(&mut self, _layout: &Layout) -> Result<(), Infallible> {
        let Some(around) = self.around.last() else {
            return Ok(());
        };
        let is_empty = self.marks.len() == around.first_mark;
        if !is_empty {
            self.end_entry();
        }
        let Some(around) = self.around.pop() else {
            return Ok(());
        };
        let is_list = around.keys == Keys::Pairs || around.has_marked_key;
        if around.keys != Keys::Pairs && (around.has_marked_key || around.is_unsorted) {
            self.mend_dictionary(&around);
        }
        self.out.push(if is_list { b']' } else { b'}' });
        self.marks.truncate(around.first_mark);
        Ok(())
    }
}

impl JsonWriter {
    fn end_entry(&mut self) {
        if self
            .around
            .last()
            .is_some_and(|around| around.keys == Keys::Pairs)
        {
            self.out.push(b']');
        }
    }
}

/// The shortest number that reads back as the same `float`: 0.1 and not 0.10000000149011612.
fn shortest(value: f32) -> f64 {
    /// Integers below are as short as they can be.
    const EXACT_BELOW: f32 = 16_777_216.0;
    let exact = f64::from(value);
    if !value.is_finite() || (value.fract() == 0.0 && value.abs() < EXACT_BELOW) {
        return exact;
    }
    // The digits of a float and its exponent take less.
    let mut buffer = [0; 32];
    let mut rest = &mut buffer[..];
    let written = write!(rest, "{value:e}");
    let left = rest.len();
    let text = &buffer[..buffer.len() - left];
    let text = written.ok().and_then(|()| std::str::from_utf8(text).ok());
    let short = text.and_then(|text| text.parse().ok()).unwrap_or(exact);
    if short as f32 == value { short } else { exact }
}
