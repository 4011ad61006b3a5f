//! `floe lab compare`: compares two runs, and separates changes from noise.

use std::path::PathBuf;

use clap::Args;
use floe_lab::Comparison;

use super::report::read;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};

/// Compares two runs, and ends with 100 if Floe is worse in the second
///
/// A figure has changed if the change is above the threshold and its 99 % interval, from a bootstrap of the rounds, does
/// not contain 1. If both runs have the floor, each round is divided by that of the floor, so a machine that was slower in
/// one of the runs does not count as a change.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The earlier output of `floe lab run -o json`: a file, or a folder with such files
    before: PathBuf,

    /// The later output
    after: PathBuf,

    /// Changes up to so many per cent are none
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = parse_percent)]
    threshold: f64,
}

impl Compare {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        let (before, after) = (read(&self.before)?, read(&self.after)?);
        let comparison = Comparison::new(&before, &after, self.threshold / 100.0);
        if comparison.changes.is_empty() {
            return Err(Failure::usage(format_args!(
                "expected two runs with a scenario, a case and a contender in common, got none in {} and {}",
                self.before.display(),
                self.after.display()
            )));
        }
        match output.format() {
            Format::Table | Format::Raw => output.text(comparison.to_table())?,
            Format::Json | Format::Jsonl => output.line(comparison.to_json())?,
        }
        match comparison.regressions().count() {
            0 => Ok(Exit::Success),
            _ => Err(Failure::silent(Exit::Findings)),
        }
    }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok();
    let percent = percent.filter(|percent| (0.0..=1000.0).contains(percent));
    percent.ok_or_else(|| format!("expected per cent, from 0 to 1000, got `{text}`"))
}
