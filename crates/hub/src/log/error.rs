//! Why a log refuses events, cannot be read, or lacks events.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::core::log::Refusal;

/// Why events were not kept.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AppendError {
    /// The log could not write or sync them. It tries again with the next events, so appends succeed again once the
    /// cause is gone: for example, once the disk has room.
    Failed(LogError),
    /// The log never takes such events.
    Refused(Refusal),
    /// Too many bytes wait to be written.
    Overloaded {
        /// How many bytes wait.
        waiting: usize,
        /// How many may wait.
        max: usize,
    },
    /// The log is closed.
    Closed,
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "{error}"),
            Self::Refused(refusal) => write!(f, "{refusal}"),
            Self::Overloaded { waiting, max } => write!(
                f,
                "{waiting} bytes wait to be written, at most {max} may: wait for the acknowledgements of earlier events"
            ),
            Self::Closed => f.write_str("the log of the topic is closed"),
        }
    }
}

impl std::error::Error for AppendError {}

impl From<Refusal> for AppendError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A failure of the operating system under a log.
#[derive(Debug, Clone)]
pub struct LogError {
    action: &'static str,
    path: PathBuf,
    source: Arc<io::Error>,
}

impl LogError {
    /// An error of an action, such as "write", on a file or folder.
    pub fn new(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self {
            action,
            path: path.into(),
            source: Arc::new(source),
        }
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of failure, as the operating system reports it.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            action,
            path,
            source,
        } = self;
        write!(f, "cannot {action} \"{}\": {source}", path.display())
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

/// Events that were written and that the disk lost or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file that is damaged or missing.
    pub path: PathBuf,
    /// The sequences that are missing. It is empty if their number is not known.
    pub sequences: Range<u64>,
    /// The damage in words.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            sequences,
            what,
        } = self;
        let count = sequences.end.saturating_sub(sequences.start);
        if count == 0 {
            return write!(
                f,
                "\"{}\" is damaged: {what}; how many events are missing from {} on cannot be told, the others are served",
                path.display(),
                sequences.start
            );
        }
        let (first, last) = (sequences.start, sequences.end.saturating_sub(1));
        write!(
            f,
            "\"{}\" is damaged: {what}; the events {first} to {last} ({count}) are missing, the others are served",
            path.display()
        )
    }
}
