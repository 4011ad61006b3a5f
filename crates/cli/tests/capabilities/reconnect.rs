//! Subscribers and publishers while their hub restarts.

use std::io::Write;
use std::net::TcpListener;
use std::process::{ChildStdin, Stdio};

use crate::command::{floe, run, slice_file};
use crate::hub::{Hub, Running};

const CONTRACT: &str = "module M { interface I { void n(long number); } }";

/// A port that nobody uses now.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let port = listener.local_addr().expect("it is bound").port();
    port.to_string()
}

/// A hub at this port, ready.
fn hub(port: &str, options: &[&str]) -> Running {
    let listen = format!("127.0.0.1:{port}");
    let hub = Running::start(&[&["serve", "--listen", &listen], options].concat());
    assert!(hub.line().starts_with("ready "));
    hub
}

/// A publisher of the lines that are written to it.
fn publisher(arguments: &[&str]) -> (Running, ChildStdin) {
    let mut command = floe();
    command.args(arguments).stdin(Stdio::piped());
    Running::with_input(command)
}

/// A subscriber of topic `t` of this hub, and a publisher of the lines that are written to it, after a first event.
fn pair(at: &str, file: &str) -> (Running, Running, ChildStdin) {
    let common = ["--create", "--slice", file, "--hub", at];
    let subscriber = Running::start(&[&["sub", "t"], &common[..]].concat());
    subscriber.talk("subscribed to topic `t`");
    let (publisher, mut lines) = publisher(&[&["pub", "t", "n"], &common[..]].concat());
    writeln!(lines, "[1]").expect("it reads");
    assert!(subscriber.line().contains(r#""number":1"#));
    wait_for_answers(at);
    (subscriber, publisher, lines)
}

/// Waits until the hub has answered the publisher of an event that has arrived: an event may be there before the answer.
fn wait_for_answers(at: &str) {
    // The hub answers this after what it did before.
    run(&["topic", "info", "t", "--hub", at]).ended(0);
}

#[test]
fn a_subscriber_and_a_publisher_survive_a_restart_of_a_hub_that_forgets_everything() {
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let file = slice_file("restart.ice", CONTRACT);
    let first = hub(&port, &["--transient"]);
    let (subscriber, publisher, mut lines) = pair(&at, &file);

    drop(first);
    subscriber.talk("subscribing again");
    writeln!(lines, "[2]").expect("it reads");
    publisher.talk("trying again");
    let _second = hub(&port, &["--transient"]);
    publisher.talk("the hub is back: publishing 1 event again");
    subscriber.talk("subscribed again to topic `t`");
    writeln!(lines, "[3]").expect("it reads");
    // The second event may have come before the subscriber did.
    while !subscriber.line().contains(r#""number":3"#) {}
    drop(lines);
    publisher.end().ended(0);
    subscriber.signal("INT");
    subscriber.end().ended(6);
}

#[test]
fn an_event_that_is_lost_under_way_is_published_again_without_waiting_for_another() {
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let file = slice_file("under-way.ice", CONTRACT);
    let first = hub(&port, &["--transient"]);
    let (_subscriber, publisher, mut lines) = pair(&at, &file);

    // The event may stand in the connection when the hub ends, or come later: both are lost events.
    first.signal("STOP");
    writeln!(lines, "[2]").expect("it reads");
    drop(first);
    publisher.talk("trying again");
    let _second = hub(&port, &["--transient"]);
    publisher.talk("the hub is back: publishing 1 event again");
    drop(lines);
    publisher.end().ended(0);
}

#[test]
fn an_event_that_is_too_long_for_the_hub_is_given_up_with_its_length() {
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let contract = "module M { interface I { void note(string text); } }";
    let file = slice_file("too-long.ice", contract);
    let _hub = hub(&port, &["--transient"]);
    let common = ["--create", "--slice", &file, "--hub", &at];
    let publish = [&["pub", "t", "note"], &common[..]].concat();
    let (publisher, mut lines) = publisher(&publish);
    writeln!(lines, "[\"short\"]").expect("it reads");
    // The hub may end the connection while this is still written.
    let _ = writeln!(lines, "[\"{}\"]", "x".repeat(2_000_000));
    drop(lines);
    publisher
        .end()
        .ended(1)
        .said("the event has 2000011 bytes")
        .said("connections.message-bytes");
}

#[test]
fn a_hub_that_keeps_subscriptions_delivers_everything_after_its_restart() {
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let file = slice_file("restart-kept.ice", CONTRACT);
    let data = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("restart-kept");
    let _ = std::fs::remove_dir_all(&data);
    let data = data.to_str().expect("its path is text");
    let first = hub(&port, &["--data", data]);
    let common = ["--create", "--slice", &file, "--hub", &at];
    // A hub keeps a subscription that has an endpoint. One over a connection ends with that.
    let listen = ["sub", "t", "-n", "2", "--listen", "127.0.0.1"];
    let subscribe = [&listen[..], &common].concat();
    let subscriber = Running::start(&subscribe);
    subscriber.talk("subscribed to topic `t`");
    run(&[&["pub", "t", "n", "[1]"], &common[..]].concat()).ended(0);
    assert!(subscriber.line().contains(r#""number":1"#));
    drop(first);
    let _second = hub(&port, &["--data", data]);
    subscriber.talk("has kept the subscription to topic `t`");
    run(&[&["pub", "t", "n", "[2]"], &common[..]].concat()).ended(0);
    assert!(subscriber.line().contains(r#""number":2"#));
    subscriber.end().ended(0);
}

#[test]
fn without_reconnecting_a_lost_hub_is_the_end() {
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let file = slice_file("restart-not.ice", CONTRACT);
    let first = hub(&port, &["--transient"]);
    let common = ["--create", "--slice", &file, "--hub", &at, "--no-reconnect"];
    let subscriber = Running::start(&[&["sub", "t"], &common[..]].concat());
    subscriber.talk("subscribed to topic `t`");
    let (publisher, mut lines) = publisher(&[&["pub", "t", "n"], &common[..]].concat());
    writeln!(lines, "[1]").expect("it reads");
    assert!(subscriber.line().contains(r#""number":1"#));
    wait_for_answers(&at);
    drop(first);
    subscriber.talk("lost the hub or the topic");
    let code = subscriber.end().code;
    assert!(matches!(code, Some(1 | 5)), "{code:?}");
    writeln!(lines, "[2]").expect("it reads");
    publisher.talk("after 1 event");
    drop(lines);
    let code = publisher.end().code;
    assert!(matches!(code, Some(1 | 5)), "{code:?}");
}

#[test]
fn events_in_batches_wait_for_a_hub_that_is_known_to_be_gone() {
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let file = slice_file("restart-batch.ice", CONTRACT);
    let first = hub(&port, &["--transient"]);
    let common = ["--create", "--slice", &file, "--hub", &at];
    let batch = ["pub", "t", "n", "--batch", "-vv"];
    let (publisher, mut lines) = publisher(&[&batch[..], &common].concat());
    let published = || {
        let info = run(&["topic", "info", "t", "--hub", &at]);
        (info.code == Some(0)).then(|| info.json()["published"].clone())
    };
    writeln!(lines, "[1]").expect("it reads");
    while published().is_none_or(|count| count != 1) {}
    drop(first);
    // Before the publisher knows it, the system may take an event for a connection that is about to break, and nothing
    // can show that it was lost.
    publisher.talk("the connection to");
    writeln!(lines, "[2]").expect("it reads");
    publisher.talk("trying again");
    let _second = hub(&port, &["--transient"]);
    drop(lines);
    publisher.end().ended(0);
    assert_eq!(published(), Some(1.into()));
}

#[test]
fn events_without_answers_go_to_the_topic_of_a_hub_that_has_forgotten_it() {
    for how in ["--oneway", "--batch"] {
        let port = free_port();
        let at = format!("127.0.0.1:{port}");
        let file = slice_file(&format!("restart{how}.ice"), CONTRACT);
        let first = hub(&port, &["--transient"]);
        let common = ["--create", "--slice", &file, "--hub", &at];
        let publish = ["pub", "t", "n", how, "-vv"];
        let (publisher, mut lines) = publisher(&[&publish[..], &common].concat());
        let published = || {
            let info = run(&["topic", "info", "t", "--hub", &at]);
            (info.code == Some(0)).then(|| info.json()["published"].clone())
        };
        writeln!(lines, "[1]").expect("it reads");
        while published().is_none_or(|count| count != 1) {}
        drop(first);
        publisher.talk("the connection to");
        let _second = hub(&port, &["--transient"]);
        writeln!(lines, "[2]").expect("it reads");
        drop(lines);
        publisher.end().ended(0);
        assert_eq!(published(), Some(1.into()), "{how}");
    }
}

#[test]
fn events_of_a_topic_that_was_removed_are_published_again_in_their_order() {
    let file = slice_file("removed.ice", CONTRACT);
    let config = slice_file("removed.toml", "[topic.t]\ndurable = true\n");
    let data = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("removed");
    let _ = std::fs::remove_dir_all(&data);
    let data = data.to_str().expect("its path is text");
    let hub = Hub::with(&["--data", data, "--config", &config]);
    let publish = ["pub", "t", "n", "--create", "--slice", &file, "--hub"];
    let (publisher, mut lines) = publisher(&[&publish[..], &[&hub.manager]].concat());
    writeln!(lines, "[0]").expect("it reads");
    let published = || {
        let info = hub.run(&["topic", "info", "t"]);
        (info.code == Some(0)).then(|| info.json()["published"].clone())
    };
    while published().is_none_or(|count| count != 1) {}
    hub.run(&["topic", "remove", "t"]).ended(0);
    // More than are under way at a time.
    let all: String = (1..=100).map(|number| format!("[{number}]\n")).collect();
    write!(lines, "{all}").expect("it reads");
    drop(lines);
    publisher.end().ended(0);
    let log = hub
        .run(&["topic", "replay", "t", "--slice", &file])
        .ended(0);
    let numbers = log.stdout.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).expect("an event is JSON");
        event["parameters"]["number"]
            .as_i64()
            .expect("it has a number")
    });
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=100).collect::<Vec<_>>());
}

/// A subscriber whose subscription was ended by somebody else, and who has subscribed again.
fn subscribed_again(hub: &Hub, subscriber: Running) -> Running {
    let row = hub
        .run(&["topic", "subscribers", "t", "-o", "raw"])
        .ended(0);
    hub.run(&["topic", "unsubscribe", "t", row.stdout.trim()])
        .ended(0);
    subscriber.talk("the hub has ended this subscription; subscribing again");
    subscriber
}

#[test]
fn a_subscriber_of_the_past_gets_no_event_twice_when_it_subscribes_again() {
    let file = slice_file("restart-past.ice", CONTRACT);
    let data = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("restart-past");
    let _ = std::fs::remove_dir_all(&data);
    let hub = Hub::with(&["--data", data.to_str().expect("its path is text")]);
    hub.run(&["topic", "create", "t", "--durable"]).ended(0);
    let slice = ["--slice", &file];
    let publish = |event| {
        hub.run(&[&["pub", "t", "n", event][..], &slice].concat())
            .ended(0)
    };
    publish("[1]");
    for (wishes, told, code) in [
        (&["--from", "beginning"][..], "missing", 6),
        (
            &["--from", "beginning", "--durable", "d"],
            "goes on where it ended",
            130,
        ),
    ] {
        let subscribe = [&["sub", "t"], &slice[..], wishes].concat();
        let subscriber = hub.running(&subscribe);
        assert!(subscriber.line().contains(r#""number":1"#));
        let subscriber = subscribed_again(&hub, subscriber);
        let again = subscriber.talked("subscribed again to topic `t`");
        assert!(again.contains(told), "{again}");
        publish("[2]");
        assert!(subscriber.line().contains(r#""number":2"#));
        subscriber.signal("INT");
        subscriber.end().ended(code);
        // The next one reads the log of a new topic.
        hub.run(&["topic", "remove", "t"]).ended(0);
        hub.run(&["topic", "create", "t", "--durable"]).ended(0);
        publish("[1]");
    }
}

#[test]
fn a_signal_ends_a_subscriber_and_a_recorder_whose_hub_never_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let at = silent.local_addr().expect("it is bound").to_string();
    let file = slice_file("restart-silent.ice", CONTRACT);
    let recording = format!("{file}.mcap");
    let mut commands = vec![vec!["sub", "t", "--slice", &file]];
    if cfg!(feature = "recordings") {
        commands.push(vec!["record", "t", "-f", &recording]);
    }
    for mut command in commands {
        command.extend(["--hub", &at]);
        let running = Running::start(&command);
        let _connection = silent.accept().expect("it connects");
        running.signal("INT");
        running.end().ended(130);
    }
    assert!(!std::path::Path::new(&recording).exists());
}
