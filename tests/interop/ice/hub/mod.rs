//! A Floe hub in the place of IceStorm: unmodified Ice 3.7.8 publishers, subscribers and `icestormadmin`.

mod access;
mod backpressure;
mod durable;
mod encrypted;
#[cfg(feature = "ice38")]
mod ice38;
mod located;
mod metrics;
mod published;
mod registered;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use floe_tests::hub::{Data, Hub, serve};
use floe_tests::ice::{Ice, Language, event_lines, was_traced};
use floe_tests::peer::{PATIENCE, Peer};
use floe_tests::workspace;

/// Events of one publisher in one test.
const COUNT: usize = 20;

#[test]
fn events_reach_ice_subscribers_in_every_mode() {
    let Some(ice) = Ice::or_skip() else { return };
    let hub = Hub::start(&[]);
    for mode in ["twoway", "ordered", "oneway", "batch"] {
        for from in Language::ALL {
            let topic = format!("{mode}-{from:?}");
            let manager = hub.manager();
            let start = |to| ice.start_subscriber(to, &manager, &topic, mode, COUNT);
            let subscribers = Language::ALL.map(start);
            let publisher_mode = if mode == "ordered" { "twoway" } else { mode };
            let publisher = ice.start_publisher(from, &manager, &topic, publisher_mode, COUNT);
            assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
            for (subscriber, to) in subscribers.into_iter().zip(Language::ALL) {
                assert_got_all(subscriber, COUNT, &format!("{mode}, {from:?} to {to:?}"));
            }
        }
    }
}

#[test]
fn a_hub_answers_as_icestorm_does() {
    let Some(ice) = Ice::or_skip() else { return };
    let (storm, hub) = (ice.start_storm(), Hub::start(&[]));
    let converse = |manager: &str| {
        let mut python = ice.peer("conversation", Language::Python);
        Peer::start("the conversation", python.arg(manager)).succeed()
    };
    let (expected, came) = (converse(storm.manager()), converse(&hub.manager()));
    assert_eq!(expected.last().map(String::as_str), Some("done"));
    for (expected, came) in expected.iter().zip(&came) {
        assert_eq!(came, expected);
    }
    assert_eq!(came.len(), expected.len());
}

#[test]
fn publishers_and_subscribers_of_different_modes_meet() {
    let Some(ice) = Ice::or_skip() else { return };
    let hub = Hub::start(&[]);
    let manager = hub.manager();
    for from in ["twoway", "oneway", "batch"] {
        let start = |to| ice.start_subscriber(Language::Cpp, &manager, from, to, 2_000);
        let subscribers = ["twoway", "oneway", "batch"].map(start);
        let publisher = ice.start_publisher(Language::Cpp, &manager, from, from, 2_000);
        publisher.succeed();
        for subscriber in subscribers {
            assert_got_all(subscriber, 2_000, from);
        }
    }
}

#[test]
fn events_reach_ice_subscribers_over_other_transports() {
    let Some(ice) = Ice::or_skip() else { return };
    let data = Data::new("transports");
    let endpoints = "tcp -h 127.0.0.1 -p 0:udp -h 127.0.0.1 -p 0:ws -h 127.0.0.1 -p 0";
    let (_hub, manager) = serve(&data, endpoints);
    for (transport, modes) in [
        ("ws", &["twoway", "ordered", "oneway", "batch"][..]),
        ("udp", &["datagram", "batch-datagram"]),
    ] {
        let config = workspace::target_dir().join(format!("subscriber-{transport}.config"));
        let endpoints = format!("Subscriber.Endpoints={transport} -h 127.0.0.1 -p 0");
        fs::write(&config, endpoints).expect("the target folder can be written");
        let option = format!("--Ice.Config={}", config.display());
        for mode in modes {
            for language in Language::ALL {
                let topic = format!("{transport} {mode} {language:?}");
                let mut subscriber = ice.peer("subscriber", language);
                subscriber.args([manager.as_str(), &topic, mode, &COUNT.to_string(), &option]);
                let mut subscriber = Peer::start("the Ice subscriber", &mut subscriber);
                subscriber.ready();
                let from = if transport == "udp" {
                    "datagram"
                } else {
                    "twoway"
                };
                let publisher = ice.start_publisher(language, &manager, &topic, from, COUNT);
                publisher.succeed();
                assert_got_all(subscriber, COUNT, &topic);
            }
        }
    }
}

