//! Tables of TOML, read key by key. All mistakes of a table are collected, each with its line.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::Problem;

/// Reads values of a text, and collects its problems.
pub(crate) struct TableReader<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

/// One text or a list of texts, with the line of its key.
pub(crate) struct Texts {
    pub(crate) texts: Vec<String>,
    pub(crate) line: usize,
}

/// A value with its key.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a, 't> {
    /// The name of the value in messages, such as `access.tokens.keys`.
    pub(crate) name: &'a str,
    pub(crate) line: usize,
    value: &'a DeValue<'t>,
}

impl<'a, 't> Entry<'a, 't> {
    pub(crate) fn new(name: &'a str, line: usize, value: &'a DeValue<'t>) -> Self {
        Self { name, line, value }
    }
}

impl<'t> TableReader<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            problems: Vec::new(),
        }
    }

    /// The problems so far.
    pub(crate) fn count(&self) -> usize {
        self.problems.len()
    }

    /// All problems, in the order of their lines.
    pub(crate) fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|problem| problem.line);
        self.problems
    }

    pub(crate) fn problem(&mut self, line: usize, name: &str, message: impl fmt::Display) {
        self.problems
            .push(Problem::new(line, format_args!("{name}: {message}")));
    }

    /// The line of a place in the text, from 1.
    pub(crate) fn line_of(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().iter().take(span.start);
        before.filter(|byte| **byte == b'\n').count() + 1
    }

    /// Reads each entry of a table with `read`, which returns false for a key that it does not know. `prefix` stands in
    /// front of the keys in messages.
    pub(crate) fn entries(
        &mut self,
        prefix: &str,
        table: &DeTable<'t>,
        known: &[&str],
        mut read: impl FnMut(&mut Self, &str, Entry<'_, 't>) -> bool,
    ) {
        for (key, value) in table {
            let (line, key) = (self.line_of(&key.span()), &**key.get_ref());
            let name = format!("{prefix}{key}");
            let entry = Entry::new(&name, line, value.get_ref());
            if !read(self, key, entry) {
                let expected =
                    format_args!("unknown setting, expected one of {}", known.join(", "));
                self.problem(line, &name, expected);
            }
        }
    }

    pub(crate) fn table<'a>(&mut self, entry: Entry<'a, 't>) -> Option<&'a DeTable<'t>> {
        match entry.value {
            DeValue::Table(table) => Some(table),
            _ => self.wrong(entry, "a table"),
        }
    }

    /// The tables of a list, each with the line on which it begins.
    pub(crate) fn tables<'a>(&mut self, entry: Entry<'a, 't>) -> Vec<(usize, &'a DeTable<'t>)> {
        let DeValue::Array(values) = entry.value else {
            self.wrong::<()>(entry, "a list of tables, each below [[access.rule]]");
            return Vec::new();
        };
        let mut tables = Vec::new();
        for value in values.iter() {
            let line = self.line_of(&value.span());
            let entry = Entry::new(entry.name, line, value.get_ref());
            tables.extend(self.table(entry).map(|table| (line, table)));
        }
        tables
    }

    pub(crate) fn text(&mut self, entry: Entry<'_, 't>) -> Option<String> {
        match entry.value {
            DeValue::String(text) => Some(text.to_string()),
            _ => self.wrong(entry, "a text"),
        }
    }

    pub(crate) fn texts(&mut self, entry: Entry<'_, 't>) -> Option<Texts> {
        let each = match entry.value {
            DeValue::String(text) => Some(vec![text.to_string()]),
            DeValue::Array(values) => values.iter().map(text_of).collect(),
            _ => None,
        };
        match each {
            Some(texts) => Some(Texts {
                texts,
                line: entry.line,
            }),
            None => self.wrong(entry, "a text or a list of texts"),
        }
    }

    pub(crate) fn flag(&mut self, entry: Entry<'_, 't>) -> Option<bool> {
        match entry.value {
            DeValue::Boolean(value) => Some(*value),
            _ => self.wrong(entry, "true or false"),
        }
    }

    fn wrong<T>(&mut self, entry: Entry<'_, 't>, expected: &str) -> Option<T> {
        let got = kind(entry.value);
        self.problem(
            entry.line,
            entry.name,
            format_args!("expected {expected}, got {got}"),
        );
        None
    }
}

fn text_of(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}

/// The name of a value's type, for a value of the wrong type.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list of something else",
        DeValue::Table(_) => "a table",
    }
}
