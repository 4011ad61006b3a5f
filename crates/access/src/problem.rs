//! Problems in a text that an operator wrote, with their lines.

use std::fmt;

/// A problem in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1. 0 stands for the text as a whole.
    pub line: usize,
    /// Describes the problem, in lower case without a full stop. It never quotes a password, a hash or a token.
    pub message: String,
}

/// All problems of a text. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problem {
    pub(crate) fn new(line: usize, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Self { line, message }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
