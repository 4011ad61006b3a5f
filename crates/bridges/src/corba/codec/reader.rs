//! Reads values from CDR.

use std::borrow::Cow;

use floe_dynamic::{Enumeration, Layout, Order, Reader, Record, Shape};
use floe_giop::cdr::{CodeSet, Decoder};
use floe_slice::model::Primitive;
use floe_wire::encoding::{AnyClass, Link};
use floe_wire::reference::Reference;

use super::CdrReadError;

/// Reads values in CDR, in either byte order, with the code sets of the decoder.
#[derive(Debug)]
pub struct CdrReader<'d, 'a> {
    decoder: &'d mut Decoder<'a>,
}

impl<'d, 'a> CdrReader<'d, 'a> {
    /// A reader of what follows in a decoder.
    pub fn new(decoder: &'d mut Decoder<'a>) -> Self {
        Self { decoder }
    }

    fn count(&mut self, element_len_min: usize) -> Result<usize, CdrReadError> {
        Ok(self
            .decoder
            .count(element_len_min, usize::MAX, "sequence")?)
    }
}

impl Reader for CdrReader<'_, '_> {
    type Error = CdrReadError;
    const ORDER: Order = Order::Declared;

    fn unsupported(&mut self, _layout: &Layout) -> CdrReadError {
        CdrReadError::NotSupported("values of this type")
    }

    fn bool(&mut self) -> Result<bool, CdrReadError> {
        Ok(self.decoder.boolean("boolean")?)
    }

    fn byte(&mut self) -> Result<u8, CdrReadError> {
        Ok(self.decoder.octet("octet")?)
    }

    fn short(&mut self) -> Result<i16, CdrReadError> {
        Ok(self.decoder.short("short")?)
    }

    fn int(&mut self) -> Result<i32, CdrReadError> {
        Ok(self.decoder.long("long")?)
    }

    fn long(&mut self) -> Result<i64, CdrReadError> {
        Ok(self.decoder.longlong("long long")?)
    }

    fn float(&mut self) -> Result<f32, CdrReadError> {
        Ok(self.decoder.float("float")?)
    }

    fn double(&mut self) -> Result<f64, CdrReadError> {
        Ok(self.decoder.double("double")?)
    }

    fn string(&mut self) -> Result<Cow<'_, str>, CdrReadError> {
        if self.decoder.format().code_sets.narrow == CodeSet::UTF_8 {
            let mut ahead = self.decoder.clone();
            let bytes = ahead.string_bytes("string")?;
            if let Ok(text) = std::str::from_utf8(bytes) {
                *self.decoder = ahead;
                return Ok(Cow::Borrowed(text));
            }
        }
        Ok(Cow::Owned(self.decoder.string("string")?))
    }

    fn bytes(&mut self, _layout: &Layout) -> Result<Cow<'_, [u8]>, CdrReadError> {
        let bytes = self.decoder.octet_sequence("sequence of octets")?;
        Ok(Cow::Borrowed(bytes))
    }

    fn enumerator(&mut self, _layout: &Layout, all: &Enumeration) -> Result<usize, CdrReadError> {
        let place = self.decoder.ulong("enumerator")?;
        let count = all.names().count();
        let index = usize::try_from(place).ok().filter(|index| *index < count);
        index.ok_or(CdrReadError::NoEnumerator { place, count })
    }

    fn proxy(&mut self, _layout: &Layout) -> Result<Option<Cow<'_, Reference>>, CdrReadError> {
        let text = self.string()?;
        if text.is_empty() {
            return Ok(None);
        }
        let parsed = Reference::parse(&text);
        let proxy = parsed.map_err(|error| CdrReadError::NoProxy(error.to_string()))?;
        Ok(proxy.map(Cow::Owned))
    }

    fn instance(&mut self, _layout: &Layout) -> Result<Link<dyn AnyClass>, CdrReadError> {
        Err(CdrReadError::NotSupported("class instances"))
    }

    fn begin_record(&mut self, record: &Record) -> Result<(), CdrReadError> {
        if record.members().is_empty() {
            self.decoder.octet("struct without members")?;
        }
        Ok(())
    }

    fn begin_member(&mut self, record: &Record, index: usize) -> Result<bool, CdrReadError> {
        let member = &record.members()[index];
        if member.tag().is_none() {
            return Ok(true);
        }
        match self.count(value_len_min(member.layout()))? {
            0 => Ok(false),
            1 => Ok(true),
            count => Err(CdrReadError::SeveralValues(count)),
        }
    }

    fn begin_sequence(&mut self, _: &Layout, element: &Layout) -> Result<usize, CdrReadError> {
        self.count(value_len_min(element))
    }

    fn begin_dictionary(
        &mut self,
        _layout: &Layout,
        key: &Layout,
        value: &Layout,
    ) -> Result<usize, CdrReadError> {
        self.count(value_len_min(key) + value_len_min(value))
    }
}

/// A number of bytes that each value takes, at least. There is no value without any, so that a count is never larger than
/// what remains.
fn value_len_min(layout: &Layout) -> usize {
    match layout.shape() {
        Shape::Primitive(primitive) => match primitive {
            Primitive::Bool | Primitive::Byte => 1,
            Primitive::Short => 2,
            Primitive::Int | Primitive::Float => 4,
            Primitive::Long | Primitive::Double => 8,
            Primitive::String => 5,
        },
        // A member takes a byte, at least; one that may be unset takes four.
        Shape::Struct(record) => record.members().len().max(1),
        _ => 4,
    }
}
