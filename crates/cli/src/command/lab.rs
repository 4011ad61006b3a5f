//! `floe lab`: measures Floe beside its peers and beside the machine's own limit.
//!
//! Here: `list`, `setup`, `run` and `contender`. `lab/report.rs` and `lab/compare.rs` have the others.

mod compare;
mod report;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use floe_lab::{LabError, LeftOut, Progress, Report, RunOptions, Stop, contender_main, scenarios};
use serde_json::{Value as Json, json};

use crate::count;
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, Output};
use crate::peer;
use crate::progress::ProgressLine;

/// Measures Floe beside its peers and beside the machine's own limit
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    List(List),
    Run(Run),
    Setup(Setup),
    Report(report::Report),
    Compare(compare::Compare),
    /// One process of a contender, started by `floe lab run`
    #[command(hide = true)]
    Contender(Contender),
}

impl Lab {
    pub(crate) fn run(self, output: &Output) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(output),
            Self::Run(run) => run.run(output),
            Self::Setup(setup) => setup.run(output),
            Self::Report(report) => report.run(output),
            Self::Compare(compare) => compare.run(output),
            Self::Contender(contender) => contender.run(),
        }
    }
}

/// Lists the scenarios with their cases, their contenders, and which of these are not installed
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    fn run(&self, output: &Output) -> Result<Exit, Failure> {
        let rows: Vec<Json> = scenarios()
            .iter()
            .map(|scenario| {
                let cases = scenario.cases.iter().chain(scenario.families);
                let cases: Vec<&str> = cases.map(|case| case.name).collect();
                let readiness = scenario.readiness();
                let missing = readiness.iter().filter(|one| one.version.is_err());
                let missing: Vec<&str> = missing.map(|one| one.contender).collect();
                json!({
                    "scenario": scenario.name,
                    "cases": cases,
                    "contenders": scenario.contender_names(),
                    "missing": missing,
                    "summary": scenario.summary,
                })
            })
            .collect();
        output.rows(
            &["scenario", "cases", "contenders", "missing", "summary"],
            &rows,
        )?;
        if rows.iter().any(|row| row["missing"] != json!([])) {
            output::talk("`floe lab setup` installs what is missing");
        }
        Ok(Exit::Success)
    }
}

/// Installs what contenders need, and builds their programs
///
/// It installs Debian's packages, as root or through sudo without a password, and says what to type if it may not. A contender
/// that fails is listed with the reason, and the exit code is then 1.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// The contenders, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    contenders: Vec<String>,
}

impl Setup {
    fn run(&self, output: &Output) -> Result<Exit, Failure> {
        let progress = ProgressLine::new();
        let readiness = floe_lab::setup(&self.contenders, &mut |step| {
            progress.rewrite(format_args!("{step}"));
        });
        progress.clear();
        let readiness = readiness.map_err(|error| failure(&error))?;
        let rows: Vec<Json> = readiness
            .iter()
            .map(|one| {
                json!({
                    "scenario": one.scenario,
                    "contender": one.contender,
                    "ready": one.version.is_ok(),
                    "version": one.version.as_ref().unwrap_or_else(|reason| reason),
                })
            })
            .collect();
        output.rows(&["scenario", "contender", "ready", "version"], &rows)?;
        match readiness.iter().all(|one| one.version.is_ok()) {
            true => Ok(Exit::Success),
            false => Err(Failure::silent(Exit::Failure)),
        }
    }
}

/// Runs a scenario, and reports figures and ratios
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The scenario
    scenario: String,

    /// The contenders, separated by commas [default: all that this machine has]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    contenders: Vec<String>,

    /// The cases, separated by commas [default: all]
    #[arg(long = "case", value_name = "NAMES", value_delimiter = ',')]
    cases: Vec<String>,

    /// Rounds, in each of which every contender has its turn
    #[arg(long, value_name = "COUNT", value_parser = count::at_least_one::<u16>, default_value_t = 15)]
    rounds: u16,

    /// How long each contender measures in each round, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "0.2")]
    seconds: Duration,

    /// A first impression: at most 3 short rounds
    #[arg(long)]
    quick: bool,

    /// On which cores clients and servers run
    ///
    /// Events run wherever the system puts them unless this says otherwise, and all else apart.
    #[arg(long, value_enum)]
    placement: Option<Placement>,

    /// Keeps the cores awake, by a spinner of idle priority on each: what is measured then is the software, and not how
    /// long a sleeping processor takes to wake up
    #[arg(long)]
    awake: bool,
}

