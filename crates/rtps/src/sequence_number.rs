//! Numbers of the samples of a writer.

use std::fmt;

use crate::codec::{DecodeError, Decoder, Encoder};

/// The number of a sample within its writer, from 1.
///
/// ```text
/// 0           4           8
/// | high: i32 | low: u32  |
/// ```
///
/// Source: DDSI-RTPS 2.5, 9.4.2.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber(pub i64);

impl SequenceNumber {
    /// Before the first.
    pub const ZERO: Self = Self(0);
    /// The first number of a writer.
    pub const FIRST: Self = Self(1);
    /// A bound of what a peer may say: far enough below the end that sums with sizes of windows never overflow. A writer
    /// of a million samples a second takes 146,000 years to come here.
    pub const MAX: Self = Self(1 << 62);

    /// The number after this.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The number before this.
    #[must_use]
    pub fn previous(self) -> Self {
        Self(self.0 - 1)
    }

    /// Reads a number of at least `least`, and at most [`SequenceNumber::MAX`].
    pub(crate) fn decode(
        from: &mut Decoder<'_>,
        what: &'static str,
        least: i64,
    ) -> Result<Self, DecodeError> {
        let high = from.i32(what)?;
        let low = from.u32(what)?;
        let number = (i64::from(high) << 32) | i64::from(low);
        if number < least || number > Self::MAX.0 {
            return Err(from.invalid(what, number));
        }
        Ok(Self(number))
    }

    pub(crate) fn encode(self, into: &mut Encoder<'_>) {
        // The halves of a number of 64 bits, by definition.
        into.i32((self.0 >> 32) as i32);
        into.u32(self.0 as u32);
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
