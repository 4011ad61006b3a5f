//! A case, and how it is measured: as the lab's own clients do it.

use std::fmt::{Debug, Write};
use std::time::{Duration, Instant};

use crate::Failure;

/// A client's work, and its transport.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) work: Work,
    pub(crate) is_unix: bool,
    /// Calls that are made, whatever time they take; `None` for as many as fit into the time.
    calls: Option<usize>,
    is_paced: bool,
}

/// The call that a client makes again and again.
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
        let counted = rest.rsplit_once("-x").and_then(|(rest, count)| Some((rest, count.parse().ok()?)));
        let (rest, calls) = counted.map_or((rest, None), |(rest, calls)| (rest, Some(calls)));
        let paced = rest.strip_prefix("rtt-").map(|count| format!("echo-{count}"));
        let is_paced = paced.is_some();
        let calls = if is_paced { Some(PACED_CALLS) } else { calls };
        let rest = paced.as_deref().unwrap_or(rest);
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
        Ok(Self {
            work,
            is_unix,
            calls,
            is_paced,
        })
    }

    /// Calls without a reply between two with one.
    pub(crate) fn oneways(self) -> usize {
        self.calls.unwrap_or(ONEWAYS)
    }
}

const ONEWAYS: usize = 10_000;
const PACED_CALLS: usize = 7;
const PACE: Duration = Duration::from_millis(250);

/// Times calls that follow one another: the end of one is the start of the next.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    measure_from: Instant,
    measure_until: Instant,
    /// Calls that are made, if that does not depend on the time.
    calls: Option<usize>,
    /// Calls that were measured.
    counted: usize,
    /// When the last paced call was due.
    due: Option<Instant>,
    started: Instant,
    /// Nanoseconds of a call, and how many took so long together.
    durations: Vec<(f64, usize)>,
}

impl Stopwatch {
    /// It warms up for a quarter of that time first, unless the case says how many calls are made.
    pub(crate) fn new(case: Case, round_time: Duration) -> Self {
        if case.is_paced {
            std::thread::sleep(PACE);
        }
        let now = Instant::now();
        let warm_up = case.calls.map_or(round_time / 4, |_| Duration::ZERO);
        Self {
            measure_from: now + warm_up,
            measure_until: now + warm_up + round_time,
            calls: case.calls,
            counted: 0,
            due: case.is_paced.then_some(now),
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
            self.counted += count;
        }
        self.started = now;
        let goes_on = match self.calls {
            Some(calls) => self.counted < calls,
            None => now < self.measure_until || self.durations.is_empty(),
        };
        if let Some(due) = self.due.as_mut().filter(|_| goes_on) {
            *due += PACE;
            std::thread::sleep(due.saturating_duration_since(now));
            self.started = Instant::now();
        }
        goes_on
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
