//! Reads text from outside, as a whole or line by line, up to a limit. It does not interpret the text.

use std::io::{self, BufRead, Read};

use floe::regular_file;

use crate::exit::Failure;
use crate::peer;
use crate::size::Size;

/// Bytes of a line, and of what is read whole: as many as the longest message has that a command takes. A hub takes 1 MiB
/// unless its MessageSizeMax is another, and of that JSON rarely makes as much.
const LEN_MAX: usize = peer::ANSWER_SIZE_MAX;

/// Reads all that there is. `name` is that of the text.
///
/// # Errors
/// It cannot be read, or is too long.
pub(crate) fn bytes(text: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    bytes_within(LEN_MAX, text, name)
}

fn bytes_within(len_max: usize, text: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = text.take(len_max as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, error))?;
    match bytes.len() <= len_max {
        true => Ok(bytes),
        false => Err(too_long(name, len_max, &bytes).help("give it in parts")),
    }
}

/// Reads all of a text.
///
/// # Errors
/// It cannot be read, is too long, or is no text.
pub(crate) fn text(text: impl Read, name: &str) -> Result<String, Failure> {
    let bytes = bytes(text, name)?;
    utf8(regular_file::without_mark(&bytes).to_vec(), name)
}

/// The lines of a text, one after the other, each with its place, as in `line 3 of standard input`. An error is the last
/// that comes: nobody can tell where the next line begins.
pub(crate) struct Lines<T> {
    text: T,
    name: String,
    len_max: usize,
    /// Those that were read.
    count: u64,
    has_ended: bool,
}

impl<T: BufRead> Lines<T> {
    /// `name` is that of the text.
    pub(crate) fn new(text: T, name: String) -> Self {
        Self {
            text,
            name,
            len_max: LEN_MAX,
            count: 0,
            has_ended: false,
        }
    }

    fn read(&mut self) -> Result<Option<(String, String)>, Failure> {
        let mut line = Vec::new();
        // With the longest end that a line has.
        let mut text = (&mut self.text).take(self.len_max as u64 + 2);
        let read = text.read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(&self.name, error))? == 0 {
            return Ok(None);
        }
        self.count += 1;
        let place = format!("line {} of {}", self.count, self.name);
        if line.pop_if(|last| *last == b'\n').is_some() {
            line.pop_if(|last| *last == b'\r');
        }
        if line.len() > self.len_max {
            return Err(too_long(&place, self.len_max, &line)
                .help("write each event on its own line; or is this another kind of file?"));
        }
        if self.count == 1 {
            line.drain(..line.len() - regular_file::without_mark(&line).len());
        }
        Ok(Some((utf8(line, &place)?, place)))
    }
}

impl<T: BufRead> Iterator for Lines<T> {
    type Item = Result<(String, String), Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let read = self.read();
        self.has_ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

/// The first line of a text, or as much of it as a message has room for; without what a terminal would obey.
pub(crate) fn excerpt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let shown = |text: &str| text.replace(char::is_control, "\u{fffd}");
    match line.char_indices().nth(EXCERPT_MAX) {
        Some((end, _)) => shown(&line[..end]) + "...",
        None => shown(line),
    }
}

/// Characters of a wrong text that are shown.
const EXCERPT_MAX: usize = 40;

fn utf8(bytes: Vec<u8>, place: &str) -> Result<String, Failure> {
    let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let got = match is_utf16 {
            true => "UTF-16".to_owned(),
            false => format!("something else at byte {at}"),
        };
        Failure::usage(format_args!("expected UTF-8 text, got {got}"))
            .when(place)
            .help("save the text as UTF-8")
    })
}

fn too_long(place: &str, len_max: usize, bytes: &[u8]) -> Failure {
    // Characters have four bytes at the most.
    let start = &bytes[..bytes.len().min(4 * (EXCERPT_MAX + 1))];
    let (max, start) = (Size::of(len_max), String::from_utf8_lossy(start));
    Failure::usage(format_args!(
        "expected at most {max}, got more, which begins with `{}`",
        excerpt(&start)
    ))
    .when(place)
}

fn unreadable(name: &str, error: io::Error) -> Failure {
    Failure::usage(format_args!("cannot read {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_within<T: BufRead>(len_max: usize, text: T) -> Vec<Result<String, String>> {
        let lines = Lines {
            len_max,
            ..Lines::new(text, "a pipe".to_owned())
        };
        lines
            .map(|line| {
                line.map(|(line, _)| line)
                    .map_err(|failure| failure.to_string())
            })
            .collect()
    }

    #[test]
    fn a_line_without_end_is_refused_with_its_place_its_limit_and_its_beginning() {
        let text = io::Cursor::new("12345\r\n\n").chain(io::BufReader::new(io::repeat(b'x')));
        let lines = lines_within(50, text);
        let error = format!(
            "line 3 of a pipe: expected at most 50 B, got more, which begins with `{}...`; write each event on its own \
             line; or is this another kind of file?",
            "x".repeat(40)
        );
        assert_eq!(
            lines,
            [Ok("12345".to_owned()), Ok(String::new()), Err(error)]
        );
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_whatever_its_end() {
        for text in ["12345\r\n12345\n12345", "12345\n12345\r\n12345\n"] {
            let lines = lines_within(5, text.as_bytes());
            assert_eq!(lines, vec![Ok("12345".to_owned()); 3], "{text:?}");
        }
        for text in ["123456\r\n", "123456\n", "123456"] {
            let lines = lines_within(5, text.as_bytes());
            assert!(matches!(&lines[..], [Err(_)]), "{text:?}: {lines:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_in_front_is_passed_over_and_utf_16_is_named() {
        let lines = lines_within(50, "\u{feff}one\r\n\u{feff}two\n".as_bytes());
        assert_eq!(lines, [Ok("one".to_owned()), Ok("\u{feff}two".to_owned())]);
        let whole = text("\u{feff}{}".as_bytes(), "it").expect("it is text");
        assert_eq!(whole, "{}");
        let lines = lines_within(50, &b"\xff\xfe{\0}\0"[..]);
        let error = "line 1 of a pipe: expected UTF-8 text, got UTF-16; save the text as UTF-8";
        assert_eq!(lines, [Err(error.to_owned())]);
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_place() {
        let lines = lines_within(5, &b"1\n\xff\n2\n"[..]);
        let error = "line 2 of a pipe: expected UTF-8 text, got something else at byte 0; save the text as UTF-8";
        assert_eq!(lines, [Ok("1".to_owned()), Err(error.to_owned())]);
    }

    #[test]
    fn an_excerpt_has_nothing_that_a_terminal_obeys() {
        assert_eq!(excerpt("\x1b[2Jgone\x07"), "\u{fffd}[2Jgone\u{fffd}");
    }

    #[test]
    fn what_is_read_whole_has_an_end() {
        assert_eq!(bytes_within(3, &b"123"[..], "it").expect("it fits"), b"123");
        let failure = bytes_within(3, io::repeat(b'0'), "standard input").unwrap_err();
        let message = "standard input: expected at most 3 B, got more, which begins with `0000`; give it in parts";
        assert_eq!(failure.to_string(), message);
    }
}