/// On which cores clients and servers run.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Placement {
    /// Clients on one half of the cores, servers on the other
    Apart,
    /// Both on one core
    Together,
    /// Wherever the system puts them
    Free,
}

impl Run {
    fn run(self, output: &Output) -> Result<Exit, Failure> {
        let options = RunOptions {
            contenders: self.contenders,
            cases: self.cases,
            rounds: self.rounds.into(),
            round_time: self.seconds,
            quick: self.quick,
            placement: self.placement.map(|placement| match placement {
                Placement::Apart => floe_lab::Placement::Apart,
                Placement::Together => floe_lab::Placement::Together,
                Placement::Free => floe_lab::Placement::Free,
            }),
            awake: self.awake,
            program: None,
            stop: stop_on_signal()?,
        };
        let progress = ProgressLine::new();
        let report = floe_lab::run(&self.scenario, &options, &mut |step| show(&step, &progress));
        progress.clear();
        match report {
            Ok(report) => {
                print(&report, output)?;
                // As one that was asked for and is not installed; the others are left out with a word on stderr.
                let is_missed = |left_out: &LeftOut| {
                    left_out.has_failed && options.contenders.contains(&left_out.contender)
                };
                if report.left_out.iter().any(is_missed) {
                    return Err(Failure::silent(Exit::Failure));
                }
                Ok(Exit::Success)
            }
            Err(LabError::Unfinished { report, source, .. }) => {
                print(&report, output)?;
                Err(failure(&source))
            }
            Err(error) => Err(failure(&error)),
        }
    }
}

/// Ends the run when a signal asks for it; the next one ends the command without waiting for anything.
fn stop_on_signal() -> Result<Stop, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Failure, error))?;
    let mut signals = {
        let _entered = runtime.enter();
        peer::signals()?
    };
    let stop = Stop::new();
    let asked = stop.clone();
    std::thread::spawn(move || {
        runtime.block_on(signals.next());
        asked.set();
        output::talk("interrupted: ending the processes of the run");
        runtime.block_on(signals.next());
        // The contenders end with their standard input.
        std::process::exit(Exit::Interrupted as i32);
    });
    Ok(stop)
}

fn print(report: &Report, output: &Output) -> Result<(), Failure> {
    match output.format() {
        Format::Table | Format::Raw => output.text(report.to_table()),
        Format::Json | Format::Jsonl => output.line(report.to_json()),
    }
}

/// Shows what a run is doing; elsewhere than on a terminal only what needs attention.
fn show(step: &Progress, line: &ProgressLine) {
    match step {
        Progress::Preparing { contender } => line.rewrite(format_args!("preparing {contender}")),
        Progress::Measuring {
            case,
            contender,
            done,
            total,
        } => line.rewrite(format_args!("{done}/{total}  {case}: {contender}")),
        Progress::Skipped { contender, reason } => {
            line.clear();
            output::talk(format_args!("left out {contender}: {reason}"));
        }
        Progress::Failed(left_out) => {
            line.clear();
            output::talk(left_out);
        }
        Progress::Warning(warning) => {
            line.clear();
            output::talk(format_args!("warning: {warning}"));
        }
        _ => {}
    }
}

/// What a contender's process is told by the lab.
#[derive(Debug, Args)]
pub(crate) struct Contender {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Contender {
    fn run(self) -> Result<Exit, Failure> {
        contender_main(&self.arguments).map_err(|error| failure(&error))?;
        Ok(Exit::Success)
    }
}

fn failure(error: &LabError) -> Failure {
    match error {
        LabError::Unknown { .. } | LabError::NothingToRun { .. } => {
            Failure::usage(error).help("`floe lab list` shows what there is")
        }
        LabError::Stopped => Failure::new(Exit::Interrupted, error),
        error => Failure::new(Exit::Failure, error),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (0.001..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("expected seconds, from 0.001 to 3600, got `{text}`"))
}
