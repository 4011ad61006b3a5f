//! `floe lab`: measures Floe, its peers, and the limit of the machine itself.
//!
//! Here: `list`, `setup`, `run` and `contender`. `lab/report.rs` and `lab/compare.rs` have the others.

mod compare;
mod report;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use floe_lab::{
    LabError, LeftOut, Progress, Report, RunOptions, Stop, Tour, contender_main, scenarios,
};
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

/// Lists the scenarios: what each measures, its contenders, and which of these are not installed
///
/// `-o json` also lists the cases.
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
        output.rows(&["scenario", "summary", "contenders", "missing"], &rows)?;
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

/// Runs a scenario or all of them, and reports figures and ratios
///
/// With `--results` or `--all`, each measurement is stored as soon as it is complete. If a run is interrupted, start it again
/// with the same arguments: it continues where it stopped.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The scenario
    #[arg(required_unless_present = "all")]
    scenario: Option<String>,

    /// All scenarios, with as many cases and rounds of each as an hour has room for, and with --quick a few minutes
    #[arg(long, conflicts_with_all = ["scenario", "cases"])]
    all: bool,

    /// Where the reports go, a file for each scenario [default with --all: floe-lab-results]
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,

    /// Forgets what the folder has of earlier runs
    #[arg(long)]
    fresh: bool,

    /// The contenders, separated by commas [default: all that this machine has]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    contenders: Vec<String>,

    /// The cases, separated by commas [default: all]
    #[arg(long = "case", value_name = "NAMES", value_delimiter = ',')]
    cases: Vec<String>,

    /// Rounds, in each of which every contender has its turn [default: 15, and with --all as the scenario has it]
    #[arg(long, value_name = "COUNT", value_parser = count::at_least_one::<u16>)]
    rounds: Option<u16>,

    /// How long each contender measures in each round, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds, default_value = "0.2")]
    seconds: Duration,

    /// A first impression: at most 3 short rounds
    #[arg(long)]
    quick: bool,

    /// Says what would be measured and about how long it would take, and measures nothing
    #[arg(long, conflicts_with = "fresh")]
    dry_run: bool,

    /// On which cores clients and servers run
    ///
    /// By default, scenarios of events run wherever the system puts them, and all others apart.
    #[arg(long, value_enum)]
    placement: Option<Placement>,

    /// Keeps the cores awake with a spinner of idle priority on each. The figures are then those of the software, without
    /// the time that a sleeping processor takes to wake up
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
        let rounds = self.rounds.map(usize::from);
        let options = RunOptions {
            contenders: self.contenders,
            cases: self.cases,
            rounds: rounds.unwrap_or(RunOptions::default().rounds),
            round_time: self.seconds,
            quick: self.quick,
            placement: self.placement.map(|placement| match placement {
                Placement::Apart => floe_lab::Placement::Apart,
                Placement::Together => floe_lab::Placement::Together,
                Placement::Free => floe_lab::Placement::Free,
            }),
            awake: self.awake,
            program: None,
            journal: None,
            stop: stop_on_signal()?,
        };
        if self.dry_run {
            return outline(self.scenario.as_deref(), rounds, &options, output);
        }
        let folder = self.results.or(self.all.then(default_results));
        if self.fresh && folder.is_none() {
            let message = "expected --results or --all with --fresh, got neither";
            return Err(
                Failure::usage(message).help("--fresh forgets what a folder of results has")
            );
        }
        if let Some(folder) = folder.as_ref().filter(|_| self.fresh) {
            floe_lab::forget(folder).map_err(|error| failure(&error))?;
        }
        let progress = ProgressLine::new();
        let mut show = Show::new(&progress);
        let mut step = |step| show.step(&step);
        let mut results = Results {
            asked: &options.contenders,
            output,
            progress: &progress,
            is_missed: false,
            failure: None,
        };
        let ended = match (&self.scenario, &folder) {
            (None, folder) => {
                let folder = folder.clone().unwrap_or_else(default_results);
                let tour = Tour { folder, rounds };
                tour.run(&options, &mut step, &mut |report| results.print(report))
            }
            (Some(scenario), Some(folder)) => {
                let report = floe_lab::run_into(folder, scenario, &options, &mut step);
                results.print_one(report)
            }
            (Some(scenario), None) => {
                results.print_one(floe_lab::run(scenario, &options, &mut step))
            }
        };
        progress.clear();
        if let Some(failure) = results.failure {
            return Err(failure);
        }
        ended.map_err(|error| failure(&error))?;
        if let Some(folder) = &folder {
            let folder = folder.display();
            output::talk(format_args!(
                "the results are in {folder}: `floe lab report {folder} --html report.html` makes a page of them"
            ));
        }
        match results.is_missed {
            true => Err(Failure::silent(Exit::Failure)),
            false => Ok(Exit::Success),
        }
    }
}

