//! How safe an event is when its publisher is answered.

use std::fmt;
use std::str::FromStr;

/// How safe an event is when its publisher is answered. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Level {
    /// The log has taken the event into its memory. The event is lost if the process ends before it is written.
    Accepted,
    /// The operating system has the event. It survives the end of the process, but not a loss of power.
    Written,
    /// The event is on the disk. It survives a loss of power.
    #[default]
    Synced,
}

impl Level {
    /// All levels, from the weakest to the strongest.
    pub const ALL: [Self; 3] = [Self::Accepted, Self::Written, Self::Synced];

    /// The level's name, as publishers and settings spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Written => "written",
            Self::Synced => "synced",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, LevelError> {
        let level = Self::ALL.into_iter().find(|level| level.name() == text);
        level.ok_or_else(|| LevelError {
            found: text.chars().take(LevelError::SHOWN_MAX).collect(),
        })
    }
}

/// A text that names no level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelError {
    found: String,
}

impl LevelError {
    /// A longer text is cut to this many characters.
    const SHOWN_MAX: usize = 64;
}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = &self.found;
        write!(
            f,
            "expected an acknowledgement level (accepted, written or synced), found {found:?}"
        )
    }
}

impl std::error::Error for LevelError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_known_by_its_name_and_no_other() {
        for level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert!(Level::Accepted < Level::Written && Level::Written < Level::Synced);
        let error = "Synced".parse::<Level>().unwrap_err();
        assert!(error.to_string().ends_with("found \"Synced\""), "{error}");
        let long = "x".repeat(10_000).parse::<Level>().unwrap_err();
        assert!(long.to_string().len() < 200);
    }
}
