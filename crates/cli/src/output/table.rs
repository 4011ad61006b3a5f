//! Tables for people: columns as wide as they need, no lines.
//!
//! - `table/fit.rs`: what fits into a narrow terminal

mod fit;

pub(crate) use fit::abbreviate;

use std::fmt::Write;

use serde_json::Value as Json;

use super::printable::is_obeyed;
use crate::endpoint::readable;

/// Objects as a table, a row each; headings are the keys, in capitals.
///
/// In a line of limited width, headings are shortened first. Texts that are too long for their column then go on in
/// the next line, a word that is too long loses its middle, and columns for which there is no room are left out from
/// the right.
pub(super) fn render(
    columns: &[&str],
    rows: &[Json],
    has_colour: bool,
    line_width: Option<usize>,
) -> String {
    let mut headings: Vec<String> = columns.iter().map(|name| heading(name)).collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| columns.iter().map(|name| cell(&row[*name])).collect())
        .collect();
    let is_number: Vec<bool> = columns
        .iter()
        .map(|name| rows.iter().all(|row| row[*name].is_number()) && !rows.is_empty())
        .collect();
    let mut widths = widths(&headings, &cells);
    if let Some(line_width) = line_width
        && fit::line_of(&widths) > line_width
    {
        headings = columns.iter().map(|name| short_heading(name)).collect();
        widths = fit::fit(&self::widths(&headings, &cells), &is_number, line_width);
    }
    let mut text = String::new();
    push_row(&mut text, &headings, &widths, &is_number, has_colour);
    for row in &cells {
        push_row(&mut text, row, &widths, &is_number, false);
    }
    text
}

/// An object as a table of its members; a list takes a line for each element.
///
/// In a line of limited width, long values go on in the next line.
pub(super) fn record(object: &Json, has_colour: bool, line_width: Option<usize>) -> String {
    let members: Vec<(String, &Json)> = object
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.replace('_', " "), value))
        .collect();
    let width = members.iter().map(|(key, _)| char_count(key)).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for (key, value) in members {
        let lines = match value {
            Json::Array(elements) if elements.is_empty() => vec!["none".to_owned()],
            Json::Array(elements) => elements.iter().map(cell).collect(),
            value => vec![cell(value)],
        };
        let room = line_width.map(|line| line.saturating_sub(width + fit::GAP.len()));
        let lines = lines.iter().flat_map(|line| fit::broken(line, room));
        for (index, line) in lines.enumerate() {
            let key = if index == 0 { key.as_str() } else { "" };
            let key = bold(&pad(key, width, false), has_colour);
            let _ = writeln!(text, "{key}{}{line}", fit::GAP);
        }
    }
    text
}

/// A text behind a label. In a line of limited width it goes on in the next lines, below its beginning.
pub(super) fn labelled(label: &str, text: &str, line_width: Option<usize>) -> String {
    let width = char_count(label);
    let room = line_width.map(|line| line.saturating_sub(width));
    let lines = fit::broken(text, room);
    format!(
        "{label}{}\n",
        lines.join(&format!("\n{}", " ".repeat(width)))
    )
}

/// A row, over as many lines as its longest cell; there may be fewer widths than cells.
fn push_row(
    text: &mut String,
    cells: &[String],
    widths: &[usize],
    is_number: &[bool],
    is_bold: bool,
) {
    let wrapped: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| fit::wrap(cell, *width))
        .collect();
    let count = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    for index in 0..count {
        let line = wrapped.iter().zip(widths.iter().zip(is_number));
        let padded = line.map(|(lines, (width, is_number))| {
            let part = lines.get(index).map_or("", String::as_str);
            pad(part, *width, *is_number)
        });
        let line = padded.collect::<Vec<_>>().join(fit::GAP);
        let _ = writeln!(text, "{}", bold(line.trim_end(), is_bold));
    }
}

fn widths(headings: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let column_width = |index: usize| {
        let cells = rows.iter().map(|row| char_count(&row[index]));
        cells.chain([char_count(&headings[index])]).max()
    };
    (0..headings.len())
        .map(|index| column_width(index).unwrap_or(0))
        .collect()
}

