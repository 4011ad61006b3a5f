//! The scenario `durable`, run for real and for a moment; the hub's part is tried with the command, which has one.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{RunOptions, run};

#[test]
fn the_floor_writes_and_syncs_events_one_by_one_and_many_together_and_reads_them() {
    let options = RunOptions {
        contenders: vec!["floor".to_owned()],
        cases: ["inflight-1", "batch-1000", "replay-2500"]
            .map(str::to_owned)
            .into(),
        rounds: 2,
        round_time: Duration::from_millis(20),
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    };
    let report = run("durable", &options, &mut |_| ()).unwrap();
    let [one, batch, replay] = report.results.as_slice() else {
        panic!("expected two results, got {:?}", report.results);
    };
    assert_eq!((one.unit, one.count), ("events/s", 2));
    let all = [one, batch, replay];
    assert!(all.iter().all(|result| result.mean > 0.0), "{report:?}");
}
