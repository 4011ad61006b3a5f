//! One setting of a file: its place, its name and its value; and the errors in a file.

use std::fmt;
use std::time::Duration;

use floe_wire::reference::{
    Endpoint, ParseReferenceError, parse_endpoints, parse_published_endpoints,
};

use crate::values::endpoint::{self, HUB_PORT};
use crate::values::{parse_time, size};

/// A setting as it stands in a file.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Its name, from the outermost table inwards.
    pub(super) path: Vec<String>,
    /// The value.
    pub(super) value: Value,
    /// Its line, from 1.
    pub(super) line: usize,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Bool(bool),
    List(Vec<Value>),
    /// A value that no setting has, such as a date.
    Other(&'static str),
}

/// A problem in a line of a file, or a remark on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; 0 is the file as a whole.
    pub line: usize,
    /// Lower case, no full stop.
    pub message: String,
}

impl Problem {
    pub(super) fn new(line: usize, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Self { line, message }
    }
}

impl Entry {
    /// The name as it is written in a file.
    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }

    /// That it should say something else.
    pub(super) fn expected(&self, what: impl fmt::Display) -> Problem {
        let (name, value) = (self.name(), &self.value);
        Problem::new(
            self.line,
            format_args!("{name}: expected {what}, got {value}"),
        )
    }

    /// One or several endpoints.
    pub(super) fn endpoints(&self) -> Result<String, Problem> {
        self.endpoints_by(parse_endpoints)
    }

    /// Reads the endpoints to which others connect.
    pub(super) fn published_endpoints(&self) -> Result<String, Problem> {
        self.endpoints_by(parse_published_endpoints)
    }

    fn endpoints_by(&self, parse: ParseEndpoints) -> Result<String, Problem> {
        let texts = self.texts("an endpoint, such as \"tcp -h 127.0.0.1 -p 10000\"")?;
        let each = texts
            .iter()
            .map(|text| endpoints(&endpoint::full(text, Some(HUB_PORT)), parse));
        let joined = each.collect::<Result<Vec<_>, _>>();
        let joined = joined
            .map_err(|wrong| Problem::new(self.line, format_args!("{}: {wrong}", self.name())));
        joined.map(|endpoints| endpoints.join(":"))
    }

    /// A text that means something else, such as a proxy.
    pub(super) fn parsed<T>(
        &self,
        what: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Problem> {
        let parsed = parse(&self.text(what)?);
        parsed.map_err(|wrong| Problem::new(self.line, format_args!("{}: {wrong}", self.name())))
    }

    /// A text that is not empty.
    pub(super) fn text(&self, what: &str) -> Result<String, Problem> {
        match &self.value {
            Value::Text(text) if !text.trim().is_empty() => Ok(text.clone()),
            _ => Err(self.expected(what)),
        }
    }

    /// One text or a list of them.
    pub(super) fn texts(&self, what: &str) -> Result<Vec<String>, Problem> {
        let of = |value: &Value| match value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => None,
        };
        let texts = match &self.value {
            Value::List(values) if !values.is_empty() => values.iter().map(of).collect(),
            one => of(one).map(|text| vec![text]),
        };
        texts.ok_or_else(|| self.expected(format_args!("{what}, or a list of them")))
    }

    pub(super) fn boolean(&self) -> Result<bool, Problem> {
        match self.value {
            Value::Bool(value) => Ok(value),
            _ => Err(self.expected("true or false")),
        }
    }

    /// A count of at least 1.
    pub(super) fn count(&self) -> Result<usize, Problem> {
        let count = match self.value {
            Value::Integer(count) => usize::try_from(count).ok().filter(|count| *count > 0),
            _ => None,
        };
        count.ok_or_else(|| self.expected("a whole number from 1"))
    }

    /// A size in bytes, as a number or with a unit.
    pub(super) fn bytes(&self) -> Result<usize, Problem> {
        let bytes = match &self.value {
            Value::Text(text) => parse_bytes(text),
            _ => self.count().ok(),
        };
        bytes.ok_or_else(|| self.expected("bytes, as a number or with a unit, such as \"64 MiB\""))
    }

    /// The same, or `word` for none, and not longer than this.
    pub(super) fn time_within(&self, max: Duration, word: &str) -> Result<Duration, Problem> {
        let time = self.time_or(word)?.unwrap_or_default();
        match time <= max {
            true => Ok(time),
            false => Err(self.expected(format_args!("at most {}us", max.as_micros()))),
        }
    }

    /// A time with its unit, longer than none.
    pub(super) fn time(&self) -> Result<Duration, Problem> {
        self.parsed_time().ok_or_else(|| self.expected(TIME))
    }

    /// The same, or `word` for none.
    pub(super) fn time_or(&self, word: &str) -> Result<Option<Duration>, Problem> {
        match &self.value {
            Value::Text(text) if text == word => Ok(None),
            _ => self
                .parsed_time()
                .map(Some)
                .ok_or_else(|| self.expected(format_args!("{TIME}, or {word:?}"))),
        }
    }

    fn parsed_time(&self) -> Option<Duration> {
        match &self.value {
            Value::Text(text) => {
                let time = parse_time(text).ok();
                time.filter(|time| !time.is_zero())
            }
            _ => None,
        }
    }

    /// One of some names.
    pub(super) fn one_of<T: Copy>(&self, names: &[(&str, T)]) -> Result<T, Problem> {
        let named = match &self.value {
            Value::Text(text) => names.iter().find(|(name, _)| name == text),
            _ => None,
        };
        named.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let names: Vec<_> = names.iter().map(|(name, _)| format!("{name:?}")).collect();
            self.expected(names.join(" or "))
        })
    }
}

const TIME: &str = "a time above 0 with its unit (us, ms, s, m or h), such as \"500ms\" or \"5s\"";

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Integer(number) => number.fmt(f),
            Self::Bool(value) => value.fmt(f),
            Self::List(_) => f.write_str("a list"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

fn parse_bytes(text: &str) -> Option<usize> {
    let size = size::parse_memory(text).ok()?;
    Some(size.bytes())
}

/// How endpoints are read: those of an adapter, or those that it publishes.
pub(super) type ParseEndpoints = fn(&str) -> Result<Vec<Endpoint>, ParseReferenceError>;

/// These endpoints, of which there are some.
///
/// # Errors
/// What is wrong with them.
pub(super) fn endpoints(text: &str, parse: ParseEndpoints) -> Result<String, String> {
    match parse(text) {
        Ok(endpoints) if endpoints.is_empty() => {
            Err("expected endpoints, such as tcp -h 127.0.0.1 -p 10000, got none".to_owned())
        }
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{text}` is no endpoint: {error}")),
    }
}
