//! The words of an endpoint list.

use crate::reference::ParseReferenceError;

/// A word of an endpoint, without quotes and with escapes replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    /// The position of its first byte in the whole text.
    pub(super) offset: usize,
    /// True if it begins with a quote, so that it is not an option.
    pub(super) quoted: bool,
}

impl Token {
    /// Returns true if it is an option: it begins with a dash.
    pub(super) fn is_option(&self) -> bool {
        !self.quoted && self.text.starts_with('-')
    }
}

/// The words of one endpoint, and their text.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    pub(super) tokens: Vec<Token>,
    pub(super) source: &'a str,
    /// The end of the endpoint in the whole text.
    pub(super) end: usize,
}

/// Splits text at each `:` outside of quotes, and splits every part into words as a shell would.
///
/// Within quotes, a backslash escapes that kind of quote; outside, it escapes either kind.
pub(super) fn split(text: &str, offset: usize) -> Result<Vec<Tokens<'_>>, ParseReferenceError> {
    let mut parts = Vec::new();
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            ':' => {
                parts.push(part(text, start, at, offset, std::mem::take(&mut tokens)));
                at += 1;
                start = at;
            }
            ' ' | '\t' | '\r' | '\n' => at += 1,
            _ => {
                let (token, len) = word(&text[at..], offset + at)?;
                tokens.push(token);
                at += len;
            }
        }
    }
    parts.push(part(text, start, text.len(), offset, tokens));
    Ok(parts)
}

fn part(text: &str, start: usize, end: usize, offset: usize, tokens: Vec<Token>) -> Tokens<'_> {
    Tokens {
        tokens,
        source: text[start..end].trim(),
        end: offset + end,
    }
}

/// Reads the word at the beginning of `text`. Returns it with its length in the text.
fn word(text: &str, offset: usize) -> Result<(Token, usize), ParseReferenceError> {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.char_indices().peekable();
    let mut len = text.len();
    while let Some((at, c)) = chars.next() {
        let escaped = match quote {
            Some((kind, _)) => chars.next_if(|(_, next)| c == '\\' && *next == kind),
            None => chars.next_if(|(_, next)| c == '\\' && matches!(next, '"' | '\'')),
        };
        match (quote, c) {
            _ if escaped.is_some() => word.extend(escaped.map(|(_, c)| c)),
            (Some((kind, _)), _) if c == kind => quote = None,
            (None, '"' | '\'') => quote = Some((c, at)),
            (None, ':' | ' ' | '\t' | '\r' | '\n') => {
                len = at;
                break;
            }
            _ => word.push(c),
        }
    }
    if let Some((kind, at)) = quote {
        let expected = format!("a closing {kind}");
        return Err(ParseReferenceError::new(offset + at, expected, &text[at..]));
    }
    let token = Token {
        text: word,
        offset,
        quoted: text.starts_with(['"', '\'']),
    };
    Ok((token, len))
}
