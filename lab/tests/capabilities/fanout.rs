//! The scenarios `scale` and `qos`, run for real and for a moment. The hub of Floe is tried where the command is.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{LabError, Report, RunOptions, run};

/// One round; `None` if the contender is not installed.
fn measured(scenario: &str, contender: &str, cases: &[&str]) -> Option<Report> {
    let options = RunOptions {
        contenders: vec![contender.to_owned()],
        cases: cases.iter().map(|&name| name.to_owned()).collect(),
        rounds: 1,
        round_time: Duration::from_millis(20),
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    };
    match run(scenario, &options, &mut |_| ()) {
        Ok(report) => Some(report),
        Err(LabError::Unavailable { contender, reason }) => {
            eprintln!("SKIPPED: {contender}: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn many_publishers_reach_many_subscribers_and_what_each_costs_is_reported() {
    for contender in ["icestorm", "zeromq"] {
        let Some(report) = measured("scale", contender, &["fan-3-2", "fan-1-30"]) else {
            continue;
        };
        assert_eq!(report.results.len(), 2, "{:?}", report.left_out);
        for result in &report.results {
            let service = result.service.unwrap();
            assert!(result.p50 > 0.0 && service.resident > 0.1, "{result:?}");
            assert!(service.subscriber.is_some(), "{service:?}");
        }
        let read = Report::from_json(&report.to_json()).unwrap();
        assert!(read.results[0].service.unwrap().subscriber.is_some());
        let table = report.to_table();
        assert!(table.contains("kB a subscriber"), "{table}");
    }
}

#[test]
fn what_a_service_has_no_notion_of_is_said_for_each_quality() {
    let cases = [
        "twoway-throughput",
        "batched-throughput",
        "keep-last-latency",
    ];
    let Some(report) = measured("qos", "icestorm", &cases) else {
        return;
    };
    let measured: Vec<_> = report.results.iter().map(|result| &*result.case).collect();
    assert_eq!(measured, ["twoway-throughput", "batched-throughput"]);
    // Whole waves of 100 events.
    assert!(
        report
            .results
            .iter()
            .all(|result| result.count.is_multiple_of(100))
    );
    let [left_out] = report.left_out.as_slice() else {
        panic!("expected a reason, got {:?}", report.left_out);
    };
    assert_eq!(left_out.cases, ["keep-last-latency"]);
}
