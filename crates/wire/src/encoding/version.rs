//! Protocol and encoding versions.

use std::fmt;

use super::{Decode, DecodeError, Decoder, Encode, Encoder};

macro_rules! version {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name {
            /// Incompatible changes.
            pub major: u8,
            /// Compatible ones.
            pub minor: u8,
        }

        impl $name {
            /// Version 1.0.
            pub const V1_0: Self = Self { major: 1, minor: 0 };

            /// A version with these two numbers.
            pub const fn new(major: u8, minor: u8) -> Self {
                Self { major, minor }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{}", self.major, self.minor)
            }
        }

        impl Encode for $name {
            fn encode(&self, encoder: &mut Encoder<'_>) {
                encoder.bytes(&[self.major, self.minor]);
            }
        }

        impl Decode for $name {
            const MIN_WIRE_LEN: usize = 2;

            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                let [major, minor] = decoder.array(stringify!($name))?;
                Ok(Self { major, minor })
            }
        }
    };
}

version!(
    /// Version of the protocol: 1.0 on every message.
    ProtocolVersion
);
version!(
    /// Version of an encapsulation's encoding: 1.0 or 1.1.
    EncodingVersion
);

impl EncodingVersion {
    /// Version 1.1, the default.
    pub const V1_1: Self = Self { major: 1, minor: 1 };

    /// Returns true if Floe can decode it: the same major version, and a minor version that is not newer.
    pub const fn is_supported(self) -> bool {
        self.major == 1 && self.minor <= 1
    }

    /// The version with which a proxy that asks for `self` sends: 1.1 for any newer 1.x.
    ///
    /// Returns `None` for another major version.
    pub const fn for_sending(self) -> Option<Self> {
        match (self.major, self.minor) {
            (1, 0) => Some(Self::V1_0),
            (1, _) => Some(Self::V1_1),
            _ => None,
        }
    }
}

impl Default for EncodingVersion {
    fn default() -> Self {
        Self::V1_1
    }
}

impl Default for ProtocolVersion {
    fn default() -> Self {
        Self::V1_0
    }
}
