//! Which events a log refuses, wherever it keeps them.

use std::fmt;

use super::{Append, Origin};

/// The longest event that a log takes, in bytes: 64 MiB. A segment must be able to hold some of them, and a reader one.
pub const EVENT_LEN_MAX: usize = 64 << 20;

/// Why a log never takes an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is longer than [`EVENT_LEN_MAX`].
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// The name of its publisher is longer than [`Origin::NAME_LEN_MAX`].
    LongPublisher {
        /// The length of the name in bytes.
        len: usize,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { len } => write!(
                f,
                "the event has {len} bytes; a topic stores at most {EVENT_LEN_MAX}"
            ),
            Self::LongPublisher { len } => {
                let max = Origin::NAME_LEN_MAX;
                write!(
                    f,
                    "the name of a publisher has {len} bytes, a topic keeps events of publishers with at most {max}"
                )
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Checks that a log takes these events.
///
/// # Errors
/// [`Refusal`] if it must not keep one of them.
pub(crate) fn checked(append: &Append) -> Result<(), Refusal> {
    let name_len = append
        .origin
        .as_ref()
        .map_or(0, |origin| origin.publisher.len());
    if name_len > Origin::NAME_LEN_MAX {
        return Err(Refusal::LongPublisher { len: name_len });
    }
    // Most batches are short as a whole.
    if append.events.byte_len() <= EVENT_LEN_MAX {
        return Ok(());
    }
    let longest = append.events.iter().map(<[u8]>::len).max().unwrap_or(0);
    match longest > EVENT_LEN_MAX {
        true => Err(Refusal::TooLong { len: longest }),
        false => Ok(()),
    }
}
