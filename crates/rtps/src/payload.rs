//! The four bytes in front of a serialized sample, which say how it is encoded.

use std::fmt;

use crate::codec::ByteOrder;

/// The length of the header: two octets of [`Representation`] and two of options.
pub const PAYLOAD_HEADER_LEN: usize = 4;

/// How a payload is encoded.
///
/// ```text
/// 0            2         4
/// | identifier | options | value ...
/// ```
///
/// Both are big-endian, whatever follows. The two lowest bits of the options count the bytes of padding at the end.
/// Source: DDSI-RTPS 2.5, 10.2; DDS-XTypes 1.3, 7.6.3.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Representation {
    /// Plain CDR, version 1.
    Cdr(ByteOrder),
    /// Parameter list, version 1: discovery, and mutable types.
    ParameterList(ByteOrder),
    /// Plain CDR, version 2: 8-byte values are aligned to 4.
    Cdr2(ByteOrder),
    /// Delimited CDR, version 2: appendable types.
    DelimitedCdr2(ByteOrder),
    /// Parameter list, version 2: mutable types.
    ParameterList2(ByteOrder),
    /// XML, which nobody sends.
    Xml,
}

impl Representation {
    /// Plain CDR, version 1, little-endian: what final types have.
    pub const CDR_LE: Self = Self::Cdr(ByteOrder::Little);

    /// Reads the header of a payload; returns it with the bytes of the value, without padding.
    ///
    /// # Errors
    /// [`PayloadError`] if there is no header, or none that is known.
    pub fn split(payload: &[u8]) -> Result<(Self, &[u8]), PayloadError> {
        let Some((header, value)) = payload.split_at_checked(PAYLOAD_HEADER_LEN) else {
            return Err(PayloadError::TooShort(payload.len()));
        };
        let id = u16::from_be_bytes([header[0], header[1]]);
        let representation = Self::from_id(id).ok_or(PayloadError::UnknownRepresentation(id))?;
        let padding = usize::from(header[3] & 3);
        let Some(len) = value.len().checked_sub(padding) else {
            return Err(PayloadError::TooShort(payload.len()));
        };
        Ok((representation, &value[..len]))
    }

    /// Puts the header in front of a value.
    pub fn join(self, value: &[u8]) -> Vec<u8> {
        let mut payload = Vec::with_capacity(PAYLOAD_HEADER_LEN + value.len());
        payload.extend_from_slice(&self.id().to_be_bytes());
        payload.extend_from_slice(&[0, 0]);
        payload.extend_from_slice(value);
        payload
    }

    /// The byte order; `None` if it is text.
    pub fn order(self) -> Option<ByteOrder> {
        match self {
            Self::Cdr(order)
            | Self::ParameterList(order)
            | Self::Cdr2(order)
            | Self::DelimitedCdr2(order)
            | Self::ParameterList2(order) => Some(order),
            Self::Xml => None,
        }
    }

    fn from_id(id: u16) -> Option<Self> {
        let order = match id & 1 {
            0 => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        Some(match id {
            0x0000 | 0x0001 => Self::Cdr(order),
            0x0002 | 0x0003 => Self::ParameterList(order),
            0x0004 => Self::Xml,
            0x0006 | 0x0007 => Self::Cdr2(order),
            0x0008 | 0x0009 => Self::DelimitedCdr2(order),
            0x000a | 0x000b => Self::ParameterList2(order),
            _ => return None,
        })
    }

    fn id(self) -> u16 {
        let of = |base: u16, order| base + u16::from(order == ByteOrder::Little);
        match self {
            Self::Cdr(order) => of(0x0000, order),
            Self::ParameterList(order) => of(0x0002, order),
            Self::Xml => 0x0004,
            Self::Cdr2(order) => of(0x0006, order),
            Self::DelimitedCdr2(order) => of(0x0008, order),
            Self::ParameterList2(order) => of(0x000a, order),
        }
    }
}

/// A payload without a header that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PayloadError {
    /// A payload of this many bytes, too few for its header and padding.
    TooShort(usize),
    /// A representation that no specification has.
    UnknownRepresentation(u16),
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort(len) => write!(
                f,
                "expected a payload with a header of {PAYLOAD_HEADER_LEN} bytes and its padding, got {len} bytes"
            ),
            Self::UnknownRepresentation(id) => write!(
                f,
                "expected a representation between 0x0000 and 0x000b, such as plain CDR, got {id:#06x}"
            ),
        }
    }
}

impl std::error::Error for PayloadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_representation_comes_back() {
        for id in 0..=0x0b_u16 {
            let Some(representation) = Representation::from_id(id) else {
                assert_eq!(id, 5);
                continue;
            };
            assert_eq!(representation.id(), id);
            let payload = representation.join(b"ab");
            assert_eq!(
                Representation::split(&payload),
                Ok((representation, &b"ab"[..]))
            );
        }
    }

    #[test]
    fn padding_is_not_part_of_the_value() {
        let payload = [0, 7, 0, 3, 1, 0, 0, 0];
        let (representation, value) = Representation::split(&payload).expect("it is whole");
        assert_eq!(representation, Representation::Cdr2(ByteOrder::Little));
        assert_eq!(value, [1]);
        assert_eq!(
            Representation::split(&[0, 7, 0, 3, 1, 2]),
            Err(PayloadError::TooShort(6))
        );
    }
}
