//! Comments of a file before it is text: old files have some that are not UTF-8, which Ice does not mind.

use std::borrow::Cow;

/// The bytes with each byte of a comment that is not UTF-8 replaced by the character for what cannot be read. Such a byte
/// elsewhere stays.
pub(super) fn legible(bytes: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    let mut legible = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let mut place = Place::Code;
    while !rest.is_empty() {
        let part = part_len(rest, place);
        let (part, others) = rest.split_at(part);
        match place {
            Place::Code | Place::Text => legible.extend_from_slice(part),
            Place::Line | Place::Block => {
                legible.extend_from_slice(String::from_utf8_lossy(part).as_bytes());
            }
        }
        rest = others;
        place = match (place, rest) {
            (Place::Code, [b'/', b'/', ..]) => Place::Line,
            (Place::Code, [b'/', b'*', ..]) => Place::Block,
            (Place::Code, _) => Place::Text,
            _ => Place::Code,
        };
    }
    Cow::Owned(legible)
}

/// The part of a file that a byte belongs to.
#[derive(Clone, Copy)]
enum Place {
    Code,
    /// A string, with its quotes.
    Text,
    /// A comment up to the end of its line.
    Line,
    /// A comment in `/*` and `*/`, with these.
    Block,
}

/// How long the part of this kind is with which the bytes begin.
fn part_len(bytes: &[u8], place: Place) -> usize {
    let end = match place {
        Place::Code => bytes.iter().enumerate().position(|(at, byte)| {
            let next = bytes.get(at + 1);
            *byte == b'"' || *byte == b'/' && matches!(next, Some(b'/' | b'*'))
        }),
        Place::Line => bytes.iter().position(|byte| *byte == b'\n'),
        Place::Block => bytes[2..]
            .windows(2)
            .position(|two| two == b"*/")
            .map(|at| at + 4),
        Place::Text => text_len(bytes),
    };
    end.unwrap_or(bytes.len())
}

/// The length of a string, which ends with its quote, or with the line.
fn text_len(bytes: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    let end = bytes[1..].iter().position(|byte| {
        let ends = *byte == b'\n' || *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    end.map(|at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf_8_is_replaced_in_comments_alone() {
        let cases: [(&[u8], &str); 6] = [
            (b"a // gr\xfc\xdf\nb", "a // gr\u{fffd}\u{fffd}\nb"),
            (b"a /* \xfc\n */ b /**/ c", "a /* \u{fffd}\n */ b /**/ c"),
            (b"/* \xfc", "/* \u{fffd}"),
            (b"s = \"//\"; // \xe9", "s = \"//\"; // \u{fffd}"),
            (
                b"s = \"\\\"/*\"; /* \xe9 */",
                "s = \"\\\"/*\"; /* \u{fffd} */",
            ),
            (b"don't // \xe9", "don't // \u{fffd}"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(String::from_utf8_lossy(&legible(bytes)), expected);
            assert!(std::str::from_utf8(&legible(bytes)).is_ok(), "{expected}");
        }
        for bytes in [&b"a \xfc // b"[..], b"s = \"// \xfc\";"] {
            assert!(std::str::from_utf8(&legible(bytes)).is_err(), "{bytes:?}");
        }
    }
}
