//! Writes values as CDR.

use std::borrow::Cow;

use floe_dynamic::{Enumeration, Layout, Order, Record, Writer};
use floe_giop::cdr::{EncodeError, Encoder};
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

/// Writes values as CDR, in the byte order and with the code sets of an encoder. A text that the code set does not have, or
/// with a NUL in it, is an error.
#[derive(Debug)]
pub struct CdrWriter<'e> {
    encoder: &'e mut Encoder,
}

impl<'e> CdrWriter<'e> {
    /// A writer that appends to an encoder.
    pub fn new(encoder: &'e mut Encoder) -> Self {
        Self { encoder }
    }
}

impl Writer for CdrWriter<'_> {
    type Error = EncodeError;
    const ORDER: Order = Order::Declared;
    const NEEDS_GRAPH: bool = false;

    fn bool(&mut self, value: bool) -> Result<(), EncodeError> {
        self.encoder.boolean(value);
        Ok(())
    }

    fn byte(&mut self, value: u8) -> Result<(), EncodeError> {
        self.encoder.octet(value);
        Ok(())
    }

    fn short(&mut self, value: i16) -> Result<(), EncodeError> {
        self.encoder.short(value);
        Ok(())
    }

    fn int(&mut self, value: i32) -> Result<(), EncodeError> {
        self.encoder.long(value);
        Ok(())
    }

    fn long(&mut self, value: i64) -> Result<(), EncodeError> {
        self.encoder.longlong(value);
        Ok(())
    }

    fn float(&mut self, value: f32) -> Result<(), EncodeError> {
        self.encoder.float(value);
        Ok(())
    }

    fn double(&mut self, value: f64) -> Result<(), EncodeError> {
        self.encoder.double(value);
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), EncodeError> {
        self.encoder.string(text)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.encoder.octet_sequence(bytes)
    }

    fn enumerator(&mut self, _all: &Enumeration, index: usize) -> Result<(), EncodeError> {
        let what = "place of an enumerator";
        let place = u32::try_from(index);
        let place = place.map_err(|_| EncodeError::TooLong { what, len: index })?;
        self.encoder.ulong(place);
        Ok(())
    }

    fn proxy(&mut self, proxy: Option<Cow<'_, Reference>>) -> Result<(), EncodeError> {
        let text = proxy.map(|proxy| proxy.to_string());
        self.encoder.string(&text.unwrap_or_default())
    }

    fn instance(&mut self, _link: &Link<dyn AnyClass>) -> Result<(), EncodeError> {
        Err(EncodeError::NotOfType("a type without class instances"))
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), EncodeError> {
        if record.members().is_empty() {
            self.encoder.octet(0);
        }
        Ok(())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, EncodeError> {
        if record.members()[index].tag().is_some() {
            self.encoder.ulong(1);
        }
        Ok(true)
    }

    fn unset_member(&mut self, _record: &Record, _index: usize) -> Result<(), EncodeError> {
        self.encoder.ulong(0);
        Ok(())
    }

    fn begin_sequence(&mut self, _layout: &Layout, count: usize) -> Result<(), EncodeError> {
        self.encoder.len_of("sequence", count)
    }

    fn begin_dictionary(&mut self, _layout: &Layout, count: usize) -> Result<(), EncodeError> {
        self.encoder.len_of("sequence", count)
    }
}
