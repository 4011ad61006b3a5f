//! Literals: what their text means.

use super::ast::{Value, ValueKind};
use crate::compile::Language;
use crate::diagnostic::{Code, Diagnostic, Reporter, Span};

/// A number as Slice writes it. A malformed or too large one is reported and gives `None`.
pub(super) fn number(
    text: &str,
    is_negative: bool,
    span: Span,
    reporter: &mut Reporter,
) -> Option<Value> {
    let kind = match integer(text, is_negative) {
        Some(Ok(integer)) => {
            warn_of_octal(text, integer, span, reporter);
            ValueKind::Integer(integer)
        }
        Some(Err(())) => {
            let message = "this integer does not fit in 64 bits";
            let help = "integers are from -9223372036854775808 to 9223372036854775807";
            reporter.report(Diagnostic::new(Code::OutOfRange, span, message).help(help));
            return None;
        }
        None => ValueKind::Float(float(text, is_negative, span, reporter)?),
    };
    Some(Value { kind, span })
}

/// Warns of digits that are not read: see [`octal_digits`].
fn warn_of_octal(text: &str, value: i64, span: Span, reporter: &mut Reporter) {
    let Some(digits) = octal_digits(text).filter(|digits| digits.len() < text.len()) else {
        return;
    };
    let (decimal, value) = (text.trim_start_matches('0'), value.unsigned_abs());
    let message = format!(
        "`{text}` is {value}, for octal digits end before the `{}`",
        &text[digits.len()..][..1]
    );
    let help =
        format!("a leading 0 makes a number octal, in Ice too: write `{decimal}` or `{value}`");
    reporter.report(Diagnostic::new(Code::AmbiguousNumber, span, message).help(help));
}

/// `None` if it is no integer, `Some(Err)` if it is too large.
fn integer(text: &str, is_negative: bool) -> Option<Result<i64, ()>> {
    let (digits, radix) = match (text.strip_prefix("0x"), octal_digits(text)) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) => (digits, 8),
        (None, None) => (text, 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix);
    let value = magnitude.map(|value| if is_negative { -value } else { value });
    Some(value.map_err(drop).and_then(|v| v.try_into().map_err(drop)))
}

/// The digits that are read of a number with a leading 0: those before the first 8 or 9.
///
/// Observed: slice2cpp of Ice 3.7.8 and slice2py of Ice 3.8.3 make 10 of `0128` and 0 of `09`, in constants as
/// in enumerators, tags and compact ids. Those travel, so what they mean to Ice is what they are.
fn octal_digits(text: &str) -> Option<&str> {
    let is_octal = text.starts_with('0') && text.bytes().all(|digit| digit.is_ascii_digit());
    let end = text.find(['8', '9']).unwrap_or(text.len());
    is_octal.then(|| &text[..end])
}

fn float(text: &str, is_negative: bool, span: Span, reporter: &mut Reporter) -> Option<f64> {
    let digits = text.strip_suffix(['f', 'F']).unwrap_or(text);
    let is_float = digits.contains(['.', 'e', 'E'])
        && digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && !digits.contains('_');
    let value = digits.parse::<f64>().ok().filter(|_| is_float);
    let Some(value) = value else {
        let message = format!("`{text}` is not a number that Slice knows");
        let help = "write 42, 0x2a, 052, 4.2, 42e-1 or 4.2f";
        reporter.report(Diagnostic::new(Code::MalformedNumber, span, message).help(help));
        return None;
    };
    let mantissa = digits.split(['e', 'E']).next().unwrap_or("");
    let is_underflow =
        value == 0.0 && mantissa.contains(|digit: char| ('1'..='9').contains(&digit));
    if value.is_infinite() || is_underflow {
        let message = format!("`{text}` is beyond what a double can hold");
        let help = "doubles reach from about 4.9e-324 to 1.8e308";
        reporter.report(Diagnostic::new(Code::OutOfRange, span, message).help(help));
        return None;
    }
    Some(if is_negative { -value } else { value })
}

/// The text of a string literal, escapes resolved; what is wrong with them is reported.
pub(super) fn string(raw: &str, span: Span, language: Language, reporter: &mut Reporter) -> String {
    let mut reader = Unescape {
        raw,
        at: 0,
        // The token of a macro's text covers the use of the macro and not the literal.
        has_places: span.end - span.start == raw.len() + 2,
        span,
        language,
        output: Vec::with_capacity(raw.len()),
        reporter,
    };
    reader.run();
    reader.finish()
}

struct Unescape<'r> {
    raw: &'r str,
    at: usize,
    has_places: bool,
    span: Span,
    language: Language,
    /// Bytes, for `\x` and octal escapes give bytes.
    output: Vec<u8>,
    reporter: &'r mut Reporter,
}

