//! Writes data to standard output, and messages for people to standard error.

mod printable;
mod table;

pub(crate) use printable::escaped_line;
pub(crate) use table::abbreviate;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde_json::Value as Json;
use terminal_size::{Height, Width, terminal_size_of};

use crate::exit::Failure;

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables, indented values and text, for people
    #[value(alias = "text")]
    Table,
    /// One JSON value
    Json,
    /// One JSON value on each line
    Jsonl,
    /// Bare values without quotes, one on each line
    Raw,
}

/// Standard output, in the format that was asked for.
#[derive(Debug)]
pub(crate) struct Output {
    wanted: Option<Format>,
    is_terminal: bool,
}

impl Output {
    /// Standard output; without a format a table on a terminal, JSON lines elsewhere.
    pub(crate) fn new(wanted: Option<Format>) -> Self {
        Self {
            wanted,
            is_terminal: io::stdout().is_terminal(),
        }
    }

    /// The format.
    pub(crate) fn format(&self) -> Format {
        self.format_or(match self.is_terminal {
            true => Format::Table,
            false => Format::Jsonl,
        })
    }

    /// The format of what people read even in a pipe.
    pub(crate) fn format_or(&self, default: Format) -> Format {
        self.wanted.unwrap_or(default)
    }

    /// Writes text and a line end, at once.
    ///
    /// # Errors
    /// A pipe that nobody reads any more is a silent success, see [`Failure`].
    pub(crate) fn line(&self, text: impl fmt::Display) -> Result<(), Failure> {
        self.text(format_args!("{text}\n"))
    }

    /// Writes text, at once.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn text(&self, text: impl fmt::Display) -> Result<(), Failure> {
        self.bytes(text.to_string().as_bytes())
    }

    /// Writes bytes as they are, at once.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        Ok(stdout.flush()?)
    }

    /// Writes a text that may come from a peer, and a line end, at once.
    ///
    /// # Errors
    /// As [`Output::line`].
    fn of_peer(&self, text: &str) -> Result<(), Failure> {
        self.line(self.shown(text))
    }

    /// A text that may come from a peer: on a terminal, characters that the terminal would obey are escaped. Elsewhere it
    /// stays as it is.
    pub(crate) fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.is_terminal {
            true => printable::escaped(text),
            false => text.into(),
        }
    }

    /// Writes one value; `raw` is what remains of it as a bare value.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn value(&self, value: &Json, raw: &Json) -> Result<(), Failure> {
        match self.format() {
            Format::Table => self.of_peer(&indented(value)),
            Format::Json | Format::Jsonl => self.of_peer(&value.to_string()),
            Format::Raw => self.of_peer(&bare(raw)),
        }
    }

    /// Writes a list of objects that all have these keys; the first is their bare value.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn rows(&self, columns: &[&str], rows: &[Json]) -> Result<(), Failure> {
        match self.format() {
            Format::Table => {
                let text = table::render(columns, rows, self.has_colour(), self.width());
                self.text(text)
            }
            Format::Json => self.of_peer(&Json::from(rows).to_string()),
            Format::Jsonl => rows
                .iter()
                .try_for_each(|row| self.of_peer(&row.to_string())),
            Format::Raw => rows
                .iter()
                .try_for_each(|row| self.of_peer(&bare(&row[columns[0]]))),
        }
    }

    /// A list of objects that is written page by page, as [`Output::rows`] writes a list.
    pub(crate) fn pages<'a>(&'a self, columns: &'a [&'a str]) -> RowPages<'a> {
        RowPages {
            output: self,
            columns,
            has_rows: false,
        }
    }

    /// Writes one object, as a table with a line for each of its members.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn record(&self, object: &Json, raw: &str) -> Result<(), Failure> {
        match self.format() {
            Format::Table => self.text(table::record(object, self.has_colour(), self.width())),
            _ => self.value(object, &object[raw]),
        }
    }

    /// Writes a text behind a label; on a terminal, its later lines begin below its first.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn labelled(&self, label: &str, text: &str) -> Result<(), Failure> {
        self.text(table::labelled(label, text, self.width()))
    }

    fn width(&self) -> Option<usize> {
        self.size().map(|(width, _)| width)
    }

    /// The characters in a line of the terminal, and its lines; none if it is no terminal.
    pub(crate) fn size(&self) -> Option<(usize, usize)> {
        let size = self.is_terminal.then(|| terminal_size_of(io::stdout()));
        let (Width(width), Height(height)) = size.flatten()?;
        Some((width.into(), height.into()))
    }

    /// Returns true if colour may be used.
    pub(crate) fn has_colour(&self) -> bool {
        self.can_redraw() && is_colour_wanted()
    }

    /// Returns true if the cursor may be moved.
    pub(crate) fn can_redraw(&self) -> bool {
        self.is_terminal && !is_terminal_dumb()
    }
}

/// A list of objects that is written page by page, so that a long one is not held in memory.
#[derive(Debug)]
pub(crate) struct RowPages<'a> {
    output: &'a Output,
    columns: &'a [&'a str],
    /// True if rows have been written.
    has_rows: bool,
}

impl RowPages<'_> {
    /// Writes the next rows. A table has a heading for each page.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn page(&mut self, rows: &[Json]) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        if self.output.format() != Format::Json {
            self.has_rows = true;
            return self.output.rows(self.columns, rows);
        }
        for row in rows {
            let before = if self.has_rows { "," } else { "[" };
            self.has_rows = true;
            self.output.text(format_args!(
                "{before}{}",
                self.output.shown(&row.to_string())
            ))?;
        }
        Ok(())
    }

    /// Ends the list.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub(crate) fn end(self) -> Result<(), Failure> {
        match (self.output.format(), self.has_rows) {
            (Format::Json, true) => self.output.line("]"),
            (_, true) => Ok(()),
            (_, false) => self.output.rows(self.columns, &[]),
        }
    }
}

/// Says something to people, on standard error.
pub(crate) fn talk(text: impl fmt::Display) {
    // Whoever closed standard error does not want to know.
    let _ = crate::log::write(format!("{text}\n").as_bytes());
}

/// A text for [`talk`] that may come from a peer, as [`Output::shown`] makes it.
pub(crate) fn shown_in_talk(text: &str) -> Cow<'_, str> {
    match io::stderr().is_terminal() {
        true => printable::escaped(text),
        false => text.into(),
    }
}

/// Returns true if colour may be used on standard error.
pub(crate) fn has_talk_colour() -> bool {
    io::stderr().is_terminal() && !is_terminal_dumb() && is_colour_wanted()
}

/// Returns true if `NO_COLOR` is unset or empty.
fn is_colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn is_terminal_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// A word as people type it in a shell.
pub(crate) fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |char: char| char.is_alphanumeric() || "._-/:".contains(char);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

/// A value as text: strings without quotes, everything else as JSON.
pub(crate) fn bare(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn indented(value: &Json) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value has a text")
}