/// Prints what a run of a scenario, or of all, would measure.
fn outline(
    scenario: Option<&str>,
    rounds: Option<usize>,
    options: &RunOptions,
    output: &Output,
) -> Result<Exit, Failure> {
    let outlines = match scenario {
        Some(scenario) => floe_lab::outline(scenario, options).map(|one| vec![one]),
        None => {
            let folder = default_results();
            Tour { folder, rounds }.outline(options)
        }
    };
    let outlines = outlines.map_err(|error| failure(&error))?;
    let rows = outlines.iter().map(|one| {
        json!({
            "scenario": one.scenario,
            "cases": one.cases,
            "contenders": one.contenders,
            "rounds": one.rounds,
            "measurements": one.measurements,
            "minutes": (one.expected.as_secs_f64() / 6.0).round() / 10.0,
        })
    });
    let rows: Vec<Json> = rows.collect();
    let columns = [
        "scenario",
        "rounds",
        "measurements",
        "minutes",
        "contenders",
        "cases",
    ];
    output.rows(&columns, &rows)?;
    let all = outlines.iter().map(|one| one.expected).sum();
    output::talk(format_args!("about {} in all", minutes(all)));
    Ok(Exit::Success)
}

/// So long, in words.
fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..100 => format!("{seconds} s"),
        seconds => format!("{:.0} min", seconds as f64 / 60.0),
    }
}

/// Where the reports of all scenarios go.
pub(super) fn default_results() -> PathBuf {
    PathBuf::from("floe-lab-results")
}

/// Reports on their way to standard output.
struct Results<'a> {
    /// Contenders that were asked for by name.
    asked: &'a [String],
    output: &'a Output,
    progress: &'a ProgressLine,
    /// True if one that was asked for has failed.
    is_missed: bool,
    /// Why a report could not be written.
    failure: Option<Failure>,
}

impl Results<'_> {
    fn print(&mut self, report: &Report) {
        self.progress.clear();
        // As one that was asked for and is not installed; the others are left out with a word on stderr.
        let is_missed =
            |left_out: &LeftOut| left_out.has_failed && self.asked.contains(&left_out.contender);
        self.is_missed |= report.left_out.iter().any(is_missed);
        let printed = match self.output.format() {
            Format::Table | Format::Raw => self.output.text(report.to_table()),
            Format::Json | Format::Jsonl => self.output.line(report.to_json()),
        };
        if let Err(failure) = printed {
            self.failure.get_or_insert(failure);
        }
    }

    /// Prints also what was measured before an error.
    fn print_one(&mut self, report: Result<Report, LabError>) -> Result<(), LabError> {
        match report {
            Ok(report) => {
                self.print(&report);
                Ok(())
            }
            Err(LabError::Unfinished { report, source }) => {
                self.print(&report);
                Err(*source)
            }
            Err(error) => Err(error),
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

/// Shows what a run is doing; elsewhere than on a terminal only what needs attention, and which scenario it is.
struct Show<'a> {
    line: &'a ProgressLine,
    /// When the scenario began to measure, and how many measurements it had then.
    began: Option<(Instant, usize)>,
    /// In front of the line: which of several scenarios it is.
    scenario: String,
}

impl<'a> Show<'a> {
    fn new(line: &'a ProgressLine) -> Self {
        Self {
            line,
            began: None,
            scenario: String::new(),
        }
    }

    fn step(&mut self, step: &Progress) {
        match step {
            Progress::Scenario {
                name,
                done,
                total,
                rest,
            } => {
                self.line.clear();
                output::talk(format_args!(
                    "scenario {} of {total}: {name}, about {} to the end",
                    done + 1,
                    minutes(*rest)
                ));
                self.began = None;
                self.scenario = format!("{name} ");
            }
            Progress::Preparing { contender } => {
                self.line.rewrite(format_args!("preparing {contender}"));
            }
            Progress::Measuring {
                case,
                contender,
                done,
                total,
            } => {
                let (began, before) = *self.began.get_or_insert_with(|| (Instant::now(), *done));
                let rest = rest(began.elapsed(), done - before.min(*done), total - done);
                let scenario = &self.scenario;
                self.line.rewrite(format_args!(
                    "{scenario}{done}/{total}{rest}  {case}: {contender}"
                ));
            }
            Progress::Skipped { contender, reason } => {
                self.line.clear();
                output::talk(format_args!("left out {contender}: {reason}"));
            }
            Progress::Failed(left_out) => {
                self.line.clear();
                output::talk(left_out);
            }
            Progress::Warning(warning) => {
                self.line.clear();
                output::talk(format_args!("warning: {warning}"));
            }
            _ => {}
        }
    }
}

/// How long the rest of a run will take, in words; empty as long as too little is known.
fn rest(elapsed: Duration, done: usize, left: usize) -> String {
    if done < MEASURED_BEFORE_A_GUESS {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * left as f64;
    format!(", {} left", minutes(Duration::from_secs_f64(seconds)))
}

/// Measurements of which the time of the others is guessed.
const MEASURED_BEFORE_A_GUESS: usize = 10;

/// The arguments that the lab gives to a contender's process.
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
        LabError::Journal { .. } => Failure::usage(error).help(
            "`--fresh` forgets what was measured before, and `--results` names another folder",
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_run_is_guessed_from_what_was_measured() {
        let seconds = Duration::from_secs;
        assert_eq!(rest(seconds(5), 9, 100), "");
        assert_eq!(rest(seconds(10), 20, 100), ", 50 s left");
        assert_eq!(rest(seconds(10), 20, 1200), ", 10 min left");
    }
}