impl Unescape<'_> {
    fn run(&mut self) {
        while let Some(character) = self.raw[self.at..].chars().next() {
            let start = self.at;
            self.at += character.len_utf8();
            match character {
                '\\' => self.escape(start),
                // Observed: slice2py of Ice 3.8.3 takes these, slice2cpp of Ice 3.7.8 does not.
                '\t' | '\x0b' | '\x0c' if self.language.has_38() => self.push(character),
                '\x00'..='\x1f' | '\x7f' => {
                    let message = format!("the control character {character:?} stands in a string");
                    let help = "write it as an escape such as `\\t` or `\\x01`";
                    self.report(Code::IllegalCharacter, start, message, Some(help));
                }
                _ => self.push(character),
            }
        }
    }

    fn finish(self) -> String {
        String::from_utf8(self.output).unwrap_or_else(|error| {
            let message = "the escapes in this string do not give UTF-8 text";
            let help = "use `\\u` and four hexadecimal digits for characters beyond ASCII";
            self.reporter
                .report(Diagnostic::new(Code::BadEscape, self.span, message).help(help));
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })
    }

    fn escape(&mut self, start: usize) {
        let Some(character) = self.raw[self.at..].chars().next() else {
            return;
        };
        self.at += character.len_utf8();
        match character {
            '\\' | '"' | '\'' | '?' => self.push(character),
            'a' => self.push('\x07'),
            'b' => self.push('\x08'),
            'f' => self.push('\x0c'),
            'n' => self.push('\n'),
            'r' => self.push('\r'),
            't' => self.push('\t'),
            'v' => self.push('\x0b'),
            'x' => self.byte(start, 2, 16),
            '0'..='7' => {
                self.at -= 1;
                self.byte(start, 3, 8);
            }
            'u' => self.character(start, 4),
            'U' => self.character(start, 8),
            // A backslash hides the end of a line.
            '\n' => {}
            '\r' if self.raw[self.at..].starts_with('\n') => self.at += 1,
            _ => {
                let message = format!("`\\{character}` is not an escape: the backslash stays");
                let help = format!("write `\\\\{character}` for a backslash, or leave it out");
                self.report(Code::UnknownEscape, start, message, Some(&help));
                self.push('\\');
                self.push(character);
            }
        }
    }

    fn byte(&mut self, start: usize, most: usize, radix: u32) {
        let digits = self.digits(most, radix);
        match u32::from_str_radix(&digits, radix).map(u8::try_from) {
            Ok(Ok(byte)) => self.output.push(byte),
            Ok(Err(_)) => {
                let message = "this octal escape is larger than 255".to_owned();
                let help = "octal escapes give one byte: `\\377` is the largest";
                self.report(Code::BadEscape, start, message, Some(help));
            }
            Err(_) => {
                let message = "`\\x` needs one or two hexadecimal digits".to_owned();
                let help = "write `\\x41`, or `\\\\` for a backslash";
                self.report(Code::BadEscape, start, message, Some(help));
            }
        }
    }

    fn character(&mut self, start: usize, count: usize) {
        let digits = self.digits(count, 16);
        let letter = if count == 4 { 'u' } else { 'U' };
        let code = u32::from_str_radix(&digits, 16);
        match code.ok().filter(|_| digits.len() == count) {
            None => {
                let message = format!("`\\{letter}` needs exactly {count} hexadecimal digits");
                let help = "write zeros before the digits: `\\u00e9` is `é`";
                self.report(Code::BadEscape, start, message, Some(help));
            }
            Some(code) => match char::from_u32(code) {
                Some(character) => self.push(character),
                None => {
                    let message = format!("`\\{letter}{digits}` is not a Unicode character");
                    let help = match code > 0xffff {
                        true => "the last character of Unicode is `\\U0010ffff`",
                        false => {
                            "surrogates are not characters: write the whole character with `\\U` and eight digits"
                        }
                    };
                    self.report(Code::BadEscape, start, message, Some(help));
                }
            },
        }
    }

    fn digits(&mut self, most: usize, radix: u32) -> String {
        let digits: String = self.raw[self.at..]
            .chars()
            .take(most)
            .take_while(|digit| digit.is_digit(radix))
            .collect();
        self.at += digits.len();
        digits
    }

    fn push(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.output
            .extend(character.encode_utf8(&mut buffer).as_bytes());
    }

    fn report(&mut self, code: Code, start: usize, message: String, help: Option<&str>) {
        let mut span = self.span;
        if self.has_places {
            span.start = self.span.start + 1 + start;
            span.end = self.span.start + 1 + self.at;
        }
        let mut diagnostic = Diagnostic::new(code, span, message);
        diagnostic.help = help.map(str::to_owned);
        self.reporter.report(diagnostic);
    }
}
