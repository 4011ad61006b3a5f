//! Verdicts: a world can say something of ours exactly, more weakly, or not at all.

use std::fmt;

/// How well a world can say something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Exactly: what goes out and back in is what it was.
    Exact,
    /// More weakly: a phrase says what is lost.
    Weaker(String),
    /// Not at all.
    Refused {
        /// Why not.
        why: String,
        /// A way out for the user.
        fix: String,
    },
}

/// A verdict about a part of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The part: `name`, `type ::Demo::Tick`, `delivery`.
    pub subject: String,
    /// Its counterpart over there: `topic Ticks`, `struct Demo::Tick`, `reliable`; empty if it is refused.
    pub said_as: String,
    /// How well.
    pub verdict: Verdict,
}

impl Verdict {
    /// True if a bridge must not start with it.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Weaker(lost) => write!(f, "weaker: {lost}"),
            Self::Refused { why, fix } => write!(f, "refused: {why}; {fix}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.said_as.as_str() {
            "" => write!(f, "{}: {}", self.subject, self.verdict),
            said_as => write!(f, "{}: {said_as} ({})", self.subject, self.verdict),
        }
    }
}
