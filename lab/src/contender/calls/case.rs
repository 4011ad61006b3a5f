//! The cases of the scenario `rpc`, taken apart.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::contender::Failure;
use crate::measure::{Effort, Stopwatch};

/// A client's work, its transport, and how both sides wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) work: Work,
    /// Over a Unix domain socket, and not over TCP.
    pub(crate) is_unix: bool,
    /// Both sides poll before they sleep.
    pub(crate) is_polling: bool,
    pub(crate) extent: Extent,
}

/// How much a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// As much as fits into the time of a round, after a warm-up.
    Round,
    /// So many calls after the first one, whatever time they take. Oneways are followed by one call with a reply, and
    /// batches have [`COUNTED_BATCH_LEN`] calls.
    Calls(usize),
    /// [`PACED_CALLS`] calls, one every [`PACE`], so that each finds both sides asleep.
    Paced,
}

/// The call that a client makes again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A call whose reply is awaited.
    Twoway,
    /// A twoway call through the blocking API of a middleware that has one of its own.
    TwowayBlocking,
    /// A twoway call through the asynchronous API.
    Ami,
    /// [`IN_FLIGHT`] calls are begun, then all replies are awaited.
    AmiMany,
    /// [`ONEWAYS`] calls without a reply, then one with a reply, which comes when all were received.
    Oneway,
    /// [`BATCHES`] batches of [`BATCH_LEN`] calls without a reply, then one with a reply.
    Batch,
    /// A call that takes so many doubles and returns them.
    Echo(usize),
    /// A call that takes so many bytes, and returns a number that shows it.
    AckBytes(usize),
    /// A call that takes so many records, each with a sequence of records, and returns a number that shows it.
    AckNested(usize),
}

/// Calls that are in flight at the same time.
pub(crate) const IN_FLIGHT: usize = 1_000;
/// Calls without a reply between two with one.
pub(crate) const ONEWAYS: usize = 10_000;
/// Calls of a batch.
pub(crate) const BATCH_LEN: usize = 1_000;
/// Batches between two calls with a reply.
pub(crate) const BATCHES: usize = 100;
/// Calls of a batch where calls are counted.
pub(crate) const COUNTED_BATCH_LEN: usize = 100;
/// Calls of a round where they are paced: the 15 rounds of a run make the 100 of the published test.
pub(crate) const PACED_CALLS: u64 = 7;
/// From the start of one paced call to the next.
pub(crate) const PACE: Duration = Duration::from_millis(250);
/// How long a side polls, where the middleware has a limit for it.
pub(crate) const POLLING: Duration = Duration::from_micros(100);

impl Case {
    /// Parses the name of a case.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        let (rest, is_polling) = without(name, "-poll");
        let (rest, is_unix) = without(rest, "-unix");
        let (work, extent) = Self::parse_work(rest)
            .ok_or_else(|| format!("expected a case of calls, got \"{name}\""))?;
        Ok(Self {
            work,
            is_unix,
            is_polling,
            extent,
        })
    }

    fn parse_work(name: &str) -> Option<(Work, Extent)> {
        if let Some(count) = name.strip_prefix("rtt-") {
            let work = Work::parse(&format!("echo-{count}"))?;
            return Some((work, Extent::Paced));
        }
        let Some((kind, count)) = name.rsplit_once("-x") else {
            return Some((Work::parse(name)?, Extent::Round));
        };
        let calls = plain_number(count)?;
        let work = Work::parse(kind)?;
        let is_offered = match work {
            Work::Twoway | Work::Ami | Work::Oneway => true,
            Work::Batch => calls.is_multiple_of(COUNTED_BATCH_LEN),
            _ => false,
        };
        let is_offered = is_offered && COUNTED_CALLS.contains(&calls);
        is_offered.then_some((work, Extent::Calls(calls)))
    }

    /// Returns true if a name is that of a case with such an extent.
    pub(crate) fn has_extent(name: &str, is_such: fn(Extent) -> bool) -> bool {
        Self::parse(name).is_ok_and(|case| is_such(case.extent))
    }

    /// The stopwatch for the calls of the case.
    pub(crate) fn stopwatch(self, effort: Effort) -> Stopwatch {
        match self.extent {
            Extent::Round => effort.stopwatch(),
            Extent::Calls(calls) => Stopwatch::counting(calls as u64),
            Extent::Paced => Stopwatch::paced(PACED_CALLS, PACE),
        }
    }

    /// Calls without a reply between two with one.
    pub(crate) fn oneways(self) -> usize {
        match self.extent {
            Extent::Calls(calls) => calls,
            _ => ONEWAYS,
        }
    }

    /// Calls of a batch, and batches between two calls with a reply.
    pub(crate) fn batches(self) -> (usize, usize) {
        match self.extent {
            Extent::Calls(calls) => (COUNTED_BATCH_LEN, calls / COUNTED_BATCH_LEN),
            _ => (BATCH_LEN, BATCHES),
        }
    }
}

