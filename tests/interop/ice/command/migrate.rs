//! `floe migrate`: subscribers of an IceStorm go on with a hub, and notice nothing.

use floe_tests::hub::Hub;
use floe_tests::ice::{Ice, Language, event_lines};

use super::{COUNT, run};

#[test]
fn subscribers_of_an_icestorm_that_is_gone_get_the_events_of_the_hub() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut storm = ice.start_storm();
    let manager = storm.manager().to_owned();
    let admin = |command: &str| ice.admin(&manager, command).expect("IceStorm does it");
    for topic in ["source", "twoway", "ordered", "oneway", "batch"] {
        admin(&format!("create {topic}"));
    }
    let modes = ["twoway", "ordered", "oneway", "batch"];
    let subscribers = modes.map(|mode| {
        admin(&format!("link source {mode} 0"));
        Language::ALL.map(|to| ice.start_subscriber(to, &manager, mode, mode, COUNT))
    });
    let export = storm.export();

    let hub = Hub::start(&[]);
    let export = export.to_str().expect("a path in UTF-8");
    let made = run(&["migrate", export, "--hub", &hub.manager(), "-o", "jsonl"]);
    assert_eq!(made.status.code(), Some(0), "{made:?}");
    let is_made = |line: &&String| line.contains(r#""result":"made""#);
    // Five topics, four links, two subscribers for each mode.
    assert_eq!(made.lines.iter().filter(is_made).count(), 17, "{made:?}");
    // Over the links, to all.
    let publisher = ice.start_publisher(Language::Cpp, &hub.manager(), "source", "twoway", COUNT);
    publisher.succeed();
    for (mode, subscribers) in modes.into_iter().zip(subscribers) {
        for subscriber in subscribers {
            // It fails at last, because the IceStorm is gone from which it unsubscribes.
            let mut lines = subscriber.end().lines;
            lines.retain(|line| !line.starts_with("received"));
            lines.sort();
            let mut expected = event_lines(COUNT);
            expected.sort();
            assert_eq!(lines, expected, "{mode}");
        }
    }
}
