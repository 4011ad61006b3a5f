//! `floe pub` and `floe sub`, through a hub.

use std::process::Stdio;

use serde_json::{Value as Json, json};

use crate::command::{floe, run, run_with_input, slice_file};
use crate::hub::{Hub, Running};

fn contract(name: &str) -> String {
    slice_file(
        name,
        "module Demo {
            struct Sample { long number; string label; }
            interface Sensor { void sampled(Sample item); void stopped(); int ask(); }
        }",
    )
}

fn sample(number: i64) -> Json {
    json!({"operation": "sampled", "parameters": {"item": {"number": number, "label": "ü"}}})
}

fn item(number: i64) -> String {
    json!({"item": {"number": number, "label": "ü"}}).to_string()
}

#[track_caller]
fn event(subscriber: &Running) -> Json {
    serde_json::from_str(&subscriber.line()).expect("an event is a line of JSON")
}

#[test]
fn events_reach_a_subscriber_of_every_mode() {
    let hub = Hub::start();
    let file = contract("modes.ice");
    hub.run(&["topic", "create", "t"]).ended(0);
    let modes = ["twoway", "ordered", "oneway", "batch"];
    let subscribers = modes.map(|mode| {
        let subscriber = hub.running(&[
            "sub", "t", "--slice", &file, "--mode", mode, "-n", "3", "-o", "jsonl",
        ]);
        subscriber.talk("subscribed to topic `t`");
        subscriber
    });
    for number in [1, 2] {
        hub.run(&["pub", "t", "sampled", &item(number), "--slice", &file])
            .ended(0);
    }
    hub.run(&["pub", "t", "stopped", "--slice", &file]).ended(0);
    for subscriber in subscribers {
        assert_eq!(
            [event(&subscriber), event(&subscriber)],
            [sample(1), sample(2)]
        );
        assert_eq!(
            event(&subscriber),
            json!({"operation": "stopped", "parameters": {}})
        );
        subscriber.end().ended(0);
    }
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    assert_eq!(info["published"], 3);
    assert_eq!((&info["delivered"], &info["lost"]), (&12.into(), &0.into()));
    assert_eq!(info["subscribers"], json!([]), "all have unsubscribed");
}

#[test]
fn class_instances_and_optional_parameters_are_published_and_shown() {
    let hub = Hub::start();
    let file = slice_file(
        "graphs.ice",
        "module Demo {
            class Node { string name; Node next; }
            interface Graphs { void seen(Node root, optional(3) int color, optional(1) Node other); }
        }",
    );
    hub.run(&["topic", "create", "t"]).ended(0);
    let subscriber = hub.running(&["sub", "t", "--slice", &file, "-n", "2", "-o", "jsonl"]);
    subscriber.talk("subscribed to topic `t`");
    let root = json!({"$class": "::Demo::Node", "$id": 1, "name": "ring", "next": {"$ref": 1}});
    let all = json!({"root": root, "color": 5, "other": {"$ref": 1}});
    let few = json!({"root": null});
    for parameters in [&all, &few] {
        let json = parameters.to_string();
        hub.run(&["pub", "t", "seen", &json, "--slice", &file])
            .ended(0);
    }
    for parameters in [all, few] {
        let expected = json!({"operation": "seen", "parameters": parameters});
        assert_eq!(event(&subscriber), expected);
    }
    subscriber.end().ended(0);
}

#[test]
fn the_context_of_an_event_is_shown() {
    let hub = Hub::start();
    let file = contract("context.ice");
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file, "-n", "1"]);
    subscriber.talk("subscribed");
    hub.run(&[
        "pub",
        "t",
        "stopped",
        "--slice",
        &file,
        "--request-context",
        "cost=5",
    ])
    .ended(0);
    let expected = json!({"operation": "stopped", "parameters": {}, "context": {"cost": "5"}});
    assert_eq!(event(&subscriber), expected);
}

#[test]
fn lines_of_standard_input_become_events() {
    let hub = Hub::start();
    let file = contract("lines.ice");
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file, "-n", "5"]);
    subscriber.talk("subscribed");
    let publish = [
        "pub",
        "t",
        "sampled",
        "--slice",
        &file,
        "--hub",
        &hub.manager,
    ];
    let input = format!("{}\n\n{}\n", item(1), item(2));
    let told = run_with_input(&publish, &input).ended(0).json();
    assert_eq!(told["published"], 2);
    let input = format!("{}\n{{\"item\": {{}}}}\n", item(3));
    run_with_input(&[&publish[..], &["-"]].concat(), &input)
        .ended(2)
        .said("after 1 event: line 2 of standard input: params.item.number: expected a long");
    run_with_input(&publish, "\n\nnot json\n")
        .ended(2)
        .said("line 3 of standard input: expected JSON, got `not json`");
    let input = format!("{}\n{}\n{}\n", item(4), item(5), item(6));
    run_with_input(&[&publish[..], &["-", "-n", "2"]].concat(), &input).ended(0);
    let events = [(); 5].map(|()| event(&subscriber));
    assert_eq!(events, [1, 2, 3, 4, 5].map(sample));
}

