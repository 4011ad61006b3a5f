//! Durable topics: `floe topic create --durable`, `floe sub --durable`, `floe topic position`, `floe topic replay`, `floe dlq`.

use serde_json::{Value as Json, json};

use crate::command::{run, slice_file};
use crate::hub::{Hub, Running};

/// The folder of a hub, and a contract, for one test.
struct Stage {
    data: String,
    contract: String,
}

impl Stage {
    fn new(name: &str) -> Self {
        let folder = env!("CARGO_TARGET_TMPDIR");
        let data = format!("{folder}/durable-{name}-{}", std::process::id());
        let text = "module Demo { interface Counter { void counted(int number); } }";
        Self {
            data,
            contract: slice_file(&format!("durable-{name}.ice"), text),
        }
    }

    fn hub(&self) -> Hub {
        Hub::with(&["--data", &self.data])
    }

    fn publish(&self, hub: &Hub, numbers: std::ops::Range<i64>) {
        for number in numbers {
            let number = number.to_string();
            let slice = ["--slice", &self.contract];
            hub.run(&[&["pub", "t", "counted", &number][..], &slice].concat())
                .ended(0);
        }
    }

    fn subscribe(&self, hub: &Hub, wishes: &[&str]) -> Running {
        let common = [
            "sub",
            "t",
            "--slice",
            &self.contract,
            "--mode",
            "ordered",
            "-o",
            "jsonl",
        ];
        let subscriber = hub.running(&[&common[..], wishes].concat());
        subscriber.talk("subscribed to topic `t`");
        subscriber
    }

