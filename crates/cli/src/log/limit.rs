//! Limits the log lines from one place in the source to a few a second, and counts those that it leaves out.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::stderr_queue::write;
use crate::endpoint::readable;

/// Standard error for log lines. Warnings and errors are limited, for they come by themselves; whoever
/// asks for more than these wants all of it.
#[derive(Debug, Default)]
pub(super) struct LimitedLines {
    /// The lines that each place in the source has written. Held for a look.
    places: Mutex<HashMap<Identifier, Place>>,
}

/// Lines a second from one place.
const LINES_MAX: u32 = 10;

/// How long lines are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// The lines that one place in the source has written.
#[derive(Debug)]
struct Place {
    since: Instant,
    count: u32,
    left_out: u64,
}

impl Place {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            count: 0,
            left_out: 0,
        }
    }

    /// Counts a line. Returns how many were left out before it if it may be written now.
    fn handle_line(&mut self, now: Instant) -> Option<u64> {
        if now.duration_since(self.since) >= WINDOW {
            (self.since, self.count) = (now, 0);
        }
        if self.count >= LINES_MAX {
            self.left_out += 1;
            return None;
        }
        self.count += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// Where a line goes: to standard error, with how many were left out before it, or nowhere.
#[derive(Debug)]
pub(super) struct Line(Option<u64>);

impl<'a> MakeWriter<'a> for LimitedLines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(Some(0))
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line {
        if *metadata.level() > Level::WARN {
            return Line(Some(0));
        }
        let now = Instant::now();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places
            .entry(metadata.callsite())
            .or_insert_with(|| Place::new(now));
        Line(place.handle_line(now))
    }
}

/// A line comes as one piece.
impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // Peers can provoke long lines, and those that are left out cost nothing more.
        let Some(left_out) = self.0 else {
            return Ok(line.len());
        };
        let text = readable(&String::from_utf8_lossy(line)).into_bytes();
        match left_out {
            0 => write(&text)?,
            left_out => write(&noted(&text, left_out))?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Standard error has no buffer.
        Ok(())
    }
}

/// The line with how many like it were left out, in its own format.
fn noted(line: &[u8], left_out: u64) -> Vec<u8> {
    let text = line.trim_ascii_end();
    match text.strip_suffix(b"}") {
        Some(open) if text.starts_with(b"{") => {
            [open, format!(",\"left_out\":{left_out}}}\n").as_bytes()].concat()
        }
        _ => [
            text,
            format!(" ({left_out} lines like it were left out)\n").as_bytes(),
        ]
        .concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_becomes_a_few_lines_and_a_count() {
        let start = Instant::now();
        let mut place = Place::new(start);
        let lines = (0..1000).filter_map(|_| place.handle_line(start));
        assert_eq!(lines.collect::<Vec<_>>(), [0; LINES_MAX as usize]);
        assert_eq!(place.handle_line(start + WINDOW), Some(990));
        assert_eq!(place.handle_line(start + WINDOW), Some(0));
    }

    #[test]
    fn what_was_left_out_is_said_in_the_format_of_the_line() {
        assert_eq!(noted(b"{\"a\":1}\n", 3), b"{\"a\":1,\"left_out\":3}\n");
        assert_eq!(
            noted(b"WARN full\n", 3),
            b"WARN full (3 lines like it were left out)\n"
        );
    }
}
