//! Stock programs of DDS at a bridge.

mod cyclone;
mod domain;

pub(crate) use cyclone::{Language, peer};
pub(crate) use domain::FreeDomain;

use std::time::{Duration, Instant};

use floe_bridges::World;
use floe_bridges::dds::{Dds, Settings};
use floe_tests::peer::PATIENCE;

use crate::fixture::Joined;

/// The world of a domain, on loopback.
pub(crate) fn world(domain: u32) -> Box<dyn World> {
    let settings = Settings {
        domain,
        ..Settings::default()
    };
    Box::new(Dds::new(settings))
}

/// Waits until the bridge's writer knows so many readers: what it writes before is not for them, and a reader does not hear
/// of it.
pub(crate) fn wait_for_readers(joined: &Joined, count: usize) {
    let end = Instant::now() + PATIENCE;
    loop {
        let state = joined.bridge().state();
        let readers = state.peers.iter().filter(|it| it.contains(": reads "));
        if readers.count() >= count {
            return;
        }
        assert!(
            Instant::now() < end,
            "expected {count} readers, got {state:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

mod tests {
    use std::collections::BTreeSet;

    use floe_bridges::Bridge;
    use floe_bridges::core::account::Reason;
    use floe_bridges::settings::TopicSettings;
    use floe_dynamic::Contract;
    use floe_tests::peer::Peer;
    use floe_tests::workspace;
    use floe_wire::EncodingVersion;

    use super::cyclone::python;
    use super::*;
    use crate::{event, ice};

    fn assert_next(peer: &mut Peer, world: &str, seeds: impl IntoIterator<Item = i64>) {
        for seed in seeds {
            assert_eq!(event::parse(&peer.line()), event::json(world, seed));
        }
    }

    /// Waits until the readers of the domain have acknowledged so many events.
    fn wait_for_sent(joined: &Joined, count: u64) {
        let end = Instant::now() + PATIENCE;
        while joined.counts().sent_out < count {
            assert!(Instant::now() < end, "{:?}", joined.counts());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn publish_by_ice(joined: &Joined, seeds: &[&str]) -> bool {
        let manager = joined.manager();
        let arguments = [&["publish", &manager, "ice"], seeds].concat();
        let publisher = ice::peer(&arguments);
        publisher.map(Peer::succeed).is_some()
    }

    /// Ice and a program of DDS publish to each other, twice: in between, the bridge is started anew.
    fn converse(language: Language) {
        let domain = FreeDomain::new();
        let address = domain.number().to_string();
        let mut joined = Joined::start(world(domain.number()));
        for round in 0..2 {
            let (Some(mut theirs), Some(mut ours)) = (
                peer(language, &["subscribe", &address, "1000"]),
                ice::peer(&["subscribe", &joined.manager(), "4"]),
            ) else {
                return;
            };
            theirs.ready();
            ours.ready();
            wait_for_readers(&joined, 1);
            assert!(publish_by_ice(&joined, &["1", "2"]));
            assert_next(&mut theirs, "ice", [1, 2]);
            wait_for_sent(&joined, 2);
            theirs.kill();
            assert_next(&mut ours, "ice", [1, 2]);
            let arguments = ["publish", &address, "dds", "3", "4"];
            peer(language, &arguments).expect("it is there").succeed();
            assert_next(&mut ours, "dds", [3, 4]);
            ours.succeed();
            let counts = joined.counts();
            assert_eq!((counts.taken_in, counts.sent_out), (2, 2), "round {round}");
            assert_eq!(counts.not_crossed, []);
            joined.end_bridge();
            joined.start_bridge(world(domain.number()));
        }
    }

    #[test]
    fn cyclone_in_c_and_ice_hear_each_other() {
        converse(Language::C);
    }

    #[test]
    fn cyclone_for_python_and_ice_hear_each_other() {
        converse(Language::Python);
    }

    #[test]
    fn programs_of_a_domain_hear_each_other_without_the_bridge_and_once() {
        let domain = FreeDomain::new();
        let address = domain.number().to_string();
        let joined = Joined::start(world(domain.number()));
        let Some(mut subscriber) = peer(Language::C, &["subscribe", &address, "1000"]) else {
            return;
        };
        subscriber.ready();
        wait_for_readers(&joined, 1);
        let arguments = ["publish", &address, "dds", "1", "2", "3"];
        peer(Language::C, &arguments)
            .expect("it is there")
            .succeed();
        if !publish_by_ice(&joined, &["4"]) {
            return;
        }
        // How many it hears of another that has just begun is a matter of those two.
        let mut heard = BTreeSet::new();
        loop {
            let event = event::parse(&subscriber.line());
            if event == event::json("ice", 4) {
                break;
            }
            assert!(heard.insert(event["id"].to_string()), "{event} came twice");
        }
        assert_eq!(joined.counts().taken_in, 3);
    }

    #[test]
    fn ten_thousand_events_go_each_way_without_loss() {
        const COUNT: i64 = 10_000;
        let domain = FreeDomain::new();
        let address = domain.number().to_string();
        let joined = Joined::start(world(domain.number()));
        let more = (COUNT + 1).to_string();
        let (Some(mut theirs), Some(mut ours)) = (
            peer(Language::C, &["subscribe", &address, &more]),
            ice::peer(&["subscribe", &joined.manager(), &(2 * COUNT).to_string()]),
        ) else {
            return;
        };
        theirs.ready();
        ours.ready();
        wait_for_readers(&joined, 1);
        let seeds: Vec<_> = (0..COUNT).map(|seed| seed.to_string()).collect();
        let seeds: Vec<_> = seeds.iter().map(String::as_str).collect();
        assert!(publish_by_ice(&joined, &seeds));
        assert_next(&mut theirs, "ice", 0..COUNT);
        wait_for_sent(&joined, 10_000);
        theirs.kill();
        assert_next(&mut ours, "ice", 0..COUNT);
        let arguments = [&["publish", &address, "dds"], &seeds[..]].concat();
        peer(Language::C, &arguments)
            .expect("it is there")
            .succeed();
        assert_next(&mut ours, "dds", 0..COUNT);
        ours.succeed();
        let counts = joined.counts();
        assert_eq!(counts.not_crossed, []);
        assert_eq!((counts.taken_in, counts.sent_out), (10_000, 10_000));
    }

    #[test]
    fn a_reader_that_is_killed_costs_the_others_nothing() {
        let domain = FreeDomain::new();
        let address = domain.number().to_string();
        let joined = Joined::start(world(domain.number()));
        let start = || peer(Language::C, &["subscribe", &address, "1000"]);
        let Some((mut killed, mut other)) = start().zip(start()) else {
            return;
        };
        killed.ready();
        other.ready();
        wait_for_readers(&joined, 2);
        killed.kill();
        let seeds: Vec<_> = (0..1000).map(|seed| seed.to_string()).collect();
        let seeds: Vec<_> = seeds.iter().map(String::as_str).collect();
        if !publish_by_ice(&joined, &seeds) {
            return;
        }
        // Its participant is given up when its lease is over; until then the bridge holds what it has not taken.
        assert_next(&mut other, "ice", 0..1000);
        other.succeed();
        let counts = joined.counts();
        let mut lost = counts.not_crossed.iter();
        let lost = lost.find(|(reason, _)| *reason == Reason::WorldAway);
        assert!(lost.is_some_and(|(_, count)| *count > 0), "{counts:?}");
    }

    #[test]
    fn the_programs_of_the_guide_run() {
        let guide = workspace::root().join("docs/guides/bridges.md");
        let guide = std::fs::read_to_string(guide).expect("it is there");
        let (_, section) = guide.split_once("\n## DDS\n").expect("it has it");
        let mut blocks = section.split("```python\n").skip(1);
        let mut block = || blocks.next().and_then(|it| it.split("```").next());
        let (publisher, reader) = (block().expect("the first"), block().expect("the second"));
        let domain = FreeDomain::new();
        let number = domain.number();
        let publisher = publisher.replace("Participant(0)", &format!("Participant({number})"));
        let (head, _) = publisher.split_once("\nwriter = ").expect("it has one");
        let slice = include_bytes!("../../../examples/ticker/Ticker.ice");
        let contract = Contract::new(floe_slice::check_source(slice).model);
        let topic = TopicSettings {
            interface: "::Demo::Ticker".to_owned(),
            ..crate::fixture::topic()
        };
        let plan = topic.plan(&contract).expect("it has events");
        // A hub with a bridge of another contract elsewhere.
        let elsewhere = FreeDomain::new();
        let joined = Joined::start(world(elsewhere.number()));
        let client = joined.client();
        let started = Bridge::start(world(number), client, vec![plan]);
        let bridge = joined.runtime().block_on(started).expect("it starts");
        let Some(mut subscriber) = python(&format!("{head}\n{reader}")) else {
            return;
        };
        let end = Instant::now() + PATIENCE;
        let reads = |bridge: &Bridge| {
            bridge
                .state()
                .peers
                .iter()
                .any(|it| it.contains(": reads "))
        };
        while !reads(&bridge) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        python(&publisher).expect("it is there").succeed();
        let counts = bridge.counts().remove(0).1;
        assert_eq!((counts.taken_in, counts.not_crossed), (1, vec![]));
        let operation = contract
            .operation("::Demo::Ticker::tick")
            .expect("it has it");
        let tick = serde_json::json!({"tick": {"symbol": "ICE", "price": 2.5}});
        let parameters = operation.encode_request(&tick, EncodingVersion::V1_1);
        let parameters = parameters.expect("it fits");
        joined.runtime().block_on(async {
            let topic = client
                .topic(crate::fixture::TOPIC)
                .await
                .expect("it is there");
            let ice: floe::Proxy = topic.publisher().await.expect("it has one");
            let sent = ice.invoke("tick", operation.mode(), &parameters).await;
            sent.expect("the hub takes it");
        });
        // It may have heard the other program before.
        subscriber.line_after("ICE 2.5");
        joined.runtime().block_on(bridge.shut_down());
    }
}
