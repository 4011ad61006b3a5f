//! Plays the rounds of a scenario.

use serde_json::{Map, Value, json};

use crate::awake::Spinners;
use crate::disturbance::Watch;
use crate::error::LabError;
use crate::journal::Entry;
use crate::measure::Effort;
use crate::options::RunOptions;
use crate::placement::Cores;
use crate::plan::Plan;
use crate::played::Played;
use crate::process::raise_open_files;
use crate::progress::Progress;
use crate::report::{Environment, Measured, Report};
use crate::round::{Extent, RoundError, Stage, measure};
use crate::sample::Encoded;
use crate::scenario::ScenarioInfo;

/// Runs a scenario, and says meanwhile what it is doing. It blocks, for about the number of rounds
/// times contenders times cases times [`RunOptions::round_time`].
///
/// A peer that fails is left out of that case from then on, or of all cases if what it serves with, or any process of it,
/// cannot be started. The report has it in [`Report::left_out`].
///
/// # Errors
/// [`LabError`]: a name that does not exist, a contender that was asked for and is not available; Floe or the floor
/// fails, or all contenders do; the run is stopped. [`LabError::Unfinished`] has what was measured until then.
pub fn run(
    scenario: &str,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, LabError> {
    let scenario = ScenarioInfo::named(scenario)?;
    let plan = Plan::new(scenario, options, progress)?;
    play(scenario, &plan, options, progress)
}

/// Plays the rounds of a plan that the journal does not have yet.
fn play(
    scenario: &ScenarioInfo,
    plan: &Plan,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, LabError> {
    let placement = options.placement.unwrap_or(scenario.placement);
    let mut environment = Environment::of_this_machine(&plan.contenders, placement);
    environment.is_awake = options.awake;
    for warning in environment.warnings() {
        progress(Progress::Warning(warning));
    }
    let cores = Cores::new(placement)
        .map_err(|source| LabError::system("find out the cores of this process", source))?;
    let stage = Stage {
        cores,
        stop: options.stop.clone(),
    };
    let effort = Effort {
        round_time: options.effective_round_time(),
    };
    raise_open_files();
    let mut played = Played::new(plan, environment);
    let mut journal = match &options.journal {
        Some(path) => Some(played.resume(path, &identity(scenario, plan, options)?)?),
        None => None,
    };
    let spinners = options.awake.then(|| Spinners::start(options));
    let _spinners = spinners.transpose()?;
    let rounds = options.effective_rounds();
    let mut note = |entry: &Entry| journal.as_mut().map_or(Ok(()), |one| one.note(entry));
    for round in 0..rounds {
        if !played.lacks(round) {
            continue;
        }
        let watch = Watch::start();
        for index in rotated(played.measured.len(), round) {
            let Measured {
                case, contender, ..
            } = played.measured[index];
            if !played.measured[index].lacks(round) {
                continue;
            }
            progress(played.measuring(index, rounds));
            let sample = measure(scenario.processes, contender, case, effort, &stage);
            let sample = sample.and_then(|sample| {
                // Which of the two is wrong nobody knows.
                let compared = played.encodings.compare(contender, case, &sample);
                compared.map_err(RoundError::of_run).map(|()| sample)
            });
            match sample {
                Ok(sample) => {
                    let entry = Entry::Measured {
                        case: case.to_owned(),
                        contender: contender.name.to_owned(),
                        sample,
                    };
                    note(&entry)?;
                    played.add(entry);
                }
                Err(failure) if contender.is_own || failure.extent == Extent::Run => {
                    return Err(played.into_report(scenario).unfinished(failure.error));
                }
                Err(failure) => {
                    let place = format!("round {} of {rounds} of {case}", round + 1);
                    let failed = played.failed(index, &place, &failure);
                    progress(Progress::Failed(failed.clone()));
                    let entry = Entry::LeftOut(failed);
                    note(&entry)?;
                    played.add(entry);
                }
            }
        }
        let entry = Entry::RoundEnded(watch.end());
        note(&entry)?;
        played.add(entry);
    }
    let report = played.into_report(scenario);
    if report.results.is_empty() {
        let left_out = report.left_out;
        return Err(LabError::NothingMeasured { left_out });
    }
    Ok(report)
}

/// The identity of a run: only a run of the same identity continues with the earlier results.
fn identity(scenario: &ScenarioInfo, plan: &Plan, options: &RunOptions) -> Result<Value, LabError> {
    let program = options.program()?;
    let bytes = std::fs::read(&program)
        .map_err(|source| LabError::system(format!("read {}", program.display()), source))?;
    let contenders = plan.contenders.iter();
    let contenders: Map<_, _> = contenders
        .map(|one| (one.name.to_owned(), Value::from(one.version.as_str())))
        .collect();
    let pairs = plan.pairs.iter();
    let pairs: Vec<_> = pairs
        .map(|(case, index)| json!([case, plan.contenders[*index].name]))
        .collect();
    let placement = options.placement.unwrap_or(scenario.placement);
    Ok(json!({
        "scenario": scenario.name,
        "rounds": options.effective_rounds(),
        "round_ms": options.effective_round_time().as_millis() as u64,
        "placement": placement.name(),
        "awake": options.awake,
        "contenders": contenders,
        "pairs": pairs,
        "program": Encoded::of(&bytes).digest,
    }))
}

/// The numbers below `count`, starting with another one in each round: nobody is always the one
/// that runs after a certain other one has warmed or cooled the machine.
fn rotated(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| (index + round) % count)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::contender::Ready;

    #[test]
    fn each_round_starts_with_another_one() {
        let order = |round| rotated(3, round).collect::<Vec<_>>();
        assert_eq!(
            [order(0), order(1), order(5)],
            [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
        );
    }

    /// Plays rounds of Floe and others, which are scripts of a shell, in these cases of `rpc`.
    fn played(contenders: Vec<Ready>, cases: &[&str]) -> (Result<Report, LabError>, Vec<Progress>) {
        let scenario = ScenarioInfo::named("rpc").unwrap();
        let pairs = cases.iter().flat_map(|case| {
            let all = 0..contenders.len();
            all.map(|index| ((*case).to_owned(), index))
        });
        let plan = Plan {
            pairs: pairs.collect(),
            contenders,
            left_out: Vec::new(),
        };
        let options = RunOptions {
            rounds: 3,
            round_time: Duration::from_millis(1),
            ..RunOptions::default()
        };
        let mut steps = Vec::new();
        let report = play(scenario, &plan, &options, &mut |step| steps.push(step));
        (report, steps)
    }

    /// A server that lives until its stdin ends, and a client that measures ten calls of a microsecond.
    const GOOD: &str = r#"
        case $1 in
            server) echo here; cat ;;
            client) echo '{"calls": [[1000, 10]]}' ;;
        esac"#;

    /// A good answer with something in front.
    fn good_after(script: &str) -> String {
        format!("{script}\n{GOOD}")
    }

    /// Case, contender and rounds of each result.
    fn figures(report: &Report) -> Vec<(&str, &str, usize)> {
        let results = report.results.iter();
        let figure = |result: &'_ crate::CaseResult| result.rounds.len();
        results
            .map(|result| (&*result.case, &*result.contender, figure(result)))
            .collect()
    }

    #[test]
    fn a_peer_that_fails_is_left_out_of_the_case_and_all_else_is_whole() {
        let failing = good_after(
            r#"[ $1-$2 = client-twoway ] && { echo 'no luck' >&2; echo 'at all' >&2; exit 3; }"#,
        );
        let contenders = vec![
            Ready::of_script("floor", GOOD),
            Ready::of_script("ice", &failing),
            Ready::of_script("floe", GOOD),
        ];
        let (report, steps) = played(contenders, &["twoway", "ami"]);
        let report = report.unwrap();
        assert_eq!(
            figures(&report),
            [
                ("twoway", "floor", 3),
                ("twoway", "floe", 3),
                ("ami", "floor", 3),
                ("ami", "ice", 3),
                ("ami", "floe", 3),
            ]
        );
        let ratios = report.ratios.iter();
        let ratios: Vec<_> = ratios.map(|one| (&*one.case, &*one.of, &*one.to)).collect();
        assert_eq!(
            ratios,
            [
                ("twoway", "floe", "floor"),
                ("ami", "floe", "floor"),
                ("ami", "ice", "floe"),
            ]
        );
        let [left_out] = report.left_out.as_slice() else {
            panic!("expected one that is left out, got {:?}", report.left_out);
        };
        let line = "left out ice: twoway: failed in round 1 of 3 of twoway, expected a line from its \
                    client, got: it ended: no luck; at all";
        assert_eq!(left_out.to_string(), line);
        assert!(report.to_table().lines().any(|other| other == line));
        let json = &report.to_json()["left_out"][0];
        assert_eq!(json["contender"], "ice");
        assert_eq!(json["failed"], true);
        assert_eq!(json["reason"], left_out.reason);
        let failed: Vec<_> = steps
            .iter()
            .filter(|step| matches!(step, Progress::Failed(_)))
            .collect();
        assert_eq!(failed, [&Progress::Failed(left_out.clone())]);
        let Some(Progress::Measuring { done, total, .. }) = steps.last() else {
            panic!("expected a measurement, got {:?}", steps.last());
        };
        assert_eq!((*done, *total), (14, 15));
    }

    #[test]
    fn a_peer_whose_server_does_not_start_is_left_out_of_all_cases() {
        let failing = good_after("[ $1-$2 = server-ami ] && exit 1");
        let contenders = vec![
            Ready::of_script("ice", &failing),
            Ready::of_script("floe", GOOD),
        ];
        let (report, _) = played(contenders, &["twoway", "ami"]);
        let report = report.unwrap();
        // It has measured the first case in the first round, which is not shown beside what others measured in three.
        assert_eq!(
            figures(&report),
            [("twoway", "floe", 3), ("ami", "floe", 3)]
        );
        assert_eq!(report.ratios, []);
        let [left_out] = report.left_out.as_slice() else {
            panic!("expected one that is left out, got {:?}", report.left_out);
        };
        assert_eq!(left_out.cases, ["twoway", "ami"]);
        assert!(left_out.reason.starts_with("in round 1 of 3 of ami, "));
    }

    #[test]
    fn a_peer_that_is_not_there_any_more_is_left_out_of_all_cases() {
        let gone = Ready::for_tests("ice", None);
        let contenders = vec![gone, Ready::of_script("floe", GOOD)];
        let (report, _) = played(contenders, &["twoway", "ami"]);
        let report = report.unwrap();
        assert_eq!(report.results.len(), 2);
        let [left_out] = report.left_out.as_slice() else {
            panic!("expected one that is left out, got {:?}", report.left_out);
        };
        assert_eq!(left_out.cases, ["twoway", "ami"]);
        assert!(left_out.reason.contains("cannot start "), "{left_out}");
    }

    #[test]
    fn floe_that_fails_ends_the_run_and_what_was_measured_is_kept() {
        let failing = good_after("[ $1-$2 = client-ami ] && exit 1");
        let mut own = Ready::of_script("floe", &failing);
        own.is_own = true;
        let contenders = vec![Ready::of_script("ice", GOOD), own];
        let (report, _) = played(contenders, &["twoway", "ami"]);
        let error = report.unwrap_err();
        assert_eq!(
            error.to_string(),
            "contender floe failed: expected a line from its client, got: it ended"
        );
        let LabError::Unfinished { report, source } = error else {
            panic!("expected a report, got {error}");
        };
        assert!(matches!(*source, LabError::Contender { .. }));
        assert_eq!(
            figures(&report),
            [
                ("twoway", "ice", 1),
                ("twoway", "floe", 1),
                ("ami", "ice", 1)
            ]
        );
        assert_eq!(report.left_out, []);
        let note = "the run ended early, some figures are of fewer rounds than others: contender floe failed";
        assert!(report.notes.iter().any(|other| other.starts_with(note)));
    }

    #[test]
    fn a_run_that_is_stopped_reports_what_it_has_measured() {
        let scenario = ScenarioInfo::named("rpc").unwrap();
        let plan = Plan {
            pairs: vec![("twoway".to_owned(), 0), ("ami".to_owned(), 0)],
            contenders: vec![Ready::of_script("floe", GOOD)],
            left_out: Vec::new(),
        };
        let options = RunOptions {
            round_time: Duration::from_millis(1),
            ..RunOptions::default()
        };
        let stop = options.stop.clone();
        let mut measurements = 0;
        let report = play(scenario, &plan, &options, &mut |step| {
            measurements += usize::from(matches!(step, Progress::Measuring { .. }));
            if measurements == 4 {
                stop.set();
            }
        });
        let error = report.unwrap_err();
        assert_eq!(error.to_string(), "the run was interrupted");
        let LabError::Unfinished { report, source } = error else {
            panic!("expected a report, got {error}");
        };
        assert!(matches!(*source, LabError::Stopped));
        // The second round begins with the other case.
        assert_eq!(
            figures(&report),
            [("twoway", "floe", 1), ("ami", "floe", 2)]
        );
        let read = Report::from_json(&report.to_json()).unwrap();
        let note = "the run ended early, some figures are of fewer rounds than others: the run was interrupted";
        assert!(
            read.notes.iter().any(|other| other == note),
            "{:?}",
            read.notes
        );
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_where_it_stopped() {
        let scenario = ScenarioInfo::named("rpc").unwrap();
        let journal = crate::journal::tests::path("goes-on");
        // It fails in the second round of the first sitting, and would not in the second sitting.
        let folder = journal.parent().unwrap().display();
        let failing = good_after(&format!(
            r#"[ $1 = client ] && {{ echo x >> {folder}/calls; [ $(wc -l < {folder}/calls) = 2 ] && exit 1; }}"#
        ));
        let plan = Plan {
            pairs: vec![
                ("twoway".to_owned(), 0),
                ("twoway".to_owned(), 1),
                ("ami".to_owned(), 0),
            ],
            contenders: vec![
                Ready::of_script("floe", GOOD),
                Ready::of_script("ice", &failing),
            ],
            left_out: Vec::new(),
        };
        let sitting = |rounds: usize, until: usize| {
            let options = RunOptions {
                rounds,
                round_time: Duration::from_millis(1),
                journal: Some(journal.clone()),
                ..RunOptions::default()
            };
            let stop = options.stop.clone();
            let mut measurements = 0;
            let report = play(scenario, &plan, &options, &mut |step| {
                measurements += usize::from(matches!(step, Progress::Measuring { .. }));
                if measurements == until {
                    stop.set();
                }
            });
            (report, measurements)
        };
        // The second round begins with the second pair; the one that begins last is lost.
        let (report, _) = sitting(3, 6);
        assert!(matches!(report, Err(LabError::Unfinished { .. })));
        let (report, measurements) = sitting(3, usize::MAX);
        let report = report.unwrap();
        assert_eq!(
            figures(&report),
            [("twoway", "floe", 3), ("ami", "floe", 3)]
        );
        assert_eq!(report.left_out.len(), 1, "{:?}", report.left_out);
        assert_eq!(report.environment.disturbances.len(), 3);
        // One of the second round, two of the third.
        assert_eq!(measurements, 3);
        let (again, measurements) = sitting(3, usize::MAX);
        assert_eq!((again.unwrap(), measurements), (report, 0));
        let (other, _) = sitting(2, usize::MAX);
        let error = other.unwrap_err().to_string();
        assert!(error.ends_with("expected rounds 2, got 3"), "{error}");
    }

    #[test]
    fn a_run_of_which_nobody_is_left_has_no_report() {
        let contenders = ["ice", "tonic"].map(|name| Ready::of_script(name, "exit 1"));
        let (report, _) = played(contenders.into(), &["twoway"]);
        let text = report.unwrap_err().to_string();
        let start =
            "no contender is left: all have failed; left out ice: twoway: failed in round 1 of 3";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("; left out tonic: twoway: "), "{text}");
    }
}
