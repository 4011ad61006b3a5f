//! Ice for Python, unmodified, at the hub.

use std::process::Command;

use floe_tests::ice::Ice;
use floe_tests::peer::Peer;
use floe_tests::workspace;

/// Starts the peer with its arguments; `None` is a visible skip, because Ice for Python is not installed.
pub(crate) fn peer(arguments: &[&str]) -> Option<Peer> {
    let ice = Ice::or_skip()?;
    let script = workspace::root().join("examples/worlds/ice.py");
    let mut command = Command::new(ice.python());
    Some(Peer::start(
        "Ice for Python",
        command.arg(script).args(arguments),
    ))
}

mod tests {
    use floe_bridges::core::origin::Echo;

    use crate::fixture::Joined;
    use crate::toy::Toy;
    use crate::{event, ice};

    #[test]
    fn events_of_ice_and_of_a_world_are_the_same() {
        let (toy, mut events, port) = Toy::new(Echo::ToAll);
        let joined = Joined::start(toy);
        let port = port.blocking_recv().expect("it was started");
        let Some(mut subscriber) = ice::peer(&["subscribe", &joined.manager(), "4"]) else {
            return;
        };
        subscriber.ready();
        let publisher = ["publish", &joined.manager(), "ice", "1", "2"];
        ice::peer(&publisher).expect("it is installed").succeed();
        joined.runtime().block_on(async {
            let publisher = port.publisher("test").await.expect("the hub is there");
            for seed in [3, 4] {
                let (_, kind) = port.events().find("tick").expect("it is an event");
                let parameters = event::parameters("toy", seed);
                publisher
                    .publish(kind, &parameters)
                    .await
                    .expect("the hub takes it");
            }
        });
        for (world, seed) in [("ice", 1), ("ice", 2), ("toy", 3), ("toy", 4)] {
            assert_eq!(event::parse(&subscriber.line()), event::json(world, seed));
            let delivery = events.blocking_recv().expect("it comes");
            assert_eq!(delivery.parameters, event::parameters(world, seed));
        }
        subscriber.succeed();
        let counts = joined.counts();
        assert_eq!((counts.taken_in, counts.sent_out), (2, 4));
        assert_eq!(counts.not_crossed, []);
    }

    #[test]
    fn an_event_does_not_return_to_its_place() {
        let (toy, mut events, port) = Toy::new(Echo::NotToPlace);
        let joined = Joined::start(toy);
        let port = port.blocking_recv().expect("it was started");
        let (_, kind) = port.events().find("tick").expect("it is an event");
        joined.runtime().block_on(async {
            let publisher = port.publisher("test").await.expect("the hub is there");
            let own = event::parameters("toy", 1);
            let sent = publisher.publish(kind, &own).await;
            sent.expect("the hub takes it");
            // One of another participant of the hub marks the end.
            let topic = joined
                .client()
                .topic(crate::fixture::TOPIC)
                .await
                .expect("it is there");
            let ice: floe::Proxy = topic.publisher().await.expect("it has one");
            let mode = kind.operation().mode();
            let sent = ice.invoke("tick", mode, &event::parameters("ice", 2)).await;
            sent.expect("the hub takes it");
            let delivery = events.recv().await.expect("it comes");
            assert_eq!(delivery.parameters, event::parameters("ice", 2));
        });
    }
}
