//! Problems in JSON that was to become a value.

use std::fmt;

use crate::wording::{join, quote};

/// JSON that does not fit a type: all its problems, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    problems: Vec<Problem>,
    /// Problems beyond [`MAX_PROBLEMS`], which are counted only.
    further: usize,
}

/// One thing that is wrong with JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: `params.items[3].name`.
    pub path: String,
    /// The expected content: a type with its range, or the names to choose from.
    pub expected: String,
    /// The actual content.
    pub found: String,
    /// How to mend it, where there is more to say.
    pub help: Option<String>,
}

/// How many problems are kept; the input may be long, and its reader is human.
pub const MAX_PROBLEMS: usize = 20;

impl JsonError {
    pub(crate) fn new(mut problems: Vec<Problem>, further: usize) -> Self {
        let further = further + problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        Self { problems, further }
    }

    /// A value that fits its type and still has no encoding, as a string of 2 GiB.
    pub(crate) fn unencodable(root: &'static str, error: &dyn fmt::Display) -> Self {
        let problem = Problem {
            path: root.to_owned(),
            expected: "a value that can be encoded".to_owned(),
            found: "one that cannot".to_owned(),
            help: Some(error.to_string()),
        };
        Self::new(vec![problem], 0)
    }

    /// The problems, at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))?;
        match self.further {
            0 => Ok(()),
            further => write!(f, "\nand {further} more problems"),
        }
    }
}

impl std::error::Error for JsonError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            expected,
            found,
            ..
        } = self;
        write!(f, "{path}: expected {expected}, got {found}")?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// A piece of JSON in a few words.
pub(crate) fn describe(json: &serde_json::Value) -> String {
    use serde_json::Value as Json;
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => format!("{value}"),
        Json::Number(number) => format!("the number {number}"),
        Json::String(text) => format!("the string {}", quote(text)),
        Json::Array(elements) => format!("an array of {}", elements.len()),
        Json::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Json::Object(members) => {
            let names: Vec<String> = members.keys().take(4).map(|name| quote(name)).collect();
            let more = if members.len() > names.len() {
                ", ..."
            } else {
                ""
            };
            format!("an object with {}{more}", join(&names))
        }
    }
}
