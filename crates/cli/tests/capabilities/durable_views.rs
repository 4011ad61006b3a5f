//! Durable subscriptions in the views of an operator: `floe status`, `floe doctor`, `floe topic`, metrics, the dashboard and its alerts.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::command::slice_file;
use crate::health::{get, metrics_address};
use crate::hub::Hub;

/// A hub with a durable topic, whose folder goes with it.
struct Stage {
    data: String,
    contract: String,
    hub: Hub,
}

impl Stage {
    fn new(name: &str) -> Self {
        let folder = env!("CARGO_TARGET_TMPDIR");
        let data = format!("{folder}/views-{name}-{}", std::process::id());
        let text = "module Demo { interface Counter { void counted(int number); } }";
        let contract = slice_file(&format!("views-{name}.ice"), text);
        let config = format!("views-{name}.toml");
        let config = slice_file(
            &config,
            "[topic.t]\ndurable = true\n[topic.t.retention]\nevents = 1000000\n",
        );
        let hub = Hub::with(&[
            "--data",
            &data,
            "--config",
            &config,
            "--metrics",
            "127.0.0.1:0",
        ]);
        Self {
            data,
            contract,
            hub,
        }
    }

    fn publish(&self, count: &str) {
        let publish = ["pub", "t", "counted", "7", "-n", count];
        self.hub
            .run(&[&publish[..], &["--slice", &self.contract]].concat())
            .ended(0);
    }

