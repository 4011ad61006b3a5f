//! Symbols: short names in ASCII.

use std::borrow::Cow;
use std::fmt;

/// A name from a domain of names, such as a capability or an error condition: ASCII.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(Cow<'static, str>);

impl Symbol {
    /// A symbol that the program knows.
    ///
    /// # Panics
    /// If it is not ASCII, in a debug build.
    pub const fn new(name: &'static str) -> Self {
        debug_assert!(name.is_ascii());
        Self(Cow::Borrowed(name))
    }

    /// A symbol of text; `None` if that is not ASCII.
    pub fn from_text(text: &str) -> Option<Self> {
        text.is_ascii().then(|| Self(Cow::Owned(text.to_owned())))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for Symbol {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Symbol {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
