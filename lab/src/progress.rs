//! The messages of a run while it works.

use std::time::Duration;

use crate::report::LeftOut;

/// The progress of a run: a step that begins, or something that it noticed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// A contender is made ready; the first time it may have to be built.
    Preparing {
        /// The contender.
        contender: String,
    },
    /// A contender that was not asked for by name is left out.
    Skipped {
        /// The contender.
        contender: String,
        /// The thing that is missing, and how to get it.
        reason: String,
    },
    /// A contender has failed and is left out from now on, its figures of these cases with it.
    Failed(LeftOut),
    /// Something that makes the figures worth less.
    Warning(String),
    /// The next scenario of a run of several.
    Scenario {
        /// The scenario.
        name: &'static str,
        /// Scenarios before it.
        done: usize,
        /// Scenarios of the run.
        total: usize,
        /// About how long this one and those after it take.
        rest: Duration,
    },
    /// A contender measures.
    Measuring {
        /// The case.
        case: String,
        /// The contender.
        contender: String,
        /// Measurements that are done, of all cases and rounds of the contenders that have not failed.
        done: usize,
        /// Measurements that there will be if no other one fails.
        total: usize,
    },
}
