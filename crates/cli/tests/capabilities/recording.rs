//! `floe record` and `floe replay`, through a hub.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::command::{run, slice_file};
use crate::hub::{Hub, Running};

fn contract(name: &str) -> String {
    slice_file(
        name,
        "module Demo {
            struct Sample { long number; string label; }
            interface Sensor { void sampled(Sample item); void stopped(); }
        }",
    )
}

/// A file that is not there yet.
fn recording(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path.to_string_lossy().into_owned()
}

fn publish(hub: &Hub, topic: &str, file: &str, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let item = json!({"item": {"number": number, "label": "ü"}}).to_string();
        hub.run(&[
            "pub",
            topic,
            "sampled",
            &item,
            "--slice",
            file,
            "--request-context",
            "unit=K",
        ])
        .ended(0);
    }
}

fn sample(number: i64) -> Json {
    json!({
        "operation": "sampled",
        "parameters": {"item": {"number": number, "label": "ü"}},
        "context": {"unit": "K"},
    })
}

/// Records the events that are published to two topics: three and two.
fn record_five(hub: &Hub, contract: &str, file: &str) {
    let recorder = hub.running(&[
        "record",
        "a",
        "b",
        "--create",
        "-f",
        file,
        "-n",
        "5",
        "--slice",
        contract,
        "--interface",
        "::Demo::Sensor",
        "-o",
        "jsonl",
    ]);
    recorder.talk("recording topic `a`, `b`");
    publish(hub, "a", contract, 1..3);
    publish(hub, "b", contract, 3..5);
    publish(hub, "a", contract, 5..6);
    let summary: Json = serde_json::from_str(&recorder.line()).expect("it is a line of JSON");
    assert_eq!(
        (&summary["recorded"], &summary["lost"]),
        (&5.into(), &0.into())
    );
    recorder.end().ended(0);
}

#[track_caller]
fn event(subscriber: &Running) -> Json {
    serde_json::from_str(&subscriber.line()).expect("an event is a line of JSON")
}

#[test]
fn a_recording_is_replayed_as_it_was_published() {
    let (contract, file) = (contract("replayed.ice"), recording("replayed.mcap"));
    record_five(&Hub::start(), &contract, &file);
    let hub = Hub::start();
    let subscribe = |topic, count| {
        let subscriber = hub.running(&[
            "sub", topic, "--create", "--slice", &contract, "-n", count, "--mode", "ordered", "-o",
            "jsonl",
        ]);
        subscriber.talk("subscribed to topic");
        subscriber
    };
    let (a, b) = (subscribe("a", "6"), subscribe("b", "4"));
    let replayed = hub.run(&[
        "replay", &file, "--speed", "max", "--loop", "2", "-o", "jsonl",
    ]);
    let summary = replayed.ended(0).json();
    assert_eq!(
        (&summary["published"], &summary["lost"]),
        (&10.into(), &0.into())
    );
    for _ in 0..2 {
        assert_eq!([event(&a), event(&a), event(&a)], [1, 2, 5].map(sample));
        assert_eq!([event(&b), event(&b)], [3, 4].map(sample));
    }
    a.end().ended(0);
    b.end().ended(0);
}

#[test]
fn a_part_of_a_recording_is_replayed() {
    let (contract, file) = (contract("part.ice"), recording("part.mcap"));
    record_five(&Hub::start(), &contract, &file);
    let hub = Hub::start();
    let published = |arguments: &[&str]| {
        let all = [&["replay", &file, "--create", "-o", "raw"], arguments].concat();
        hub.run(&all).ended(0).stdout.trim().to_owned()
    };
    assert_eq!(published(&["b", "--speed", "1000"]), "2");
    assert_eq!(published(&["--to", "0s", "--speed", "max"]), "1");
    assert_eq!(
        published(&["--from", "1h", "--speed", "max", "--loop"]),
        "0"
    );
}