#[test]
fn an_event_is_repeated_at_a_rate() {
    let hub = Hub::start();
    let file = contract("rate.ice");
    let publish = [
        "pub", "t", "stopped", "--create", "--slice", &file, "--oneway",
    ];
    let told = hub
        .run(&[&publish[..], &["-n", "5", "--rate", "50"]].concat())
        .ended(0)
        .json();
    assert_eq!(told["published"], 5);
    assert!(
        told["seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds >= 0.08),
        "{told}"
    );
    assert_eq!(
        hub.run(&["topic", "info", "t"]).ended(0).json()["published"],
        5
    );
}

#[test]
fn an_event_of_another_contract_is_shown_as_an_error_and_the_next_one_arrives() {
    let hub = Hub::start();
    let file = contract("mine.ice");
    let other = slice_file(
        "theirs.ice",
        "module Demo { interface Sensor { void sampled(byte item); void started(); } }",
    );
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file, "-n", "3"]);
    subscriber.talk("subscribed");
    hub.run(&["pub", "t", "sampled", r#"{"item": 1}"#, "--slice", &other])
        .ended(0);
    hub.run(&["pub", "t", "started", "--slice", &other])
        .ended(0);
    hub.run(&["pub", "t", "stopped", "--slice", &file]).ended(0);
    let error = |event: &Json| event["error"].as_str().expect("it has an error").to_owned();
    let wrong = event(&subscriber);
    assert_eq!(wrong["operation"], "sampled");
    assert!(
        error(&wrong).contains("not what `void sampled(::Demo::Sample item)` takes"),
        "{wrong}"
    );
    let unknown = event(&subscriber);
    assert!(
        error(&unknown).contains("no operation `started`"),
        "{unknown}"
    );
    assert_eq!(event(&subscriber)["operation"], "stopped");
    subscriber.end().ended(0);
}

#[test]
fn an_operation_of_several_interfaces_is_told_apart_by_its_interface() {
    let hub = Hub::start();
    let file = slice_file(
        "rivals.ice",
        "module M { interface A { void set(int i); } interface B { void set(string s); } }",
    );
    let subscribe = ["sub", "t", "--create", "--slice", &file, "-n", "1"];
    let torn = hub.running(&subscribe);
    let sure = hub.running(&[&subscribe[..], &["--interface", "::M::B"]].concat());
    torn.talk("subscribed");
    sure.talk("subscribed");
    let publish = ["pub", "t", "set", r#"{"s": "x"}"#, "--slice", &file];
    hub.run(&publish).ended(2).said("add --interface");
    hub.run(&[&publish[..], &["--interface", "B"]].concat())
        .ended(0);
    assert_eq!(event(&sure)["parameters"]["s"], "x");
    let error = event(&torn)["error"].clone();
    assert!(
        error
            .as_str()
            .is_some_and(|error| error.ends_with("add --interface")),
        "{error}"
    );
}

#[test]
fn a_subscriber_ends_at_a_signal_and_unsubscribes() {
    let hub = Hub::start();
    let file = contract("signal.ice");
    for signal in ["INT", "TERM"] {
        let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file]);
        subscriber.talk("subscribed");
        assert_eq!(hub.run(&["topic", "list"]).json()["subscribers"], 1);
        hub.run(&["pub", "t", "stopped", "--slice", &file]).ended(0);
        assert_eq!(event(&subscriber)["operation"], "stopped");
        subscriber.signal(signal);
        subscriber.end().ended(130);
        assert_eq!(hub.run(&["topic", "list"]).json()["subscribers"], 0);
    }
}

#[test]
fn a_subscriber_ends_after_its_time() {
    let hub = Hub::start();
    let file = contract("time.ice");
    let subscribe = [
        "sub",
        "t",
        "--create",
        "--slice",
        &file,
        "--timeout",
        "50ms",
    ];
    hub.run(&subscribe).ended(0);
    hub.run(&[&subscribe[..], &["-n", "1"]].concat())
        .ended(3)
        .said("no event within 50ms (0 of 1)");
}

