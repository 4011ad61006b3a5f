//! The object to which a request goes.

use bytes::Bytes;

use crate::cdr::{DecodeError, DecodeErrorKind, Decoder, EncodeError, Encoder, Version};
use crate::reference::{Ior, Profile};

/// The object to which a request goes. Before GIOP 1.2 there are only keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An object key (KeyAddr).
    Key(Bytes),
    /// A profile of the reference (ProfileAddr).
    Profile(Profile),
    /// The whole reference, and the index of the profile that was chosen (ReferenceAddr).
    Reference {
        /// The index of the profile.
        selected: u32,
        /// The reference.
        reference: Ior,
    },
}

/// The ways to name a target: a server may ask for one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressingMode {
    /// By key.
    Key,
    /// By profile.
    Profile,
    /// By reference.
    Reference,
}

impl AddressingMode {
    /// Reads a mode.
    ///
    /// # Errors
    /// [`DecodeErrorKind::InvalidValue`].
    pub fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let here = decoder.clone();
        let what = "addressing mode";
        match decoder.short(what)? {
            0 => Ok(Self::Key),
            1 => Ok(Self::Profile),
            2 => Ok(Self::Reference),
            other => Err(here.error(what, DecodeErrorKind::InvalidValue(other.into()))),
        }
    }

    /// Appends the mode.
    pub fn encode(self, encoder: &mut Encoder) {
        encoder.short(match self {
            Self::Key => 0,
            Self::Profile => 1,
            Self::Reference => 2,
        });
    }
}

impl Target {
    /// The object key, if it is named in an IIOP profile or by itself.
    pub fn key(&self) -> Option<&Bytes> {
        let profile = match self {
            Self::Key(key) => return Some(key),
            Self::Profile(profile) => profile,
            Self::Reference {
                selected,
                reference,
            } => reference.profiles.get(usize::try_from(*selected).ok()?)?,
        };
        match profile {
            Profile::Iiop(profile) => Some(&profile.key),
            _ => None,
        }
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.format().version < Version::V1_2 {
            return key(decoder);
        }
        Ok(match AddressingMode::decode(decoder)? {
            AddressingMode::Key => key(decoder)?,
            AddressingMode::Profile => Self::Profile(Profile::decode(decoder)?),
            AddressingMode::Reference => Self::Reference {
                selected: decoder.ulong("index of a profile")?,
                reference: Ior::decode(decoder)?,
            },
        })
    }

    pub(super) fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        if encoder.format().version < Version::V1_2 {
            let key = self.key();
            let key = key.ok_or(EncodeError::NotInVersion("a target without an object key"))?;
            return encoder.octet_sequence(key);
        }
        match self {
            Self::Key(key) => {
                AddressingMode::Key.encode(encoder);
                encoder.octet_sequence(key)
            }
            Self::Profile(profile) => {
                AddressingMode::Profile.encode(encoder);
                profile.encode(encoder)
            }
            Self::Reference {
                selected,
                reference,
            } => {
                AddressingMode::Reference.encode(encoder);
                encoder.ulong(*selected);
                reference.encode(encoder)
            }
        }
    }
}

fn key(decoder: &mut Decoder<'_>) -> Result<Target, DecodeError> {
    let key = decoder.octet_sequence("object key")?;
    Ok(Target::Key(Bytes::copy_from_slice(key)))
}
