//! The scenario `rpc`, run for real and for a moment.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{LabError, Progress, Quotients, Report, RunOptions, run};

fn options(contenders: &[&str]) -> RunOptions {
    RunOptions {
        contenders: contenders.iter().map(|&name| name.to_owned()).collect(),
        cases: vec!["twoway".to_owned()],
        rounds: 2,
        round_time: Duration::from_millis(20),
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    }
}

fn assert_complete(report: &Report, contenders: &[&str]) {
    assert_complete_case(report, "twoway", contenders);
}

fn assert_complete_case(report: &Report, case: &str, contenders: &[&str]) {
    let names: Vec<_> = report
        .results
        .iter()
        .map(|result| &*result.contender)
        .collect();
    assert_eq!(names, contenders);
    for result in &report.results {
        assert_eq!((&*result.case, result.unit), (case, "us"));
        assert_eq!(result.rounds.len(), 2);
        assert!(result.count >= 2, "{result:?}");
        assert!(0.0 < result.p50 && result.p50 <= result.p99, "{result:?}");
        // The median of all calls lies between the medians of the rounds.
        let low = result.rounds[0].min(result.rounds[1]);
        let high = result.rounds[0].max(result.rounds[1]);
        assert!(low <= result.p50 && result.p50 <= high, "{result:?}");
    }
}

#[test]
fn contenders_take_turns_and_all_their_rounds_are_reported() {
    let mut turns = Vec::new();
    let report = run("rpc", &options(&["floe", "floor"]), &mut |progress| {
        if let Progress::Measuring {
            contender,
            done,
            total,
            ..
        } = progress
        {
            turns.push((contender, done, total));
        }
    });
    let report = report.unwrap();
    assert_complete(&report, &["floor", "floe"]);
    let turns: Vec<_> = turns
        .iter()
        .map(|(name, done, total)| (&**name, *done, *total))
        .collect();
    assert_eq!(
        turns,
        [
            ("floor", 0, 4),
            ("floe", 1, 4),
            ("floe", 2, 4),
            ("floor", 3, 4)
        ]
    );
    let [ratio] = report.ratios.as_slice() else {
        panic!("expected one ratio, got {:?}", report.ratios);
    };
    assert_eq!((&*ratio.of, &*ratio.to), ("floe", "floor"));
    for quotients in [ratio.median, ratio.mean, ratio.p99] {
        let Quotients {
            low, middle, high, ..
        } = quotients;
        assert!(0.0 < low && low <= middle && middle <= high, "{ratio:?}");
    }
}

#[test]
fn floe_runs_on_the_runtime_with_one_thread() {
    let report = run("rpc", &options(&["floe-tuned"]), &mut |_| ()).unwrap();
    assert_complete(&report, &["floe-tuned"]);
    assert_eq!(report.ratios, []);
}

#[test]
fn ice_is_measured_or_its_packages_are_named() {
    match run("rpc", &options(&["ice"]), &mut |_| ()) {
        Ok(report) => assert_complete(&report, &["ice"]),
        Err(LabError::Unavailable { contender, reason }) => {
            assert!(
                contender == "ice" && reason.contains("libzeroc-ice-dev"),
                "{reason}"
            );
            eprintln!("skipped: {reason}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_kind_of_call_is_measured_over_every_way() {
    let kinds = [
        "twoway",
        "twoway-blocking",
        "ami",
        "ami-1000",
        "oneway",
        "batch",
        "echo-300",
        "ack-bytes-65536",
        "ack-nested-3",
    ];
    for kind in kinds {
        for way in ["", "-unix", "-poll", "-unix-poll"] {
            let case = format!("{kind}{way}");
            let options = RunOptions {
                cases: vec![case.clone()],
                ..options(&["floor", "floe"])
            };
            let report = run("rpc", &options, &mut |_| ()).unwrap();
            assert_complete_case(&report, &case, &["floor", "floe"]);
        }
    }
}

#[test]
fn ice_makes_every_kind_of_call_that_it_can() {
    for case in [
        "twoway-blocking",
        "ami",
        "ami-1000",
        "oneway",
        "batch",
        "echo-1",
        "ack-bytes-1",
        "ack-nested-1024",
    ] {
        let options = RunOptions {
            cases: vec![case.to_owned()],
            ..options(&["ice"])
        };
        match run("rpc", &options, &mut |_| ()) {
            Ok(report) => assert_complete_case(&report, case, &["ice"]),
            Err(LabError::Unavailable { reason, .. }) => eprintln!("skipped: {reason}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_million_doubles_come_back_as_they_were_sent() {
    let options = RunOptions {
        cases: vec!["echo-1000000".to_owned()],
        ..options(&["floor", "floe"])
    };
    let report = run("rpc", &options, &mut |_| ()).unwrap();
    assert_complete_case(&report, "echo-1000000", &["floor", "floe"]);
}

#[test]
fn what_a_contender_does_not_offer_is_reported_with_the_reason() {
    let options = RunOptions {
        cases: vec!["twoway".to_owned(), "echo-1-unix".to_owned()],
        ..options(&["floor", "floe-tuned"])
    };
    let report = run("rpc", &options, &mut |_| ()).unwrap();
    let [left_out] = report.left_out.as_slice() else {
        panic!("expected one reason, got {:?}", report.left_out);
    };
    assert_eq!(
        left_out.to_string(),
        "not offered by floe-tuned: echo-1-unix: the blocking face has no runtime"
    );
}

#[test]
fn a_program_that_is_no_contender_is_reported_with_what_it_said() {
    let options = RunOptions {
        program: Some(PathBuf::from("false")),
        ..options(&["floor"])
    };
    let error = run("rpc", &options, &mut |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "contender floor failed: expected a line from its server, got: it ended"
    );
}

#[test]
fn counted_and_paced_calls_are_all_measured() {
    for (scenario, case, count) in [
        ("latency", "twoway-x1000", 1_000),
        ("latency", "ami-x1000", 1_000),
        ("latency", "oneway-x1000", 1_000),
        ("latency", "batch-x1000", 1_000),
        ("rtt", "rtt-1000", 7),
    ] {
        let options = RunOptions {
            cases: vec![case.to_owned()],
            rounds: 1,
            ..options(&["floe", "floor"])
        };
        let report = run(scenario, &options, &mut |_| ()).unwrap();
        let counts: Vec<_> = report.results.iter().map(|result| result.count).collect();
        assert_eq!(counts, [count, count], "{case}");
        assert!(
            report
                .results
                .iter()
                .all(|result| result.min > 0.0 && result.min <= result.max)
        );
    }
}
