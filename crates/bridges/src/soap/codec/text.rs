//! Characters that XML can hold, and how they are written.

/// True for a character that a document can hold, as itself or by its code.
///
/// Source: XML 1.0, 2.2 "Characters".
pub fn is_character(character: char) -> bool {
    !matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// True for white space of XML.
pub fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// Appends a text, escaped so that it may stand in an element or within quotes. A reader gets the same characters: a
/// carriage return, which it would take for a line's end, is written by its code.
///
/// # Errors
/// The first character that XML cannot hold.
pub fn escape_to(out: &mut String, text: &str) -> Result<(), char> {
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        let escaped = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\r' => "&#13;",
            other if is_character(other) => continue,
            other => return Err(other),
        };
        out.push_str(&text[plain..at]);
        out.push_str(escaped);
        plain = at + character.len_utf8();
    }
    out.push_str(&text[plain..]);
    Ok(())
}

/// The text escaped, with characters that XML cannot hold replaced by U+FFFD: for messages, never for events.
pub fn escaped(text: &str) -> String {
    let sayable: String = text
        .chars()
        .map(|it| if is_character(it) { it } else { '\u{fffd}' })
        .collect();
    let mut out = String::with_capacity(sayable.len());
    escape_to(&mut out, &sayable).expect("what XML cannot hold was replaced");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_what_xml_cannot_hold_is_refused() {
        let mut out = String::new();
        assert_eq!(escape_to(&mut out, "a<b>&\"\r\n\té"), Ok(()));
        assert_eq!(out, "a&lt;b&gt;&amp;&quot;&#13;\n\té");
        for character in ['\0', '\u{1}', '\u{b}', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
            assert_eq!(
                escape_to(&mut String::new(), &format!("x{character}")),
                Err(character)
            );
            assert_eq!(escaped(&format!("x{character}")), "x\u{fffd}");
        }
        for character in ['\u{7f}', '\u{85}', '\u{fffd}', '\u{10ffff}'] {
            assert_eq!(escaped(&character.to_string()), character.to_string());
        }
    }
}