#[test]
fn a_subscriber_whose_output_nobody_reads_ends_quietly() {
    let hub = Hub::start();
    let file = contract("unread.ice");
    let mut child = floe()
        .args([
            "sub",
            "t",
            "--create",
            "--slice",
            &file,
            "--hub",
            &hub.manager,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command was built with this test");
    drop(child.stdout.take());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let status = loop {
        assert!(std::time::Instant::now() < deadline, "it does not end");
        // It may not have subscribed yet.
        hub.run(&["pub", "t", "stopped", "--create", "--slice", &file])
            .ended(0);
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn events_that_a_slow_reader_makes_the_hub_drop_are_told() {
    for limit in [["--queue-events", "10"], ["--queue-bytes", "1000"]] {
        slow_reader_loses_events(&limit);
        // What a file says of one topic leaves the rest as the command line has it.
        let of_topic = "[topic.t.queue]\noverflow = \"drop-oldest\"\n";
        let config = slice_file("slow-topic.toml", of_topic);
        slow_reader_loses_events(&[&limit[..], &["--config", &config]].concat());
    }
}

fn slow_reader_loses_events(limit: &[&str]) {
    let hub = Hub::with(&[&["--transient", "--patience", "0"], limit].concat());
    let file = contract("slow.ice");
    let subscriber = hub.unread(&["sub", "t", "--create", "--slice", &file]);
    subscriber.talk("subscribed");
    // More than fit into the pipe and the queues on the way.
    let publish = [
        "pub", "t", "stopped", "--slice", &file, "--oneway", "-n", "5000",
    ];
    hub.run(&publish).ended(0);
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    let own = &info["subscribers"][0];
    assert!(own["lost"].as_u64().is_some_and(|lost| lost > 0), "{info}");
    assert_eq!(own["lost"], own["lost_by_reason"]["overflow"]);
    subscriber.signal("TERM");
    subscriber.end().ended(6);
    hub.process.talk("loses its oldest events");
}

#[test]
fn a_subscriber_of_a_hub_that_hangs_ends_all_the_same() {
    let hub = Hub::start();
    let file = contract("hung.ice");
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file]);
    subscriber.talk("subscribed");
    hub.process.stop();
    subscriber.signal("INT");
    subscriber.end().ended(3).said("the hub does not answer");
    hub.process.signal("CONT");
}

#[test]
fn a_hub_that_goes_away_is_noticed() {
    let hub = Hub::start();
    let file = contract("gone.ice");
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file]);
    subscriber.talk("subscribed");
    drop(hub);
    subscriber.talk("lost the hub or the topic");
    subscriber.signal("INT");
    subscriber.end();
}

#[test]
fn what_cannot_be_an_event_is_refused() {
    let file = contract("refused.ice");
    run(&["pub", "t", "ask", "--slice", &file])
        .ended(2)
        .said("returns data or throws");
    run(&["pub", "t", "aks", "--slice", &file])
        .ended(2)
        .said("did you mean `ask`?");
    run(&["pub", "t", "stopped"])
        .ended(2)
        .said("add --slice FILE");
    run(&["sub", "t"]).ended(2).said("add --slice FILE");
}

#[test]
fn a_topic_that_does_not_exist_is_not_found() {
    let hub = Hub::start();
    let file = contract("none.ice");
    hub.run(&["pub", "t", "stopped", "--slice", &file])
        .ended(4)
        .said("no topic `t`");
    hub.run(&["sub", "t", "--slice", &file])
        .ended(4)
        .said("no topic `t`");
}

#[test]
fn a_quality_of_service_without_meaning_is_refused() {
    let hub = Hub::start();
    let file = contract("qos.ice");
    let subscribe = [
        "sub",
        "t",
        "--create",
        "--slice",
        &file,
        "--qos",
        "floe.outstanding=most",
    ];
    hub.run(&subscribe)
        .ended(5)
        .said("declined the subscription")
        .said("most");
}

#[test]
fn a_value_of_a_quality_of_service_that_makes_no_sense_is_refused_with_what_was_expected() {
    let hub = Hub::start();
    let file = contract("nonsense.ice");
    hub.run(&["topic", "create", "t"]).ended(0);
    let keys = [
        ("reliability", 2),
        ("retryCount", 2),
        ("locatorCacheTimeout", 2),
        ("connectionCached", 2),
        ("floe.outstanding", 5),
        ("floe.overflow", 5),
        ("floe.queueEvents", 5),
        ("floe.queueBytes", 5),
        ("floe.patience", 5),
        ("floe.lifespan", 5),
        ("floe.idle", 5),
        ("floe.from", 5),
        ("floe.attempts", 5),
        ("floe.backOff", 5),
        ("floe.deadline", 5),
        ("floe.shared", 5),
        ("floe.stamps", 5),
        ("floe.sticky", 5),
    ];
    for (key, exit) in keys {
        let wish = format!("{key}=nonsense");
        let subscribe = ["sub", "t", "--slice", &file, "--timeout", "1s", "--qos"];
        let refused = hub.run(&[&subscribe[..], &[&wish]].concat()).ended(exit);
        assert!(refused.stderr.contains("expected"), "{}", refused.stderr);
        assert!(refused.stderr.contains(key), "{}", refused.stderr);
    }
}

#[test]
fn events_may_begin_with_a_byte_order_mark() {
    let hub = Hub::start();
    let file = contract("marked.ice");
    hub.run(&["topic", "create", "t"]).ended(0);
    let lines = format!("\u{feff}{}\r\n{}\r\n", item(1), item(2));
    let publish = ["pub", "t", "sampled", "-", "--slice", &file, "--hub"];
    run_with_input(&[&publish[..], &[&hub.manager]].concat(), &lines).ended(0);
}
