//! Escapes in the text of identities, facets and adapter identifiers.

use std::fmt::Write;

use super::ParseReferenceError;

/// How characters outside printable ASCII are written.
///
/// Source: observed, Ice 3.7.8 with each value of its property `Ice.ToStringMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ToStringMode {
    /// Unchanged. Control characters become short escapes or `\u00nn`.
    #[default]
    Unicode,
    /// As universal character names: `\u20ac`.
    Ascii,
    /// As the octal values of their UTF-8 bytes: `\342\202\254`.
    Compat,
}

/// Appends `text`, with escapes for the characters in `special` too.
pub(super) fn escape(text: &str, special: &str, mode: ToStringMode, out: &mut String) {
    for c in text.chars() {
        if matches!(c, '\\' | '\'' | '"') || special.contains(c) {
            out.push('\\');
            out.push(c);
        } else if matches!(c, ' '..='~') {
            out.push(c);
        } else {
            escape_unprintable(c, mode, out);
        }
    }
}

/// Replaces the escapes in `raw`, which begins at byte `offset` of the whole text.
///
/// A backslash that begins no escape is kept.
pub(super) fn unescape(
    raw: &str,
    special: &str,
    offset: usize,
) -> Result<String, ParseReferenceError> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        let at = offset + (raw.len() - rest.len());
        let taken = match c {
            '\\' => unescape_one(rest, special, at, &mut bytes)?,
            '\0'..' ' | '\x7f' => return Err(control_character(at, c)),
            _ => push_char(c, &mut bytes),
        };
        rest = &rest[taken..];
    }
    String::from_utf8(bytes).map_err(|_| {
        ParseReferenceError::new(offset, "escapes that form UTF-8 text", raw)
            .help("write characters beyond ASCII as they are, or as \\uXXXX")
    })
}

fn escape_unprintable(c: char, mode: ToStringMode, out: &mut String) {
    let short = match c {
        '\x08' => Some('b'),
        '\x0c' => Some('f'),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\x07' if mode != ToStringMode::Compat => Some('a'),
        '\x0b' if mode != ToStringMode::Compat => Some('v'),
        _ => None,
    };
    if let Some(short) = short {
        out.push('\\');
        out.push(short);
        return;
    }
    let code = u32::from(c);
    let written = match mode {
        ToStringMode::Unicode if !c.is_ascii() => out.write_char(c),
        ToStringMode::Compat => write_octal(c, out),
        _ if code > 0xFFFF => write!(out, "\\U{code:08x}"),
        _ => write!(out, "\\u{code:04x}"),
    };
    written.expect("a string takes all that is written to it");
}

fn write_octal(c: char, out: &mut String) -> std::fmt::Result {
    let mut utf8 = [0; 4];
    c.encode_utf8(&mut utf8)
        .bytes()
        .try_for_each(|byte| write!(out, "\\{byte:03o}"))
}

/// Reads the escape at the beginning of `rest`. Returns its length in bytes.
fn unescape_one(
    rest: &str,
    special: &str,
    at: usize,
    bytes: &mut Vec<u8>,
) -> Result<usize, ParseReferenceError> {
    let body = &rest[1..];
    let Some(c) = body.chars().next() else {
        bytes.push(b'\\');
        return Ok(1);
    };
    let byte = match c {
        '\\' | '\'' | '"' | '?' => c as u8,
        _ if special.contains(c) => {
            push_char(c, bytes);
            return Ok(1 + c.len_utf8());
        }
        'a' => 7,
        'b' => 8,
        't' => b'\t',
        'n' => b'\n',
        'v' => 11,
        'f' => 12,
        'r' => b'\r',
        'u' => return universal(&body[1..], 4, at, bytes),
        'U' => return universal(&body[1..], 8, at, bytes),
        'x' => return hexadecimal(&body[1..], at, bytes),
        '0'..='7' => return octal(body, at, bytes),
        _ => {
            // Not an escape: the backslash is kept, and the text after it is read separately.
            bytes.push(b'\\');
            return Ok(1);
        }
    };
    bytes.push(byte);
    Ok(2)
}

fn octal(body: &str, at: usize, bytes: &mut Vec<u8>) -> Result<usize, ParseReferenceError> {
    let digits = leading_digits(body, 8, 3);
    let byte = u8::from_str_radix(digits, 8)
        .map_err(|_| ParseReferenceError::new(at + 1, "an octal value of at most 377", digits))?;
    bytes.push(byte);
    Ok(1 + digits.len())
}

fn hexadecimal(body: &str, at: usize, bytes: &mut Vec<u8>) -> Result<usize, ParseReferenceError> {
    let digits = leading_digits(body, 16, 2);
    let byte = u8::from_str_radix(digits, 16)
        .map_err(|_| ParseReferenceError::new(at + 2, "a hexadecimal digit after \\x", body))?;
    bytes.push(byte);
    Ok(2 + digits.len())
}

fn universal(
    body: &str,
    digit_count: usize,
    at: usize,
    bytes: &mut Vec<u8>,
) -> Result<usize, ParseReferenceError> {
    let digits = leading_digits(body, 16, digit_count);
    if digits.len() < digit_count {
        let expected = format!("{digit_count} hexadecimal digits");
        return Err(ParseReferenceError::new(at + 2, expected, digits));
    }
    let c = u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32);
    let c = c.ok_or_else(|| {
        ParseReferenceError::new(at + 2, "a character, up to 10ffff and no surrogate", digits)
    })?;
    push_char(c, bytes);
    Ok(2 + digit_count)
}

fn leading_digits(text: &str, radix: u32, most: usize) -> &str {
    let count = text.chars().take(most).take_while(|c| c.is_digit(radix));
    &text[..count.count()]
}

fn push_char(c: char, bytes: &mut Vec<u8>) -> usize {
    let mut utf8 = [0; 4];
    let encoded = c.encode_utf8(&mut utf8);
    bytes.extend_from_slice(encoded.as_bytes());
    encoded.len()
}

fn control_character(at: usize, c: char) -> ParseReferenceError {
    ParseReferenceError::new(at, "no control character", c.encode_utf8(&mut [0; 4]))
        .help("write it as an escape such as \\n or \\u0001")
}
