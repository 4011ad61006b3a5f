//! `floe demo`.

use serde_json::Value as Json;

use crate::command::run;
use crate::hub::Running;

#[test]
fn all_that_is_published_is_delivered_or_counted_as_lost() {
    let json = run(&["demo", "--seconds", "2", "-o", "json"])
        .ended(0)
        .json();
    let number = |name: &str| {
        json[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} in {json}"))
    };
    assert_eq!(
        number("delivered") + number("lost"),
        3 * number("published")
    );
    assert_eq!(number("lost"), 0);
    let of_phase = |name: &str| json[name]["published"].as_u64().expect("a count");
    assert_eq!(of_phase("steady") + of_phase("burst"), number("published"));
    assert!(
        of_phase("steady") > 10 && of_phase("burst") > of_phase("steady"),
        "{json}"
    );
    assert!(
        json["events_per_second"]
            .as_f64()
            .is_some_and(|rate| rate > 0.0)
    );
    let latency = |name: &str| json["latency_us"][name].as_f64().expect("a latency");
    assert!(
        0.0 < latency("p50") && latency("p50") <= latency("p99"),
        "{json}"
    );
    let subscribers = json["subscribers"].as_array().expect("a list");
    let modes: Vec<_> = subscribers
        .iter()
        .map(|subscriber| &subscriber["mode"])
        .collect();
    assert_eq!(modes, ["twoway", "oneway", "batch"]);
    for phase in ["steady", "burst"] {
        let of_oneway = &subscribers[1][format!("{phase}_latency_us")];
        assert_eq!(&json[phase]["latency_us"], of_oneway, "{json}");
    }
    assert_eq!(json["interrupted"], false);
}

#[test]
fn lines_of_json_tell_their_kind() {
    let text = run(&["demo", "--seconds", "2", "-o", "jsonl"])
        .ended(0)
        .stdout;
    let kinds = text.lines().map(|line| {
        let json: Json = serde_json::from_str(line).expect("each line is JSON");
        json["kind"].as_str().expect("each has a kind").to_owned()
    });
    let kinds: Vec<_> = kinds.collect();
    let (last, before) = kinds.split_last().expect("there are lines");
    assert_eq!(last, "summary");
    assert!(!before.is_empty() && before.iter().all(|kind| kind == "progress"));
}

#[test]
fn help_explains_every_key_of_the_json() {
    let help = run(&["demo", "--help"]).ended(0).stdout;
    let json = run(&["demo", "--seconds", "1", "-o", "json"])
        .ended(0)
        .json();
    let of_subscriber = json["subscribers"][0].as_object().expect("an object");
    let keys = json.as_object().expect("an object").keys();
    for key in keys.chain(of_subscriber.keys()) {
        assert!(help.contains(key.as_str()), "expected `{key}` in {help}");
    }
}

#[test]
fn in_a_pipe_it_says_a_line_a_second_and_what_it_all_means() {
    let text = run(&["demo", "--seconds", "2"]).ended(0).stdout;
    for part in [
        "  1 s  load",
        "twoway",
        "batch",
        "0 lost",
        "burst",
        "p50, p99",
        "Try next",
    ] {
        assert!(text.contains(part), "expected `{part}` in {text}");
    }
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn an_interrupted_demo_tells_what_it_has_and_ends() {
    let demo = Running::start(&["demo", "--seconds", "1000"]);
    while !demo.line().contains("  1 s") {}
    demo.signal("INT");
    let ran = demo.end().ended(130);
    assert!(ran.stdout.contains("0 lost"), "{ran:?}");
    assert!(ran.stdout.contains("interrupted after"), "{ran:?}");
    assert!(
        ran.stdout
            .contains("there was none: interrupted before it began"),
        "{ran:?}"
    );
}

#[test]
fn a_demo_interrupted_before_its_burst_reports_none() {
    let demo = Running::start(&["demo", "--seconds", "1000", "-o", "jsonl"]);
    demo.line();
    demo.signal("INT");
    let ran = demo.end().ended(130);
    let last = ran.stdout.lines().last().expect("it has a summary");
    let json: Json = serde_json::from_str(last).expect("it is JSON");
    assert_eq!(json["kind"], "summary");
    assert_eq!(json["interrupted"], true);
    assert_eq!(json["burst"], Json::Null);
}
