//! The keywords of each version of the language.

use super::Parser;

const KEYWORDS: &[&str] = &[
    "module",
    "class",
    "interface",
    "exception",
    "struct",
    "sequence",
    "dictionary",
    "enum",
    "out",
    "extends",
    "throws",
    "void",
    "bool",
    "byte",
    "short",
    "int",
    "long",
    "float",
    "double",
    "string",
    "Object",
    "const",
    "false",
    "true",
    "idempotent",
    "optional",
    "Value",
];

/// Keywords that Ice 3.8 has given up. Where both versions are accepted they are names wherever a
/// name is wanted.
const KEYWORDS_37: &[&str] = &["local", "LocalObject", "implements"];

/// The words that a definition begins with.
pub(super) const DEFINITION_KEYWORDS: &[&str] = &[
    "module",
    "interface",
    "class",
    "exception",
    "struct",
    "enum",
    "sequence",
    "dictionary",
    "const",
];

/// Keywords of other languages for a definition, with the keyword here.
pub(super) const FOREIGN_KEYWORDS: &[(&str, &str)] = &[
    ("namespace", "module"),
    ("package", "module"),
    ("message", "struct"),
    ("record", "struct"),
    ("service", "interface"),
    ("protocol", "interface"),
    ("import", "#include"),
    ("include", "#include"),
    ("map", "dictionary"),
    ("list", "sequence"),
    ("vector", "sequence"),
];

impl Parser<'_> {
    /// Returns true if a word cannot be a name without a backslash.
    pub(super) fn is_keyword(&self, word: &str) -> bool {
        KEYWORDS.contains(&word) || !self.language.has_38() && KEYWORDS_37.contains(&word)
    }
}

/// Returns true if a word begins a definition.
pub(super) fn begins_definition(word: &str) -> bool {
    DEFINITION_KEYWORDS.contains(&word)
}
