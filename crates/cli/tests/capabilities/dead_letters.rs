//! `floe dlq` where dead letters come back, share a topic with others, or are none.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::command::{run, slice_file};
use crate::hub::{Hub, Running};

/// A hub, and a subscriber that refuses every event, because it knows no operation of the contract.
struct Stage {
    data: String,
    contract: String,
    storm: String,
    hub: Hub,
    refusing: Running,
}

impl Stage {
    fn new(name: &str) -> Self {
        let folder = env!("CARGO_TARGET_TMPDIR");
        let data = format!("{folder}/letters-{name}-{}", std::process::id());
        let text = "module Demo { interface Counter { void counted(int number); } }";
        let storm = "#include <IceStorm/IceStorm.ice>";
        Self {
            contract: slice_file(&format!("letters-{name}.ice"), text),
            storm: slice_file(&format!("letters-{name}-storm.ice"), storm),
            hub: Hub::with(&["--data", &data]),
            refusing: Running::start(&["echo", "--listen", "tcp -h 127.0.0.1 -p 0"]),
            data,
        }
    }

    /// A durable topic, whose durable subscription `d` takes no event and tries once.
    fn refused_topic(&self, name: &str, subscriber: &str, wish: Option<(&str, &str)>) {
        self.hub
            .run(&["topic", "create", name, "--durable"])
            .ended(0);
        let mut qos = json!({"floe.durable": "d", "floe.attempts": "1", "floe.backOff": "1"});
        if let Some((key, value)) = wish {
            qos[key] = value.into();
        }
        let parameters = json!({"qos": qos, "subscriber": subscriber}).to_string();
        let info = self.hub.run(&["topic", "info", name]).ended(0).json();
        let topic = info["proxy"].as_str().expect("a proxy");
        let call = ["call", topic, "subscribeAndGetPublisher", &parameters];
        run(&[&call[..], &["--slice", &self.storm]].concat()).ended(0);
    }

    fn publish(&self, topic: &str, number: &str) {
        let publish = ["pub", topic, "counted", number, "--slice", &self.contract];
        self.hub.run(&publish).ended(0);
    }

    fn letters(&self, arguments: &[&str]) -> Vec<Json> {
        let list = [&["dlq", "list"][..], arguments, &["-o", "json"]].concat();
        let listed = self.hub.run(&list).ended(0).json();
        listed.as_array().expect("a list").clone()
    }