impl Work {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "twoway" => Some(Self::Twoway),
            "twoway-blocking" => Some(Self::TwowayBlocking),
            "ami" => Some(Self::Ami),
            "ami-1000" => Some(Self::AmiMany),
            "oneway" => Some(Self::Oneway),
            "batch" => Some(Self::Batch),
            _ => Self::parse_sized(name),
        }
    }

    fn parse_sized(name: &str) -> Option<Self> {
        let (kind, digits) = name.rsplit_once('-')?;
        let count = plain_number(digits)?;
        let (work, range): (fn(usize) -> Self, _) = match kind {
            "echo" => (Self::Echo, ECHO_COUNTS),
            "ack-bytes" => (Self::AckBytes, ACK_BYTES),
            "ack-nested" => (Self::AckNested, ACK_RECORDS),
            _ => return None,
        };
        range.contains(&count).then(|| work(count))
    }
}

/// A number that has no other name: neither `01` nor `+1`.
fn plain_number(digits: &str) -> Option<usize> {
    let number = digits.parse().ok()?;
    (format!("{number}") == digits).then_some(number)
}

fn without<'a>(name: &'a str, suffix: &str) -> (&'a str, bool) {
    name.strip_suffix(suffix)
        .map_or((name, false), |rest| (rest, true))
}

/// Calls of [`Extent::Calls`].
const COUNTED_CALLS: RangeInclusive<usize> = 1..=1_000_000;
/// Doubles of [`Work::Echo`].
const ECHO_COUNTS: RangeInclusive<usize> = 1..=1_000_000;
/// Bytes of [`Work::AckBytes`].
const ACK_BYTES: RangeInclusive<usize> = 1..=1_000_000;
/// Records of [`Work::AckNested`].
const ACK_RECORDS: RangeInclusive<usize> = 1..=1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_case_says_what_it_is() {
        let case = Case::parse("twoway-blocking-unix-poll").unwrap();
        assert_eq!(case.work, Work::TwowayBlocking);
        assert!(case.is_unix && case.is_polling);
        let case = Case::parse("ami-1000").unwrap();
        assert_eq!(case.work, Work::AmiMany);
        assert!(!case.is_unix && !case.is_polling);
        assert!(Case::parse("threeway").is_err());
    }

    #[test]
    fn the_end_of_a_name_says_how_much_is_done() {
        let case = |name| Case::parse(name).map(|case| (case.work, case.extent)).ok();
        assert_eq!(case("oneway"), Some((Work::Oneway, Extent::Round)));
        let counted = Some((Work::Oneway, Extent::Calls(100_000)));
        assert_eq!(case("oneway-x100000"), counted);
        assert_eq!(case("rtt-10"), Some((Work::Echo(10), Extent::Paced)));
        let batches = Case::parse("batch-x1000").unwrap().batches();
        assert_eq!(batches, (COUNTED_BATCH_LEN, 10));
        for name in [
            "batch-x150",
            "twoway-x0",
            "twoway-x01",
            "echo-5-x10",
            "rtt-0",
            "rtt-echo-1",
        ] {
            assert_eq!(case(name), None, "{name}");
        }
    }

    #[test]
    fn a_number_in_a_name_is_how_many_values_travel() {
        let work = |name| Case::parse(name).map(|case| case.work).ok();
        assert_eq!(work("echo-1000000"), Some(Work::Echo(1_000_000)));
        assert_eq!(work("ack-bytes-4-unix-poll"), Some(Work::AckBytes(4)));
        assert_eq!(work("ack-nested-1024-unix"), Some(Work::AckNested(1_024)));
        for name in [
            "echo",
            "echo-",
            "echo-0",
            "echo-01",
            "echo-+1",
            "echo-1000001",
            "ack-bytes-1000001",
            "ack-nested-1025",
            "ack-1",
        ] {
            assert_eq!(work(name), None, "{name}");
        }
    }
}