fn heading(name: &str) -> String {
    name.replace('_', " ").to_uppercase()
}

/// For lines that are too narrow for whole headings.
fn short_heading(name: &str) -> String {
    let short = SHORT_HEADINGS.iter().find(|(long, _)| *long == name);
    short.map_or_else(|| heading(name), |(_, short)| (*short).to_owned())
}

const SHORT_HEADINGS: [(&str, &str); 8] = [
    ("subscribers", "SUBS"),
    ("published_per_second", "PUB/S"),
    ("delivered_per_second", "DEL/S"),
    ("lost_per_second", "LOST/S"),
    ("outstanding", "OUT"),
    ("published", "PUB"),
    ("delivered", "DEL"),
    ("lag_ms", "LAG"),
];

fn cell(value: &Json) -> String {
    match value {
        Json::Null => "-".to_owned(),
        Json::String(text) => printable(&readable(text)),
        Json::Array(elements) => elements.iter().map(cell).collect::<Vec<_>>().join(", "),
        Json::Object(members) => members
            .iter()
            .map(|(key, value)| format!("{key}={}", cell(value)))
            .collect::<Vec<_>>()
            .join(" "),
        other => other.to_string(),
    }
}

/// Makes a text of a peer harmless: it cannot move the cursor, nor change the order in which the rest of a line is shown.
fn printable(text: &str) -> String {
    text.replace(is_obeyed, "\u{fffd}")
}

fn pad(text: &str, width: usize, is_right: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(char_count(text)));
    match is_right {
        true => blanks + text,
        false => text.to_owned() + &blanks,
    }
}

fn bold(text: &str, is_bold: bool) -> String {
    match is_bold {
        true => format!("\x1b[1m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

fn char_count(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            json!({"name": "tea", "sold": 7}),
            json!({"name": "ü", "sold": 100}),
        ];
        assert_eq!(
            render(&["name", "sold"], &rows, false, None),
            "NAME  SOLD\ntea      7\nü      100\n"
        );
    }

    #[test]
    fn a_narrow_line_gets_short_headings_wrapped_texts_and_fewer_columns() {
        let rows = [json!({
            "name": "a topic with a long name",
            "published_per_second": 7,
            "lost_per_second": 0,
        })];
        let columns = ["name", "published_per_second", "lost_per_second"];
        let narrow = |width| render(&columns, &rows, false, Some(width));
        assert_eq!(
            narrow(80),
            "NAME                      PUBLISHED PER SECOND  LOST PER SECOND\n\
             a topic with a long name                     7                0\n"
        );
        assert_eq!(
            narrow(30),
            "NAME             PUB/S  LOST/S\na topic with a       7       0\nlong name\n"
        );
        assert_eq!(
            narrow(20),
            "NAME           PUB/S\na topic with       7\na long name\n"
        );
    }

    #[test]
    fn a_record_gives_each_element_of_a_list_a_line() {
        let object = json!({"name": "t", "all_of": ["a", "b"], "none": [], "null": null});
        assert_eq!(
            record(&object, false, None),
            "name    t\nall of  a\n        b\nnone    none\nnull    -\n"
        );
    }

    #[test]
    fn a_record_in_a_narrow_line_loses_nothing() {
        let object =
            json!({"name": "an-endless-name-of-a-topic", "proxy": "tcp -h a.long.host -p 1"});
        let expected = "name   an-endless-\n       name-of-a-t\n       opic\n\
                        proxy  tcp -h\n       a.long.host\n       -p 1\n";
        assert_eq!(record(&object, false, Some(18)), expected);
        let expected = "ok  one two\n    three\n";
        assert_eq!(labelled("ok  ", "one two three", Some(12)), expected);
        assert_eq!(labelled("ok  ", "one two", None), "ok  one two\n");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(cell(&json!("a\x1b[2Jb")), "a\u{fffd}[2Jb");
        assert_eq!(cell(&json!("a\u{202e}b\u{2066}")), "a\u{fffd}b\u{fffd}");
    }
}
