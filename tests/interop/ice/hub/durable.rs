//! Durable topics of a Floe hub, with unmodified Ice publishers, and subscribers that set two entries of their quality of
//! service.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use floe_tests::hub::Data;
use floe_tests::ice::{Ice, Language, event_lines};
use floe_tests::peer::Peer;
use floe_tests::workspace;

use super::COUNT;

/// A hub with a durable topic for each language.
fn serve(data: &Data, endpoint: &str) -> (Peer, String) {
    let config = workspace::target_dir().join("durable.toml");
    let topics = Language::ALL.map(|language| format!("[topic.{language:?}]\ndurable = true\n"));
    fs::write(&config, topics.concat()).expect("the target folder can be written");
    let mut serve = Command::new(workspace::program("floe"));
    serve
        .args(["serve", "--listen", endpoint, "--config"])
        .arg(&config)
        .arg("--data")
        .arg(data.path());
    let mut hub = Peer::start("floe serve", &mut serve);
    let manager = hub.ready();
    (hub, manager)
}

#[test]
fn ice_subscribers_lose_nothing_while_they_and_the_hub_are_away() {
    let Some(ice) = Ice::or_skip() else { return };
    let data = Data::new("durable");
    let (mut hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    let endpoint = manager.split_once(':').expect("an endpoint").1.to_owned();
    let publish = |manager: &str| {
        for language in Language::ALL {
            let topic = format!("{language:?}");
            let publisher = ice.start_publisher(language, manager, &topic, "twoway", COUNT);
            assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
        }
    };
    let subscribe = |manager: &str, rounds: usize| {
        for language in Language::ALL {
            let (topic, count) = (format!("{language:?}"), rounds * COUNT);
            let subscriber = ice.start_subscriber(language, manager, &topic, "durable", count);
            let mut expected = vec![event_lines(COUNT); rounds].concat();
            expected.push(format!("received {count}"));
            assert_eq!(subscriber.succeed(), expected, "{language:?}");
        }
    };
    // What was published before it subscribed, and before the hub was killed.
    publish(&manager);
    hub.kill();
    let (mut hub, manager) = serve(&data, &endpoint);
    publish(&manager);
    subscribe(&manager, 2);
    // What was published while it was away.
    publish(&manager);
    hub.kill();
    let (_hub, manager) = serve(&data, &endpoint);
    subscribe(&manager, 1);
}

#[test]
fn ice_subscribers_that_wait_lose_nothing_when_the_hub_is_stopped_and_started_again() {
    let Some(ice) = Ice::or_skip() else { return };
    let data = Data::new("durable-waiting");
    let (mut hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    let endpoint = manager.split_once(':').expect("an endpoint").1.to_owned();
    const MANY: usize = 500;
    let start = |language| {
        let topic = format!("{language:?}");
        ice.start_subscriber(language, &manager, &topic, "durable", STOPS * MANY)
    };
    let subscribers = Language::ALL.map(start);
    for stop in 1..=STOPS {
        for language in Language::ALL {
            let topic = format!("{language:?}");
            let publisher = ice.start_publisher(language, &manager, &topic, "twoway", MANY);
            assert_eq!(publisher.succeed(), [format!("published {MANY}")]);
        }
        if stop < STOPS {
            // Some events are still on their way to the subscribers.
            hub.signal("TERM");
            hub.succeed();
            sleep(AWAY);
            hub = serve(&data, &endpoint).0;
        }
    }
    for (subscriber, language) in subscribers.into_iter().zip(Language::ALL) {
        let mut expected = vec![event_lines(MANY); STOPS].concat();
        expected.push(format!("received {}", STOPS * MANY));
        assert_eq!(subscriber.succeed(), expected, "{language:?}");
    }
}

/// How often a hub is stopped while subscribers wait, and once more.
const STOPS: usize = 3;
/// How long it stays away.
const AWAY: Duration = Duration::from_secs(2);

#[test]
fn oneway_and_batch_publishers_of_ice_are_stored_and_plain_subscribers_served() {
    let Some(ice) = Ice::or_skip() else { return };
    let data = Data::new("durable-oneway");
    let (_hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    for language in Language::ALL {
        let topic = format!("{language:?}");
        let start = |mode, count| ice.start_subscriber(language, &manager, &topic, mode, count);
        let live = start("twoway", 2 * COUNT);
        let durable = start("durable", 2 * COUNT);
        for mode in ["oneway", "batch"] {
            let publisher = ice.start_publisher(language, &manager, &topic, mode, COUNT);
            assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
        }
        let mut expected = vec![event_lines(COUNT); 2].concat();
        expected.push(format!("received {}", 2 * COUNT));
        assert_eq!(live.succeed(), expected, "{language:?}");
        assert_eq!(durable.succeed(), expected, "{language:?}");
    }
}

#[test]
fn short_lived_events_of_ice_publishers_are_not_delivered_late() {
    let Some(ice) = Ice::or_skip() else { return };
    let data = Data::new("durable-lifespan");
    let (_hub, manager) = serve(&data, "tcp -h 127.0.0.1 -p 0");
    for language in Language::ALL {
        let topic = format!("{language:?}");
        for mode in ["short-lived", "twoway", "short-lived"] {
            let publisher = ice.start_publisher(language, &manager, &topic, mode, COUNT);
            assert_eq!(publisher.succeed(), [format!("published {COUNT}")]);
        }
        sleep(Duration::from_millis(5));
        let subscriber = ice.start_subscriber(language, &manager, &topic, "durable", COUNT);
        let mut expected = event_lines(COUNT);
        expected.push(format!("received {COUNT}"));
        assert_eq!(subscriber.succeed(), expected, "{language:?}");
    }
}
