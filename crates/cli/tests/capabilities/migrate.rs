//! `floe migrate`: what an IceStorm kept, made again at a hub.

use serde_json::Value as Json;

use crate::hub::Hub;

/// An export of icestormdb 3.7.8: three topics, two links, four subscribers.
const EXPORT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/vectors/icestorm-export/3.7.8.bin"
);

fn results(rows: &Json) -> Vec<(String, String)> {
    let text = |row: &Json, key: &str| row[key].as_str().expect("a text").to_owned();
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| (text(row, "kind"), text(row, "result")))
        .collect()
}

#[test]
fn topics_subscribers_and_links_of_an_icestorm_are_made_once() {
    let hub = Hub::start();
    let migrate = |more: &[&str]| {
        let arguments = [&["migrate", EXPORT, "-o", "json"], more].concat();
        results(&hub.run(&arguments).json())
    };
    let tried = migrate(&["--dry-run"]);
    assert!(
        tried.iter().all(|(_, result)| result == "would be made"),
        "{tried:?}"
    );
    hub.run(&["topic", "list", "-o", "raw"]).ended(0).said("");

    let made = migrate(&[]);
    let count = |kind: &str| {
        made.iter()
            .filter(|row| *row == &(kind.to_owned(), "made".to_owned()))
            .count()
    };
    // The subscriber that an adapter's name alone leads to needs a locator, which this hub has not.
    assert_eq!((count("topic"), count("link")), (3, 2), "{made:?}");
    assert!(count("subscriber") >= 3, "{made:?}");
    let links = hub
        .run(&["topic", "subscribers", "alpha", "-o", "json"])
        .ended(0)
        .json();
    let shown = links.to_string();
    for part in ["topic.beta", "cat/one", "two"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let again = migrate(&[]);
    assert!(
        again.iter().all(|(_, result)| result != "made"),
        "{again:?}"
    );
}

#[test]
fn a_file_that_is_no_export_is_refused() {
    let hub = Hub::start();
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    hub.run(&["migrate", other])
        .ended(2)
        .said("icestormdb --export");
    hub.run(&["migrate", "/nowhere/export.bin"])
        .ended(2)
        .said("cannot read");
    hub.run(&["migrate"]).ended(2);
}

#[test]
fn topics_and_links_are_copied_from_an_event_service_that_runs() {
    let old = Hub::named("Old");
    for topic in ["a", "b"] {
        old.run(&["topic", "create", topic]).ended(0);
    }
    old.run(&["topic", "link", "a", "b", "7"]).ended(0);
    let new = Hub::start();
    let copied = new.run(&["migrate", "--from", &old.manager, "-o", "json"]);
    let copied = results(&copied.ended(0).json());
    assert!(
        copied.iter().all(|(_, result)| result == "made"),
        "{copied:?}"
    );
    let subscribers = new
        .run(&["topic", "subscribers", "a", "-o", "json"])
        .ended(0)
        .json();
    // It leads to the new topic, not to the old one.
    let shown = subscribers.to_string();
    assert!(
        shown.contains("topic.b") && !shown.contains("Old/"),
        "{shown}"
    );
}