    /// Begins durable subscription `d`, and leaves.
    fn subscribe_and_leave(&self) {
        self.publish("1");
        let subscribe = [
            "sub",
            "t",
            "--durable",
            "d",
            "--from",
            "beginning",
            "-n",
            "1",
        ];
        self.hub
            .run(&[&subscribe[..], &["--slice", &self.contract]].concat())
            .ended(0);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A folder that cannot be removed harms nobody: its name is not used again.
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// Returns true if a list of texts has one that names the subscription and how far it is behind.
fn tells(problems: &Json) -> bool {
    let problems = problems.as_array().expect("a list");
    let mut texts = problems.iter().filter_map(Json::as_str);
    texts.any(|text| {
        text.contains("durable subscription `d` of topic `t` is 50")
            && text.contains("nobody has been there for ")
    })
}

#[test]
fn a_durable_subscription_that_nobody_reads_is_in_every_view() {
    let stage = Stage::new("behind");
    let hub = &stage.hub;
    stage.subscribe_and_leave();
    stage.publish("5010");
    let is_behind = |own: &Json| {
        let lag = own["lag_events"].as_i64().expect("a number");
        assert!((5010..=5011).contains(&lag), "{own}");
        assert!(own["lag_bytes"].as_i64() > Some(5010 * 20), "{own}");
        assert!(own["lag_seconds"].as_f64() > Some(0.0), "{own}");
        assert!(own["away_seconds"].as_f64().is_some(), "{own}");
        assert_eq!(
            (&own["durable_subscription"], &own["members"]),
            (&json!("d"), &json!([]))
        );
    };

    let status = hub
        .run(&["status", "--exit-code", "-o", "json"])
        .ended(100)
        .json();
    is_behind(&status["durable_subscriptions"][0]);
    assert!(tells(&status["problems"]), "{status}");
    assert_eq!(
        (&status["log_events"], &status["durable_topics"]),
        (&json!(5011), &json!(1))
    );
    let shown = hub.run(&["status", "-o", "table"]).ended(0).stdout;
    assert!(
        shown.contains("DURABLE SUBSCRIPTION") && shown.contains("LAG EVENTS"),
        "{shown}"
    );
    let wide = ["--lag-events", "6000", "--lag-age", "1h"];
    hub.run(&[&["status", "--exit-code"][..], &wide].concat())
        .ended(0);
    hub.run(&[
        "status",
        "--exit-code",
        "--lag-events",
        "6000",
        "--lag-age",
        "0s",
    ])
    .ended(100);

    let doctor = hub.run(&["doctor", "-o", "table"]).ended(100).stdout;
    assert!(
        doctor.contains("durable subscription `d` of topic `t`"),
        "{doctor}"
    );

    let info = hub
        .run(&["topic", "info", "t", "--over", "0s", "-o", "json"])
        .ended(0)
        .json();
    is_behind(&info["durable_subscriptions"][0]);
    assert_eq!(
        (&info["log"]["events"], &info["log"]["keeps_events"]),
        (&json!(5011), &json!(1_000_000))
    );
    let shown = hub
        .run(&["topic", "info", "t", "--over", "0s", "-o", "table"])
        .ended(0)
        .stdout;
    assert!(shown.contains("it keeps 1000000 events"), "{shown}");

    let list = hub.run(&["topic", "list", "-o", "json"]).ended(0).json();
    let own = list
        .as_array()
        .expect("a list")
        .iter()
        .find(|row| row["name"] == "t");
    let own = own.expect("the topic");
    assert_eq!(
        (&own["durable"], &own["log_events"]),
        (&json!(true), &json!(5011))
    );
    assert!(own["lag_events"].as_i64() >= Some(5010), "{own}");

    let watch = [
        "topic",
        "watch",
        "-n",
        "1",
        "--interval",
        "10ms",
        "-o",
        "jsonl",
    ];
    let watched = hub.run(&watch).ended(0).json();
    is_behind(&watched["topics"][0]["durable_subscriptions"][0]);
    assert!(
        watched["total"]["lag_events"].as_i64() >= Some(5010),
        "{watched}"
    );
    assert!(watched["total"]["lag_ms"].as_f64() > Some(0.0), "{watched}");

    let metrics = get(&metrics_address(&hub.process), "/metrics");
    for row in [
        "floe_durable_lag_events{topic=\"t\",subscription=\"d\"} 501",
        "floe_durable_away_seconds{topic=\"t\",subscription=\"d\"} ",
        "floe_log_events{topic=\"t\"} 5011\n",
        "floe_log_events_limit{topic=\"t\"} 1000000\n",
    ] {
        assert!(metrics.contains(row), "no {row} in {metrics}");
    }
}

#[test]
fn a_subscriber_that_is_there_is_named_and_not_away() {
    let stage = Stage::new("there");
    let subscribe = [
        "sub",
        "t",
        "--durable",
        "d",
        "--from",
        "beginning",
        "--slice",
        &stage.contract,
    ];
    let subscriber = stage.hub.running(&subscribe);
    subscriber.talk("subscribed to topic `t`");
    let info = ["topic", "info", "t", "--over", "0s", "-o", "json"];
    let info = stage.hub.run(&info).ended(0).json();
    let own = &info["durable_subscriptions"][0];
    assert_eq!(
        (&own["subscribers"], &own["away_seconds"]),
        (&json!(1), &Json::Null),
        "{own}"
    );
    let members = own["members"].as_array().expect("a list");
    assert!(
        members[0]["subscriber"].is_string() && members[0]["away_seconds"].is_null(),
        "{own}"
    );
}

#[test]
fn a_topic_with_unread_events_is_removed_only_if_that_is_surely_wanted() {
    let stage = Stage::new("remove");
    stage.subscribe_and_leave();
    stage.publish("20");
    stage
        .hub
        .run(&["topic", "remove", "t"])
        .ended(1)
        .said("kept topic `t`, whose events would be lost: durable subscription `d` has not had 2")
        .said("--yes removes it all the same");
    stage.hub.run(&["topic", "info", "t"]).ended(0);
    stage.hub.run(&["topic", "remove", "t", "--yes"]).ended(0);
    stage.hub.run(&["topic", "info", "t"]).ended(4);
}

#[test]
fn more_topics_than_fit_into_a_message_are_shown() {
    let config = slice_file(
        "many-topics.toml",
        "[connections]\nmessage-bytes = \"300k\"\n",
    );
    let hub = Hub::with(&["--transient", "--config", &config]);
    let names: Vec<_> = (0..1_500)
        .map(|number| format!("{}{number:05}", "plant.sensor.".repeat(15)))
        .collect();
    let create = ["topic", "create"]
        .into_iter()
        .chain(names.iter().map(String::as_str));
    hub.run(&create.collect::<Vec<_>>()).ended(0);
    let status = hub.run(&["status", "-o", "json"]).ended(0).json();
    assert_eq!(status["topics"], 1_500);
    let list = hub.run(&["topic", "list", "-o", "raw"]).ended(0).stdout;
    assert_eq!(list.lines().count(), 1_500);
    let watch = [
        "topic",
        "watch",
        "-n",
        "1",
        "--interval",
        "10ms",
        "-o",
        "jsonl",
    ];
    let watched = hub.run(&watch).ended(0).json();
    assert_eq!(watched["topics"].as_array().map(Vec::len), Some(1_500));
    let doctor = hub.run(&["doctor", "-o", "table"]).ended(0).stdout;
    assert!(doctor.contains("1500 topics, no problems"), "{doctor}");
}

/// The alerts, each with its expression. Their file is written so that each stands behind `expr:`, and a long one in the lines below.
const RULES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../packaging/prometheus-rules.yml"
);

#[test]
fn prometheus_accepts_the_alert_rules() {
    let checked = Command::new("promtool")
        .args(["check", "rules", RULES])
        .output();
    let Ok(checked) = checked else {
        eprintln!("\nSKIPPED: promtool: it is not installed: cargo xtask install");
        assert!(std::env::var_os("CI").is_none(), "promtool is missing");
        return;
    };
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && said.contains("SUCCESS"),
        "{checked:?}"
    );
}

