//! The cases of the scenario `rpc`, taken apart.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::contender::Failure;

/// What a client does, over what, and how both sides wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) work: Work,
    /// Over a Unix domain socket, and not over TCP.
    pub(crate) is_unix: bool,
    /// Both sides poll before they sleep.
    pub(crate) is_polling: bool,
}

/// What a client does again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// A call whose reply is awaited.
    Twoway,
    /// The same through the blocking face of a middleware that has one of its own.
    TwowayBlocking,
    /// The same through the asynchronous face.
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
    /// The same with so many records, each of which holds a sequence of records.
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
/// How long a side polls, where the middleware has a limit for it.
pub(crate) const POLLING: Duration = Duration::from_micros(100);

impl Case {
    /// What the name of a case says.
    ///
    /// # Errors
    /// It is no name of a case.
    pub(crate) fn parse(name: &str) -> Result<Self, Failure> {
        let (rest, is_polling) = without(name, "-poll");
        let (rest, is_unix) = without(rest, "-unix");
        let work = Work::parse(rest)
            .ok_or_else(|| format!("expected a case of the scenario rpc, got \"{name}\""))?;
        Ok(Self {
            work,
            is_unix,
            is_polling,
        })
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
        let count = digits.parse().ok()?;
        // No case has two names: neither `echo-01` nor `echo-+1`.
        let is_plain = format!("{count}") == digits;
        let (work, range): (fn(usize) -> Self, _) = match kind {
            "echo" => (Self::Echo, ECHO_COUNTS),
            "ack-bytes" => (Self::AckBytes, ACK_BYTES),
            "ack-nested" => (Self::AckNested, ACK_RECORDS),
            _ => return None,
        };
        (is_plain && range.contains(&count)).then(|| work(count))
    }
}

fn without<'a>(name: &'a str, suffix: &str) -> (&'a str, bool) {
    name.strip_suffix(suffix)
        .map_or((name, false), |rest| (rest, true))
}

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
