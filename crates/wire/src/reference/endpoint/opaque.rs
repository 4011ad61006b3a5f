//! Endpoints of unknown types.

use crate::encoding::EncodingVersion;

/// An endpoint of an unknown type or encoding, or with an invalid value: a port above 65535, a timeout of 0, or a host
/// that is not UTF-8. Source: observed, Ice 3.7.8, which sends all of them on, but refuses those of a known type in an
/// unknown encoding; Floe carries these, too.
///
/// It is sent exactly as it came, in its own encoding instead of that of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpaqueEndpoint {
    /// The number of its type on the wire.
    pub type_code: i16,
    /// The encoding of its bytes.
    pub encoding: EncodingVersion,
    /// The payload of its encapsulation.
    pub bytes: Vec<u8>,
}
