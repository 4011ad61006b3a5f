//! A format for tests, which shows that a new one is one file: big-endian, every number aligned to its size, as CDR has it.
//!
//! It has no class instances, and no strings with a NUL.

use std::borrow::Cow;

use floe_dynamic::{Enumeration, Layout, Order, Reader, Record, Shape, Writer};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

/// Answers whether the format has values of a type.
pub(crate) fn accept(layout: &Layout) -> Result<(), String> {
    match layout.shape() {
        Shape::Class { .. } => Err("the aligned format has no class instances".to_owned()),
        _ => Ok(()),
    }
}

#[derive(Default)]
pub(crate) struct AlignedWriter(pub(crate) Vec<u8>);

impl AlignedWriter {
    fn number<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), String> {
        self.0.resize(self.0.len().next_multiple_of(N), 0);
        self.0.extend_from_slice(&bytes);
        Ok(())
    }

    fn count(&mut self, count: usize) -> Result<(), String> {
        let count = u32::try_from(count).map_err(|_| "more than 2^32 elements".to_owned())?;
        self.number(count.to_be_bytes())
    }
}

impl Writer for AlignedWriter {
    type Error = String;
    const ORDER: Order = Order::Declared;

    fn bool(&mut self, value: bool) -> Result<(), String> {
        self.number([u8::from(value)])
    }

    fn byte(&mut self, value: u8) -> Result<(), String> {
        self.number([value])
    }

    fn short(&mut self, value: i16) -> Result<(), String> {
        self.number(value.to_be_bytes())
    }

    fn int(&mut self, value: i32) -> Result<(), String> {
        self.number(value.to_be_bytes())
    }

    fn long(&mut self, value: i64) -> Result<(), String> {
        self.number(value.to_be_bytes())
    }

    fn float(&mut self, value: f32) -> Result<(), String> {
        self.number(value.to_be_bytes())
    }

    fn double(&mut self, value: f64) -> Result<(), String> {
        self.number(value.to_be_bytes())
    }

    fn string(&mut self, text: &str) -> Result<(), String> {
        if let Some(at) = text.find('\0') {
            return Err(format!("expected text without a NUL, got one at byte {at}"));
        }
        self.bytes(text.as_bytes())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.count(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn enumerator(&mut self, _all: &Enumeration, index: usize) -> Result<(), String> {
        self.count(index)
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), String> {
        self.string(&proxy.map_or(String::new(), |proxy| proxy.to_string()))
    }

    fn instance(&mut self, _link: &Link<dyn AnyClass>) -> Result<(), String> {
        Err("a class instance".to_owned())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, String> {
        if record.members()[index].tag().is_some() {
            self.bool(true)?;
        }
        Ok(true)
    }

    fn unset_member(&mut self, _record: &Record, _index: usize) -> Result<(), String> {
        self.bool(false)
    }

    fn begin_sequence(&mut self, _layout: &Layout, count: usize) -> Result<(), String> {
        self.count(count)
    }

    fn begin_dictionary(&mut self, _layout: &Layout, count: usize) -> Result<(), String> {
        self.count(count)
    }
}

pub(crate) struct AlignedReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> AlignedReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let end = self.position.saturating_add(len);
        let taken = self.bytes.get(self.position..end);
        let taken = taken.ok_or_else(|| format!("the bytes end at {}", self.bytes.len()))?;
        self.position = end;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.position = self.position.next_multiple_of(N);
        Ok(self.take(N)?.try_into().expect("so many were taken"))
    }

    /// A count that the bytes that are left can have: an element has one byte or more.
    fn count(&mut self) -> Result<usize, String> {
        let count = u32::from_be_bytes(self.number()?) as usize;
        match count <= self.bytes.len() - self.position {
            true => Ok(count),
            false => Err(format!("{count} elements do not fit")),
        }
    }

    fn text(&mut self) -> Result<&'a str, String> {
        let len = self.count()?;
        std::str::from_utf8(self.take(len)?).map_err(|error| error.to_string())
    }
}

impl Reader for AlignedReader<'_> {
    type Error = String;
    const ORDER: Order = Order::Declared;

    fn unsupported(&mut self, layout: &Layout) -> String {
        format!("{} has no values", layout.name())
    }

    fn bool(&mut self) -> Result<bool, String> {
        Ok(self.byte()? != 0)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn short(&mut self) -> Result<i16, String> {
        self.number().map(i16::from_be_bytes)
    }

    fn int(&mut self) -> Result<i32, String> {
        self.number().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Result<i64, String> {
        self.number().map(i64::from_be_bytes)
    }

    fn float(&mut self) -> Result<f32, String> {
        self.number().map(f32::from_be_bytes)
    }

    fn double(&mut self) -> Result<f64, String> {
        self.number().map(f64::from_be_bytes)
    }

    fn string(&mut self) -> Result<Cow<'_, str>, String> {
        self.text().map(Cow::Borrowed)
    }

    fn bytes(&mut self, _layout: &Layout) -> Result<Cow<'_, [u8]>, String> {
        let len = self.count()?;
        self.take(len).map(Cow::Borrowed)
    }

    fn enumerator(&mut self, _layout: &Layout, all: &Enumeration) -> Result<usize, String> {
        let index = u32::from_be_bytes(self.number()?) as usize;
        match index < all.names().count() {
            true => Ok(index),
            false => Err(format!("no enumerator has the position {index}")),
        }
    }

    fn proxy(&mut self, _layout: &Layout) -> Result<Option<Cow<'_, Reference>>, String> {
        let parsed = Reference::parse(self.text()?);
        let proxy = parsed.map_err(|error| error.to_string())?;
        Ok(proxy.map(Cow::Owned))
    }

    fn instance(&mut self, _layout: &Layout) -> Result<Link<dyn AnyClass>, String> {
        Err("a class instance".to_owned())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, String> {
        match record.members()[index].tag() {
            Some(_) => self.bool(),
            None => Ok(true),
        }
    }

    fn begin_sequence(&mut self, _layout: &Layout, _element: &Layout) -> Result<usize, String> {
        self.count()
    }

    fn begin_dictionary(
        &mut self,
        _layout: &Layout,
        _key: &Layout,
        _value: &Layout,
    ) -> Result<usize, String> {
        self.count()
    }
}
