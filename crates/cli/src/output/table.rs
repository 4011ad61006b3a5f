//! Tables for people: columns as wide as they need, no lines.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::endpoint::readable;

/// Objects as a table, a row each; headings are the keys, in capitals.
pub(super) fn render(columns: &[&str], rows: &[Json], has_colour: bool) -> String {
    let headings: Vec<String> = columns.iter().map(|name| heading(name)).collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| columns.iter().map(|name| cell(&row[*name])).collect())
        .collect();
    let widths = widths(&headings, &cells);
    let is_number: Vec<bool> = columns
        .iter()
        .map(|name| rows.iter().all(|row| row[*name].is_number()) && !rows.is_empty())
        .collect();
    let mut text = String::new();
    push_line(&mut text, &headings, &widths, &is_number, has_colour);
    for row in &cells {
        push_line(&mut text, row, &widths, &is_number, false);
    }
    text
}

/// An object as a table of its members; a list takes a line for each element.
pub(super) fn record(object: &Json, has_colour: bool) -> String {
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
            Json::Array(elements) if !elements.is_empty() => elements.iter().map(cell).collect(),
            value => vec![cell(value)],
        };
        for (index, line) in lines.iter().enumerate() {
            let key = if index == 0 { key.as_str() } else { "" };
            let _ = writeln!(
                text,
                "{}  {line}",
                bold(&pad(key, width, false), has_colour)
            );
        }
    }
    text
}

fn push_line(
    text: &mut String,
    cells: &[String],
    widths: &[usize],
    is_number: &[bool],
    is_bold: bool,
) {
    let padded: Vec<String> = cells
        .iter()
        .zip(widths.iter().zip(is_number))
        .map(|(cell, (width, is_number))| pad(cell, *width, *is_number))
        .collect();
    let _ = writeln!(text, "{}", bold(padded.join("  ").trim_end(), is_bold));
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

/// What a peer sent must not move the cursor.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
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
            render(&["name", "sold"], &rows, false),
            "NAME  SOLD\ntea      7\nü      100\n"
        );
    }

    #[test]
    fn a_record_gives_each_element_of_a_list_a_line() {
        let object = json!({"name": "t", "all_of": ["a", "b"], "none": [], "null": null});
        assert_eq!(
            record(&object, false),
            "name    t\nall of  a\n        b\nnone    \nnull    -\n"
        );
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(cell(&json!("a\x1b[2Jb")), "a\u{fffd}[2Jb");
    }
}
