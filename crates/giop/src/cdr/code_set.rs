//! Code sets: how characters are encoded, and how two ORBs agree.
//!
//! A server lists its code sets in a component of its references. The client selects one for characters and one for wide
//! characters, and says so in a service context of its first request. Without that, a connection uses ISO 8859-1 and
//! has no wide characters.
//!
//! Source: CORBA 3.0.3, 13.10.2 "Code Set Conversion Framework"; the numbers are those of the OSF registry.

use std::fmt;

use super::{DecodeError, Decoder, EncodeError, Encoder};

/// A number of the OSF registry of code sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodeSet(pub u32);

impl CodeSet {
    /// ISO 8859-1, Latin 1.
    pub const ISO_8859_1: Self = Self(0x0001_0001);
    /// ISO 646, ASCII.
    pub const ISO_646: Self = Self(0x0001_0020);
    /// UTF-8.
    pub const UTF_8: Self = Self(0x0501_0001);
    /// UTF-16.
    pub const UTF_16: Self = Self(0x0001_0109);
    /// UCS-2, level 1, which is read and written as UTF-16.
    pub const UCS_2: Self = Self(0x0001_0100);
}

impl fmt::Display for CodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ISO_8859_1 => f.write_str("ISO 8859-1"),
            Self::ISO_646 => f.write_str("ASCII"),
            Self::UTF_8 => f.write_str("UTF-8"),
            Self::UTF_16 => f.write_str("UTF-16"),
            Self::UCS_2 => f.write_str("UCS-2"),
            Self(number) => write!(f, "code set {number:#010x}"),
        }
    }
}

/// The code sets of a connection. By default ISO 8859-1, and no wide characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeSets {
    /// For `char` and `string`.
    pub narrow: CodeSet,
    /// For `wchar` and `wstring`, if there is one.
    pub wide: Option<CodeSet>,
}

impl CodeSets {
    /// UTF-8 and UTF-16.
    pub const UTF: Self = Self {
        narrow: CodeSet::UTF_8,
        wide: Some(CodeSet::UTF_16),
    };

    /// Reads the data of a service context: what a client has selected.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn from_context(data: &[u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::encapsulation_of(data)?;
        let narrow = CodeSet(decoder.ulong("code set of characters")?);
        let wide = CodeSet(decoder.ulong("code set of wide characters")?);
        Ok(Self {
            narrow,
            wide: (wide.0 != 0).then_some(wide),
        })
    }

    /// The data of a service context.
    ///
    /// # Errors
    /// None that can occur: it has a fixed length.
    pub fn to_context(self) -> Result<Vec<u8>, EncodeError> {
        Encoder::encapsulation_bytes(|encoder| {
            encoder.ulong(self.narrow.0);
            encoder.ulong(self.wide.map_or(0, |wide| wide.0));
            Ok(())
        })
    }

    /// Returns true if this crate reads and writes both code sets.
    pub fn are_known(self) -> bool {
        let narrow = [CodeSet::UTF_8, CodeSet::ISO_8859_1, CodeSet::ISO_646];
        let wide = [CodeSet::UTF_16, CodeSet::UCS_2];
        narrow.contains(&self.narrow) && self.wide.is_none_or(|set| wide.contains(&set))
    }
}

impl Default for CodeSets {
    fn default() -> Self {
        Self {
            narrow: CodeSet::ISO_8859_1,
            wide: None,
        }
    }
}

/// The code sets of a server for one kind of characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeSetComponent {
    /// The one that it uses itself; 0 means that it has none.
    pub native: u32,
    /// Others that it converts.
    pub conversions: Vec<CodeSet>,
}

impl CodeSetComponent {
    fn has(&self, wanted: CodeSet) -> bool {
        self.native == wanted.0 || self.conversions.contains(&wanted)
    }
}

/// The component of a reference that lists the code sets of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeSetInfo {
    /// For `char` and `string`.
    pub narrow: CodeSetComponent,
    /// For `wchar` and `wstring`.
    pub wide: CodeSetComponent,
}

/// The longest list of conversions that is read. omniORB sends 2, and JacORB 4.
const CONVERSIONS_MAX: usize = 256;

impl CodeSetInfo {
    /// The list of a server that is made of this crate: UTF-8 or ISO 8859-1, and UTF-16.
    pub fn ours() -> Self {
        Self {
            narrow: CodeSetComponent {
                native: CodeSet::UTF_8.0,
                conversions: vec![CodeSet::ISO_8859_1],
            },
            wide: CodeSetComponent {
                native: CodeSet::UTF_16.0,
                conversions: Vec::new(),
            },
        }
    }

    /// Selects code sets as a client: UTF-8 if the server has it, ISO 8859-1 otherwise; UTF-16 if the server has it.
    pub fn select(&self) -> CodeSets {
        let narrow = [CodeSet::UTF_8, CodeSet::ISO_8859_1, CodeSet::ISO_646];
        let narrow = narrow.into_iter().find(|set| self.narrow.has(*set));
        CodeSets {
            // Every ORB must fall back to UTF-8 (13.10.2.6), whatever it lists.
            narrow: narrow.unwrap_or(CodeSet::UTF_8),
            wide: [CodeSet::UTF_16, CodeSet::UCS_2]
                .into_iter()
                .find(|set| self.wide.has(*set)),
        }
    }

    /// Reads the data of the component.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(data: &[u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::encapsulation_of(data)?;
        Ok(Self {
            narrow: component(&mut decoder)?,
            wide: component(&mut decoder)?,
        })
    }

    /// The data of the component.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        Encoder::encapsulation_bytes(|encoder| {
            for component in [&self.narrow, &self.wide] {
                encoder.ulong(component.native);
                encoder.len_of("list of code sets", component.conversions.len())?;
                component
                    .conversions
                    .iter()
                    .for_each(|set| encoder.ulong(set.0));
            }
            Ok(())
        })
    }
}

fn component(decoder: &mut Decoder<'_>) -> Result<CodeSetComponent, DecodeError> {
    let native = decoder.ulong("native code set")?;
    let count = decoder.count(4, CONVERSIONS_MAX, "list of code sets")?;
    let conversions = (0..count).map(|_| Ok(CodeSet(decoder.ulong("code set")?)));
    Ok(CodeSetComponent {
        native,
        conversions: conversions.collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_prefers_utf_8_and_takes_latin_1_from_a_server_that_has_only_that() {
        let latin = CodeSetInfo {
            narrow: CodeSetComponent {
                native: CodeSet::ISO_8859_1.0,
                conversions: Vec::new(),
            },
            wide: CodeSetComponent::default(),
        };
        let selected = latin.select();
        assert_eq!(
            (selected.narrow, selected.wide),
            (CodeSet::ISO_8859_1, None)
        );
        assert_eq!(CodeSetInfo::ours().select(), CodeSets::UTF);
    }

    #[test]
    fn the_component_and_the_context_survive_a_round_trip() {
        let info = CodeSetInfo::ours();
        let data = info.encode().expect("it is short");
        assert_eq!(CodeSetInfo::decode(&data), Ok(info));
        for sets in [CodeSets::UTF, CodeSets::default()] {
            let data = sets.to_context().expect("it is short");
            assert_eq!(CodeSets::from_context(&data), Ok(sets));
        }
    }

    #[test]
    fn a_list_of_four_billion_code_sets_is_refused() {
        let data = [0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff];
        assert!(CodeSetInfo::decode(&data).is_err());
    }
}
