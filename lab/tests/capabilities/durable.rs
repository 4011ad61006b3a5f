//! The scenario `durable`, run for real and for a moment; the hub's part is tried with the command, which has one.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{RunOptions, run};

#[test]
fn the_floor_writes_and_syncs_events_one_by_one_and_many_together() {
    let options = RunOptions {
        contenders: vec!["floor".to_owned()],
        cases: vec!["inflight-1".to_owned(), "batch-1000".to_owned()],
        rounds: 2,
        round_time: Duration::from_millis(20),
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    };
    let report = run("durable", &options, &mut |_| ()).unwrap();
    let [one, batch] = report.results.as_slice() else {
        panic!("expected two results, got {:?}", report.results);
    };
    assert_eq!((one.unit, one.count), ("events/s", 2));
    assert!(0.0 < one.mean && one.mean < batch.mean, "{report:?}");
}
