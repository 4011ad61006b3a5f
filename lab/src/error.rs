//! The errors of a run.

use std::fmt;
use std::path::PathBuf;

use crate::report::{LeftOut, Report};

/// Why the lab gives no report.
#[derive(Debug)]
#[non_exhaustive]
pub enum LabError {
    /// A scenario, contender or case that does not exist.
    Unknown {
        /// The kind of name that was looked for: `scenario`, `contender`, `case`, `role`.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names that exist; of cases the kinds, with the limits of their numbers.
        known: Vec<String>,
        /// The name that is most like the one that was asked for, if any is.
        nearest: Option<String>,
    },
    /// A contender that was asked for cannot run on this machine.
    Unavailable {
        /// The contender.
        contender: String,
        /// The thing that is missing, and how to get it.
        reason: String,
    },
    /// No contender is left that can do any of the cases.
    NothingToRun {
        /// Why not.
        left_out: Vec<LeftOut>,
    },
    /// A process of a contender failed, hung, or said something else than agreed.
    Contender {
        /// The contender.
        contender: String,
        /// The expected content, and the one that came.
        reason: String,
    },
    /// A process of a contender cannot be started.
    Start {
        /// The command line.
        command: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// All contenders that could do the cases have failed.
    NothingMeasured {
        /// How.
        left_out: Vec<LeftOut>,
    },
    /// Floe or the floor failed, or something that concerns all contenders, when some figures were there.
    Unfinished {
        /// The results until then; of some contenders perhaps in a round less than of others.
        report: Box<Report>,
        /// Why it ended.
        source: Box<LabError>,
    },
    /// The file of a run cannot be gone on with.
    Journal {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// [`RunOptions::stop`](crate::RunOptions::stop) was set.
    Stopped,
    /// The system refused something.
    System {
        /// The action that was tried.
        action: String,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl LabError {
    pub(crate) fn contender(contender: &str, reason: impl fmt::Display) -> Self {
        Self::Contender {
            contender: contender.to_owned(),
            reason: reason.to_string(),
        }
    }

    pub(crate) fn system(action: impl Into<String>, source: std::io::Error) -> Self {
        Self::System {
            action: action.into(),
            source,
        }
    }

    /// A name that does not exist, where `known` do, which are all shown.
    pub(crate) fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<_> = known.into_iter().collect();
        Self::Unknown {
            kind,
            name: name.to_owned(),
            nearest: nearest(name, known.iter().copied()),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// The name that is most like another, if any is.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let (distance, nearest) = known
        .map(|other| (strsim::levenshtein(name, other), other))
        .min()?;
    (distance <= name.len() / 3 + 1).then(|| nearest.to_owned())
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown {
                kind,
                name,
                known,
                nearest,
            } => {
                let known = known.join(", ");
                write!(f, "expected a {kind} of {known}, got \"{name}\"")?;
                let mut nearest = nearest.iter();
                nearest.try_for_each(|nearest| write!(f, ": did you mean {nearest}?"))
            }
            Self::Unavailable { contender, reason } => {
                write!(f, "contender {contender} is not available: {reason}")
            }
            Self::NothingToRun { left_out } => {
                write!(f, "no contender is left for any of the cases asked for")?;
                list(f, left_out)
            }
            Self::NothingMeasured { left_out } => {
                write!(f, "no contender is left: all have failed")?;
                list(f, left_out)
            }
            Self::Start { command, source } => write!(f, "cannot start {command}: {source}"),
            Self::Unfinished { source, .. } => source.fmt(f),
            Self::Journal { path, reason } => {
                write!(f, "cannot go on with {}: {reason}", path.display())
            }
            Self::Stopped => write!(f, "the run was interrupted"),
            Self::Contender { contender, reason } => {
                write!(f, "contender {contender} failed: {reason}")
            }
            Self::System { action, source } => write!(f, "cannot {action}: {source}"),
        }
    }
}

impl std::error::Error for LabError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { source, .. } | Self::Start { source, .. } => Some(source),
            Self::Unfinished { source, .. } => source.source(),
            _ => None,
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, left_out: &[LeftOut]) -> fmt::Result {
    let mut all = left_out.iter();
    all.try_for_each(|left_out| write!(f, "; {left_out}"))
}
