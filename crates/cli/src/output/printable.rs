//! Makes text from peers safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns true if a terminal would not show this character, but obey it or show the rest of the line in another order.
pub(super) fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text with such characters escaped as JSON has them. Line ends and tabs stay.
pub(super) fn escaped(text: &str) -> Cow<'_, str> {
    escaped_if(text, |c| is_obeyed(c) && !matches!(c, '\n' | '\t'))
}

/// Does so for a text that is to stay on one line: line ends are escaped, too.
pub(crate) fn escaped_line(text: &str) -> Cow<'_, str> {
    escaped_if(text, |c| is_obeyed(c) && c != '\t')
}

fn escaped_if(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match is_escaped(c) {
            // A text takes whatever is written. All of these characters have four digits.
            true if c == '\n' => escaped.push_str("\\n"),
            true => drop(write!(escaped, "\\u{:04x}", u32::from(c))),
            false => escaped.push(c),
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line() {
        let hostile = "why\nWARN all is well\r\u{2028}\u{85}\tend";
        assert_eq!(
            escaped_line(hostile),
            "why\\nWARN all is well\\u000d\\u2028\\u0085\tend"
        );
    }

    #[test]
    fn a_terminal_shows_what_it_would_obey() {
        let hostile = "a\u{1b}]0;title\u{7}\u{9b}2J\u{202e}b\r\u{7f}\nc\td \"ä\"";
        assert_eq!(
            escaped(hostile),
            "a\\u001b]0;title\\u0007\\u009b2J\\u202eb\\u000d\\u007f\nc\td \"ä\""
        );
        // A JSON value stays the value that it was.
        let json = serde_json::Value::from("\u{9b}\u{2066}").to_string();
        let shown = escaped(&json);
        assert_eq!(shown, "\"\\u009b\\u2066\"");
        assert_eq!(
            serde_json::from_str::<String>(&shown).expect("it is JSON"),
            "\u{9b}\u{2066}"
        );
    }
}