#[test]
fn a_recording_that_was_cut_is_replayed_as_far_as_it_goes() {
    let (contract, file) = (contract("cut.ice"), recording("cut.mcap"));
    record_five(&Hub::start(), &contract, &file);
    let whole = std::fs::read(&file).expect("it was recorded");
    std::fs::write(&file, &whole[..whole.len() / 4]).expect("it can be written");
    let hub = Hub::start();
    let replayed = hub.run(&["replay", &file, "--create", "--speed", "max", "-o", "jsonl"]);
    let summary = replayed.ended(6).json();
    assert_eq!(summary["lost"], 1);
    // The second is shorter than what every recording begins with.
    for text in ["no recording", "no"] {
        std::fs::write(&file, text).expect("it can be written");
        let refused = hub.run(&["replay", &file]).ended(2);
        assert!(
            refused.stderr.contains("it is no MCAP file"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn a_file_is_overwritten_only_if_that_is_asked_for() {
    let hub = Hub::start();
    let file = recording("kept.mcap");
    std::fs::write(&file, "precious").expect("it can be written");
    let arguments = ["record", "t", "--create", "-f", &file, "--timeout", "10ms"];
    let refused = hub.run(&arguments).ended(1);
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    hub.run(&[&arguments[..], &["--force"]].concat()).ended(0);
    assert!(std::fs::read(&file).unwrap().starts_with(b"\x89MCAP0"));
    std::fs::write(&file, "precious").expect("it can be written");
    hub.run(&["record", "nowhere", "-f", &file, "--force"])
        .ended(4);
    let kept = std::fs::read(&file).unwrap();
    assert_eq!(kept, b"precious", "a recording that never began");
    let (link, target) = (recording("link.mcap"), recording("link-target.mcap"));
    let _ = (std::fs::remove_file(&link), std::fs::remove_file(&target));
    std::os::unix::fs::symlink(&target, &link).expect("nothing is there");
    let through_link = ["record", "t", "-f", &link, "--timeout", "10ms", "--force"];
    hub.run(&through_link).ended(0);
    assert!(std::fs::read(&target).unwrap().starts_with(b"\x89MCAP0"));
    let file = recording("missing.mcap");
    let missing = hub.run(&["record", "nowhere", "-f", &file]).ended(4);
    assert!(missing.stderr.contains("nowhere"), "{}", missing.stderr);
    assert!(
        !PathBuf::from(&file).exists(),
        "a recording that never began"
    );
    let usage = run(&["record", "t"]).ended(2);
    assert!(usage.stderr.contains("--file"), "{}", usage.stderr);
}

#[test]
fn events_that_their_publisher_has_numbered_are_stored_again_when_they_are_replayed() {
    let (contract, file) = (contract("numbered.ice"), recording("numbered.mcap"));
    let data = recording("numbered-data");
    let _ = std::fs::remove_dir_all(&data);
    let hub = Hub::with(&["--data", &data]);
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    let recorder = hub.running(&["record", "t", "-f", &file, "-n", "1", "-o", "jsonl"]);
    recorder.talk("recording topic `t`");
    let publish = ["pub", "t", "stopped", "--slice", &contract];
    let number = ["floe.publisher=p", "floe.publisherSequence=7"];
    let number = number.map(|entry| ["--request-context", entry]).concat();
    hub.run(&[&publish[..], &number].concat()).ended(0);
    recorder.end().ended(0);
    hub.run(&["replay", &file, "--speed", "max"]).ended(0);
    let position = hub.run(&["topic", "position", "t"]);
    position.ended(0).said("the log has 2 events");
}

#[test]
fn events_are_in_the_file_soon_after_they_came() {
    let (contract, file) = (contract("soon.ice"), recording("soon.mcap"));
    let hub = Hub::start();
    let recorder = hub.running(&["record", "t", "--create", "-f", &file]);
    recorder.talk("recording topic `t`");
    publish(&hub, "t", &contract, 1..4);
    // Not at the same hub: there, the events of a copy would be recorded, too.
    let other = Hub::start();
    other.run(&["topic", "create", "t"]).ended(0);
    // A copy is what a loss of power would leave.
    let copy = recording("soon-copy.mcap");
    let in_the_file = || {
        std::fs::copy(&file, &copy).expect("it is being recorded");
        let replayed = other.run(&["replay", &copy, "--speed", "max", "-o", "raw"]);
        replayed.stdout.trim().to_owned()
    };
    let start = std::time::Instant::now();
    while in_the_file() != "3" {
        assert!(start.elapsed().as_secs() < 20, "nothing was written yet");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn the_checks_of_a_subscription_are_neither_recorded_nor_replayed() {
    let file = recording("idle.mcap");
    let hub = Hub::start();
    // A subscription without events is checked every five seconds.
    let recorder = hub.running(&[
        "record",
        "t",
        "--create",
        "-f",
        &file,
        "--timeout",
        "6500ms",
        "-o",
        "jsonl",
    ]);
    let summary: Json = serde_json::from_str(&recorder.line()).expect("it is a line of JSON");
    assert_eq!(summary["recorded"], 0);
    recorder.end().ended(0);

    // As earlier versions recorded it.
    let mut writer = mcap::Writer::new(File::create(&file).unwrap()).unwrap();
    let channel = writer.add_channel(0, "t", "ice-event", &BTreeMap::new());
    let header = mcap::records::MessageHeader {
        channel_id: channel.unwrap(),
        sequence: 0,
        log_time: 0,
        publish_time: 0,
    };
    for operation in [b"\x08ice_ping", b"\x08happened"] {
        let event = [operation, &b"\x00\x00\x06\x00\x00\x00\x01\x01"[..]].concat();
        writer.write_to_known_channel(&header, &event).unwrap();
    }
    writer.finish().unwrap();
    let replayed = hub.run(&["replay", &file, "--speed", "max", "-o", "jsonl"]);
    let summary = replayed.ended(0).json();
    assert_eq!(
        (&summary["published"], &summary["lost"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn a_recording_that_tools_of_mcap_have_compressed_is_replayed() {
    let contract = contract("compressed.ice");
    for file in ["lz4.mcap", "zstd.mcap"] {
        let file = format!("{}/tests/recordings/{file}", env!("CARGO_MANIFEST_DIR"));
        let hub = Hub::start();
        let subscriber = hub.running(&[
            "sub", "a", "--create", "--slice", &contract, "-n", "3", "--mode", "ordered", "-o",
            "jsonl",
        ]);
        subscriber.talk("subscribed to topic");
        let replayed = hub.run(&["replay", &file, "--create", "--speed", "max", "-o", "jsonl"]);
        let summary = replayed.ended(0).json();
        assert_eq!(
            (&summary["published"], &summary["lost"]),
            (&5.into(), &0.into())
        );
        for number in 1..=3 {
            assert_eq!(event(&subscriber)["parameters"]["item"]["number"], number);
        }
    }
}

#[test]
fn the_reason_why_a_recording_cannot_be_written_or_read_is_that_of_the_system() {
    let hub = Hub::start();
    let file = recording("reason.mcap");
    std::fs::write(&file, "").expect("it can be written");
    let missing = recording("no-such-folder") + "/some.mcap";
    let refused = |file: &str| {
        let record = ["record", "t", "--create", "-f", file, "--timeout", "10ms"];
        hub.run(&record).ended(1).stderr
    };
    let (there, nowhere) = (refused(&file), refused(&missing));
    assert!(there.contains("File exists"), "{there}");
    assert!(nowhere.contains("No such file or directory"), "{nowhere}");
    let replayed = hub.run(&["replay", &missing]).ended(2).stderr;
    assert!(replayed.contains("No such file or directory"), "{replayed}");
    if cfg!(target_os = "linux") {
        let full = hub.run(&[
            "record",
            "t",
            "--create",
            "-f",
            "/dev/full",
            "--force",
            "--timeout",
            "10ms",
        ]);
        let full = full.ended(1).stderr;
        assert!(full.contains("No space left on device"), "{full}");
    }
}

#[test]
fn viewers_find_the_events_as_json_with_a_schema_where_a_contract_is_known() {
    let (contract, file) = (contract("viewed.ice"), recording("viewed.mcap"));
    record_five(&Hub::start(), &contract, &file);
    let bytes = std::fs::read(&file).expect("it was recorded");
    let messages = mcap::MessageStream::new(&bytes).expect("it is a recording");
    let messages: Vec<_> = messages.map(Result::unwrap).collect();
    let viewed = messages
        .iter()
        .filter(|it| it.channel.message_encoding == "json");
    let viewed: Vec<_> = viewed.collect();
    assert_eq!((viewed.len(), messages.len()), (5, 10));
    let first = viewed[0];
    assert_eq!(first.channel.topic, "a/sampled");
    let message: Json = serde_json::from_slice(&first.data).expect("it is JSON");
    let expected = json!({"item": {"number": 1, "label": "ü"}, "_context": {"unit": "K"}});
    assert_eq!(message, expected);
    let schema = first.channel.schema.as_ref().expect("it has one");
    assert_eq!(
        (schema.name.as_str(), schema.encoding.as_str()),
        ("::Demo::Sensor::sampled", "jsonschema")
    );
    let schema: Json = serde_json::from_slice(&schema.data).expect("it is JSON");
    assert_eq!(
        schema["properties"]["item"]["properties"]["number"],
        json!({"type": "integer"})
    );
}

#[test]
fn a_recording_has_no_json_if_that_is_not_wanted_and_needs_a_contract_for_it() {
    let (contract, file) = (contract("as.ice"), recording("as.mcap"));
    let hub = Hub::start();
    let record = ["record", "t", "--create", "-f", &file, "-n", "1", "--as"];
    let refused = hub.run(&[&record[..], &["json"]].concat()).ended(2);
    assert!(refused.stderr.contains("--slice"), "{}", refused.stderr);
    let arguments = [&record[..], &["ice", "--slice", &contract]].concat();
    let recorder = hub.running(&arguments);
    recorder.talk("recording topic `t`");
    publish(&hub, "t", &contract, 1..2);
    recorder.end().ended(0);
    let bytes = std::fs::read(&file).expect("it was recorded");
    let messages = mcap::MessageStream::new(&bytes).expect("it is a recording");
    assert_eq!(messages.count(), 1);
}
