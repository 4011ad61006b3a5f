//! One `floe serve`, one topic, one contract: stock programs of five worlds publish to it, and each gets what all publish.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use floe_tests::hub::Data;
use floe_tests::peer::{PATIENCE, Peer};
use floe_tests::workspace;
use serde_json::Value;

use crate::dds::FreeDomain;
use crate::{amqp, corba, dds, event, ice, soap};

/// The worlds in which a program of the test publishes.
const WORLDS: [&str; 5] = ["ice", "amqp", "corba", "dds", "soap"];

/// `floe serve` with a bridge to each world.
struct Server {
    folder: Data,
    domain: FreeDomain,
    serve: Option<Peer>,
    endpoint: String,
    /// By the name of the world; at first the ports are free ones.
    addresses: Vec<(String, String)>,
}

/// The programs that publish and subscribe, as far as they are installed.
struct Programs {
    omniorb: corba::OmniOrb,
}

impl Server {
    fn new() -> Self {
        let folder = Data::unique("five-worlds");
        fs::create_dir_all(folder.path()).expect("there is room");
        let contract = include_bytes!("../../../examples/worlds/Worlds.ice");
        fs::write(folder.path().join("Worlds.ice"), contract).expect("there is room");
        let servers = ["amqp", "corba", "soap"];
        let free = servers.map(|world| (world.to_owned(), "127.0.0.1:0".to_owned()));
        let mut server = Self {
            folder,
            domain: FreeDomain::new(),
            serve: None,
            endpoint: "tcp -h 127.0.0.1 -p 0".to_owned(),
            addresses: free.into(),
        };
        server.start();
        let listed = server.list();
        for (world, address) in &mut server.addresses {
            let bridge = listed.iter().find(|bridge| bridge["world"] == *world);
            let bridge = bridge.unwrap_or_else(|| panic!("expected a bridge to {world}"));
            *address = bridge["address"].as_str().expect("it listens").to_owned();
        }
        server
    }

    /// Starts it with the ports that it had.
    fn start(&mut self) {
        let mut serve = Command::new(workspace::program("floe"));
        serve.args(["serve", "--transient", "--config"]);
        serve.arg(self.configuration());
        let mut serve = Peer::start("floe serve", &mut serve);
        let proxy = serve.ready();
        let (_, endpoint) = proxy.split_once(':').expect("the proxy has an endpoint");
        self.endpoint = endpoint.trim_matches('"').to_owned();
        self.serve = Some(serve);
    }

    fn configuration(&self) -> PathBuf {
        let mut text = format!(
            "listen = \"{}\"\n[contracts]\nfiles = [\"Worlds.ice\"]\n",
            self.endpoint
        );
        let topic = "topic = \"ticks\"\ninterface = \"::Worlds::Ticker\"";
        for (world, address) in &self.addresses {
            let table = format!(
                "[bridge.{world}]\nlisten = \"{address}\"\n[[bridge.{world}.topic]]\n{topic}"
            );
            writeln!(text, "{table}").expect("it is memory");
        }
        let domain = self.domain.number();
        let table = format!("[bridge.dds]\ndomain = {domain}\n[[bridge.dds.topic]]\n{topic}");
        writeln!(text, "{table}").expect("it is memory");
        let file = self.folder.path().join("floe.toml");
        fs::write(&file, text).expect("there is room");
        file
    }

    /// Kills it, as a crash would, and starts it again.
    fn restart(&mut self) {
        let mut serve = self.serve.take().expect("it runs");
        serve.kill();
        self.start();
    }

    fn manager(&self) -> String {
        format!("IceStorm/TopicManager:{}", self.endpoint)
    }

    fn address(&self, world: &str) -> String {
        match world {
            "ice" => self.manager(),
            "dds" => self.domain.number().to_string(),
            _ => {
                let mut addresses = self.addresses.iter();
                let found = addresses.find(|(name, _)| name == world);
                found.expect("it is bridged").1.clone()
            }
        }
    }

