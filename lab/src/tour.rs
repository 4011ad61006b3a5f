//! A run of all scenarios, into a folder: which cases and how many rounds of each, so that all of it takes less than an hour.
//!
//! The folder has two files for each scenario: `SCENARIO.json` with its report, and `SCENARIO.rounds.jsonl` with every
//! measurement, from which a run that was interrupted goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::LabError;
use crate::options::RunOptions;
use crate::outline::Outline;
use crate::progress::Progress;
use crate::report::Report;
use crate::run::run;
use crate::scenario::{ScenarioInfo, scenarios};

/// A run of all scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tour {
    /// Where the reports go; it is made if it is not there.
    pub folder: PathBuf,
    /// Rounds of each scenario; `None` for as many as each has its share of an hour for.
    pub rounds: Option<usize>,
}

impl Tour {
    /// Runs all scenarios that have one of the contenders. `heard` gets the report of each when it is done; of one that ended
    /// early, too.
    ///
    /// The options choose contenders, time and placement of all scenarios; their cases and rounds do not count.
    ///
    /// # Errors
    /// [`LabError`]: the folder cannot be used; a contender does not exist; the run was stopped. A scenario in which Floe or the
    /// floor fails is the error at the end, after the other scenarios were run.
    pub fn run(
        &self,
        options: &RunOptions,
        progress: &mut dyn FnMut(Progress),
        heard: &mut dyn FnMut(&Report),
    ) -> Result<(), LabError> {
        let legs = self.legs(options)?;
        let mut failure = None;
        let total = legs.len();
        let times = legs
            .iter()
            .map(|(scenario, options)| Ok(Outline::of(scenario, options)?.expected));
        let times = times.collect::<Result<Vec<Duration>, LabError>>()?;
        for (done, (scenario, options)) in legs.into_iter().enumerate() {
            let name = scenario.name;
            let rest = times[done..].iter().sum();
            progress(Progress::Scenario {
                name,
                done,
                total,
                rest,
            });
            match run_into(&self.folder, name, &options, progress) {
                Ok(report) => heard(&report),
                Err(LabError::Unfinished { report, source }) => {
                    heard(&report);
                    if matches!(*source, LabError::Stopped) {
                        return Err(*source);
                    }
                    progress(Progress::Warning(format!("{name} ended early: {source}")));
                    failure = Some(*source);
                }
                // Such as Glacier2 alone, which is only in the cases that a quick run leaves out.
                Err(error @ LabError::NothingToRun { .. }) => {
                    progress(Progress::Warning(format!("{name} is left out: {error}")));
                }
                // Before anything was measured.
                Err(
                    error @ (LabError::Contender { .. }
                    | LabError::NothingMeasured { .. }
                    | LabError::Start { .. }),
                ) => {
                    progress(Progress::Warning(format!("{name} has no figures: {error}")));
                    failure = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Outlines what [`Tour::run`] would measure with these options, one scenario after another.
    ///
    /// # Errors
    /// [`LabError`]: a contender does not exist.
    pub fn outline(&self, options: &RunOptions) -> Result<Vec<Outline>, LabError> {
        let legs = self.legs(options)?;
        let outlines = legs
            .iter()
            .map(|(scenario, options)| Outline::of(scenario, options));
        outlines.collect()
    }

    /// The scenarios that have one of the contenders that were asked for, with the cases and rounds of each.
    fn legs(
        &self,
        options: &RunOptions,
    ) -> Result<Vec<(&'static ScenarioInfo, RunOptions)>, LabError> {
        let known = || scenarios().iter().flat_map(ScenarioInfo::contender_names);
        if let Some(unknown) = options.contenders.iter().find(|name| {
            let mut all = scenarios().iter();
            !all.any(|scenario| scenario.has(name))
        }) {
            return Err(LabError::unknown("contender", unknown, known()));
        }
        let legs = scenarios().iter().filter_map(|scenario| {
            let contenders = of_scenario(scenario, options)?;
            let leg = Leg::of(scenario.name, options.quick);
            let options = RunOptions {
                contenders,
                cases: leg.cases.iter().map(|&case| case.to_owned()).collect(),
                rounds: self.rounds.unwrap_or(leg.rounds),
                ..options.clone()
            };
            Some((scenario, options))
        });
        Ok(legs.collect())
    }
}

/// The contenders of this scenario that were asked for, empty for all; `None` if it has none of them.
fn of_scenario(scenario: &ScenarioInfo, options: &RunOptions) -> Option<Vec<String>> {
    let asked = &options.contenders;
    let of_it = asked.iter().filter(|name| scenario.has(name));
    let of_it: Vec<_> = of_it.cloned().collect();
    (asked.is_empty() || !of_it.is_empty()).then_some(of_it)
}

/// Runs a scenario, as [`run`] does, with its two files in this folder.
///
/// # Errors
/// As [`run`]; the report of [`LabError::Unfinished`] is in the folder, too.
pub fn run_into(
    folder: &Path,
    scenario: &str,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, LabError> {
    let system = |source| LabError::system(format!("write into {}", folder.display()), source);
    // A name that does not exist makes no folder.
    let scenario = ScenarioInfo::named(scenario)?.name;
    fs::create_dir_all(folder).map_err(system)?;
    let options = RunOptions {
        journal: Some(folder.join(format!("{scenario}.rounds.jsonl"))),
        ..options.clone()
    };
    let result = run(scenario, &options, progress);
    let report = match &result {
        Ok(report) => report,
        Err(LabError::Unfinished { report, .. }) => report,
        Err(_) => return result,
    };
    // Nobody finds half a report.
    let path = folder.join(format!("{scenario}.json"));
    let unfinished = folder.join(format!("{scenario}.json.part"));
    fs::write(&unfinished, format!("{}\n", report.to_json())).map_err(system)?;
    fs::rename(&unfinished, &path).map_err(system)?;
    result
}

/// The files of earlier runs in this folder go, so that the next run measures anew.
///
/// # Errors
/// [`LabError::System`].
pub fn forget(folder: &Path) -> Result<(), LabError> {
    for scenario in scenarios() {
        for end in ["json", "rounds.jsonl"] {
            let path = folder.join(format!("{}.{end}", scenario.name));
            match fs::remove_file(&path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(LabError::system(
                        format!("remove {}", path.display()),
                        source,
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The part of a scenario that a run of all scenarios measures.
#[derive(Debug, Clone, Copy)]
struct Leg {
    rounds: usize,
    /// Empty for all.
    cases: &'static [&'static str],
}

impl Leg {
    /// The share of a scenario, so that all of them take less than an hour on two cores, and a quick run less than eight minutes:
    /// see [`Outline::expected`]. Three rounds at least, of which an interval can be made, except where a measurement is long.
    fn of(scenario: &str, is_quick: bool) -> Self {
        let (rounds, cases): (usize, &'static [&'static str]) = match (scenario, is_quick) {
            ("rpc", false) => (5, &RPC),
            ("rpc", true) => (
                3,
                &["twoway", "ami-1000", "oneway", "echo-1000", "ack-nested-32"],
            ),
            ("codec", false) => (3, &[]),
            ("codec", true) => (3, &["nested", "text"]),
            ("events", false) => (3, &EVENTS),
            // Each client of some peers is a virtual machine of Java, which takes two seconds to start.
            ("events", true) => (3, &["latency-1-2", "batched-1-1"]),
            ("latency", false) => (3, &[]),
            ("latency", true) => (1, &["oneway-x100000"]),
            ("rtt", false) => (3, &["rtt-2", "rtt-100", "rtt-10000", "rtt-1000000"]),
            ("rtt", true) => (1, &["rtt-10000"]),
            ("pubsub-rtt", false) => (3, &PUBSUB_RTT),
            // A round of WS-Notification alone takes half a minute.
            ("pubsub-rtt", true) => (1, &["bytes-1024"]),
            ("scale", false) => (3, &SCALE),
            ("qos", false) => (2, &[]),
            ("scale", true) => (3, &["fan-1-100", "fan-10-10"]),
            ("qos", true) => (
                3,
                &["oneway-latency", "twoway-latency", "batched-throughput"],
            ),
            // A transfer takes a second, and one that is not compressed two.
            ("slow", false) => (2, &SLOW),
            ("slow", true) => (1, &["text/56k", "ticks/56k"]),
            ("gateway", false) => (3, &[]),
            ("durable", false) => (3, &[]),
            ("gateway", true) => (1, &["twoway", "ami-1000", "sessions-1000"]),
            (_, false) => (5, &[]),
            (_, true) => (3, &[]),
        };
        Self { rounds, cases }
    }
}

/// All kinds of calls over TCP; Unix sockets and polling where they make the largest difference.
const RPC: [&str; 16] = [
    "twoway",
    "twoway-unix",
    "twoway-poll",
    "twoway-blocking",
    "twoway-blocking-unix",
    "ami",
    "ami-1000",
    "oneway",
    "batch",
    "echo-1000",
    "echo-100000",
    "echo-1000000",
    "ack-bytes-1024",
    "ack-bytes-65536",
    "ack-nested-32",
    "ack-nested-1024",
];

/// The published cases.
const EVENTS: [&str; 13] = [
    "latency-1-1",
    "latency-1-2",
    "latency-1-5",
    "latency-1-10",
    "latency-1-20",
    "twoway-1-1",
    "twoway-1-10",
    "twoway-10-1",
    "twoway-5-5",
    "batched100-1-1",
    "batched100-1-10",
    "batched100-10-1",
    "batched100-5-5",
];

/// From a few to many, in one direction and in both.
const SCALE: [&str; 6] = [
    "fan-1-1",
    "fan-1-10",
    "fan-1-100",
    "fan-1-1000",
    "fan-100-1",
    "fan-100-100",
];

/// Each kind of transfer where the line is the slowest, and on a faster line those that differ.
const SLOW: [&str; 6] = [
    "text/56k",
    "bibliography/56k",
    "bibliography-edited/56k",
    "ticks/56k",
    "text/1m",
    "ticks/1m",
];

/// From the shortest to the longest message.
const PUBSUB_RTT: [&str; 6] = [
    "bytes-4",
    "bytes-1024",
    "bytes-16384",
    "nested-1",
    "nested-16",
    "nested-1024",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_name_cases_of_their_scenarios() {
        for scenario in scenarios() {
            for leg in [false, true].map(|is_quick| Leg::of(scenario.name, is_quick)) {
                let listed = scenario.cases.iter().map(|case| case.name);
                for name in leg.cases {
                    let mut known = listed.clone();
                    let group = crate::scenario::group;
                    assert!(
                        known.any(|case| case == *name || group(case) == *name),
                        "{name}"
                    );
                }
                assert!(leg.rounds >= 1);
            }
        }
    }

    #[test]
    fn all_scenarios_take_less_than_an_hour_and_a_quick_run_less_than_eight_minutes() {
        // As if all contenders were installed, whatever this machine has.
        let expected = |is_quick| {
            let tour = Tour {
                folder: PathBuf::new(),
                rounds: None,
            };
            let options = RunOptions {
                quick: is_quick,
                ..RunOptions::default()
            };
            let legs = tour.legs(&options).unwrap();
            let of = |(scenario, options): &(&'static ScenarioInfo, RunOptions)| {
                let outline = Outline::with(scenario, options, |_| true).unwrap();
                outline.expected
            };
            legs.iter().map(of).sum::<Duration>()
        };
        let minutes = |count: u64| Duration::from_secs(60 * count);
        assert!(
            expected(false) < minutes(55),
            "{} s",
            expected(false).as_secs()
        );
        assert!(
            expected(true) < minutes(8),
            "{} s",
            expected(true).as_secs()
        );
    }

    #[test]
    fn contenders_are_asked_for_where_they_are() {
        let asked = |names: &[&str], scenario: &str| {
            let options = RunOptions {
                contenders: names.iter().map(|&name| name.to_owned()).collect(),
                ..RunOptions::default()
            };
            of_scenario(ScenarioInfo::named(scenario).unwrap(), &options)
        };
        assert_eq!(asked(&[], "codec"), Some(Vec::new()));
        assert_eq!(
            asked(&["grpc", "floe"], "codec"),
            Some(vec!["floe".to_owned()])
        );
        assert_eq!(asked(&["grpc"], "rpc"), Some(vec!["grpc".to_owned()]));
        assert_eq!(asked(&["grpc"], "codec"), None);
    }

    #[test]
    fn a_run_of_what_does_not_exist_is_refused_before_it_begins() {
        let tour = Tour {
            folder: PathBuf::from("/nowhere"),
            rounds: None,
        };
        let options = RunOptions {
            contenders: vec!["flow".to_owned()],
            ..RunOptions::default()
        };
        let error = tour.run(&options, &mut |_| (), &mut |_| ()).unwrap_err();
        assert!(error.to_string().contains("did you mean floe?"), "{error}");
    }

    #[test]
    fn a_scenario_without_any_figure_is_no_end_of_the_others() {
        let journal = crate::journal::tests::path("tour");
        let tour = Tour {
            folder: journal.parent().unwrap().to_owned(),
            rounds: Some(1),
        };
        // The processes of Floe end at once.
        let options = RunOptions {
            contenders: vec!["floe".to_owned()],
            program: Some(PathBuf::from("/bin/false")),
            quick: true,
            ..RunOptions::default()
        };
        let mut begun = Vec::new();
        let mut progress = |progress| {
            if let Progress::Scenario { name, .. } = progress {
                begun.push(name);
            }
        };
        let ended = tour.run(&options, &mut progress, &mut |_| ());
        assert!(ended.is_err());
        assert!(begun.starts_with(&["rpc", "codec", "events"]), "{begun:?}");
    }
}
