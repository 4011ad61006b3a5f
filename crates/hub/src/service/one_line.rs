//! Text from peers, made safe for a log.

use std::fmt::{self, Display, Formatter, Write};

/// Escapes characters that begin a new line, control a terminal, or change the order in which a line is shown, so that a peer
/// cannot forge a line of the log.
pub(super) struct OneLine<T>(pub(super) T);

impl<T: Display> Display for OneLine<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Filter(f), "{}", self.0)
    }
}

struct Filter<'a, 'b>(&'a mut Formatter<'b>);

impl Write for Filter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| {
            // U+202A to U+202E, and U+2066 to U+2069, change the order in which the text behind them is shown.
            match character.is_control()
                || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            {
                true => write!(self.0, "{}", character.escape_default()),
                false => self.0.write_char(character),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::OneLine;

    #[test]
    fn a_text_stays_on_its_line() {
        let text = "a\nWARN b\r\u{1b}[1m\u{85}\u{2028}\u{202e}\u{2066} \"ä\" \\";
        let expected = r#"a\nWARN b\r\u{1b}[1m\u{85}\u{2028}\u{202e}\u{2066} "ä" \"#;
        assert_eq!(OneLine(text).to_string(), expected);
    }
}
