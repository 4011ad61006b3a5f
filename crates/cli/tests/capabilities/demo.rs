//! `floe demo`.

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
}
