//! Every table and every page of help fits into a terminal of 80 characters, however long the names are.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::command::{floe, run, slice_file};
use crate::hub::{Hub, Running};
use crate::terminal::{OnTerminal, lines};

/// Runs the command on a terminal, with contexts of its own, and checks the length of each line.
#[track_caller]
fn fits(contexts: &Path, arguments: &[&str], code: i32) -> Vec<String> {
    let mut command = floe();
    command.args(arguments).env("XDG_CONFIG_HOME", contexts);
    let (seen, ended) = OnTerminal::run(24, 80, command).end();
    assert_eq!(ended, Some(code), "{arguments:?}: {seen}");
    let lines = lines(&seen);
    assert!(!lines.is_empty(), "{arguments:?} shows nothing");
    for line in &lines {
        let count = line.chars().count();
        assert!(count <= 80, "{arguments:?}: {count} characters in {line:?}");
    }
    lines
}

/// A folder for one test that is not there yet.
fn folder(name: &str) -> String {
    let folder = env!("CARGO_TARGET_TMPDIR");
    format!("{folder}/{name}-{}", std::process::id())
}

/// A name that is longer than a line.
fn long(name: &str) -> String {
    format!("{name}-{}", "with-a-name-that-no-line-holds".repeat(4))
}

#[test]
fn tables_of_a_hub_fit_into_80_characters() {
    let hub = Hub::with(&["--data", &folder("tables-of-a-hub")]);
    let file = slice_file("tables.ice", "module M { interface I { void f(); } }");
    let [plain, durable, other] = ["plain", "durable", "other"].map(long);
    hub.run(&["topic", "create", &plain, &other]).ended(0);
    hub.run(&["topic", "create", &durable, "--durable"])
        .ended(0);
    hub.run(&["topic", "link", &plain, &other]).ended(0);
    let subscriber = hub.running(&["sub", &plain, "--slice", &file]);
    subscriber.talk("subscribed");
    let id = long("id");
    let reader = hub.running(&["sub", &durable, "--slice", &file, "--durable", &id]);
    reader.talk("subscribed");

    let nowhere = Path::new("/nowhere");
    let manager = ["--hub", hub.manager.as_str()];
    let asked = |arguments: &[&str]| fits(nowhere, &[arguments, &manager].concat(), 0);
    asked(&["topic", "list"]);
    asked(&["topic", "subscribers", &plain]);
    asked(&["topic", "position", &durable]);
    asked(&["status"]);
    asked(&["doctor"]);
    let watch = ["topic", "watch", "-n", "1", "--interval", "50ms"];
    asked(&watch);
    asked(&[&watch[..], &[&plain]].concat());
    asked(&["topic", "create", &long("new")]);
    let info = asked(&["topic", "info", &plain]);
    // What a line does not hold stands in the next one: nothing is lost.
    let shown: String = info
        .iter()
        .flat_map(|line| line.split_whitespace())
        .collect();
    assert!(shown.contains(&format!("topic.{plain}")), "{info:#?}");
    fits(nowhere, &["proxy", "show", &hub.manager], 0);
    fits(
        nowhere,
        &["ping", &hub.manager, "-n", "5", "--interval", "0s"],
        0,
    );
}

#[test]
fn the_table_of_dead_letters_fits_into_80_characters() {
    let hub = Hub::with(&["--data", &folder("tables-of-dead-letters")]);
    let operation = long("op").replace('-', "_");
    let text = format!("module M {{ interface I {{ void {operation}(); }} }}");
    let file = slice_file("tables-dead.ice", &text);
    let topic = long("topic");
    hub.run(&["topic", "create", &topic, "--durable"]).ended(0);
    // An object that knows no operation of the contract refuses every event.
    let echo = Running::start(&["echo", "--listen", "tcp -h 127.0.0.1 -p 0"]);
    let line = echo.line();
    let echo_proxy = line.strip_prefix("ready ").expect("it says ready first");
    let qos = json!({"floe.durable": long("id"), "floe.attempts": "1", "reliability": "ordered"});
    let parameters = json!({"qos": qos, "subscriber": echo_proxy}).to_string();
    let info = hub.run(&["topic", "info", &topic]).ended(0).json();
    let proxy = info["proxy"].as_str().expect("a proxy");
    let storm = slice_file("tables-storm.ice", "#include <IceStorm/IceStorm.ice>");
    let subscribe = [
        "call",
        proxy,
        "subscribeAndGetPublisher",
        &parameters,
        "--slice",
        &storm,
    ];
    run(&subscribe).ended(0);
    hub.run(&["pub", &topic, &operation, "--slice", &file])
        .ended(0);
    let begin = Instant::now();
    let list = ["dlq", "list", &topic];
    while hub.run(&list).ended(0).stdout.is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no dead letter");
    }
    fits(
        Path::new("/nowhere"),
        &[&list[..], &["--hub", &hub.manager]].concat(),
        0,
    );
}

#[test]
fn tables_without_a_hub_fit_into_80_characters() {
    let contexts = folder("tables-contexts");
    let contexts = Path::new(&contexts);
    let name = long("context");
    let hub = format!(
        "IceStorm/TopicManager:tcp -h {}.example -p 10000",
        long("host")
    );
    let mut add = floe();
    add.env("XDG_CONFIG_HOME", contexts);
    add.args(["context", "add", &name, "--hub", &hub]);
    assert!(add.status().expect("the command is there").success());
    for (arguments, code) in [
        (&["context", "list"][..], 0),
        (&["context", "show"], 0),
        (&["config", "list"], 0),
        (&["cheat"], 0),
        (&["proxy", "parse", &hub], 0),
        (&["lab", "list"], 0),
    ] {
        if cfg!(feature = "lab") || arguments[0] != "lab" {
            fits(contexts, arguments, code);
        }
    }
}

#[test]
fn every_page_of_help_fits_into_80_characters() {
    let mut unread = vec![Vec::new()];
    let mut count = 0;
    while let Some(command) = unread.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let page = fits(
            Path::new("/nowhere"),
            &[&words[..], &["--help"]].concat(),
            0,
        );
        count += 1;
        let listed = page.iter().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty());
        // The meaning of a command goes on in lines that are indented further.
        for line in listed.filter(|line| !line.starts_with("   ")) {
            let name = line.split_whitespace().next().expect("a name");
            if name != "help" {
                unread.push([&command[..], &[name.to_owned()]].concat());
            }
        }
    }
    assert!(count > 40, "{count} pages");
}
