//! The Ice peers against each other: what they claim of Floe in other tests holds for Ice itself.
//!
//! A check that Ice does not pass would be a mistake of ours; here it is found without Floe.

use floe_tests::ice::{Ice, Language, event_lines};
use floe_tests::peer::Peer;

#[test]
fn every_client_agrees_with_every_server() {
    let Some(ice) = Ice::or_skip() else { return };
    for server_language in Language::ALL {
        for client_language in Language::ALL {
            let (mut server, proxy) = ice.start_server(server_language);
            let lines = ice.start_client(client_language, &proxy).succeed();
            assert!(
                is_ok(&lines),
                "{client_language:?} to {server_language:?}: expected ok, got {lines:?}"
            );
            server.close_input();
            server.succeed();
        }
    }
}

#[test]
fn a_client_can_end_a_server() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (server, proxy) = ice.start_server(language);
        let mut client = ice.peer("client", Language::Cpp);
        Peer::start("the Ice client", client.args([&proxy, "--shutdown"])).succeed();
        server.succeed();
    }
}

#[test]
fn a_client_of_nobody_fails() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let ended = ice
            .start_client(language, "everything:tcp -h 127.0.0.1 -p 1")
            .end();
        assert_eq!(ended.status.code(), Some(1), "{language:?}");
        assert!(
            ended.errors.contains("ConnectionRefused"),
            "{language:?}: {}",
            ended.errors
        );
    }
}

#[test]
fn a_client_of_the_wrong_object_fails_its_first_check() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut storm = ice.start_storm();
    for language in Language::ALL {
        let ended = ice.start_client(language, storm.manager()).end();
        assert_eq!(
            ended.status.code(),
            Some(1),
            "{language:?}: {}",
            storm.peer().errors()
        );
        assert!(
            ended.errors.contains("checked cast"),
            "{language:?}: {}",
            ended.errors
        );
    }
}

#[test]
fn events_pass_through_ice_storm_in_every_mode() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let languages = Language::ALL.iter().cycle();
    let pairs = languages.clone().zip(languages.skip(1));
    for (mode, (&from, &to)) in ["twoway", "ordered", "oneway", "batch"].iter().zip(pairs) {
        let subscriber = ice.start_subscriber(to, storm.manager(), mode, mode, COUNT);
        let publisher_mode = if *mode == "ordered" { "twoway" } else { mode };
        let published = ice
            .start_publisher(from, storm.manager(), mode, publisher_mode, COUNT)
            .succeed();
        assert_eq!(published, [format!("published {COUNT}")]);
        assert_same_events(mode, subscriber.succeed());
    }
}

#[test]
fn a_subscriber_ends_at_the_end_of_its_input() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    for language in Language::ALL {
        let mut subscriber =
            ice.start_subscriber(language, storm.manager(), "quiet", "oneway", COUNT);
        subscriber.close_input();
        assert_eq!(subscriber.succeed(), ["received 0"], "{language:?}");
    }
}

#[test]
fn icestormadmin_lists_the_topics_of_ice_storm() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    assert_eq!(ice.admin(storm.manager(), "create weather"), Ok(Vec::new()));
    assert_eq!(
        ice.admin(storm.manager(), "topics"),
        Ok(vec!["weather".to_owned()])
    );
    let again = ice.admin(storm.manager(), "create weather");
    assert!(
        again
            .as_ref()
            .is_err_and(|error| error.contains("`weather' exists")),
        "{again:?}"
    );
}

/// Events of one publisher in one test.
const COUNT: usize = 20;

fn is_ok(lines: &[String]) -> bool {
    matches!(lines, [line] if line.starts_with("ok ") && line.ends_with(" checks"))
}

/// IceStorm keeps order only where it sends one event at a time; twoway and oneway events may overtake in the subscriber.
fn assert_same_events(mode: &str, mut received: Vec<String>) {
    assert_eq!(received.pop(), Some(format!("received {COUNT}")));
    let mut expected = event_lines(COUNT);
    if mode != "ordered" {
        received.sort();
        expected.sort();
    }
    assert_eq!(received, expected, "{mode}");
}
