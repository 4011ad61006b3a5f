//! The versions of CDR, and what can be wrong with a value of it.

use std::fmt;

/// A version of the plain encoding, as final types have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CdrVersion {
    /// XCDR1: numbers are aligned to their length. An optional member has a parameter header of 4 or 12 bytes in front, with a
    /// length of zero if it is unset; alignment counts from behind it.
    One,
    /// XCDR2: numbers are aligned to 4 at most. An optional member has a bool in front, and a sequence whose elements are not
    /// numbers or bools has its length in bytes in front.
    Two,
}

impl CdrVersion {
    /// The alignment of a number of this length.
    pub(super) fn alignment(self, len: usize) -> usize {
        match self {
            Self::One => len,
            Self::Two => len.min(4),
        }
    }
}

/// The parameter header of an optional member in XCDR1, with 14 bits for the id of the member.
pub(super) mod parameter {
    /// Bits that are flags and not of the id.
    pub(crate) const FLAGS: u16 = 0xc000;
    /// The receiver must understand it.
    pub(crate) const MUST_UNDERSTAND: u16 = 0x4000;
    /// The id and length follow with 32 bits each.
    pub(crate) const EXTENDED: u16 = 0x3f01;
    /// The length of what follows an extended header.
    pub(crate) const EXTENDED_LEN: u16 = 8;
}

/// A value that cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CdrError {
    /// The bytes end before the value does.
    EndOfData {
        /// What was to be read.
        what: &'static str,
        /// The position, from the start of the value.
        offset: usize,
        /// The bytes that it needs.
        needed: usize,
        /// The bytes that remain.
        remaining: usize,
    },
    /// Bytes that are not what was expected there.
    Invalid {
        /// What was expected.
        expected: String,
        /// What came.
        found: String,
        /// The position, from the start of the value.
        offset: usize,
    },
    /// A value that CDR cannot say.
    CannotBeSaid(String),
}

impl fmt::Display for CdrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndOfData {
                what,
                offset,
                needed,
                remaining,
            } => write!(
                f,
                "expected {what} of {needed} bytes at byte {offset}, and {remaining} remain"
            ),
            Self::Invalid {
                expected,
                found,
                offset,
            } => write!(f, "expected {expected} at byte {offset}, got {found}"),
            Self::CannotBeSaid(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for CdrError {}
