//! `floe sub` and `floe record` with several topics, and with patterns for their names.

use serde_json::json;

use crate::command::slice_file;
use crate::hub::Hub;

const CONTRACT: &str = "module M { interface I { void n(long number); } }";

/// A hub with these topics, and a contract of their events.
fn hub(name: &str, topics: &[&str]) -> (Hub, String) {
    let hub = Hub::start();
    hub.run(&[&["topic", "create"], topics].concat()).ended(0);
    (hub, slice_file(&format!("{name}.ice"), CONTRACT))
}

#[test]
fn one_subscriber_shows_the_events_of_several_topics_with_their_names() {
    let (hub, file) = hub("several", &["heat", "cold", "other"]);
    let sub = ["sub", "heat", "cold", "heat", "--slice", &file, "-n", "2"];
    let subscriber = hub.running(&sub);
    subscriber.talk("subscribed to topic `cold`, `heat`");
    for (topic, number) in [("heat", "[1]"), ("other", "[2]"), ("cold", "[3]")] {
        hub.run(&["pub", topic, "n", number, "--slice", &file])
            .ended(0);
    }
    let ran = subscriber.end().ended(0);
    let mut lines: Vec<serde_json::Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    lines.sort_by_key(ToString::to_string);
    assert_eq!(
        lines,
        [
            json!({"topic": "cold", "operation": "n", "parameters": {"number": 3}}),
            json!({"topic": "heat", "operation": "n", "parameters": {"number": 1}}),
        ]
    );
    // It has unsubscribed from all.
    for topic in ["heat", "cold"] {
        assert_eq!(
            hub.run(&["topic", "subscribers", topic, "-o", "raw"])
                .ended(0)
                .stdout,
            ""
        );
    }
}

#[test]
fn a_pattern_stands_for_the_topics_that_there_are() {
    let (hub, file) = hub("pattern", &["telemetry.cpu", "telemetry.disk", "alarm"]);
    let subscriber = hub.running(&[
        "sub",
        "telemetry.*",
        "--slice",
        &file,
        "-n",
        "1",
        "-o",
        "table",
    ]);
    subscriber.talk("subscribed to topic `telemetry.cpu`, `telemetry.disk`");
    hub.run(&["pub", "telemetry.disk", "n", "[1]", "--slice", &file])
        .ended(0);
    assert_eq!(
        subscriber.end().ended(0).stdout,
        "telemetry.disk: n {\"number\":1}"
    );
    hub.run(&["sub", "nothing.*", "--slice", &file])
        .ended(4)
        .said("no topic matches `nothing.*`");
    // A pattern creates nothing.
    hub.run(&["sub", "new.*", "--create", "--slice", &file])
        .ended(4);
}

#[test]
fn no_subscription_stays_if_one_of_several_topics_is_missing() {
    let (hub, file) = hub("missing-one", &["heat"]);
    hub.run(&["sub", "heat", "nowhere", "--slice", &file])
        .ended(4)
        .said("no topic `nowhere`");
    assert_eq!(
        hub.run(&["topic", "subscribers", "heat", "-o", "raw"])
            .ended(0)
            .stdout,
        ""
    );
}

/// Nothing of this command listens.
#[cfg(target_os = "linux")]
#[test]
fn events_come_over_the_connection_of_the_subscriber() {
    let (hub, file) = hub("own-connection", &["t"]);
    let subscriber = hub.running(&["sub", "t", "--slice", &file]);
    subscriber.talk("subscribed to topic `t`");
    let row = hub.run(&["topic", "subscribers", "t"]).ended(0).json();
    assert_eq!(row["mode"], "twoway", "{row}");
    assert!(
        !row["proxy"].as_str().unwrap_or_default().contains("-p "),
        "{row}"
    );
    hub.run(&["pub", "t", "n", "[1]", "--slice", &file])
        .ended(0);
    assert!(subscriber.line().contains("\"number\":1"));
    let listening = hub.running(&["sub", "t", "--slice", &file, "--listen", "127.0.0.1"]);
    listening.talk("subscribed to topic `t`");
    let rows = hub.run(&["topic", "subscribers", "t"]).ended(0);
    assert_eq!(rows.stdout.matches("-p ").count(), 1, "{rows:?}");
    // The events that nobody reads hold up no other connection of the command: it still ends in time.
    subscriber.signal("INT");
    subscriber.end().ended(130);
}

#[cfg(feature = "recordings")]
#[test]
fn a_recording_of_all_topics_has_each_that_there_is() {
    let (hub, file) = hub("all", &["heat", "cold"]);
    let recording = format!("{file}.mcap");
    let record = ["record", "--all", "-f", &recording, "--force", "-n", "2"];
    let recorder = hub.running(&record);
    recorder.talk("recording topic `cold`, `heat`");
    for topic in ["heat", "cold"] {
        hub.run(&["pub", topic, "n", "[1]", "--slice", &file])
            .ended(0);
    }
    recorder.end().ended(0);
    let subscriber = hub.running(&["sub", "*", "--slice", &file, "-n", "2"]);
    subscriber.talk("subscribed to topic `cold`, `heat`");
    hub.run(&["replay", &recording]).ended(0);
    subscriber.end().ended(0);
    hub.run(&["record", "--all", "heat", "-f", &recording, "--force"])
        .ended(2);
    hub.run(&["record", "-f", &recording, "--force"]).ended(2);
    let empty = Hub::start();
    empty
        .run(&["record", "--all", "-f", &recording, "--force"])
        .ended(4);
}
