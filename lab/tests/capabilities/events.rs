//! The scenario `events`, run for real and for a moment; the hub's part is tried with the command, which has one.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{RunOptions, run};

fn options(case: &str) -> RunOptions {
    RunOptions {
        contenders: vec!["floor".to_owned()],
        cases: vec![case.to_owned()],
        rounds: 2,
        round_time: Duration::from_millis(40),
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    }
}

#[test]
fn an_event_every_two_milliseconds_is_timed_at_every_subscriber() {
    let report = run("events", &options("latency-1-3"), &mut |_| ()).unwrap();
    let [result] = report.results.as_slice() else {
        panic!("expected one result, got {:?}", report.results);
    };
    assert_eq!(result.unit, "us");
    assert!(result.p50 > 0.0 && result.p50 <= result.p99, "{result:?}");
    // Three subscribers, two rounds, and as many intervals as fit into each.
    let events = result.count / 6;
    assert!(
        result.count.is_multiple_of(3) && (10..=21).contains(&events),
        "{result:?}"
    );
}

#[test]
fn events_a_second_are_counted_at_each_subscriber_of_each_shape() {
    for case in ["twoway-1-1", "twoway-3-2", "batched-1-3", "batched100-3-1"] {
        let report = run("events", &options(case), &mut |_| ()).unwrap();
        let [result] = report.results.as_slice() else {
            panic!("expected one result, got {:?}", report.results);
        };
        let subscribers: u64 = case.rsplit('-').next().unwrap().parse().unwrap();
        assert_eq!((result.unit, result.count), ("events/s", 2 * subscribers));
        assert!(result.mean > 100.0, "{result:?}");
        let service = result.service.unwrap();
        assert!(service.resident > 0.1, "{service:?}");
        let table = report.to_table();
        assert!(table.contains("service: us a delivery, MB"), "{table}");
    }
}

#[test]
fn a_hub_is_only_served_by_the_command() {
    let options = RunOptions {
        contenders: vec!["floe".to_owned()],
        ..options("twoway-1-1")
    };
    let error = run("events", &options, &mut |_| ())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("expected a hub from `floe serve`"),
        "{error}"
    );
}
