//! The lab judged by itself: what it says of a contender whose speed is known.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use floe_lab::{Comparison, Report, RunOptions, run};

/// How long each call is made to wait: so long that 2 % of it is more than a busy machine adds to every call.
const DELAY: Duration = Duration::from_millis(400);

/// How long the machine may be too busy to measure.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program of a contender's processes: the lab's own, whose servers wait for so long before each call.
fn program(delay: Duration) -> PathBuf {
    let own = env!("CARGO_BIN_EXE_floe-lab-contender");
    if delay.is_zero() {
        return PathBuf::from(own);
    }
    // Each test has its own.
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("slowed-{}-{number}", std::process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let millis = delay.as_millis();
    let script = format!("#!/bin/sh\nFLOE_LAB_DELAY_MS={millis} exec '{own}' \"$@\"\n");
    // Another thread that starts a process meanwhile would hold the file open for writing, and then it cannot be started; a
    // renamed copy is made by a process of its own.
    let status = std::process::Command::new("sh")
        .args([
            "-c",
            "printf '%s' \"$0\" > \"$1.new\" && mv \"$1.new\" \"$1\"",
        ])
        .arg(&script)
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A short run of blocking calls.
fn measured(contender: &str, delay: Duration) -> Report {
    let options = RunOptions {
        contenders: vec![contender.to_owned()],
        cases: vec!["twoway-blocking".to_owned()],
        rounds: 3,
        round_time: Duration::from_secs(1),
        program: Some(program(delay)),
        ..RunOptions::default()
    };
    run("rpc", &options, &mut |_| ()).unwrap()
}

#[test]
fn a_known_delay_is_measured_within_two_per_cent() {
    let deadline = Instant::now() + PATIENCE;
    let delay = DELAY.as_secs_f64() * 1e6;
    loop {
        let report = measured("floor", DELAY);
        let result = &report.results[0];
        // Never less, however busy the machine is; a call of the histogram is exact to three digits.
        assert!(result.min >= 0.999 * delay, "{} us", result.min);
        // A busy machine makes calls longer, and not all of them.
        if result.min <= 1.02 * delay {
            return;
        }
        assert!(Instant::now() < deadline, "{} us", result.min);
    }
}

#[test]
fn two_copies_of_a_contender_come_out_equal() {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let copies = [measured("floe", DELAY), measured("floe", DELAY)];
        let [one, other] = copies.map(|report| vec![report]);
        let comparison = Comparison::new(&one, &other, 0.03);
        assert_eq!(comparison.changes.len(), 1);
        if comparison.regressions().count() == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{}", comparison.to_table());
    }
}

#[test]
fn a_slowed_floe_is_a_regression() {
    let before = vec![measured("floe", Duration::ZERO)];
    let after = vec![measured("floe", DELAY)];
    let comparison = Comparison::new(&before, &after, 0.03);
    let regressions: Vec<_> = comparison.regressions().collect();
    assert_eq!(regressions.len(), 1, "{}", comparison.to_table());
    assert_eq!(
        Comparison::new(&after, &before, 0.03).regressions().count(),
        0
    );
}
