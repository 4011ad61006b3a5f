//! Links between a Floe hub and a real IceStorm 3.7.8, in both directions.

use std::process::Command;

use floe_tests::hub::{Data, Hub, serve};
use floe_tests::ice::{Ice, Language, event_lines, folder};
use floe_tests::peer::Peer;
use floe_tests::workspace;

/// Events of one publisher in one test.
const COUNT: usize = 20;

#[test]
fn events_cross_from_either_service_to_the_other() {
    let Some(ice) = Ice::or_skip() else { return };
    let (storm, hub) = (ice.start_storm(), Hub::start(&[]));
    let (storm, hub) = (storm.manager(), hub.manager());
    let hub = hub.as_str();
    for (from, to) in [(storm, hub), (hub, storm)] {
        create(from, "near");
        create(to, "far");
        link(from, "near", to, "far", 5);
        for language in Language::ALL {
            let subscriber = ice.start_subscriber(language, to, "far", "ordered", COUNT);
            let publisher = ice.start_publisher(language, from, "near", "twoway", COUNT);
            assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
            assert_got(subscriber, &event_lines(COUNT));
        }
    }
}

#[test]
fn what_an_event_costs_decides_whether_it_crosses() {
    let Some(ice) = Ice::or_skip() else { return };
    let (storm, hub) = (ice.start_storm(), Hub::start(&[]));
    let (storm, hub) = (storm.manager(), hub.manager());
    let hub = hub.as_str();
    for (from, to) in [(storm, hub), (hub, storm), (hub, hub)] {
        // Cost of the link, and those of events that pass.
        for (cost, passing) in [
            (5, &["5", "x", "-7", "5.9", "0x9"][..]),
            (0, &["5", "6", "x", "6x", " 6", "-7", "5.9", "0x9"][..]),
            (-3, &["-7"][..]),
        ] {
            let (near, far) = (&format!("near {cost}"), &format!("far {cost}"));
            create(from, near);
            create(to, far);
            link(from, near, to, far, cost);
            let count = passing.len();
            let subscriber = ice.start_subscriber(Language::Cpp, to, far, "ordered", count);
            for cost in ["5", "6", "x", "6x", " 6", "-7", "5.9", "0x9"] {
                publish(from, near, cost);
            }
            let expected: Vec<_> = passing
                .iter()
                .map(|c| format!("flagged {c} true"))
                .collect();
            assert_got(subscriber, &expected);
            run(&["topic", "remove", near, "--hub", from]);
            run(&["topic", "remove", far, "--hub", to]);
        }
    }
}

#[test]
fn events_go_one_hop_through_both_services() {
    let Some(ice) = Ice::or_skip() else { return };
    let (storm, hub) = (ice.start_storm(), Hub::start(&[]));
    let (storm, hub) = (storm.manager(), hub.manager());
    let hub = hub.as_str();
    for (outer, inner) in [(storm, hub), (hub, storm)] {
        create(outer, "first");
        create(inner, "second");
        create(outer, "third");
        link(outer, "first", inner, "second", 0);
        link(inner, "second", outer, "third", 0);
        let second = ice.start_subscriber(Language::Cpp, inner, "second", "ordered", 2);
        let third = ice.start_subscriber(Language::Cpp, outer, "third", "ordered", 1);
        publish(outer, "first", "a");
        // It comes second: the first is there when its subscriber has both.
        publish(inner, "second", "b");
        let mut lines = second.succeed();
        lines.sort();
        assert_eq!(lines, ["flagged a true", "flagged b true", "received 2"]);
        assert_got(third, &["flagged b true".to_owned()]);
    }
}

#[test]
fn a_hub_that_is_killed_keeps_its_links_and_those_to_it() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let storm = storm.manager();
    let data = Data::new("links");
    let (mut hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    for topic in ["here", "out", "in"] {
        create(&manager, topic);
    }
    for topic in ["far", "back"] {
        create(storm, topic);
    }
    link(&manager, "out", storm, "far", 0);
    link(&manager, "out", &manager, "here", 3);
    link(storm, "back", &manager, "in", 0);
    let subscriber = |manager: &str, topic: &str| {
        ice.start_subscriber(Language::Cpp, manager, topic, "ordered", COUNT)
    };
    let (far, here) = (subscriber(storm, "far"), subscriber(&manager, "here"));
    let inward = subscriber(&manager, "in");
    hub.kill();
    let endpoint = manager.split_once(':').expect("an endpoint").1;
    let (_hub, manager) = serve(&data, endpoint);
    for (manager, topic) in [(manager.as_str(), "out"), (storm, "back")] {
        let publisher = ice.start_publisher(Language::Python, manager, topic, "twoway", COUNT);
        publisher.succeed();
    }
    for subscriber in [far, here, inward] {
        assert_got(subscriber, &event_lines(COUNT));
    }
}

#[test]
fn icestormadmin_links_topics_of_the_hub_as_those_of_icestorm() {
    let Some(ice) = Ice::or_skip() else { return };
    let (storm, hub) = (ice.start_storm(), Hub::start(&[]));
    let ask = |manager: &str, command: &str| {
        let answer = ice.admin(manager, command);
        // Of errors the first line: the others name places in the program.
        answer.map_err(|error| error.lines().next().unwrap_or_default().to_owned())
    };
    for command in [
        "create a b c",
        "link a b 3",
        "link b c",
        "link a b",
        "link a nothing",
        "links",
        "subscribers a",
        "unlink a c",
        "unlink a b",
        "links",
        "subscribers a",
        "destroy c",
        "links",
    ] {
        let (expected, came) = (ask(storm.manager(), command), ask(&hub.manager(), command));
        assert_eq!(came, expected, "{command}");
    }
}

fn assert_got(subscriber: Peer, expected: &[String]) {
    let mut lines = subscriber.succeed();
    let count = expected.len();
    assert_eq!(lines.pop(), Some(format!("received {count}")));
    assert_eq!(lines, expected);
}

fn create(manager: &str, topic: &str) {
    run(&["topic", "create", topic, "--exist-ok", "--hub", manager]);
}

fn link(from_manager: &str, from: &str, to_manager: &str, to: &str, cost: i32) {
    let cost = cost.to_string();
    let topics = ["topic", "link", from, to, &cost];
    run(&[
        &topics[..],
        &["--hub", from_manager, "--to-hub", to_manager],
    ]
    .concat());
}

/// Publishes an event whose text is what it costs.
fn publish(manager: &str, topic: &str, cost: &str) {
    let parameters = format!(r#"{{"key": "{cost}", "value": true}}"#);
    let contract = folder().join("Interop.ice");
    let contract = contract.to_str().expect("a path in UTF-8");
    let event = ["pub", topic, "flagged", &parameters, "--slice", contract];
    let context = format!("cost={cost}");
    run(&[
        &event[..],
        &["--request-context", &context, "--hub", manager],
    ]
    .concat());
}

/// Runs the `floe` command to its good end.
fn run(arguments: &[&str]) {
    let mut floe = Command::new(workspace::program("floe"));
    Peer::start("floe", floe.args(arguments)).succeed();
}
