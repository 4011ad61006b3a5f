//! Stock programs of CORBA at a bridge: omniORB for Python, and the programs that come with omniEvents, in C++.

use floe_bridges::corba::{Corba, Settings};
use floe_codegen::{Idl, generate_idl};
use floe_tests::hub::Data;
use floe_tests::peer::Peer;
use floe_tests::workspace;

use crate::event;

#[allow(dead_code, reason = "the tests of floe-giop use the rest of it")]
#[path = "../corba/capture.rs"]
mod capture;
#[allow(dead_code, reason = "the tests of floe-giop use the rest of it")]
#[path = "../corba/orb.rs"]
mod orb;
#[allow(dead_code, reason = "the tests of floe-giop use the rest of it")]
#[path = "../corba/peers.rs"]
mod peers;

/// The world at a port of loopback; 0 takes a free one.
pub(crate) fn world(port: u16) -> Box<Corba> {
    Box::new(Corba::new(Settings {
        listen: ([127, 0, 0, 1], port).into(),
        consumer_patience: 1,
        ..Settings::default()
    }))
}

/// A Python with omniORB, and the contract as IDL.
pub(crate) struct OmniOrb {
    python: peers::Python,
    idl: Data,
}

impl OmniOrb {
    /// `None` is a visible skip.
    pub(crate) fn or_skip() -> Option<Self> {
        let python = peers::python_or_skip()?;
        let idl = Data::unique("worlds-idl");
        std::fs::create_dir_all(idl.path()).expect("there is room");
        let contract = event::contract();
        let (text, _) = generate_idl(contract.model(), Idl::Corba).expect("it has no class");
        std::fs::write(idl.path().join("Worlds.idl"), text).expect("there is room");
        Some(Self { python, idl })
    }

    /// Starts the peer with its arguments.
    pub(crate) fn peer(&self, arguments: &[&str]) -> Peer {
        let script = workspace::root().join("examples/worlds/corba.py");
        let mut command = self.python.run(&script);
        command
            .args(arguments)
            .env("WORLDS_IDL", self.idl.path().join("Worlds.idl"));
        Peer::start("omniORB for Python", &mut command)
    }
}

mod tests {
    use std::fs::File;
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    use floe_bridges::core::account::Reason;
    use floe_bridges::hub::HubEvent;
    use floe_giop::any::Any;
    use floe_giop::cdr::{Decoder, Encoder};
    use floe_giop::connection::ConnectionSettings;
    use floe_giop::cos::Raised;
    use floe_giop::cos::event::PUSH_CONSUMER_ID;
    use floe_giop::message::Outcome;
    use floe_giop::reference::Ior;
    use floe_giop::system_exception::SystemExceptionKind;
    use floe_tests::hub::Data;
    use floe_tests::peer::PATIENCE;

    use super::{OmniOrb, capture, orb, peers, world};
    use crate::fixture::{Joined, TOPIC};
    use crate::{event, ice};

    #[test]
    fn events_pass_between_omniorb_and_ice_both_ways() {
        let Some(omniorb) = OmniOrb::or_skip() else {
            return;
        };
        let joined = Joined::start(world(0));
        let Some(mut ice) = ice::peer(&["subscribe", &joined.manager(), "4"]) else {
            return;
        };
        let mut consumer = omniorb.peer(&["subscribe", &joined.address(), "4"]);
        ice.ready();
        consumer.ready();
        let own = ["publish", &joined.manager(), "ice", "1", "2"];
        ice::peer(&own).expect("it is installed").succeed();
        let own = ["publish", &joined.address(), "corba", "3", "4"];
        omniorb.peer(&own).succeed();
        for (world, seed) in [("ice", 1), ("ice", 2), ("corba", 3), ("corba", 4)] {
            assert_eq!(event::parse(&ice.line()), event::json(world, seed));
            assert_eq!(event::parse(&consumer.line()), event::json(world, seed));
        }
        ice.succeed();
        consumer.succeed();
        let counts = joined.counts();
        assert_eq!((counts.taken_in, counts.not_crossed), (2, vec![]));
    }

