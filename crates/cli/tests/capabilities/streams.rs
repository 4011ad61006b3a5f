//! `floe pub` and `floe sub` with many events: files, templates, batches, order.

use serde_json::{Value as Json, json};

use crate::command::{run, run_with_input, slice_file};
use crate::hub::{Hub, Running};

fn contract(name: &str) -> String {
    slice_file(
        name,
        "module M { interface I { void at(long n, string text); void stopped(); } }",
    )
}

fn started(hub: &Hub, slice: &str, count: &str) -> Running {
    let arguments = [
        "sub", "t", "--create", "--slice", slice, "-n", count, "-o", "jsonl",
    ];
    let subscriber = hub.running(&arguments);
    subscriber.talk("subscribed");
    subscriber
}

fn event(subscriber: &Running) -> Json {
    serde_json::from_str(&subscriber.line()).expect("an event is a line of JSON")
}

#[test]
fn what_sub_prints_pub_publishes_again() {
    let hub = Hub::start();
    let slice = contract("again.ice");
    let first = json!({"operation": "at", "parameters": {"n": 1, "text": "x"}});
    let second = json!({"operation": "stopped", "parameters": {}, "context": {"k": "v"}});
    let file = slice_file("again.jsonl", &format!("{first}\n\n{second}\n"));
    for how in [&[][..], &["--oneway"], &["--batch"]] {
        let subscriber = started(&hub, &slice, "2");
        let publish = ["pub", "t", "--file", &file, "--slice", &slice];
        let ran = hub.run(&[&publish[..], how].concat());
        assert_eq!(ran.ended(0).json()["published"], 2);
        let events = [event(&subscriber), event(&subscriber)];
        assert_eq!(events, [first.clone(), second.clone()], "{how:?}");
        subscriber.end().ended(0);
    }
}

#[test]
fn many_events_arrive_in_their_order_in_every_way_to_publish() {
    let hub = Hub::start();
    let slice = contract("order.ice");
    for how in [None, Some("--oneway"), Some("--batch")] {
        let subscriber = started(&hub, &slice, "5000");
        let parameters = r#"{"n": "{{n}}", "text": "no {{n}}"}"#;
        let publish = [
            "pub", "t", "at", parameters, "--slice", &slice, "-n", "5000",
        ];
        let arguments: Vec<_> = publish
            .into_iter()
            .chain(["--template"])
            .chain(how)
            .collect();
        let ran = hub.run(&arguments).ended(0);
        assert_eq!(ran.json()["published"], 5000, "{how:?}");
        for number in 1..=5000 {
            let parameters = json!({"n": number, "text": format!("no {number}")});
            assert_eq!(event(&subscriber)["parameters"], parameters, "{how:?}");
        }
        subscriber.end().ended(0);
    }
}

#[test]
fn a_line_that_makes_no_sense_ends_it_with_its_place_and_what_went_before() {
    let hub = Hub::start();
    let slice = contract("place.ice");
    hub.run(&["topic", "create", "t"]).ended(0);
    let file = slice_file("place.jsonl", "{\"operation\": \"stopped\"}\n{\"n\": 1}\n");
    hub.run(&["pub", "t", "--file", &file, "--slice", &slice])
        .ended(2)
        .said("after 1 event: line 2 of ")
        .said("expected an object with \"operation\" and \"parameters\"");
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    assert_eq!(info["published"], 1);
    hub.run(&["pub", "t", "--file", "/nowhere.jsonl", "--slice", &slice])
        .ended(2)
        .said("--file: cannot read /nowhere.jsonl");
}

