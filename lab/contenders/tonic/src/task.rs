//! A case, and how it is measured: as the lab's own clients do it.

use std::fmt::{Debug, Write};
use std::time::{Duration, Instant};

use crate::Failure;

/// What a client does, and over what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) work: Work,
    pub(crate) is_unix: bool,
}

/// What a client does again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    Twoway,
    AmiMany,
    Oneway,
    Echo(usize),
    AckBytes(usize),
    AckNested(usize),
}

impl Case {
    /// # Errors
    /// There is no such case, or it is not offered.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        let rest = name.strip_suffix("-unix");
        let is_unix = rest.is_some();
        let rest = rest.unwrap_or(name);
        let sized = rest.rsplit_once('-').and_then(|(kind, count)| Some((kind, count.parse().ok()?)));
        let work = match (rest, sized) {
            ("twoway" | "ami", _) => Work::Twoway,
            ("ami-1000", _) => Work::AmiMany,
            ("oneway", _) => Work::Oneway,
            (_, Some(("echo", count))) => Work::Echo(count),
            (_, Some(("ack-bytes", count))) => Work::AckBytes(count),
            (_, Some(("ack-nested", count))) => Work::AckNested(count),
            _ => return Err(format!("expected a case that tonic offers, got \"{name}\"").into()),
        };
        Ok(Self { work, is_unix })
    }
}

/// Times calls that follow one another: the end of one is the start of the next.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    measure_from: Instant,
    measure_until: Instant,
    started: Instant,
    /// Nanoseconds of a call, and how many took so long together.
    durations: Vec<(f64, usize)>,
}

impl Stopwatch {
    /// It warms up for a quarter of that time first.
    pub(crate) fn new(round_time: Duration) -> Self {
        let now = Instant::now();
        Self {
            measure_from: now + round_time / 4,
            measure_until: now + round_time / 4 + round_time,
            started: now,
            durations: Vec::with_capacity(1 << 18),
        }
    }

    /// Notes that so many calls have ended together; whether to make more.
    pub(crate) fn laps(&mut self, count: usize) -> bool {
        let now = Instant::now();
        if self.started >= self.measure_from {
            let elapsed = now.duration_since(self.started).as_secs_f64() * 1e9;
            self.durations.push((elapsed / count as f64, count));
        }
        self.started = now;
        now < self.measure_until || self.durations.is_empty()
    }

    /// The line that the lab waits for.
    pub(crate) fn line(&self) -> String {
        let mut line = "{\"calls\": [".to_owned();
        for (index, (nanoseconds, count)) in self.durations.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(line, "{separator}[{nanoseconds:.2},{count}]");
        }
        line.push_str("]}");
        line
    }
}

/// Compares an answer.
///
/// # Errors
/// What came instead.
pub(crate) fn expect<T: PartialEq + Debug>(what: &str, expected: T, came: T) -> Result<(), Failure> {
    if expected == came {
        return Ok(());
    }
    Err(format!("expected {what} to be {expected:?}, got {came:?}").into())
}