    /// As `floe bridge list` says it.
    fn list(&self) -> Vec<Value> {
        let mut list = Command::new(workspace::program("floe"));
        list.args(["bridge", "list", "-o", "json", "--hub"]);
        let lines = Peer::start("floe bridge list", list.arg(&self.endpoint)).succeed();
        serde_json::from_str(&lines.concat()).expect("it is JSON")
    }

    /// Waits until the bridge to DDS knows a reader: what it writes before is not for that.
    fn wait_for_reader(&self) {
        let end = Instant::now() + PATIENCE;
        let knows_reader = || {
            let listed = self.list();
            let dds = listed.iter().find(|bridge| bridge["world"] == "dds");
            let peers = dds.expect("it is bridged")["peers"].to_string();
            peers.contains(": reads ")
        };
        while !knows_reader() {
            assert!(Instant::now() < end, "expected a reader of DDS");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Programs {
    /// `None` is a visible skip.
    fn or_skip() -> Option<Self> {
        Some(Self {
            omniorb: corba::OmniOrb::or_skip()?,
        })
    }

    fn start(&self, world: &str, arguments: &[&str]) -> Option<Peer> {
        match world {
            "ice" => ice::peer(arguments),
            "amqp" => amqp::jms(arguments, &[]),
            "corba" => Some(self.omniorb.peer(arguments)),
            "dds" => dds::peer(dds::Language::Python, arguments),
            _ => soap::zeep(arguments),
        }
    }

    /// A program of each world subscribes; `None` is a visible skip.
    fn subscribe(&self, server: &Server) -> Option<Vec<(&'static str, Peer)>> {
        let mut subscribers = Vec::new();
        for world in WORLDS {
            let count = WORLDS.len().to_string();
            let arguments = ["subscribe", &server.address(world), &count];
            subscribers.push((world, self.start(world, &arguments)?));
        }
        for (_, subscriber) in &mut subscribers {
            subscriber.ready();
        }
        server.wait_for_reader();
        Some(subscribers)
    }

    /// A program of each world publishes an event, and each subscriber gets all of them, every field right, and once.
    fn converse(&self, server: &Server, mut subscribers: Vec<(&'static str, Peer)>, round: i64) {
        let mut expected = BTreeSet::new();
        for (world, seed) in WORLDS.into_iter().zip(round * 10..) {
            let text = seed.to_string();
            let arguments = ["publish", &server.address(world), world, &text];
            let publisher = self.start(world, &arguments).expect("it is installed");
            publisher.succeed();
            expected.insert(event::json(world, seed).to_string());
        }
        for (world, subscriber) in &mut subscribers {
            let lines = WORLDS.map(|_| event::parse(&subscriber.line()).to_string());
            assert_eq!(BTreeSet::from(lines), expected, "{world}, round {round}");
        }
        for (_, subscriber) in subscribers {
            subscriber.succeed();
        }
    }
}

#[test]
fn the_settings_of_the_example_can_be_used() {
    let mut check = Command::new(workspace::program("floe"));
    check.args(["bridge", "check", "--config"]);
    check.arg(workspace::root().join("examples/worlds/floe.toml"));
    let ended = Peer::start("floe bridge check", &mut check).end();
    assert!(ended.status.success(), "{}", ended.errors);
    assert!(
        ended.errors.contains("4 topics: nothing is refused"),
        "{}",
        ended.errors
    );
}

#[test]
fn programs_of_five_worlds_meet_on_one_topic() {
    let Some(programs) = Programs::or_skip() else {
        return;
    };
    let mut server = Server::new();
    let Some(subscribers) = programs.subscribe(&server) else {
        return;
    };
    programs.converse(&server, subscribers, 1);

    // Each program is killed once, in the middle of its subscription.
    for (_, mut subscriber) in programs.subscribe(&server).expect("they are installed") {
        subscriber.kill();
    }
    let subscribers = programs.subscribe(&server).expect("they are installed");
    programs.converse(&server, subscribers, 2);

    // The server is killed once.
    server.restart();
    let subscribers = programs.subscribe(&server).expect("they are installed");
    programs.converse(&server, subscribers, 3);
}