#[test]
fn a_line_of_which_a_part_would_be_lost_is_not_published() {
    let hub = Hub::start();
    let slice = contract("part-of-line.ice");
    hub.run(&["topic", "create", "t"]).ended(0);
    let publish = |line: &str| {
        let file = slice_file("part-of-line.jsonl", line);
        hub.run(&["pub", "t", "--file", &file, "--slice", &slice])
            .ended(2)
    };
    publish(r#"{"operation": "stopped", "error": "not what it takes"}"#)
        .said("line 1 of ")
        .said("expected an event, got what `floe sub` could not decode: not what it takes");
    publish(r#"{"operation": "stopped", "parms": {}}"#)
        .said("expected operation, parameters, context, sequence or time, got \"parms\"");
    publish(r#"{"operation": "stopped", "context": "k=v"}"#)
        .said("expected an object as \"context\", got \"k=v\"");
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    assert_eq!(info["published"], 0);
    // As `jq '{operation, context}'` writes an event without a context.
    let without = r#"{"operation": "stopped", "context": null}"#;
    let file = slice_file("part-of-line.jsonl", without);
    hub.run(&["pub", "t", "--file", &file, "--slice", &slice])
        .ended(0);
}

#[test]
fn a_pipe_is_read_as_a_file_and_a_batch_leaves_when_nothing_more_comes() {
    let hub = Hub::start();
    let slice = contract("pipe.ice");
    let subscriber = started(&hub, &slice, "2");
    let publish = [
        "pub",
        "t",
        "--file",
        "-",
        "--batch",
        "--slice",
        &slice,
        "--hub",
        &hub.manager,
    ];
    let line = "{\"operation\": \"stopped\"}\n";
    run_with_input(&publish, &line.repeat(2)).ended(0);
    subscriber.line();
    subscriber.line();
    subscriber.end().ended(0);
}

#[test]
fn publishers_that_ask_for_it_wait_for_a_queue_that_blocks_and_others_lose_events() {
    let hub = Hub::start();
    let slice = contract("waits.ice");
    let subscriber = hub.running(&[
        "sub",
        "t",
        "--create",
        "--slice",
        &slice,
        "--qos",
        "floe.overflow=block",
        "--qos",
        "floe.queueEvents=5",
    ]);
    subscriber.talk("subscribed");
    subscriber.stop();
    let lost = || {
        let info = hub.run(&["topic", "info", "t"]).ended(0).json();
        info["lost_by_reason"]["overflow"]
            .as_i64()
            .expect("a count")
    };
    let publish = ["pub", "t", "stopped", "--slice", &slice, "-n", "100"];
    hub.run(&publish).ended(0);
    let before = lost();
    assert!(before > 0, "they do not wait unless they ask");
    let waiting = [&publish[..], &["--wait", "--timeout", "500ms"]].concat();
    hub.run(&waiting).ended(3);
    assert_eq!(lost(), before);
    subscriber.signal("CONT");
    hub.run(&[&publish[..], &["--wait", "--timeout", "30s"]].concat())
        .ended(0);
    assert_eq!(lost(), before);
}

#[test]
fn nobody_waits_for_a_queue_without_waiting_for_an_answer() {
    let slice = contract("waits-unanswered.ice");
    for kind in ["--oneway", "--batch"] {
        run(&["pub", "t", "stopped", "--slice", &slice, "--wait", kind])
            .ended(2)
            .said("'--wait' cannot be used with")
            .said(kind);
    }
}

#[test]
fn a_gap_stands_where_events_were_lost_and_is_not_published_again() {
    let hub = Hub::start();
    let slice = contract("gaps.ice");
    let subscriber = hub.running(&[
        "sub",
        "t",
        "--create",
        "--slice",
        &slice,
        "--gaps",
        "--qos",
        "floe.queueEvents=5",
        "--qos",
        "floe.outstanding=1",
        "-o",
        "jsonl",
    ]);
    subscriber.talk("subscribed");
    subscriber.stop();
    let event = r#"{"n": "{{n}}", "text": ""}"#;
    let publish = [
        "pub",
        "t",
        "at",
        event,
        "--template",
        "-n",
        "100",
        "--slice",
        &slice,
    ];
    hub.run(&publish).ended(0);
    subscriber.signal("CONT");
    let mut lines = String::new();
    let mut expected = 1;
    while expected <= 100 {
        let line = subscriber.line();
        lines.push_str(&line);
        lines.push('\n');
        let json: Json = serde_json::from_str(&line).expect("a line is JSON");
        match json.get("lost") {
            Some(count) => expected += count.as_i64().expect("a count"),
            None => {
                assert_eq!(json["parameters"]["n"], expected, "{lines}");
                expected += 1;
            }
        }
    }
    assert!(lines.contains("{\"lost\":"), "{lines}");
    let events = lines.lines().filter(|line| !line.contains("lost")).count();
    let file = slice_file("gaps.jsonl", &lines);
    let ran = hub.run(&["pub", "t", "--file", &file, "--slice", &slice]);
    assert_eq!(ran.ended(0).json()["published"], events);
}