    fn wait_for_letters(&self, arguments: &[&str], count: usize) -> Vec<Json> {
        let begin = Instant::now();
        loop {
            let letters = self.letters(arguments);
            if letters.len() == count {
                return letters;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{letters:?}");
        }
    }

    fn log_events(&self, topic: &str) -> Json {
        let info = self.hub.run(&["topic", "info", topic, "--over", "0s"]);
        info.ended(0).json()["log"]["events"].clone()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A folder that cannot be removed harms nobody: its name is not used again.
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// The proxy of a program that answers `ready PROXY`.
fn proxy_of(program: &Running) -> String {
    let line = program.line();
    let proxy = line.strip_prefix("ready ").expect("it says ready first");
    proxy.to_owned()
}

#[test]
fn a_replay_publishes_each_letter_once_though_it_is_refused_again() {
    let stage = Stage::new("again");
    stage.refused_topic("t", &proxy_of(&stage.refusing), None);
    stage.publish("t", "7");
    stage.wait_for_letters(&["t"], 1);
    // More often than an event may pass from one topic of dead letters to the next.
    for round in 1..=20 {
        let replayed = stage.hub.run(&["dlq", "replay", "t"]).ended(0);
        replayed.said("published 1 dead letter to topic `t` again");
        let letters = stage.wait_for_letters(&["t"], round + 1);
        let replayed = |letter: &Json| letter["replayed"] == true;
        assert_eq!(letters.iter().filter(|it| replayed(it)).count(), round);
    }
    assert_eq!(stage.log_events("t"), json!(21));
    let status = stage.hub.run(&["status", "-o", "json"]).ended(0).json();
    assert_eq!(status["lost"], 0, "{status}");
    // The position of the replays is nobody's who has left, and the last letter waits for it.
    let late = ["status", "--exit-code", "--lag-age", "0s"];
    stage.hub.run(&late).ended(0);
}

#[test]
fn topics_that_share_a_topic_for_dead_letters_have_their_own() {
    let stage = Stage::new("shared");
    let proxy = proxy_of(&stage.refusing);
    for topic in ["one", "other"] {
        stage.refused_topic(topic, &proxy, Some(("floe.deadLetters", "shared")));
    }
    stage.publish("one", "1");
    stage.publish("other", "2");
    let one = stage.wait_for_letters(&["one", "--dead", "shared"], 1);
    stage.wait_for_letters(&["other", "--dead", "shared"], 1);
    assert_eq!(one[0]["topic"], "one");
    let begin = Instant::now();
    loop {
        let status = stage.hub.run(&["status", "-o", "json"]).ended(0).json();
        if status["dead_letters"] == 2 {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{status}");
    }
    for (topic, count) in [("one", 2), ("other", 2)] {
        let hub = &stage.hub;
        hub.run(&["topic", "position", topic, "d", "--remove"])
            .ended(0);
        hub.run(&["dlq", "replay", topic, "--dead", "shared"])
            .ended(0)
            .said(&format!("published 1 dead letter to topic `{topic}` again"))
            .said("left out 1 event of topic `shared`");
        assert_eq!(stage.log_events(topic), json!(count));
    }
    let purge = ["dlq", "purge", "one", "--dead", "shared"];
    stage
        .hub
        .run(&purge)
        .ended(1)
        .said("kept topic `shared`, which has more: dead letters of topic `other`");
    assert_eq!(stage.log_events("shared"), json!(2));
    stage
        .hub
        .run(&[&purge[..], &["--yes"]].concat())
        .ended(0)
        .said("deleted 2 dead letters");
    assert_eq!(stage.log_events("shared"), json!(0));
}

#[test]
fn the_events_of_a_topic_are_not_its_dead_letters() {
    let stage = Stage::new("none");
    let hub = &stage.hub;
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    stage.publish("t", "1");
    for command in ["list", "replay", "purge"] {
        hub.run(&["dlq", command, "t", "--dead", "t"])
            .ended(2)
            .said("expected a topic of dead letters, got `t`");
        hub.run(&["dlq", command, "t"])
            .ended(4)
            .said("topic `t` has no dead letters: there is no topic `t.dead`");
    }
    hub.run(&["dlq", "purge", "else", "--dead", "t"])
        .ended(1)
        .said("event 1, which is no dead letter");
    assert_eq!(stage.log_events("t"), json!(1));
    // Somebody reads the dead letters of another topic.
    hub.run(&["topic", "create", "u.dead", "--durable"])
        .ended(0);
    let reader = hub.running(&["sub", "u.dead", "--slice", &stage.contract]);
    reader.talk("subscribed to topic `u.dead`");
    hub.run(&["dlq", "purge", "u"])
        .ended(1)
        .said("kept topic `u.dead`, which has more: 1 subscriber or link");
}

#[test]
fn dead_letters_are_listed_in_pages_and_from_a_number() {
    let stage = Stage::new("pages");
    let hub = &stage.hub;
    hub.run(&["topic", "create", "t.dead", "--durable"])
        .ended(0);
    let publish = ["pub", "t.dead", "counted", "7", "-n", "450"];
    hub.run(&[&publish[..], &["--slice", &stage.contract]].concat())
        .ended(0);
    let numbers = |arguments: &[&str]| {
        let letters = stage.letters(arguments);
        let numbers = letters.iter().map(|it| it["letter"].as_i64());
        numbers.map(|it| it.expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&["t"]), (1..=450).collect::<Vec<_>>());
    let some = ["t", "--from", "395", "-n", "10"];
    assert_eq!(numbers(&some), (395..405).collect::<Vec<_>>());
    assert!(numbers(&["t", "--from", "451"]).is_empty());
    let lines = hub.run(&["dlq", "list", "t"]).ended(0).stdout;
    assert_eq!(lines.lines().count(), 450);
    let table = hub.run(&["dlq", "list", "t", "-o", "table"]).ended(0);
    let headings = table.stdout.lines().filter(|it| it.starts_with("LETTER"));
    assert_eq!((headings.count(), table.stdout.lines().count()), (3, 453));
}
