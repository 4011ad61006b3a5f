//! The scenario `gateway`, run for real and for a moment; the gateway's part is tried with the command, which has one.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{RunOptions, run};

#[test]
fn a_relay_carries_calls_with_and_without_replies() {
    let options = RunOptions {
        contenders: vec!["floor".to_owned()],
        rounds: 1,
        round_time: Duration::from_millis(20),
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    };
    let report = run("gateway", &options, &mut |_| ()).unwrap();
    let measured: Vec<_> = report.results.iter().map(|result| &result.case).collect();
    assert_eq!(measured, ["twoway", "ami-1000", "oneway"]);
    for result in &report.results {
        assert!(result.mean > 0.0 && result.service.is_some(), "{result:?}");
    }
}
