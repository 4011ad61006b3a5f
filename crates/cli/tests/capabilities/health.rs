//! `floe status` and `floe doctor`.

use crate::command::{run, slice_file};
use crate::hub::Hub;

#[test]
fn a_hub_without_problems_says_so() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "t"]).ended(0);
    let status = hub
        .run(&["status", "--exit-code", "-o", "json"])
        .ended(0)
        .json();
    assert_eq!(
        (&status["topics"], &status["lost"]),
        (&1.into(), &0.into()),
        "{status}"
    );
    assert_eq!(status["problems"], serde_json::json!([]));
    let doctor = hub.run(&["doctor", "-o", "json"]).ended(0).json();
    let checks = doctor.as_array().expect("a list");
    assert!(checks.iter().all(|check| check["ok"] == true), "{doctor}");
    assert!(
        checks.iter().any(|check| check["check"] == "topic manager"),
        "{doctor}"
    );
}

#[test]
fn lost_events_are_a_problem() {
    let hub = Hub::with(&["--transient", "--queue-events", "1"]);
    let file = slice_file(
        "health.ice",
        "module M { interface I { void n(long number); } }",
    );
    // It subscribes and reads nothing.
    let subscriber = hub.running(&[
        "sub", "t", "--create", "--slice", &file, "--mode", "ordered",
    ]);
    subscriber.talk("subscribed");
    subscriber.stop();
    hub.run(&["pub", "t", "n", "[1]", "-n", "2000", "--slice", &file])
        .ended(0);
    hub.run(&["status"]).ended(0);
    let status = hub.run(&["status", "--exit-code"]).ended(100);
    assert!(
        status
            .stdout
            .contains("events were lost because the queue of their subscriber was full")
    );
    let doctor = hub.run(&["doctor", "-o", "table"]).ended(100);
    assert!(
        doctor.stdout.contains("PROBLEM  health of the hub: "),
        "{doctor:?}"
    );
    subscriber.signal("CONT");
}

#[test]
fn a_hub_that_is_not_there_is_a_problem_with_what_to_do() {
    let doctor = run(&["doctor", "--hub", "127.0.0.1:1", "-o", "table"]).ended(100);
    let expected = "PROBLEM  endpoint of the hub: tcp -h 127.0.0.1 -p 1: ";
    assert!(doctor.stdout.contains(expected), "{doctor:?}");
    run(&["status", "--hub", "127.0.0.1:1"]).ended(5);
}
