//! Values from CDR.

use std::borrow::Cow;

use floe_dynamic::{Enumeration, Layout, Order, Reader, Record, Shape};
use floe_rtps::codec::ByteOrder;
use floe_slice::model::Primitive;
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use super::format::{CdrError, CdrVersion, parameter};

/// Reads values of CDR. Nothing is copied but what the target wants, and no count is believed that the bytes cannot hold.
#[derive(Debug)]
pub struct CdrReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where alignment counts from.
    origin: usize,
    order: ByteOrder,
    version: CdrVersion,
    /// The optional member that is being read. There is one at most: only parameters are optional, and structs are not.
    optional: Option<Optional>,
    /// The ends of sequences that have their length in front, with the depth of sequences.
    sequences: Vec<Option<usize>>,
}

/// An optional member in XCDR1.
#[derive(Debug, Clone, Copy)]
struct Optional {
    end: usize,
    origin: usize,
}

impl<'a> CdrReader<'a> {
    /// A reader at the start of a value, to which alignment counts.
    pub fn new(bytes: &'a [u8], order: ByteOrder, version: CdrVersion) -> Self {
        Self {
            bytes,
            at: 0,
            origin: 0,
            order,
            version,
            optional: None,
            sequences: Vec::new(),
        }
    }

    /// Ends the whole value: up to three bytes of padding may follow.
    ///
    /// # Errors
    /// [`CdrError::Invalid`]: there is more.
    pub fn finish(&self) -> Result<(), CdrError> {
        match self.remaining() {
            0..PADDING_END => Ok(()),
            more => Err(self.invalid("the end of the sample", format!("{more} bytes more"))),
        }
    }

    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn invalid(&self, expected: impl Into<String>, found: impl Into<String>) -> CdrError {
        CdrError::Invalid {
            expected: expected.into(),
            found: found.into(),
            offset: self.at,
        }
    }

    fn align(&mut self, len: usize) {
        let alignment = self.version.alignment(len);
        let at = self.origin + (self.at - self.origin).next_multiple_of(alignment);
        self.at = at.min(self.bytes.len());
    }

