//! The words of a stringified proxy, up to its endpoints.

use super::ParseReferenceError;

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
/// The characters that end a word without quotes.
const DELIMITERS: [char; 6] = [' ', '\t', '\r', '\n', ':', '@'];

/// A word with its escapes, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) raw: &'a str,
    /// The position of its first byte in the text, after the quote.
    pub(super) offset: usize,
    pub(super) quoted: bool,
}

impl Word<'_> {
    pub(super) fn error(self, expected: &'static str) -> ParseReferenceError {
        ParseReferenceError::new(self.offset, expected, self.raw)
    }
}

/// Reads words from the beginning of a text.
pub(super) struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// The rest of the text.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn skip_blanks(&mut self) {
        let rest = self.rest().trim_start_matches(BLANKS);
        self.position = self.text.len() - rest.len();
    }

    /// Skips `c`, if it is next.
    pub(super) fn skip(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        self.position += if found { c.len_utf8() } else { 0 };
        found
    }

    /// Reads a word: up to the closing quote if it begins with a quote, otherwise up to a blank, `:` or `@`. The word
    /// is empty if one of these is next.
    pub(super) fn word(&mut self) -> Result<Word<'a>, ParseReferenceError> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return Ok(self.bare_word());
        };
        let Some(len) = closing_quote(&rest[1..], quote) else {
            let expected = format!("a closing {quote}");
            return Err(ParseReferenceError::new(self.position, expected, rest));
        };
        let word = Word {
            raw: &rest[1..=len],
            offset: self.position + 1,
            quoted: true,
        };
        self.position += len + 2;
        Ok(word)
    }

    /// Reads up to a blank, `:` or `@`, even if the text begins with a quote.
    pub(super) fn bare_word(&mut self) -> Word<'a> {
        self.until(&DELIMITERS)
    }

    /// Reads up to a blank: nothing else ends the last word of a proxy.
    pub(super) fn blank_ended_word(&mut self) -> Word<'a> {
        self.until(&BLANKS)
    }

    fn until(&mut self, delimiters: &[char]) -> Word<'a> {
        let rest = self.rest();
        let raw = &rest[..rest.find(delimiters).unwrap_or(rest.len())];
        let offset = self.position;
        self.position += raw.len();
        Word {
            raw,
            offset,
            quoted: false,
        }
    }

    /// Returns true if the argument of an option is next, and not another option or the target.
    pub(super) fn at_argument(&self) -> bool {
        !matches!(self.rest().bytes().next(), None | Some(b':' | b'@' | b'-'))
    }

    /// Checks that only blanks are left.
    pub(super) fn finish(&mut self, expected: &'static str) -> Result<(), ParseReferenceError> {
        self.skip_blanks();
        match self.rest() {
            "" => Ok(()),
            rest => Err(ParseReferenceError::new(self.position, expected, rest)),
        }
    }
}

/// Parses a version such as `1.1`. The lowest one is 1.0.
pub(super) fn parse_version(text: &str, offset: usize) -> Result<(u8, u8), ParseReferenceError> {
    text.split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .filter(|(major, _)| *major > 0)
        .ok_or_else(|| ParseReferenceError::new(offset, "a version such as 1.1", text))
}

fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let found = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        found.then_some(at)
    })
}