#[test]
fn all_metrics_of_the_alert_rules_and_of_durable_topics_on_the_dashboard_exist() {
    let stage = Stage::new("rules");
    stage.subscribe_and_leave();
    let metrics = get(&metrics_address(&stage.hub.process), "/metrics");
    let rules = std::fs::read_to_string(RULES).expect("the rules");
    let code = rules
        .lines()
        .filter(|line| !line.trim_start().starts_with(['#', 's']));
    let words =
        code.flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    let names: Vec<_> = words.filter(|word| word.starts_with("floe_")).collect();
    assert!(names.len() > 10, "{names:?}");
    let dashboard = include_str!("../../../../packaging/grafana.json");
    let words = dashboard.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let shown: Vec<_> = words
        .filter(|word| word.starts_with("floe_log_") || word.starts_with("floe_durable_"))
        .collect();
    assert!(shown.len() > 6, "{shown:?}");
    for name in names.into_iter().chain(shown) {
        assert!(
            metrics.contains(&format!("# TYPE {name} ")),
            "no {name} in {metrics}"
        );
    }
}

#[test]
fn events_that_cannot_be_stored_are_in_every_view_until_they_can() {
    let stage = Stage::new("unstored");
    let hub = &stage.hub;
    stage.publish("1");
    hub.run(&["status", "--exit-code"]).ended(0);
    // The hub notices within a second that the files are gone, and refuses events.
    let log = format!("{}/topics/t/log", stage.data);
    let kept = format!("{}/topics/t/log.kept", stage.data);
    std::fs::rename(&log, &kept).expect("the log is there");
    let begin = std::time::Instant::now();
    let publish = ["pub", "t", "counted", "7", "--slice", &stage.contract];
    while hub.run(&publish).code == Some(0) {
        assert!(begin.elapsed().as_secs() < 60, "events are still taken");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let expected = "the last events of topic \"t\" could not be stored: ";
    let status = hub.run(&["status", "--exit-code", "-o", "json"]);
    let status = status.ended(100).json();
    let first = status["problems"][0].as_str().expect("a text");
    assert!(first.starts_with(expected), "{status}");
    let doctor = hub.run(&["doctor", "-o", "table"]).ended(100).stdout;
    assert!(doctor.contains(expected), "{doctor}");
    let metrics = get(&metrics_address(&hub.process), "/metrics");
    assert!(
        metrics.contains("\nfloe_hub_storage_problems 1\n"),
        "{metrics}"
    );
    std::fs::rename(&kept, &log).expect("it is ours");
    hub.run(&publish).ended(0);
    hub.run(&["status", "--exit-code"]).ended(0);
}
