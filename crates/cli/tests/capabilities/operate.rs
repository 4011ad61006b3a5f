//! Operators watch a hub: rates, `floe topic watch`, metrics and logs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use serde_json::Value as Json;

use crate::command::{floe, run, slice_file};
use crate::echo::Echo;
use crate::hub::{Hub, Running};

fn void(name: &str) -> String {
    slice_file(name, "module M { interface I { void f(); } }")
}

/// Sends these bytes to a server, and returns its answer until it closes.
fn asked(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    // A server that has heard enough may close.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A hub with metrics, and their address.
fn hub_with_metrics(arguments: &[&str]) -> (Hub, String) {
    let metrics = ["--transient", "--metrics", "127.0.0.1:0"];
    let hub = Hub::with(&[&metrics, arguments].concat());
    let line = hub.process.talked("metrics are at http://");
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split('/').next());
    let address = address.expect("it says where").to_owned();
    (hub, address)
}

#[test]
fn info_and_metrics_tell_who_is_held_back_by_whom_and_for_how_long() {
    let (hub, address) = hub_with_metrics(&["--queue-events", "5", "--patience", "1h"]);
    let file = void("held.ice");
    let subscriber = hub.running(&[
        "sub", "t", "--create", "--slice", &file, "--mode", "ordered",
    ]);
    subscriber.talk("subscribed");
    subscriber.stop();
    let publisher = hub.running(&["pub", "t", "f", "--slice", &file, "-n", "2000"]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let info = loop {
        let info = hub.run(&["topic", "info", "t", "--over", "0s"]);
        let info = info.ended(0).json();
        let held = info["held_publishers"].as_array().expect("a list");
        if !held.is_empty() {
            break info;
        }
        assert!(std::time::Instant::now() < deadline, "nobody is held back");
    };
    let held = &info["held_publishers"][0];
    assert_eq!(held["by_subscriber"], info["subscribers"][0]["identity"]);
    let publisher_address = held["held_publisher"].as_str().expect("an address");
    assert!(publisher_address.starts_with("127.0.0.1:"), "{held}");
    assert!(held["for_ms"].as_f64() > Some(0.0), "{held}");
    assert!(info["subscribers"][0]["held_ms"].as_f64() > Some(0.0));
    let table = hub.run(&["topic", "info", "t", "--over", "0s", "-o", "table"]);
    assert!(table.ended(0).stdout.contains("HELD PUBLISHER"));
    let page = asked(&address, b"GET /metrics HTTP/1.1\r\n\r\n");
    let row = page
        .lines()
        .find_map(|line| line.strip_prefix("floe_topic_held_seconds_total{topic=\"t\"} "));
    let seconds: f64 = row.expect("a row").parse().expect("a number");
    assert!(seconds > 0.0, "{page}");
    subscriber.signal("CONT");
    publisher.end().ended(0);
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    assert_eq!(info["lost"], 0, "{info}");
}

#[test]
fn info_tells_rates_queues_and_lag() {
    let hub = Hub::start();
    let file = void("rates.ice");
    hub.run(&["topic", "create", "t"]).ended(0);
    let publisher = hub.running(&[
        "pub", "t", "f", "--slice", &file, "-n", "100000", "--rate", "500",
    ]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let info = hub
            .run(&["topic", "info", "t", "--over", "500ms"])
            .ended(0)
            .json();
        let (queued, lag) = (&info["queued"], &info["lag_ms"]);
        assert_eq!(
            (queued.as_i64(), lag.as_f64()),
            (Some(0), Some(0.0)),
            "{info}"
        );
        if info["published_per_second"].as_i64() > Some(0) {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{info}");
    }
    drop(publisher);
    let info = hub
        .run(&["topic", "info", "t", "--over", "0"])
        .ended(0)
        .json();
    assert_eq!(info["published_per_second"], Json::Null);
}

#[test]
fn watch_says_that_a_topic_is_not_there_yet() {
    let hub = Hub::start();
    hub.run(&["topic", "watch", "nope", "-n", "1", "--interval", "10ms"])
        .ended(0)
        .said("there is no topic `nope`");
}

#[test]
fn watch_writes_a_line_for_each_look_with_the_hub_as_a_whole() {
    let hub = Hub::start();
    let file = void("watched.ice");
    for topic in ["a", "b"] {
        hub.run(&["topic", "create", topic]).ended(0);
        hub.run(&["pub", topic, "f", "--slice", &file, "-n", "3"])
            .ended(0);
    }
    let watch = ["topic", "watch", "-n", "2", "--interval", "50ms"];
    let ran = hub.run(&watch).ended(0);
    let looks: Vec<Json> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a look is a line of JSON"))
        .collect();
    assert_eq!(looks.len(), 2);
    for look in &looks {
        assert_eq!(look["topics"][1]["name"], "b");
        assert_eq!(look["topics"][1]["published"], 3);
        assert_eq!(look["topics"][1]["published_per_second"], 0);
        assert_eq!(look["total"]["published"], 6);
        assert!(look["connections"].as_i64() > Some(0));
    }
    let one = hub.run(&[
        "topic",
        "watch",
        "a",
        "-n",
        "1",
        "--interval",
        "10ms",
        "-o",
        "table",
    ]);
    let table = one.ended(0).stdout;
    assert!(table.starts_with("NAME"), "{table}");
    assert!(table.contains("\na ") && !table.contains("\nb "), "{table}");
    assert!(table.contains("\n(all) "), "{table}");
}

#[test]
fn watch_looks_on_while_the_hub_is_restarted() {
    let hub = Hub::start();
    let watch = hub.running(&["topic", "watch", "--interval", "20ms", "-o", "jsonl"]);
    watch.line();
    let endpoint = hub.manager.split_once(':').expect("it has one").1;
    let listen = endpoint.split(" -t ").next().expect("there is a first");
    let listen = listen.to_owned();
    hub.process.signal("KILL");
    watch.talk("waiting until the hub is back: ");
    let serve = ["serve", "--transient", "--listen", &listen];
    let again = Running::start(&serve);
    again.line();
    run(&["topic", "create", "new", "--hub", &listen]).ended(0);
    while !watch.line().contains("\"name\":\"new\"") {}
}

#[test]
fn watch_says_why_a_hub_is_away_and_ends_where_another_service_is() {
    let hub = Hub::start();
    let watch = [
        "topic",
        "watch",
        "--interval",
        "20ms",
        "--timeout",
        "300ms",
        "-o",
        "jsonl",
    ];
    let watch = hub.running(&watch);
    watch.line();
    let endpoint = hub.manager.split_once(':').expect("it has one").1;
    let listen = endpoint.split(" -t ").next().expect("there is a first");
    let (_, port) = listen.split_once(" -p ").expect("it has a port");
    hub.process.signal("KILL");
    watch.talk("waiting until the hub is back: no hub: cannot connect");
    // It takes connections, and never says a word.
    let deaf = TcpListener::bind(format!("127.0.0.1:{port}")).expect("the port is free again");
    watch.talk("waiting until the hub is back: the hub did not answer: ");
    drop(deaf);
    watch.talk("waiting until the hub is back: no hub: cannot connect");
    let _echo = Echo::on(listen, &[]);
    watch
        .end()
        .ended(4)
        .said("the hub does not report its state");
}

#[test]
fn what_is_told_of_all_topics_does_not_forget_those_that_are_gone() {
    let (hub, address) = hub_with_metrics(&[]);
    let file = void("gone.ice");
    for topic in ["kept", "gone"] {
        hub.run(&["topic", "create", topic]).ended(0);
        hub.run(&["pub", topic, "f", "--slice", &file, "-n", "3"])
            .ended(0);
    }
    hub.run(&["topic", "remove", "gone"]).ended(0);
    let watch = ["topic", "watch", "-n", "1", "--interval", "10ms"];
    let look = hub.run(&watch).ended(0).json();
    assert_eq!(look["topics"].as_array().map(Vec::len), Some(1));
    assert_eq!(look["total"]["published"], 6);
    let page = asked(&address, b"GET /metrics HTTP/1.1\r\n\r\n");
    assert!(page.contains("\nfloe_hub_published_total 6\n"), "{page}");
    // Of some topics alone, the sum is theirs.
    let look = hub.run(&[&watch[..], &["kept"]].concat()).ended(0).json();
    assert_eq!(look["total"]["published"], 3);
}

#[test]
fn metrics_tell_what_became_of_every_event() {
    let (hub, address) = hub_with_metrics(&["--metrics-subscribers"]);
    let file = void("metrics.ice");
    hub.run(&["topic", "create", "a\"b"]).ended(0);
    let subscriber = hub.running(&["sub", "a\"b", "--slice", &file]);
    subscriber.talk("subscribed");
    hub.run(&["pub", "a\"b", "f", "--slice", &file, "-n", "7"])
        .ended(0);
    for _ in 0..7 {
        subscriber.line();
    }
    let page = asked(
        &address,
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n",
    );
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    for line in [
        "floe_topic_published_total{topic=\"a\\\"b\"} 7",
        "floe_topic_lost_total{topic=\"a\\\"b\",reason=\"overflow\"} 0",
        "floe_topic_subscribers{topic=\"a\\\"b\"} 1",
        "floe_topic_queued{topic=\"a\\\"b\"} 0",
        "floe_hub_topics 1",
        "floe_hub_published_total 7",
        "floe_hub_lost_total{reason=\"failed\"} 0",
        "# EOF",
    ] {
        assert!(
            page.lines().any(|found| found == line),
            "no {line} in {page}"
        );
    }
    // All events have left their queue, once or several together.
    let value = |name: &str| {
        let found = page.lines().find_map(|line| line.strip_prefix(name));
        let value = found.unwrap_or_else(|| panic!("no {name} in {page}"));
        value.trim().parse::<f64>().expect("a number")
    };
    let waits = value("floe_hub_queue_wait_seconds_count ");
    assert!((1.0..=7.0).contains(&waits), "{page}");
    let longest = value("floe_hub_queue_wait_seconds_bucket{le=\"+Inf\"} ");
    assert!(
        (longest - waits).abs() < 0.5,
        "buckets are cumulative: {page}"
    );
    assert!(value("floe_hub_queue_wait_seconds_sum ") > 0.0);
    assert!(value("floe_hub_answer_seconds_count ") <= 7.0);
    assert!(value("floe_hub_delivery_seconds_count ") <= 7.0);
    assert!(page.contains("floe_subscriber_offered_total{topic=\"a\\\"b\",subscriber=\"floe-sub/"));
    for name in ["resident_memory_bytes", "open_fds", "max_fds"] {
        assert!(page.contains(&format!("\nprocess_{name} ")), "{page}");
    }
    hub.process.signal("TERM");
    hub.process.end().ended(0);
}

#[test]
fn who_asks_for_metrics_badly_harms_nobody() {
    let (hub, address) = hub_with_metrics(&[]);
    let long = [b"GET /metrics HTTP/1.1\r\nX: ".to_vec(), vec![b'x'; 9000]].concat();
    assert!(asked(&address, &long).starts_with("HTTP/1.1 431 "));
    let post = b"POST /metrics HTTP/1.1\r\n\r\n";
    assert!(asked(&address, post).starts_with("HTTP/1.1 405 "));
    assert!(asked(&address, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    // They say nothing, and keep nobody from asking for long.
    let connect = |_| TcpStream::connect(&address).expect("the system waits");
    let _silent: Vec<_> = (0..20).map(connect).collect();
    let page = asked(&address, b"GET /metrics HTTP/1.1\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    hub.run(&["topic", "list"]).ended(0);
}

#[test]
fn the_log_of_a_hub_may_be_json_with_the_time() {
    let hub = Hub::with(&["--transient", "--log-format", "json", "-v"]);
    hub.run(&["topic", "create", "t"]).ended(0);
    let line = hub.process.talked("created topic");
    let json: Json = serde_json::from_str(&line).expect("a line is JSON");
    assert_eq!(json["message"], "created topic \"t\"");
    assert_eq!(json["level"], "INFO");
    assert!(
        json["timestamp"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z'))
    );
    let hub = Hub::with(&["--transient", "--log-format", "text", "-v"]);
    hub.run(&["topic", "create", "t"]).ended(0);
    let line = hub.process.talked("created topic");
    assert!(line.starts_with("20") && line.contains("INFO"), "{line}");
}

#[test]
fn a_hub_may_have_as_many_descriptors_as_the_system_lets_it() {
    let mut shell = Command::new("sh");
    let script =
        "ulimit -S -n 64; exec \"$0\" serve --transient -v --listen 'tcp -h 127.0.0.1 -p 0'";
    shell.args(["-c", script]).arg(floe().get_program());
    let hub = Running::run(shell);
    hub.talk("raised the limit of open files from 64 to ");
}

#[test]
fn a_hub_without_descriptors_ends_no_subscription() {
    let mut shell = Command::new("sh");
    // Enough to hear of the subscribers over one connection, and too few to connect to them.
    let script = "ulimit -n 24; exec \"$0\" serve --transient --listen 'tcp -h 127.0.0.1 -p 0'";
    shell.args(["-c", script]).arg(floe().get_program());
    let process = Running::run(shell);
    let line = process.line();
    let manager = line.strip_prefix("ready ").expect("it says ready first");
    let manager = manager.to_owned();
    let hub = Hub { process, manager };
    hub.run(&["topic", "create", "t"]).ended(0);
    // It takes connections, and never says a word.
    let deaf = TcpListener::bind("0.0.0.0:0").expect("there are free ports");
    let port = deaf.local_addr().expect("it is bound").port();
    let storm = slice_file("descriptors-storm.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = hub.manager.replace("TopicManager", "topic.t");
    for number in 2..30 {
        // Each on a host of its own, for connections to one are shared.
        let proxy = format!("x{number}:tcp -h 127.0.0.{number} -p {port}");
        let subscriber = format!(r#"{{"qos": {{}}, "subscriber": "{proxy}"}}"#);
        let subscribe = "subscribeAndGetPublisher";
        run(&["call", &topic, subscribe, &subscriber, "--slice", &storm]).ended(0);
    }
    let file = void("descriptors.ice");
    // One alone: nothing is left with which those whom it could not reach may fail later.
    hub.run(&["pub", "t", "f", "--slice", &file]).ended(0);
    let name = |line: String| line.split('"').nth(1).map(str::to_owned);
    let lost = "which stays subscribed: cannot connect to";
    let unreached = [(); 3].map(|()| name(hub.process.talked(lost)).expect("it has a name"));
    // Those whom it reached have failed; those whom it could not are not blamed for that.
    drop(deaf);
    let info = hub.run(&["topic", "info", "t"]).ended(0).json();
    let subscribers = info["subscribers"].as_array().expect("it lists them");
    for name in unreached {
        let subscriber = subscribers.iter().find(|own| own["identity"] == *name);
        let state = subscriber.map(|own| &own["state"]);
        assert_eq!(state, Some(&Json::from("online")), "{name}: {info}");
    }
}

#[test]
fn an_event_longer_than_the_queue_is_told_as_such() {
    let hub = Hub::with(&["--transient", "--queue-bytes", "100"]);
    let slice = slice_file(
        "long.ice",
        "module M { interface I { void f(string text); } }",
    );
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &slice]);
    subscriber.talk("subscribed");
    let event = format!(r#"{{"text": "{}"}}"#, "x".repeat(500));
    hub.run(&["pub", "t", "f", &event, "--slice", &slice])
        .ended(0);
    let line = hub.process.talked(" of topic \"t\" loses an event of ");
    assert!(line.contains("its queue holds at most 100 bytes"), "{line}");
}
