//! The scenario `pubsub-rtt`, run for real and for a moment. The hub of Floe is tried where the command is.

use std::path::PathBuf;

use floe_lab::{LabError, Report, RunOptions, run};

/// One round; `None` if the contender is not installed.
fn measured(contender: &str, cases: &[&str]) -> Option<Report> {
    let options = RunOptions {
        contenders: vec![contender.to_owned()],
        cases: cases.iter().map(|&name| name.to_owned()).collect(),
        rounds: 1,
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    };
    match run("pubsub-rtt", &options, &mut |_| ()) {
        Ok(report) => Some(report),
        Err(LabError::Unavailable { contender, reason }) => {
            eprintln!("SKIPPED: {contender}: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn messages_of_both_kinds_go_through_a_bare_relay_and_back() {
    let report = measured("floor", &["bytes-16384", "nested-1024"]).unwrap();
    let counts: Vec<_> = report.results.iter().map(|result| result.count).collect();
    assert_eq!(counts, [700, 700]);
    assert!(
        report
            .results
            .iter()
            .all(|result| 0.0 < result.min && result.deviation >= 0.0)
    );
}

#[test]
fn messages_of_both_kinds_go_through_icestorm_and_back() {
    if let Some(report) = measured("icestorm", &["bytes-4", "nested-32"]) {
        assert_eq!(report.results.len(), 2, "{:?}", report.left_out);
        assert!(report.results.iter().all(|result| result.count == 700));
    }
}

#[test]
fn messages_go_through_the_proxy_of_zeromq_and_back() {
    if let Some(report) = measured("zeromq", &["bytes-1024", "nested-1"]) {
        assert_eq!(report.results.len(), 1, "{:?}", report.left_out);
        let [left_out] = report.left_out.as_slice() else {
            panic!("expected a reason, got {:?}", report.left_out);
        };
        assert!(left_out.reason.contains("carries bytes"), "{left_out}");
    }
}
