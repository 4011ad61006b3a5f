//! The options of a run.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::LabError;
use crate::placement::Placement;
use crate::stop::Stop;

/// How a scenario is run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOptions {
    /// Contenders by name; empty for all that are available on this machine.
    pub contenders: Vec<String>,
    /// Cases by name; empty for all.
    pub cases: Vec<String>,
    /// Rounds, each with every contender in turn; at least 1. Default 15.
    pub rounds: usize,
    /// How long each contender measures in each round, after a warm-up of a quarter of it.
    /// Default a fifth of a second.
    pub round_time: Duration,
    /// A first impression: at most 3 rounds, of at most a tenth of a second each.
    pub quick: bool,
    /// On which cores servers and clients run; `None`, the default, as the scenario has it.
    pub placement: Option<Placement>,
    /// Keeps the cores awake by an idle-priority spinner on each, so that the software is measured and not how
    /// long a sleeping processor takes to wake up. Default false.
    pub awake: bool,
    /// Writes down each measurement in this file when it was made; if the file is there, the run goes on where it stopped.
    /// `None`, the default, for no file.
    pub journal: Option<PathBuf>,
    /// Ends the run before it is done.
    pub stop: Stop,
    /// The program that becomes a contender's process when it is started with `lab contender`;
    /// `None`, the default, for the program that runs.
    pub program: Option<PathBuf>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            contenders: Vec::new(),
            cases: Vec::new(),
            rounds: 15,
            round_time: Duration::from_millis(200),
            quick: false,
            placement: None,
            awake: false,
            journal: None,
            stop: Stop::new(),
            program: None,
        }
    }
}

impl RunOptions {
    /// The program that becomes a contender's process.
    pub(crate) fn program(&self) -> Result<PathBuf, LabError> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => std::env::current_exe()
                .map_err(|source| LabError::system("find the program that runs", source)),
        }
    }

    pub(crate) fn effective_rounds(&self) -> usize {
        let limit = if self.quick { 3 } else { usize::MAX };
        self.rounds.clamp(1, limit)
    }

    pub(crate) fn effective_round_time(&self) -> Duration {
        let limit = Duration::from_millis(100);
        if self.quick {
            self.round_time.min(limit)
        } else {
            self.round_time
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_is_short_and_never_longer_than_asked_for() {
        let quick = RunOptions {
            quick: true,
            ..RunOptions::default()
        };
        assert_eq!(quick.effective_rounds(), 3);
        assert_eq!(quick.effective_round_time(), Duration::from_millis(100));
        let shorter = RunOptions {
            rounds: 0,
            round_time: Duration::from_millis(5),
            ..quick
        };
        assert_eq!(shorter.effective_rounds(), 1);
        assert_eq!(shorter.effective_round_time(), Duration::from_millis(5));
    }
}
