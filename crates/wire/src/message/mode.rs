//! Operation modes.

use crate::encoding::{
    Decode, DecodeError, DecodeErrorKind, Decoder, Encode, Encoder, TagFormat, Tagged,
};

/// The operation mode. It says whether a request may be sent again after a failure that leaves its execution in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum OperationMode {
    /// At most once.
    #[default]
    Normal,
    /// As often as needed. This is the older of two values: Ice 3.7 sends it for operations that are declared
    /// `["nonmutating"] idempotent`, and for the operations that every object has.
    Nonmutating,
    /// As often as needed.
    Idempotent,
}

impl OperationMode {
    /// The mode of the operations that every object has: `ice_ping` and the others.
    ///
    /// Ice 3.7 sends it, and its servants may refuse any other; servants of Ice 3.8, which sends
    /// [`OperationMode::Idempotent`], look at no mode there.
    pub const BUILTIN: Self = Self::Nonmutating;

    /// Returns true if the request may be repeated.
    pub const fn is_idempotent(self) -> bool {
        !matches!(self, Self::Normal)
    }
}

impl Encode for OperationMode {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.byte(*self as u8);
    }
}

/// As the enumeration `Ice::OperationMode`.
impl Tagged for OperationMode {
    const FORMAT: TagFormat = TagFormat::Size;
}

impl Decode for OperationMode {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        const WHAT: &str = "operation mode";
        let start = decoder.position();
        match decoder.byte(WHAT)? {
            0 => Ok(Self::Normal),
            1 => Ok(Self::Nonmutating),
            2 => Ok(Self::Idempotent),
            other => {
                let kind = DecodeErrorKind::InvalidValue(i64::from(other));
                Err(decoder.error_at(start, WHAT, kind))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::EncodingVersion;

    #[test]
    fn an_unknown_mode_is_reported_where_it_stands() {
        let mut decoder = Decoder::new(&[3], EncodingVersion::V1_0);
        let error = decoder.get::<OperationMode>().expect_err("no such mode");
        assert_eq!(error.offset, 0);
    }
}
