//! The outline of a run: what it would measure and about how long it would take.

use std::time::Duration;

use crate::contender::Contender;
use crate::contender::calls::case::{Case, Extent, PACE, PACED_CALLS, Work};
use crate::contender::events;
use crate::error::LabError;
use crate::options::RunOptions;
use crate::plan::{chosen_cases, chosen_contenders};
use crate::scenario::{Processes, ScenarioInfo};

/// An outline of a run: the cases that a scenario would measure on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outline {
    /// The scenario.
    pub scenario: &'static str,
    /// The cases, in the order of the report.
    pub cases: Vec<String>,
    /// The contenders that are installed and offer one of the cases.
    pub contenders: Vec<&'static str>,
    /// Rounds, in each of which every contender measures every case that it offers.
    pub rounds: usize,
    /// Measurements of all rounds.
    pub measurements: usize,
    /// About how long they take. Programs that must be built first take longer.
    pub expected: Duration,
}

/// Outlines what [`run`](crate::run()) would measure with these options. It builds nothing.
///
/// # Errors
/// [`LabError`]: a name that does not exist.
pub fn outline(scenario: &str, options: &RunOptions) -> Result<Outline, LabError> {
    Outline::of(ScenarioInfo::named(scenario)?, options)
}

impl Outline {
    pub(crate) fn of(
        scenario: &'static ScenarioInfo,
        options: &RunOptions,
    ) -> Result<Self, LabError> {
        let is_installed = |contender: &Contender| {
            let peer = contender.peer();
            peer.is_none_or(|peer| peer.installed_version().is_ok())
        };
        Self::with(scenario, options, is_installed)
    }

    /// Outlines the run with the contenders that are chosen here.
    pub(crate) fn with(
        scenario: &'static ScenarioInfo,
        options: &RunOptions,
        is_installed: impl Fn(&Contender) -> bool,
    ) -> Result<Self, LabError> {
        let cases = chosen_cases(scenario, &options.cases)?;
        let able = chosen_contenders(scenario, &options.contenders)?;
        let able = able.filter(|contender| is_installed(contender));
        let able: Vec<&Contender> = able.collect();
        let mut outline = Self {
            scenario: scenario.name,
            rounds: options.effective_rounds(),
            contenders: Vec::new(),
            measurements: 0,
            expected: Duration::ZERO,
            cases: Vec::new(),
        };
        for contender in able {
            let offered = cases
                .iter()
                .filter(|case| (contender.refusal)(case).is_none());
            let offered: Vec<_> = offered.collect();
            if offered.is_empty() {
                continue;
            }
            outline.contenders.push(contender.name);
            outline.measurements += offered.len() * outline.rounds;
            let times = offered
                .iter()
                .map(|case| expected(scenario.processes, contender, case, options));
            outline.expected += times.sum::<Duration>() * outline.rounds as u32;
        }
        outline.cases = cases;
        Ok(outline)
    }
}

/// About how long a measurement takes on two cores, with the start and the end of its processes.
fn expected(
    processes: Processes,
    contender: &Contender,
    case: &str,
    options: &RunOptions,
) -> Duration {
    let round = options.effective_round_time() * 5 / 4;
    let millis = Duration::from_millis;
    let is_java = contender
        .peer()
        .is_some_and(|peer| peer.install.contains("maven"));
    let start = millis(if is_java { 1_300 } else { 30 });
    match processes {
        Processes::One => round + millis(150),
        Processes::ServerAndClient => millis(200) + time_of_calls(case, round),
        Processes::Events => {
            let clients = events::case::Case::parse(case)
                .map_or(0, |shape| shape.publishers + shape.subscribers);
            round + millis(150) + start * (1 + clients) as u32
        }
        // 800 messages, of which each is posted four times.
        Processes::Topics if contender.name == "wsn" => start * 3 + millis(10_000),
        Processes::Topics => start * 3 + millis(if is_java { 1_500 } else { 400 }),
        Processes::Fanout => round + millis(200),
        // Sessions are made one after another, whatever the time of a round.
        Processes::Gateway if case.starts_with("sessions") => millis(1_000),
        Processes::Gateway => round + millis(250),
        Processes::Durable => start * 2 + round + millis(150),
        Processes::OverSlowLine if case.ends_with("/1m") => millis(800),
        // An event of `ticks` is a message of its own.
        Processes::OverSlowLine if case.starts_with("ticks") => millis(7_000),
        // Five documents, one after the other.
        Processes::OverSlowLine if case.contains("-again") || case.contains("-edited") => {
            millis(6_500)
        }
        Processes::OverSlowLine => millis(1_500),
    }
}

/// About how long a client calls.
fn time_of_calls(case: &str, round: Duration) -> Duration {
    let Ok(case) = Case::parse(case) else {
        return round;
    };
    match case.extent {
        Extent::Round => round,
        Extent::Paced => PACE * (PACED_CALLS + 1) as u32,
        Extent::Calls(calls) => {
            let micros = match case.work {
                Work::Oneway => 16,
                Work::Batch => 1,
                _ => 65,
            };
            Duration::from_micros(micros) * calls as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scenario: &str, contenders: &[&str], cases: &[&str], rounds: usize) -> Outline {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let options = RunOptions {
            contenders: owned(contenders),
            cases: owned(cases),
            rounds,
            ..RunOptions::default()
        };
        outline(scenario, &options).unwrap()
    }

    #[test]
    fn what_a_contender_refuses_is_not_counted() {
        let outline = of("codec", &["floe", "floe-view"], &["text", "nested"], 5);
        assert_eq!(outline.contenders, ["floe", "floe-view"]);
        assert_eq!(outline.cases.len(), 4);
        // A view is only decoded.
        assert_eq!(outline.measurements, (4 + 2) * 5);
        assert!(outline.expected > outline.measurements as u32 * Duration::from_millis(250));
    }

    #[test]
    fn paced_and_counted_calls_take_their_own_time() {
        let one = |scenario, case| of(scenario, &["floe"], &[case], 1).expected;
        assert!(one("rtt", "rtt-10") > PACE * PACED_CALLS as u32);
        assert!(one("latency", "twoway-x100000") > Duration::from_secs(5));
        assert!(one("latency", "batch-x100000") < Duration::from_secs(1));
    }

    #[test]
    fn names_that_do_not_exist_are_refused() {
        assert!(outline("cpr", &RunOptions::default()).is_err());
        let options = RunOptions {
            contenders: vec!["flow".to_owned()],
            ..RunOptions::default()
        };
        let error = outline("rpc", &options).unwrap_err().to_string();
        assert!(error.contains("did you mean floe?"), "{error}");
    }
}
