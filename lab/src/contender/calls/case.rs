//! The cases of the scenario `rpc`, taken apart.

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
        let work = match rest {
            "twoway" => Work::Twoway,
            "twoway-blocking" => Work::TwowayBlocking,
            "ami" => Work::Ami,
            "ami-1000" => Work::AmiMany,
            "oneway" => Work::Oneway,
            "batch" => Work::Batch,
            _ => return Err(format!("expected a case of the scenario rpc, got \"{name}\"").into()),
        };
        Ok(Self {
            work,
            is_unix,
            is_polling,
        })
    }
}

fn without<'a>(name: &'a str, suffix: &str) -> (&'a str, bool) {
    name.strip_suffix(suffix)
        .map_or((name, false), |rest| (rest, true))
}

/// The names of a case in all its variants.
macro_rules! variants {
    ($($name:literal),*) => {
        &[$($name, concat!($name, "-unix"), concat!($name, "-poll"), concat!($name, "-unix-poll")),*]
    };
}

/// All cases.
pub(crate) const ALL: &[&str] = variants!(
    "twoway",
    "twoway-blocking",
    "ami",
    "ami-1000",
    "oneway",
    "batch"
);

/// Cases over TCP without polling, for those who have neither.
pub(crate) const PLAIN: &[&str] = &[
    "twoway",
    "twoway-blocking",
    "ami",
    "ami-1000",
    "oneway",
    "batch",
];

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
    fn all_names_are_names() {
        assert_eq!(ALL.len(), 24);
        for name in ALL.iter().chain(PLAIN) {
            Case::parse(name).unwrap();
        }
    }
}