    fn positions(&self, hub: &Hub) -> Json {
        let shown = hub.run(&["topic", "position", "t", "-o", "json"]);
        shown.ended(0).json()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A folder that cannot be removed harms nobody: its name is not used again.
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

#[track_caller]
fn number(subscriber: &Running) -> i64 {
    let event: Json = serde_json::from_str(&subscriber.line()).expect("a line of JSON");
    event["parameters"]["number"].as_i64().expect("a number")
}

#[test]
fn a_subscriber_that_is_killed_goes_on_where_it_was_at_a_hub_that_was_killed_too() {
    let stage = Stage::new("killed");
    let hub = stage.hub();
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    stage.publish(&hub, 0..3);
    let wishes = ["--durable", "d", "--from", "beginning"];
    let subscriber = stage.subscribe(&hub, &wishes);
    for expected in 0..3 {
        assert_eq!(number(&subscriber), expected);
    }
    // The third event was printed and perhaps not acknowledged yet.
    let acknowledged = || stage.positions(&hub)[0]["position"] == 4;
    let start = std::time::Instant::now();
    while !acknowledged() {
        assert!(start.elapsed().as_secs() < 60, "{}", stage.positions(&hub));
    }
    // Dropping a process kills it.
    drop(subscriber);
    stage.publish(&hub, 3..5);
    drop(hub);

    let hub = stage.hub();
    stage.publish(&hub, 5..6);
    let subscriber = stage.subscribe(&hub, &["--durable", "d", "-n", "3"]);
    for expected in 3..6 {
        assert_eq!(number(&subscriber), expected);
    }
    subscriber.end().ended(0);
}

#[test]
fn positions_are_shown_set_and_removed() {
    let stage = Stage::new("positions");
    let hub = stage.hub();
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    hub.run(&["topic", "create", "t", "--durable"]).ended(5);
    hub.run(&["topic", "create", "t", "--durable", "--exist-ok"])
        .ended(0);
    stage.publish(&hub, 0..5);
    let wishes = ["--durable", "d", "--from", "-2", "-n", "2"];
    let subscriber = stage.subscribe(&hub, &wishes);
    assert_eq!((number(&subscriber), number(&subscriber)), (3, 4));
    subscriber.end().ended(0);
    let start = std::time::Instant::now();
    let expected = json!([{"name": "d", "position": 6, "pending": 0, "behind": 0, "dropped": 0, "expired": 0, "subscribers": 0}]);
    while stage.positions(&hub) != expected {
        assert!(start.elapsed().as_secs() < 60, "{}", stage.positions(&hub));
    }
    hub.run(&["topic", "position", "t", "d", "--set", "seq:2"])
        .ended(0)
        .said("set the position of `d`");
    assert_eq!(stage.positions(&hub)[0]["behind"], 4);
    let subscriber = stage.subscribe(&hub, &["--durable", "d", "-n", "1", "--stamps"]);
    let event: Json = serde_json::from_str(&subscriber.line()).expect("a line of JSON");
    assert_eq!(event["parameters"]["number"], 1);
    assert_eq!(event["context"]["floe.sequence"], "2");
    subscriber.end().ended(0);
    hub.run(&["topic", "position", "t", "d", "--set", "first"])
        .ended(2)
        .said("expected beginning, new, last");
    hub.run(&["topic", "position", "t", "other"])
        .ended(4)
        .said("no durable subscription `other`");
    hub.run(&["topic", "position", "t", "d", "--remove"])
        .ended(0);
    assert_eq!(stage.positions(&hub), json!([]));
}

#[test]
fn what_the_log_has_dropped_is_neither_behind_nor_pending() {
    let stage = Stage::new("dropped");
    let settings = "[topic.t]\ndurable = true\n[topic.t.retention]\nevents = 10\n";
    let config = slice_file("durable-dropped.toml", settings);
    let hub = Hub::with(&["--data", &stage.data, "--config", &config]);
    let echo = Running::start(&["echo", "--listen", "tcp -h 127.0.0.1 -p 0"]);
    let line = echo.line();
    let echo_proxy = line.strip_prefix("ready ").expect("it says ready first");
    let storm = slice_file("dropped-storm.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = hub.run(&["topic", "info", "t"]).ended(0).json()["proxy"].clone();
    let topic = topic.as_str().expect("a proxy");
    // It refuses each event once within the time of this test.
    let qos = json!({"floe.durable": "refusing", "floe.backOff": "3600000"});
    let parameters = json!({"qos": qos, "subscriber": echo_proxy}).to_string();
    let call = ["call", topic, "subscribeAndGetPublisher", &parameters];
    run(&[&call[..], &["--slice", &storm]].concat()).ended(0);
    let away = stage.subscribe(&hub, &["--durable", "away", "-n", "1"]);
    stage.publish(&hub, 0..1);
    away.end().ended(0);
    stage.publish(&hub, 1..25);
    let begin = std::time::Instant::now();
    let expected = [("away", 0, 10, 14), ("refusing", 10, 0, 15)];
    let is_as_expected = |positions: &Json| {
        expected
            .iter()
            .enumerate()
            .all(|(at, (name, pending, behind, dropped))| {
                let own = &positions[at];
                let counts = [&own["pending"], &own["behind"], &own["dropped"]];
                own["name"] == *name && counts == [&json!(pending), &json!(behind), &json!(dropped)]
            })
    };
    while !is_as_expected(&stage.positions(&hub)) {
        assert!(begin.elapsed().as_secs() < 60, "{}", stage.positions(&hub));
    }
    let info = hub
        .run(&["topic", "info", "t", "--over", "0s"])
        .ended(0)
        .json();
    for own in info["durable_subscriptions"].as_array().expect("a list") {
        assert_eq!(own["lag_events"], 10, "{info}");
    }
}

#[test]
fn events_of_a_log_are_shown_and_published_again() {
    let stage = Stage::new("replay");
    let hub = stage.hub();
    hub.run(&["topic", "create", "t", "again", "--durable"])
        .ended(0);
    stage.publish(&hub, 0..5);
    let replay = |arguments: &[&str]| {
        let common = ["topic", "replay", "t", "--slice", &stage.contract];
        let ran = hub.run(&[&common[..], arguments].concat());
        ran.ended(0)
            .stdout
            .lines()
            .map(|line| {
                let event: Json = serde_json::from_str(line).expect("a line of JSON");
                (
                    event["sequence"].as_i64().expect("a number"),
                    event["parameters"]["number"].as_i64().expect("a number"),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(replay(&[]), [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]);
    let some = replay(&["--from", "seq:2", "--until", "seq:5", "-n", "2"]);
    assert_eq!(some, [(2, 1), (3, 2)]);
    assert_eq!(replay(&["--from", "-1"]), [(5, 4)]);
    hub.run(&["topic", "replay", "t", "--from", "-2", "--into", "again"])
        .ended(0)
        .said("published 2 events to topic `again`");
    let again = hub.run(&["topic", "replay", "again", "--slice", &stage.contract]);
    assert_eq!(again.ended(0).stdout.lines().count(), 2);
    hub.run(&["topic", "create", "live"]).ended(0);
    hub.run(&["topic", "replay", "live", "--slice", &stage.contract])
        .ended(4)
        .said("topic `live` is not durable");
}

#[test]
fn a_replay_that_fails_says_which_event_comes_next() {
    let stage = Stage::new("replay-fails");
    let hub = stage.hub();
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    hub.run(&["topic", "create", "copy"]).ended(0);
    let publish = ["pub", "t", "counted", "1", "-n", "20000"];
    hub.run(&[&publish[..], &["--slice", &stage.contract]].concat())
        .ended(0);
    let replay = hub.running(&["topic", "replay", "t", "--into", "copy"]);
    let published = || {
        hub.run(&["topic", "info", "copy", "--over", "0s"])
            .ended(0)
            .json()
    };
    while published()["published"] == 0 {}
    hub.run(&["topic", "remove", "copy"]).ended(0);
    let failed = replay.end().ended(4);
    let (_, rest) = failed
        .stderr
        .split_once("after ")
        .expect("it says how far it came");
    let count: u64 = rest
        .split(' ')
        .next()
        .and_then(|it| it.parse().ok())
        .expect("a count");
    assert!((1..20_000).contains(&count), "{failed:?}");
    failed.said(&format!("--from seq:{}", count + 1));
}

#[test]
fn dead_letters_are_listed_published_again_and_deleted() {
    let stage = Stage::new("dead");
    let hub = stage.hub();
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    // An object that knows no operation of the contract refuses every event.
    let echo = Running::start(&["echo", "--listen", "tcp -h 127.0.0.1 -p 0"]);
    let line = echo.line();
    let echo_proxy = line.strip_prefix("ready ").expect("it says ready first");
    let storm = slice_file("dead-storm.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = hub.run(&["topic", "info", "t"]).ended(0).json()["proxy"].clone();
    let qos = json!({
        "floe.durable": "d", "floe.from": "beginning", "reliability": "ordered",
        "floe.attempts": "2", "floe.backOff": "1",
    });
    let parameters = json!({"qos": qos, "subscriber": echo_proxy}).to_string();
    let topic = topic.as_str().expect("a proxy");
    crate::command::run(&[
        "call",
        topic,
        "subscribeAndGetPublisher",
        &parameters,
        "--slice",
        &storm,
    ])
    .ended(0);
    stage.publish(&hub, 7..9);
    let start = std::time::Instant::now();
    let list = || hub.run(&["dlq", "list", "t", "-o", "json"]).ended(0).json();
    while list().as_array().map(Vec::len) != Some(2) {
        assert!(start.elapsed().as_secs() < 60, "{}", list());
    }
    let first = &list()[0];
    assert_eq!(
        (&first["operation"], &first["sequence"]),
        (&json!("counted"), &json!(1))
    );
    assert_eq!(
        (&first["attempts"], &first["replayed"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(first["parameters_bytes"], 4);
    assert_eq!(first["parameters_hex"], "07000000");
    let decoded = ["dlq", "list", "t", "--slice", &stage.contract];
    let decoded = hub.run(&[&decoded[..], &["-o", "json"]].concat()).ended(0);
    assert_eq!(decoded.json()[0]["parameters"], json!({"number": 7}));
    let table = hub
        .run(&["dlq", "list", "t", "-o", "table"])
        .ended(0)
        .stdout;
    assert!(table.contains("4 bytes: 07000000"), "{table}");
    // They are kept, and so they are not lost.
    let status = || hub.run(&["status", "-o", "json"]).ended(0).json();
    while status()["dead_letters"] != 2 {
        assert!(start.elapsed().as_secs() < 60, "{}", status());
    }
    assert_eq!(status()["lost"], 0, "{}", status());
    hub.run(&["topic", "position", "t", "d", "--remove"])
        .ended(0);
    let again = ["dlq", "replay", "t"];
    hub.run(&again).ended(0).said("published 2 dead letters");
    hub.run(&again).ended(0).said("published 0 dead letters");
    assert_eq!(list()[1]["replayed"], true);
    let shown = hub.run(&["topic", "replay", "t", "--slice", &stage.contract]);
    let shown = shown.ended(0).stdout;
    assert_eq!(shown.lines().count(), 4);
    assert!(!shown.contains("floe.dead"), "{shown}");
    hub.run(&["dlq", "purge", "t"])
        .ended(0)
        .said("deleted 2 dead letters");
    assert_eq!(list(), json!([]));
    hub.run(&["dlq", "list", "other"]).ended(4);
}

#[test]
fn dead_letters_that_another_replay_has_taken_are_told() {
    let stage = Stage::new("taken");
    let hub = stage.hub();
    hub.run(&["topic", "create", "t", "t.dead", "--durable"])
        .ended(0);
    let publish = ["pub", "t.dead", "counted", "1", "-n", "2"];
    hub.run(&[&publish[..], &["--slice", &stage.contract]].concat())
        .ended(0);
    // As a replay does that ends before it has published anything.
    let (_, address) = hub.manager.split_once(' ').expect("it has endpoints");
    let topics = format!("Floe/DurableTopics {address}");
    let contracts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts");
    let slice = format!("{contracts}/Floe/Hub.ice");
    let qos = json!({"floe.durable": "floe dlq replay", "floe.from": "beginning"});
    for (operation, parameters) in [
        ("openPull", json!(["t.dead", qos])),
        ("pull", json!(["t.dead", "floe dlq replay", 200, 0])),
    ] {
        let parameters = parameters.to_string();
        let call = ["call", &topics, operation, &parameters];
        crate::command::run(&[&call[..], &["--slice", &slice, "-I", contracts]].concat()).ended(0);
    }
    let again = ["dlq", "replay", "t"];
    hub.run(&again)
        .ended(1)
        .said("published 0 dead letters")
        .said("2 more dead letters were given to another");
    let position = ["topic", "position", "t.dead", "floe dlq replay"];
    hub.run(&[&position[..], &["--set", "beginning"]].concat())
        .ended(0);
    hub.run(&again).ended(0).said("published 2 dead letters");
}

#[test]
fn a_hub_without_a_disk_says_why_it_has_no_durable_topics() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "t", "--durable"])
        .ended(1)
        .said("keeps nothing on disk")
        .said("--data");
}

#[test]
fn a_topic_of_the_configuration_is_durable_from_the_start() {
    let stage = Stage::new("configured");
    let config = slice_file(
        "durable.toml",
        "[topic.t]\ndurable = true\nacknowledge = \"written\"\n[topic.t.retention]\nevents = 1000\nage = \"24h\"\n",
    );
    let hub = Hub::with(&["--data", &stage.data, "--config", &config]);
    stage.publish(&hub, 0..1);
    assert_eq!(stage.positions(&hub), json!([]));
    let wrong = slice_file(
        "wrong-durable.toml",
        "[topic.t]\nacknowledge = \"written\"\n",
    );
    crate::command::run(&["serve", "--transient", "--config", &wrong])
        .ended(2)
        .said("topic.t.durable = true");
}

#[test]
fn a_backup_of_a_running_hub_begins_a_hub_that_has_all_of_it() {
    let stage = Stage::new("backup");
    let (copy, restored) = (
        format!("{}/copy", stage.data),
        format!("{}/restored", stage.data),
    );
    let positions = {
        let hub = stage.hub();
        hub.run(&["topic", "create", "t", "--durable"]).ended(0);
        hub.run(&["topic", "create", "live"]).ended(0);
        hub.run(&["topic", "link", "live", "t"]).ended(0);
        stage.publish(&hub, 0..5);
        let wishes = ["--durable", "d", "--from", "beginning", "-n", "2"];
        stage.subscribe(&hub, &wishes).end().ended(0);
        let start = std::time::Instant::now();
        while stage.positions(&hub)[0]["position"] != 3 {
            assert!(start.elapsed().as_secs() < 60, "{}", stage.positions(&hub));
        }
        hub.run(&["backup", &copy]).ended(0);
        let positions = stage.positions(&hub);
        // What happens later is not in the backup.
        stage.publish(&hub, 5..7);
        hub.run(&["topic", "create", "later"]).ended(0);
        hub.run(&["backup", &copy])
            .ended(2)
            .said("does not exist or is empty");
        positions
    };
    run(&["restore", &copy, "--check"]).ended(0);
    // Tab completion ends a folder with a slash.
    run(&["restore", &copy, "--data", &format!("{restored}/")]).ended(0);
    run(&["restore", &copy, "--data", &restored])
        .ended(2)
        .said("never overwritten");

    let hub = Hub::with(&["--data", &restored]);
    assert_eq!(stage.positions(&hub), positions);
    let topics = hub.run(&["topic", "list", "-o", "raw"]).ended(0);
    assert_eq!(topics.stdout, "live\nt\n");
    let subscriber = stage.subscribe(&hub, &["--durable", "d", "-n", "3"]);
    for expected in 2..5 {
        assert_eq!(number(&subscriber), expected);
    }
    subscriber.end().ended(0);
}

#[test]
fn a_backup_that_was_altered_or_cut_off_is_not_restored() {
    let stage = Stage::new("altered");
    let (copy, restored) = (
        format!("{}/copy", stage.data),
        format!("{}/restored", stage.data),
    );
    let hub = stage.hub();
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    stage.publish(&hub, 0..5);
    hub.run(&["backup", &copy]).ended(0);
    let log = format!("{copy}/data/topics/t/log/00000000000000000001.log");
    let whole = std::fs::read(&log).expect("the log of the topic");
    let mut altered = whole.clone();
    *altered.last_mut().expect("it has events") ^= 1;
    for (bytes, said) in [(&altered[..], "the check"), (&whole[1..], "bytes")] {
        std::fs::write(&log, bytes).expect("the file is there");
        run(&["restore", &copy, "--check"]).ended(2).said(said);
        run(&["restore", &copy, "--data", &restored])
            .ended(2)
            .said("the backup is damaged");
        assert!(!std::path::Path::new(&restored).exists());
    }
    std::fs::write(&log, whole).expect("the file is there");
    let manifest = format!("{copy}/backup.json");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let leads_out = text.replacen("topics/t/name", "../../name", 1);
    std::fs::write(&manifest, leads_out).expect("the file is there");
    run(&["restore", &copy, "--data", &restored])
        .ended(1)
        .said("within the data directory");
    std::fs::write(&manifest, text).expect("the file is there");
    let own = format!("{restored}.restoring");
    std::fs::create_dir_all(format!("{own}/mine")).expect("a folder");
    run(&["restore", &copy, "--data", &restored])
        .ended(2)
        .said("none of yours");
    assert!(std::path::Path::new(&own).join("mine").exists());
    std::fs::remove_file(&manifest).expect("the file is there");
    run(&["restore", &copy, "--data", &restored])
        .ended(1)
        .said("was it finished?");
}

#[test]
fn a_hub_that_keeps_nothing_on_disk_says_that_there_is_nothing_to_back_up() {
    let hub = Hub::start();
    let folder = env!("CARGO_TARGET_TMPDIR");
    let copy = format!("{folder}/backup-of-nothing-{}", std::process::id());
    // What the first attempt has begun does not stand in the way of the second, nor is a folder of somebody else removed.
    for _ in 0..2 {
        hub.run(&["backup", &copy])
            .ended(5)
            .said("--data DIRECTORY");
        assert!(!std::path::Path::new(&copy).exists());
    }
    std::fs::create_dir(&copy).expect("it is not there");
    hub.run(&["backup", &copy]).ended(5);
    let mut left = std::fs::read_dir(&copy).expect("it is there");
    assert!(left.next().is_none());
    std::fs::remove_dir(&copy).expect("it is empty");
}
