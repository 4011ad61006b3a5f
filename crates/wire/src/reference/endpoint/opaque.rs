//! Endpoints that we carry without knowing what they mean.

use crate::encoding::EncodingVersion;

/// An endpoint of a type or in an encoding that we do not know, or with a value that leads nowhere: a port above 65535,
/// a timeout of 0, or a host that is no UTF-8 (unverified with Ice).
///
/// It is sent on exactly as it came, in its own encoding and not in that of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpaqueEndpoint {
    /// The number of its type on the wire.
    pub type_code: i16,
    /// The encoding of its bytes.
    pub encoding: EncodingVersion,
    /// The payload of its encapsulation.
    pub bytes: Vec<u8>,
}