    fn take(&mut self, what: &'static str, len: usize) -> Result<&'a [u8], CdrError> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..len) else {
            return Err(CdrError::EndOfData {
                what,
                offset: self.at,
                needed: len,
                remaining: rest.len(),
            });
        };
        self.at += len;
        Ok(taken)
    }

    /// The bytes of a number, little-endian.
    fn number<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CdrError> {
        self.align(N);
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(what, N)?);
        if self.order == ByteOrder::Big {
            bytes.reverse();
        }
        Ok(bytes)
    }

    fn u16(&mut self, what: &'static str) -> Result<u16, CdrError> {
        self.number(what).map(u16::from_le_bytes)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, CdrError> {
        self.number(what).map(u32::from_le_bytes)
    }

    /// Reads a discriminator or an enumerator.
    pub(super) fn ordinal(&mut self, what: &'static str) -> Result<i32, CdrError> {
        self.number(what).map(i32::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a str, CdrError> {
        let len = self.u32("the length of a string")? as usize;
        let start = self.at;
        let bytes = self.take("a string", len)?;
        let text = match bytes.split_last() {
            Some((0, text)) => text,
            // Some peers write an empty string without its zero.
            None => &[],
            Some((last, _)) => {
                return Err(CdrError::Invalid {
                    expected: "a zero at the end of a string".to_owned(),
                    found: format!("{last:#04x}"),
                    offset: start + len - 1,
                });
            }
        };
        let text = std::str::from_utf8(text).map_err(|error| CdrError::Invalid {
            expected: "a string in UTF-8".to_owned(),
            found: "other bytes".to_owned(),
            offset: start + error.valid_up_to(),
        })?;
        match text.find('\0') {
            Some(at) => Err(CdrError::Invalid {
                expected: "the only zero of a string at its end".to_owned(),
                found: "one before".to_owned(),
                offset: start + at,
            }),
            None => Ok(text),
        }
    }

    /// Begins a sequence: its length in bytes, if it has one in front, and its count.
    fn counted(&mut self, has_len: bool) -> Result<usize, CdrError> {
        let end = match has_len && self.version == CdrVersion::Two {
            true => {
                let len = self.u32("the length of a sequence")? as usize;
                if len > self.remaining() {
                    return Err(self.invalid(
                        format!("a sequence of at most {} bytes", self.remaining()),
                        format!("one of {len}"),
                    ));
                }
                Some(self.at + len)
            }
            false => None,
        };
        self.sequences.push(end);
        let count = self.u32("the count of a sequence")? as usize;
        // Nothing that is an element takes less than a byte.
        match count <= self.remaining() {
            true => Ok(count),
            false => Err(self.invalid(
                format!("a sequence of at most {} elements", self.remaining()),
                format!("one of {count}"),
            )),
        }
    }

    /// Reads the header of an optional member; false if it is unset.
    fn begin_optional(&mut self, index: usize) -> Result<bool, CdrError> {
        if self.version == CdrVersion::Two {
            return self.flag("the presence of an optional member");
        }
        self.align(4);
        let start = self.at;
        let id = self.u16("the header of an optional member")? & !parameter::FLAGS;
        let len = self.u16("the length of an optional member")?;
        let (id, len) = match id {
            parameter::EXTENDED => {
                let id = self.u32("the id of an optional member")?;
                let len = self.u32("the length of an optional member")?;
                (id & 0x0fff_ffff, len as usize)
            }
            _ => (u32::from(id), usize::from(len)),
        };
        if usize::try_from(id) != Ok(index) {
            self.at = start;
            return Err(self.invalid(format!("the optional member {index}"), format!("{id}")));
        }
        if len > self.remaining() {
            let remaining = self.remaining();
            return Err(self.invalid(
                format!("an optional member of at most {remaining} bytes"),
                format!("one of {len}"),
            ));
        }
        if len == 0 {
            return Ok(false);
        }
        self.optional = Some(Optional {
            end: self.at + len,
            origin: self.origin,
        });
        self.origin = self.at;
        Ok(true)
    }

    fn flag(&mut self, what: &'static str) -> Result<bool, CdrError> {
        match self.take(what, 1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            other => {
                self.at -= 1;
                Err(self.invalid("0 or 1", format!("{}", other[0])))
            }
        }
    }
}

impl Reader for CdrReader<'_> {
    type Error = CdrError;
    const ORDER: Order = Order::Declared;

    fn unsupported(&mut self, layout: &Layout) -> CdrError {
        CdrError::CannotBeSaid(format!("CDR has no values of {}", layout.name()))
    }

    fn bool(&mut self) -> Result<bool, CdrError> {
        self.flag("a bool")
    }

    fn byte(&mut self) -> Result<u8, CdrError> {
        Ok(self.take("a byte", 1)?[0])
    }

    fn short(&mut self) -> Result<i16, CdrError> {
        self.number("a short").map(i16::from_le_bytes)
    }

    fn int(&mut self) -> Result<i32, CdrError> {
        self.number("an int").map(i32::from_le_bytes)
    }

    fn long(&mut self) -> Result<i64, CdrError> {
        self.number("a long").map(i64::from_le_bytes)
    }

    fn float(&mut self) -> Result<f32, CdrError> {
        self.number("a float").map(f32::from_le_bytes)
    }

    fn double(&mut self) -> Result<f64, CdrError> {
        self.number("a double").map(f64::from_le_bytes)
    }

    fn string(&mut self) -> Result<Cow<'_, str>, CdrError> {
        self.text().map(Cow::Borrowed)
    }

    fn bytes(&mut self, _layout: &Layout) -> Result<Cow<'_, [u8]>, CdrError> {
        let len = self.u32("the count of a sequence")? as usize;
        self.take("a sequence of bytes", len).map(Cow::Borrowed)
    }

    fn enumerator(&mut self, layout: &Layout, all: &Enumeration) -> Result<usize, CdrError> {
        let value = self.ordinal("an enumerator")?;
        all.position(value).ok_or_else(|| {
            self.at -= 4;
            self.invalid(
                format!("the value of an enumerator of {}", layout.name()),
                value.to_string(),
            )
        })
    }

    fn proxy(&mut self, _layout: &Layout) -> Result<Option<Cow<'_, Reference>>, CdrError> {
        let text = self.text()?;
        if text.is_empty() {
            return Ok(None);
        }
        let parsed = Reference::parse(text);
        parsed
            .map(|proxy| proxy.map(Cow::Owned))
            .map_err(|error| self.invalid("a proxy as Ice writes it", error.to_string()))
    }

    fn instance(&mut self, layout: &Layout) -> Result<Link<dyn AnyClass>, CdrError> {
        Err(self.unsupported(layout))
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), CdrError> {
        // The octet that IDL has in a struct without members.
        if record.members().is_empty() {
            self.byte()?;
        }
        Ok(())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, CdrError> {
        match record.members()[index].tag() {
            Some(_) => self.begin_optional(index),
            None => Ok(true),
        }
    }

    fn end_member(&mut self, record: &Record, index: usize) -> Result<(), CdrError> {
        if record.members()[index].tag().is_some()
            && let Some(optional) = self.optional.take()
        {
            // What is at its end may be padding.
            if self.at > optional.end {
                return Err(self.invalid("the end of an optional member", "more of it"));
            }
            self.at = optional.end;
            self.origin = optional.origin;
        }
        Ok(())
    }

    fn begin_sequence(&mut self, _layout: &Layout, element: &Layout) -> Result<usize, CdrError> {
        self.counted(!is_primitive(element))
    }

    fn end_sequence(&mut self) -> Result<(), CdrError> {
        match self.sequences.pop().flatten() {
            Some(end) if end != self.at => {
                let found = format!("byte {end}");
                Err(self.invalid("the end of a sequence", found))
            }
            _ => Ok(()),
        }
    }

    fn begin_dictionary(
        &mut self,
        _layout: &Layout,
        _key: &Layout,
        _value: &Layout,
    ) -> Result<usize, CdrError> {
        self.counted(true)
    }
}

/// A type whose sequences have no length in front in XCDR2. Strings, enumerations and proxies are none.
pub(super) fn is_primitive(layout: &Layout) -> bool {
    matches!(layout.shape(), Shape::Primitive(primitive) if *primitive != Primitive::String)
}

/// Submessages are padded to a multiple of 4, and so are samples.
const PADDING_END: usize = 4;
