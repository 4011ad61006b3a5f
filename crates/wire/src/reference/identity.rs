//! Names of objects.

use crate::encoding::{Decode, DecodeError, Decoder, Encode, Encoder};

/// Name of an object: unique within the adapters that serve it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Identity {
    /// The name proper; empty only in a nil proxy.
    pub name: String,
    /// A group of objects, often those that one default servant answers for; may be empty.
    pub category: String,
}

impl Encode for Identity {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.string(&self.name);
        encoder.string(&self.category);
    }
}

impl Decode for Identity {
    const MIN_WIRE_LEN: usize = 2;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: decoder.get()?,
            category: decoder.get()?,
        })
    }
}