    #[test]
    fn each_side_may_begin_anew() {
        let Some(omniorb) = OmniOrb::or_skip() else {
            return;
        };
        let mut joined = Joined::start(world(0));
        let address = joined.address();
        let mut killed = omniorb.peer(&["subscribe", &address, "9"]);
        killed.ready();
        let publish = |seed: &str| {
            omniorb
                .peer(&["publish", &address, "corba", seed])
                .succeed();
        };
        publish("1");
        assert_eq!(event::parse(&killed.line()), event::json("corba", 1));
        killed.kill();
        // The other consumers do not notice.
        let mut consumer = omniorb.peer(&["subscribe", &address, "1"]);
        consumer.ready();
        publish("2");
        assert_eq!(event::parse(&consumer.line()), event::json("corba", 2));
        consumer.succeed();
        await_counts(&joined, |counts| {
            counts.not_crossed == [(Reason::WorldAway, 1)]
        });
        joined.end_bridge();
        let (_, port) = address.split_once(':').expect("it has a port");
        joined.start_bridge(world(port.parse().expect("it is a number")));
        let mut consumer = omniorb.peer(&["subscribe", &address, "2"]);
        consumer.ready();
        publish("3");
        joined.runtime().block_on(publish_own(&joined, 4));
        for (world, seed) in [("corba", 3), ("ice", 4)] {
            assert_eq!(event::parse(&consumer.line()), event::json(world, seed));
        }
        consumer.succeed();
    }

