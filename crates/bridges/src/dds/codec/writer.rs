//! Values into CDR, little-endian.

use std::borrow::Cow;

use floe_dynamic::{Enumeration, Layout, Order, Record, Shape, Writer};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use super::format::{CdrError, CdrVersion, parameter};
use super::reader::is_primitive;

/// Writes values of CDR, little-endian.
#[derive(Debug)]
pub struct CdrWriter<'b> {
    bytes: &'b mut Vec<u8>,
    /// Where alignment counts from.
    origin: usize,
    version: CdrVersion,
    len_max: usize,
    /// The optional member that is being written: see [`CdrReader`](super::CdrReader).
    optional: Option<Optional>,
    /// The places of the lengths of sequences that have one.
    sequences: Vec<Option<usize>>,
}

/// An optional member in XCDR1.
#[derive(Debug, Clone, Copy)]
struct Optional {
    /// The place of its length, of 32 bits.
    len_at: usize,
    origin: usize,
}

impl<'b> CdrWriter<'b> {
    /// A writer that appends a value to `bytes`, up to `len_max` bytes in all. Alignment counts from where it begins.
    pub fn new(bytes: &'b mut Vec<u8>, version: CdrVersion, len_max: usize) -> Self {
        Self {
            origin: bytes.len(),
            bytes,
            version,
            len_max,
            optional: None,
            sequences: Vec::new(),
        }
    }

    fn align(&mut self, len: usize) {
        let alignment = self.version.alignment(len);
        let aligned = (self.bytes.len() - self.origin).next_multiple_of(alignment);
        self.bytes.resize(self.origin + aligned, 0);
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), CdrError> {
        if bytes.len() > self.len_max.saturating_sub(self.bytes.len()) {
            let reason = format!("the event is longer than {} bytes in CDR", self.len_max);
            return Err(CdrError::CannotBeSaid(reason));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn number<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), CdrError> {
        self.align(N);
        self.append(&bytes)
    }

    /// A length or count.
    fn count(&mut self, count: usize) -> Result<(), CdrError> {
        let count = u32::try_from(count).map_err(|_| {
            CdrError::CannotBeSaid(format!("{count} is more than a count of CDR can say"))
        })?;
        self.number(count.to_le_bytes())
    }

    /// Writes a discriminator or an enumerator.
    pub(super) fn ordinal(&mut self, value: i32) -> Result<(), CdrError> {
        self.number(value.to_le_bytes())
    }

    fn text(&mut self, text: &str) -> Result<(), CdrError> {
        if let Some(at) = text.find('\0') {
            let reason = format!(
                "a string of DDS cannot hold the character of code 0, which is at byte {at}"
            );
            return Err(CdrError::CannotBeSaid(reason));
        }
        self.count(text.len() + 1)?;
        self.append(text.as_bytes())?;
        self.append(&[0])
    }

    /// Begins a sequence, whose length is written at its end if it has one.
    fn counted(&mut self, has_len: bool, count: usize) -> Result<(), CdrError> {
        let has_len = has_len && self.version == CdrVersion::Two;
        if has_len {
            self.count(0)?;
        }
        self.sequences.push(has_len.then(|| self.bytes.len() - 4));
        self.count(count)
    }

    fn end_counted(&mut self) {
        if let Some(at) = self.sequences.pop().flatten() {
            self.set_len(at, self.bytes.len() - at - 4);
        }
    }

    /// Overwrites a length. It is below the longest payload.
    fn set_len(&mut self, at: usize, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.bytes[at..at + 4].copy_from_slice(&len.to_le_bytes());
    }

    /// The header of an optional member in XCDR1: always the long one, because its length is not known yet. Returns where the
    /// length is.
    fn optional_header(&mut self, index: usize) -> Result<usize, CdrError> {
        self.align(4);
        self.number((parameter::MUST_UNDERSTAND | parameter::EXTENDED).to_le_bytes())?;
        self.number(parameter::EXTENDED_LEN.to_le_bytes())?;
        self.count(index)?;
        self.count(0)?;
        Ok(self.bytes.len() - 4)
    }
}

impl Writer for CdrWriter<'_> {
    type Error = CdrError;
    const ORDER: Order = Order::Declared;
    // A class is refused before the first event.
    const NEEDS_GRAPH: bool = false;

    fn bool(&mut self, value: bool) -> Result<(), CdrError> {
        self.append(&[u8::from(value)])
    }

    fn byte(&mut self, value: u8) -> Result<(), CdrError> {
        self.append(&[value])
    }

    fn short(&mut self, value: i16) -> Result<(), CdrError> {
        self.number(value.to_le_bytes())
    }

    fn int(&mut self, value: i32) -> Result<(), CdrError> {
        self.number(value.to_le_bytes())
    }

    fn long(&mut self, value: i64) -> Result<(), CdrError> {
        self.number(value.to_le_bytes())
    }

    fn float(&mut self, value: f32) -> Result<(), CdrError> {
        self.number(value.to_le_bytes())
    }

    fn double(&mut self, value: f64) -> Result<(), CdrError> {
        self.number(value.to_le_bytes())
    }

    fn string(&mut self, text: &str) -> Result<(), CdrError> {
        self.text(text)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), CdrError> {
        self.count(bytes.len())?;
        self.append(bytes)
    }

    fn enumerator(&mut self, all: &Enumeration, index: usize) -> Result<(), CdrError> {
        self.ordinal(all.value(index))
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), CdrError> {
        match proxy {
            Some(proxy) => self.text(&proxy.to_string()),
            None => self.text(""),
        }
    }

    fn instance(&mut self, _link: &Link<dyn AnyClass>) -> Result<(), CdrError> {
        Err(CdrError::CannotBeSaid(
            "CDR has no class instances".to_owned(),
        ))
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), CdrError> {
        match record.members().is_empty() {
            true => self.byte(0),
            false => Ok(()),
        }
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, CdrError> {
        if record.members()[index].tag().is_some() {
            match self.version {
                CdrVersion::One => {
                    let len_at = self.optional_header(index)?;
                    let origin = std::mem::replace(&mut self.origin, self.bytes.len());
                    self.optional = Some(Optional { len_at, origin });
                }
                CdrVersion::Two => self.bool(true)?,
            }
        }
        Ok(true)
    }

    fn end_member(&mut self, record: &Record, index: usize) -> Result<(), CdrError> {
        if record.members()[index].tag().is_some()
            && let Some(optional) = self.optional.take()
        {
            self.set_len(optional.len_at, self.bytes.len() - self.origin);
            self.origin = optional.origin;
        }
        Ok(())
    }

    fn unset_member(&mut self, _record: &Record, index: usize) -> Result<(), CdrError> {
        match self.version {
            CdrVersion::Two => self.bool(false),
            CdrVersion::One => self.optional_header(index).map(|_| ()),
        }
    }

    fn begin_sequence(&mut self, layout: &Layout, count: usize) -> Result<(), CdrError> {
        let is_plain = matches!(layout.shape(), Shape::Sequence(element) if is_primitive(element));
        self.counted(!is_plain, count)
    }

    fn end_sequence(&mut self, _layout: &Layout) -> Result<(), CdrError> {
        self.end_counted();
        Ok(())
    }

    fn begin_dictionary(&mut self, _layout: &Layout, count: usize) -> Result<(), CdrError> {
        self.counted(true, count)
    }

    fn end_dictionary(&mut self, _layout: &Layout) -> Result<(), CdrError> {
        self.end_counted();
        Ok(())
    }
}