#[test]
fn compressed_events_come_in_and_go_out_compressed() {
    let Some(ice) = Ice::or_skip() else { return };
    let hub = Hub::start(&[]);
    let manager = hub.manager();
    let config = workspace::target_dir().join("compressing-subscriber.config");
    let endpoints = "Subscriber.Endpoints=tcp -h 127.0.0.1 -p 0 -z";
    fs::write(&config, endpoints).expect("the target folder can be written");
    for (language, mode) in Language::ALL.into_iter().zip(["batch", "twoway"]) {
        let topic = format!("compressed-{language:?}");
        let mut subscriber = ice.peer("subscriber", language);
        subscriber.args([&manager, &topic, "batch", "200"]);
        let options = [
            &format!("--Ice.Config={}", config.display()),
            "--Ice.Trace.Protocol=1",
        ];
        subscriber.args(options);
        let mut subscriber = Peer::start("the Ice subscriber", &mut subscriber);
        subscriber.ready();
        let mut publisher = ice.peer("publisher", language);
        publisher.args([&manager, &topic, mode, "200"]);
        publisher.args(["--Ice.Override.Compress=1", "--Ice.Trace.Protocol=1"]);
        let publisher = Peer::start("the Ice publisher", &mut publisher).end();
        assert!(publisher.status.success(), "{}", publisher.errors);
        let subscriber = subscriber.end();
        let mut expected = event_lines(200);
        expected.push("received 200".to_owned());
        assert_eq!(subscriber.lines, expected, "{language:?}");
        let sent = if mode == "batch" {
            "sending batch request"
        } else {
            "sending request"
        };
        assert!(was_traced(&publisher.errors, sent, 2), "{language:?}");
        let received = "received batch request";
        assert!(was_traced(&subscriber.errors, received, 2), "{language:?}");
    }
}

#[test]
fn icestormadmin_manages_topics() {
    let Some(ice) = Ice::or_skip() else { return };
    let hub = Hub::start(&[]);
    let manager = hub.manager();
    let admin = |command: &str| ice.admin(&manager, command);
    let none: [String; 0] = [];
    assert_eq!(admin("create weather traffic").unwrap(), none);
    assert_eq!(admin("topics").unwrap(), ["traffic", "weather"]);
    let error = admin("create weather").unwrap_err();
    assert!(error.contains("topic `weather' exists"), "{error}");
    let mut subscriber = ice.start_subscriber(Language::Cpp, &manager, "weather", "twoway", 1);
    let subscribers = admin("subscribers weather").unwrap();
    assert_eq!(
        subscribers.len(),
        2,
        "a heading and one identity: {subscribers:?}"
    );
    subscriber.close_input();
    subscriber.succeed();
    assert_eq!(admin("subscribers weather").unwrap().len(), 1);
    assert_eq!(admin("destroy weather").unwrap(), none);
    assert_eq!(admin("topics").unwrap(), ["traffic"]);
    let error = admin("destroy weather").unwrap_err();
    assert!(error.contains("couldn't find topic `weather'"), "{error}");
}

#[test]
fn icestormadmin_finds_the_hub_by_host_and_port() {
    let Some(_) = Ice::or_skip() else { return };
    let hub = Hub::start(&["--instance-name", "Elsewhere"]);
    let port = hub.endpoint().rsplit(' ').next().expect("a port");
    let mut admin = Command::new("icestormadmin");
    admin.args(["--IceStormAdmin.Host=127.0.0.1", "-e", "create t; topics"]);
    admin.arg(format!("--IceStormAdmin.Port={port}"));
    assert_eq!(Peer::start("icestormadmin", &mut admin).succeed(), ["t"]);
}

#[test]
fn a_killed_subscriber_and_a_stopped_one_leave_the_others_alone() {
    let Some(ice) = Ice::or_skip() else { return };
    let hub = Hub::start(&[]);
    let manager = hub.manager();
    for mode in ["twoway", "oneway"] {
        let start = || ice.start_subscriber(Language::Cpp, &manager, mode, mode, COUNT);
        let (mut killed, stopped, well) = (start(), start(), start());
        killed.kill();
        stopped.signal("STOP");
        let publisher = ice.start_publisher(Language::Cpp, &manager, mode, "twoway", COUNT);
        publisher.succeed();
        assert_got_all(well, COUNT, mode);
        stopped.signal("CONT");
        assert_got_all(stopped, COUNT, mode);
        wait_until_none(&ice, &manager, mode);
    }
}

#[test]
fn a_hub_that_is_killed_keeps_its_subscribers() {
    let Some(ice) = Ice::or_skip() else { return };
    let data = Data::new("subscribers");
    let (mut hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    let modes = ["twoway", "oneway"];
    let start = |mode| ice.start_subscriber(Language::Cpp, &manager, "t", mode, COUNT);
    let subscribers = modes.map(start);
    hub.kill();
    let endpoint = manager.split_once(':').expect("an endpoint").1;
    let (_hub, manager) = serve(&data, endpoint);
    let publisher = ice.start_publisher(Language::Python, &manager, "t", "twoway", COUNT);
    publisher.succeed();
    for (subscriber, mode) in subscribers.into_iter().zip(modes) {
        assert_got_all(subscriber, COUNT, mode);
    }
}

fn assert_got_all(subscriber: Peer, count: usize, which: &str) {
    let mut expected = event_lines(count);
    expected.push(format!("received {count}"));
    assert_eq!(subscriber.succeed(), expected, "{which}");
}

/// Publishes until the topic has no subscribers: a dead one goes with an event.
fn wait_until_none(ice: &Ice, manager: &str, topic: &str) {
    let start = Instant::now();
    loop {
        let command = format!("subscribers {topic}");
        let lines = ice.admin(manager, &command).expect("the topic exists");
        if lines.len() == 1 {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "still subscribed: {lines:?}");
        let publisher = ice.start_publisher(Language::Cpp, manager, topic, "twoway", 1);
        publisher.succeed();
        std::thread::sleep(Duration::from_millis(20));
    }
}
