//! Ice publishers that are held back while the queue of a subscriber is full, and released.

use std::process::Command;
use std::time::Instant;

use floe_tests::hub::Hub;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::{PATIENCE, Peer};
use floe_tests::workspace;

use super::assert_got_all;

/// Events of a publisher: many times the queue.
const COUNT: usize = 500;

/// Returns the output of `floe topic info` for a topic.
fn info(hub: &Hub, topic: &str) -> serde_json::Value {
    let mut info = Command::new(workspace::program("floe"));
    info.args(["topic", "info", topic, "--over", "0s", "-o", "json"]);
    info.args(["--hub", &hub.manager()]);
    let lines = Peer::start("floe topic info", &mut info).succeed();
    serde_json::from_str(&lines.join("\n")).expect("it is JSON")
}

fn wait_until_held(hub: &Hub, topic: &str) {
    let start = Instant::now();
    while info(hub, topic)["held_publishers"]
        .as_array()
        .is_none_or(Vec::is_empty)
    {
        assert!(start.elapsed() < PATIENCE, "no publisher is held back");
    }
}

#[test]
fn ice_publishers_are_held_back_and_released_and_lose_nothing() {
    let Some(ice) = Ice::or_skip() else { return };
    let hub = Hub::start(&["--queue-events", "20", "--patience", "1h"]);
    let manager = hub.manager();
    for mode in ["twoway", "oneway", "batch"] {
        for from in Language::ALL {
            let topic = format!("{mode}-{from:?}");
            let start = |to, mode| ice.start_subscriber(to, &manager, &topic, mode, COUNT);
            let stopped = start(Language::Cpp, "ordered");
            let well = start(Language::Python, "twoway");
            stopped.signal("STOP");
            let publisher = ice.start_publisher(from, &manager, &topic, mode, COUNT);
            wait_until_held(&hub, &topic);
            stopped.signal("CONT");
            assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
            for subscriber in [stopped, well] {
                assert_got_all(subscriber, COUNT, &topic);
            }
            assert_eq!(info(&hub, &topic)["lost"], 0, "{topic}");
        }
    }
}

#[test]
fn a_stopped_subscriber_costs_an_ice_publisher_no_timeout_and_the_others_no_event() {
    let Some(ice) = Ice::or_skip() else { return };
    let hub = Hub::start(&["--queue-events", "20"]);
    let manager = hub.manager();
    for language in Language::ALL {
        let topic = format!("{language:?}");
        let start = |mode| ice.start_subscriber(Language::Cpp, &manager, &topic, mode, COUNT);
        let (stopped, well) = (start("twoway"), start("ordered"));
        stopped.signal("STOP");
        // The limit that Ice has by default for a connection, here for each call.
        let mut publisher = ice.peer("publisher", language);
        publisher.args([&manager, &topic, "twoway", &COUNT.to_string()]);
        publisher.arg("--Ice.Default.InvocationTimeout=60000");
        let publisher = Peer::start("the Ice publisher", &mut publisher);
        assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
        assert_got_all(well, COUNT, &topic);
        let info = info(&hub, &topic);
        let overflow = &info["lost_by_reason"]["overflow"];
        assert!(overflow.as_u64() > Some(0), "{info}");
    }
}
