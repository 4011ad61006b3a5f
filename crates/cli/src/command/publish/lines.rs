//! The source of events: one value that is repeated, or the lines of a file or of standard input.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value as Json;
use tokio::sync::mpsc;

use super::ahead::Ahead;
use crate::exit::Failure;
use crate::json_input::{self, Line, Source};

/// The values of one event after another.
pub(super) enum Events {
    /// The same, as often as this.
    Same(Json, u64),
    /// Lines that a thread reads, at most as often as this.
    Lines(mpsc::Receiver<Result<Line, Failure>>, Ahead, u64),
}

/// Lines that are read ahead, of so many bytes as [`Ahead`] has room for.
const AHEAD_MAX: usize = 1024;

impl Events {
    /// Begins to read the text, if that is where they come from.
    pub(super) fn new(source: Source, text: Text, count: Option<u64>) -> Self {
        if let Source::One(json) = source {
            return Self::Same(json, count.unwrap_or(1));
        }
        let Text { text, name } = text;
        let (sender, receiver) = mpsc::channel(AHEAD_MAX);
        let ahead = Ahead::default();
        let room = ahead.clone();
        // Nobody waits for this thread: it may hang in a read for ever.
        std::thread::spawn(move || {
            for line in json_input::lines(BufReader::with_capacity(64 * 1024, text), name) {
                room.enter(len_of(&line));
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self::Lines(receiver, ahead, count.unwrap_or(u64::MAX))
    }

    /// The next one; of an argument the place is empty.
    pub(super) async fn next(&mut self) -> Option<Result<Line, Failure>> {
        match self {
            Self::Same(_, 0) | Self::Lines(.., 0) => None,
            Self::Same(json, left) => {
                *left -= 1;
                Some(Ok(Line {
                    json: json.clone(),
                    place: String::new(),
                    len: 0,
                }))
            }
            Self::Lines(lines, ahead, left) => {
                *left -= 1;
                let line = lines.recv().await?;
                ahead.leave(len_of(&line));
                Some(line)
            }
        }
    }

    /// Returns true if all are the same.
    pub(super) fn is_same(&self) -> bool {
        matches!(self, Self::Same(..))
    }

    /// Returns true if the next one must be waited for.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Same(..) => false,
            Self::Lines(lines, ..) => lines.is_empty(),
        }
    }
}

/// Bytes that a line takes of what is read ahead.
fn len_of(line: &Result<Line, Failure>) -> usize {
    line.as_ref().map_or(0, |line| line.len)
}

/// A text that may be read.
pub(super) struct Text {
    text: Box<dyn Read + Send>,
    /// The name by which messages refer to it.
    name: String,
}

impl Text {
    /// The file, or standard input without one and for `-`. Nothing is read yet.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let Some(file) = file.filter(|file| *file != Path::new("-")) else {
            return Ok(Self {
                text: Box::new(std::io::stdin()),
                name: "standard input".to_owned(),
            });
        };
        let name = file.display().to_string();
        match File::open(file) {
            Ok(opened) => Ok(Self {
                text: Box::new(opened),
                name,
            }),
            Err(error) => Err(Failure::usage(format_args!(
                "--file: cannot read {name}: {error}"
            ))),
        }
    }
}

/// Returns true if a line says where `floe sub --gaps` lost events: there is nothing to publish.
pub(super) fn is_gap(json: &Json) -> bool {
    let object = json.as_object();
    object.is_some_and(|object| object.len() == 1 && object.contains_key("lost"))
}

/// Microseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

/// Replaces `{{n}}` and `{{time}}` in all texts; a text that is nothing else becomes a number.
pub(super) fn fill(json: &mut Json, number: u64, time: u64) {
    match json {
        Json::String(text) if text == "{{n}}" => *json = number.into(),
        Json::String(text) if text == "{{time}}" => *json = time.into(),
        Json::String(text) if text.contains("{{") => {
            *text = text
                .replace("{{n}}", &number.to_string())
                .replace("{{time}}", &time.to_string());
        }
        Json::Array(values) => values
            .iter_mut()
            .for_each(|value| fill(value, number, time)),
        Json::Object(members) => {
            members
                .values_mut()
                .for_each(|value| fill(value, number, time));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_numbers_alone_and_text_within_text() {
        let mut json = json!({"a": "{{n}}", "b": ["x{{n}}-{{time}}", "{{m}}", 1], "c": "{{time}}"});
        fill(&mut json, 7, 9);
        assert_eq!(json, json!({"a": 7, "b": ["x7-9", "{{m}}", 1], "c": 9}));
    }
}
