//! Names of objects.

use std::fmt;
use std::str::FromStr;

use super::escape::{escape, unescape};
use super::{ParseReferenceError, ToStringMode};
use crate::encoding::{Decode, DecodeError, Decoder, Encode, Encoder, TagFormat, Tagged};

/// The name of an object, unique within the adapters that serve it.
///
/// As text it is `name` or `category/name`. A `/` within either is written `\/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Identity {
    /// The name proper; empty only in a nil proxy.
    pub name: String,
    /// A group of objects, often with one default servant; may be empty.
    pub category: String,
}

impl Identity {
    /// An identity without a category. `name` has no escapes.
    pub fn new(name: impl Into<String>) -> Self {
        Self::with_category(name, "")
    }

    /// An identity in a category. Neither text has escapes.
    pub fn with_category(name: impl Into<String>, category: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            category: category.into(),
        }
    }

    /// Returns true if it names no object, as in a nil proxy.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty() && self.category.is_empty()
    }

    /// The text of the identity, without quotes.
    pub fn to_text(&self, mode: ToStringMode) -> String {
        let mut text = String::with_capacity(self.category.len() + 1 + self.name.len());
        if !self.category.is_empty() {
            escape(&self.category, "/", mode, &mut text);
            text.push('/');
        }
        escape(&self.name, "/", mode, &mut text);
        text
    }

    /// Parses text that begins at byte `offset` of the whole text.
    pub(super) fn parse_at(text: &str, offset: usize) -> Result<Self, ParseReferenceError> {
        let (category, name) = match split_at_slash(text, offset)? {
            Some(slash) => (&text[..slash], &text[slash + 1..]),
            None => ("", text),
        };
        let name_offset = offset + text.len() - name.len();
        let identity = Self {
            name: unescape(name, "/", name_offset)?,
            category: unescape(category, "/", offset)?,
        };
        if identity.name.is_empty() && !identity.category.is_empty() {
            return Err(
                ParseReferenceError::new(name_offset, "a name after the category", "")
                    .help("an identity is `name` or `category/name`"),
            );
        }
        Ok(identity)
    }
}

/// An empty text is the empty identity, which names no object.
impl FromStr for Identity {
    type Err = ParseReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_at(text, 0)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_text(ToStringMode::Unicode))
    }
}

impl Encode for Identity {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.string(&self.name);
        encoder.string(&self.category);
    }
}

impl Tagged for Identity {
    const FORMAT: TagFormat = TagFormat::FSize;
}

impl Decode for Identity {
    const MIN_WIRE_LEN: usize = 2;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: decoder.get()?,
            category: decoder.get()?,
        })
    }
}

/// The position of the only unescaped `/`.
fn split_at_slash(text: &str, offset: usize) -> Result<Option<usize>, ParseReferenceError> {
    let mut found = None;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'/' && !escaped {
            if found.is_some() {
                let error = ParseReferenceError::new(offset + at, "at most one `/`", &text[at..]);
                return Err(error.help("write a `/` inside a category or name as `\\/`"));
            }
            found = Some(at);
        }
        escaped = byte == b'\\' && !escaped;
    }
    Ok(found)
}