    fn await_counts(joined: &Joined, are: impl Fn(&floe_bridges::core::account::Counts) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !are(&joined.counts()) {
            assert!(Instant::now() < deadline, "{:?}", joined.counts());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Publishes as an Ice program does.
    async fn publish_own(joined: &Joined, seed: i64) {
        let topic = joined.client().topic(TOPIC).await.expect("it is there");
        let publisher: floe::Proxy = topic.publisher().await.expect("it has one");
        let parameters = event::parameters("ice", seed);
        let sent = publisher
            .invoke("tick", Default::default(), &parameters)
            .await;
        sent.expect("the hub takes it");
    }

    #[test]
    fn omni_events_records_a_channel() {
        if !peers::has_program_or_skip("events") {
            return;
        }
        let joined = Joined::start(world(0));
        let data = Data::unique("events");
        std::fs::create_dir_all(data.path()).expect("there is room");
        let path = data.path().join("recorded");
        let utf8 = ["-ORBnativeCharCodeSet", "UTF-8"];
        let recorded = File::create(&path).expect("there is room");
        let direct = format!("corbaloc::{}/{TOPIC}", joined.address());
        let mut recorder = Command::new("events")
            .args(utf8)
            .arg(&direct)
            .stdout(recorded)
            .spawn()
            .expect("it comes with omniEvents");
        // It does not say when it is connected.
        let deadline = Instant::now() + PATIENCE;
        let mut before = 0;
        while before == 0 {
            assert!(Instant::now() < deadline, "{:?}", recorder.try_wait());
            joined.runtime().block_on(publish_own(&joined, 0));
            thread::sleep(Duration::from_millis(50));
            before = joined.counts().sent_out;
        }
        thread::sleep(Duration::from_millis(200));
        let before = joined.counts().sent_out;
        for seed in [1, 2] {
            joined.runtime().block_on(publish_own(&joined, seed));
        }
        await_counts(&joined, |counts| counts.sent_out == before + 2);
        let interrupted = Command::new("kill")
            .args(["-INT", &recorder.id().to_string()])
            .status();
        assert!(interrupted.expect("it is a program").success());
        recorder.wait().expect("it ends");

        let recorded = std::fs::read(&path).expect("it was written");
        for seed in 0..3 {
            let text = event::json("ice", seed)["text"].to_string();
            let text = text.trim_matches('"').as_bytes();
            let mut windows = recorded.windows(text.len());
            assert!(windows.any(|window| window == text), "{seed}");
        }
    }

    #[test]
    fn a_channel_of_omni_events_supplies_a_channel_of_the_bridge() {
        if !peers::has_program_or_skip("omniEvents") {
            return;
        }
        let Some(omniorb) = OmniOrb::or_skip() else {
            return;
        };
        let joined = Joined::start(world(0));
        let mut events = joined.runtime().block_on(async {
            let topic = joined.client().topic(TOPIC).await.expect("it is there");
            let subscribed = topic.subscribe::<HubEvent>().await;
            subscribed.expect("the hub takes it")
        });
        let names = omniorb.python.start_names();
        let channels = peers::Events::start(&names.corbaloc());
        channels.create_channel(TOPIC);
        let theirs = format!("corbaname::127.0.0.1:{}#{TOPIC}", names.port);
        let ours = format!("corbaloc::{}/{TOPIC}", joined.address());
        let joined_them = Command::new("eventf").args([&theirs, &ours]).output();
        let joined_them = joined_them.expect("it comes with omniEvents");
        assert!(joined_them.status.success(), "{joined_them:?}");
        let address = format!("127.0.0.1:{}", names.port);
        let own = ["publish", &address, "corba", "1", "2"];
        omniorb.peer(&own).succeed();
        joined.runtime().block_on(async {
            for seed in [1, 2] {
                let next = tokio::time::timeout(PATIENCE, events.next());
                let event = next.await.expect("it comes").expect("the hub is there");
                let event = event.expect("none is lost");
                assert_eq!(event.parameters, event::parameters("corba", seed));
            }
        });
    }

    #[test]
    fn omni_events_cannot_destroy_a_channel() {
        if !peers::has_program_or_skip("rmeventc") {
            return;
        }
        let joined = Joined::start(world(0));
        let channel = format!("corbaloc::{}/{TOPIC}", joined.address());
        let output = Command::new("rmeventc").arg(&channel).output();
        let output = output.expect("it comes with omniEvents");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("NO_PERMISSION"), "{output:?}");
        joined.runtime().block_on(publish_own(&joined, 1));
    }

    #[test]
    fn tshark_reads_what_a_bridge_pushes() {
        if !peers::has_program_or_skip("tshark") {
            return;
        }
        let joined = Joined::start(world(0));
        let consumers = orb::Orb::start(ConnectionSettings::default());
        let (sender, received) = std::sync::mpsc::channel();
        let servant = move |operation: &str, arguments: &mut Decoder<'_>, _: &mut Encoder| {
            match operation {
                "push" => {
                    let any = Any::decode(arguments)?;
                    // The test may have ended.
                    let _ = sender.send(any);
                    Ok(())
                }
                _ => Err(Raised::system(SystemExceptionKind::BadOperation)),
            }
        };
        let consumer = consumers.serve_object(PUSH_CONSUMER_ID, "consumer", Box::new(servant));
        let channel = format!("corbaloc:iiop:1.2@{}/{TOPIC}", joined.address());
        let channel: Ior = channel.parse().expect("it is a reference");
        let admin = obtain(&channel, "for_consumers");
        let proxy = obtain(&admin, "obtain_push_supplier");
        let mut client = orb::Client::connect(&proxy, ConnectionSettings::default());
        let connected = client.call("connect_push_consumer", |encoder| consumer.encode(encoder));
        assert!(matches!(connected, Outcome::Results(_)), "{connected:?}");
        for seed in 1..4 {
            joined.runtime().block_on(publish_own(&joined, seed));
            let any = received.recv_timeout(PATIENCE).expect("it comes");
            assert_eq!(
                any.code().name().map(|name| &*name.id),
                Some("IDL:Worlds/Tick:1.0")
            );
        }
        await_counts(&joined, |counts| counts.sent_out == 3);
        let seen = capture::dissect(&consumers.recorded());
        assert_eq!(seen.types, ["0", "1", "0", "1", "0", "1"]);
        assert!(seen.complaints.is_empty(), "{:?}", seen.complaints);
    }

    /// The reference that an operation without arguments returns.
    fn obtain(from: &Ior, operation: &str) -> Ior {
        let mut client = orb::Client::connect(from, ConnectionSettings::default());
        let outcome = client.call(operation, |_| Ok(()));
        let Outcome::Results(body) = outcome else {
            panic!("{operation}: {outcome:?}")
        };
        Ior::decode(&mut body.decoder()).expect("it is a reference")
    }
}
