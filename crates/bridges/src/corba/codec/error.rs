//! Values that cannot be read from CDR.

use std::fmt;

use floe_giop::cdr::DecodeError;

/// Bytes of CDR that are no value of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CdrReadError {
    /// They are no CDR of the type.
    Decode(DecodeError),
    /// An enumerator beyond the last.
    NoEnumerator {
        /// Its place.
        place: u32,
        /// How many the enumeration has.
        count: usize,
    },
    /// An optional parameter with more than one value.
    SeveralValues(usize),
    /// A text that is no proxy.
    NoProxy(String),
    /// A type that CDR has no values of.
    NotSupported(&'static str),
}

impl From<DecodeError> for CdrReadError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl fmt::Display for CdrReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::NoEnumerator { place, count } => write!(
                f,
                "expected one of the {count} enumerators, got the one at place {place}, counted from 0"
            ),
            Self::SeveralValues(count) => {
                write!(f, "expected a sequence of no or one value, got {count}")
            }
            Self::NoProxy(error) => write!(f, "expected a proxy as Ice writes it: {error}"),
            Self::NotSupported(what) => write!(f, "{what} cannot be carried by CORBA"),
        }
    }
}

impl std::error::Error for CdrReadError {}
