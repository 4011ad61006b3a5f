//! How bytes are to be read: byte order, version of the protocol, code sets.

use std::fmt;

use super::CodeSets;

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endian {
    /// The most significant byte comes first.
    Big,
    /// The least significant byte comes first.
    Little,
}

impl Endian {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "little") {
        Self::Little
    } else {
        Self::Big
    };

    /// The byte order that the flag of an encapsulation or of a message header means.
    pub fn from_flag(is_little: bool) -> Self {
        match is_little {
            true => Self::Little,
            false => Self::Big,
        }
    }

    /// The flag in encapsulations and message headers.
    pub fn flag(self) -> bool {
        self == Self::Little
    }
}

/// A version of GIOP, or of an IIOP profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 1.0: CORBA 2.0.
    V1_0,
    /// 1.1: CORBA 2.1. Fragments, wide characters.
    V1_1,
    /// 1.2: CORBA 2.3. Target addressing, aligned bodies.
    V1_2,
}

impl Version {
    /// The version with these numbers, if it is known.
    pub fn new(major: u8, minor: u8) -> Option<Self> {
        match (major, minor) {
            (1, 0) => Some(Self::V1_0),
            (1, 1) => Some(Self::V1_1),
            (1, 2) => Some(Self::V1_2),
            _ => None,
        }
    }

    /// The minor version number; the major one is 1.
    pub fn minor(self) -> u8 {
        match self {
            Self::V1_0 => 0,
            Self::V1_1 => 1,
            Self::V1_2 => 2,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor())
    }
}

/// All that a reader of bytes must know and that the bytes do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The byte order.
    pub endian: Endian,
    /// The version of the protocol: wide characters differ.
    pub version: Version,
    /// The code sets of the connection.
    pub code_sets: CodeSets,
}

impl Format {
    /// GIOP 1.2 in a byte order, with UTF-8 and UTF-16.
    pub fn utf8(endian: Endian) -> Self {
        Self {
            endian,
            version: Version::V1_2,
            code_sets: CodeSets::UTF,
        }
    }

    /// GIOP in a version and a byte order, with the code sets of a connection that has negotiated none.
    pub fn plain(version: Version, endian: Endian) -> Self {
        Self {
            endian,
            version,
            code_sets: CodeSets::default(),
        }
    }
}
