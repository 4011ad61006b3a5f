//! Each world passes these tests: a bridge expects it of all of them.
#![cfg(all(feature = "amqp", feature = "corba", feature = "dds", feature = "soap"))]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use floe::Communicator;
use floe::hub::HubClient;
use floe_bridges::Bridges;
use floe_bridges::settings::{PlannedBridge, Settings};
use floe_hub::{Hub, HubSettings};

/// Worlds whose programs connect to us by TCP.
const SERVERS: [&str; 3] = ["amqp", "corba", "soap"];

/// All worlds.
const ALL: [&str; 4] = ["amqp", "corba", "soap", "dds"];

/// A contract with all types that every world can say, and one with a class.
const SLICE: &str = "module Demo {
    enum Side { buy, sell }
    struct Tick { Side side; string text; double price; }
    interface Ticker { void tick(Tick tick); }
    interface Two { void tick(Tick tick); void halted(string why); }
    class Node { Node next; }
    interface Graphs { void graph(Node node); }
}";

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&folder).expect("there is room");
    std::fs::write(folder.join("Demo.ice"), SLICE).expect("there is room");
    folder
}

/// The settings of a world with one topic, and further keys.
fn settings(world: &str, keys: &str, interface: &str) -> Settings {
    let text = format!(
        "[contracts]\nfiles = [\"Demo.ice\"]\n[bridge.{world}]\n{keys}\n\
         [[bridge.{world}.topic]]\ntopic = \"ticks\"\ninterface = \"{interface}\"\n"
    );
    Settings::parse(&text).expect("it is TOML")
}

/// A place that nobody else uses.
fn free(world: &str) -> String {
    match world {
        "dds" => format!("domain = {}", free_domain()),
        _ => "listen = \"127.0.0.1:0\"".to_owned(),
    }
}

/// A domain that no other test uses; one test of this program opens its ports. Whoever has a domain holds the TCP port of the
/// number of its multicast port, as the tests of DDS do. Source: DDSI-RTPS 2.2, 9.6.1.1: port 7400 + 250 * domain.
fn free_domain() -> u16 {
    static DOMAIN: LazyLock<(u16, TcpListener)> = LazyLock::new(|| {
        let start = std::process::id() as u16 % 40;
        let mut domains = (0..40).map(|turn| 60 + (start + turn) % 40);
        let locked = domains.find_map(|domain| {
            let lock = TcpListener::bind(("127.0.0.1", 7400 + 250 * domain)).ok()?;
            Some((domain, lock))
        });
        locked.expect("one of 40 is free")
    });
    DOMAIN.0
}

fn plan(test: &str, world: &str, keys: &str) -> Vec<PlannedBridge> {
    let settings = settings(world, keys, "::Demo::Ticker");
    let planned = settings.plan(&folder(test));
    planned.unwrap_or_else(|error| panic!("{world}: {error}"))
}

/// A hub in this process; bridges reach it without a connection, as in a server.
struct Fixture {
    communicator: Communicator,
    hub: Hub,
    client: HubClient,
}

impl Fixture {
    async fn start() -> Self {
        let communicator = Communicator::new();
        let mut settings = HubSettings::default();
        settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
        let hub = Hub::start(&communicator, settings)
            .await
            .expect("the hub starts");
        let client = HubClient::connect_with(&communicator, &hub.topic_manager()).await;
        let client = client.expect("the hub answers");
        Self {
            communicator,
            hub,
            client,
        }
    }

    async fn end(self) {
        self.hub.shutdown().await;
        self.communicator.shutdown().await;
    }
}

#[tokio::test]
async fn each_world_starts_and_leaves_its_port_free() {
    let fixture = Fixture::start().await;
    for world in ALL {
        let planned = plan("starts", world, &free(world));
        let bridges = Bridges::start(planned, &fixture.client).await;
        let bridges = bridges.unwrap_or_else(|error| panic!("{world}: {error}"));
        let listed = bridges.list().pop().expect("it is there");
        assert_eq!(listed.world, world);
        assert_eq!(listed.peer_count, 0, "{world}");
        bridges.shut_down().await;
        assert!(bridges.list().is_empty());
        if SERVERS.contains(&world) {
            TcpListener::bind(&listed.address).unwrap_or_else(|error| panic!("{world}: {error}"));
        }
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let fixture = Fixture::start().await;
    for world in SERVERS {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = taken.local_addr().expect("it has one").to_string();
        let planned = plan("in-use", world, &format!("listen = \"{address}\""));
        let error = Bridges::start(planned, &fixture.client).await;
        let error = error.expect_err("the port is taken").to_string();
        assert!(error.contains(&address), "{world}: {error}");
    }
    fixture.end().await;
}

#[test]
fn unknown_keys_are_named() {
    for world in ALL {
        let settings = settings(world, "colour = 3", "::Demo::Ticker");
        let error = settings.plan(&folder("unknown-keys"));
        let error = error.expect_err("there is no such key").to_string();
        assert!(error.contains("colour"), "{world}: {error}");
        assert!(
            error.contains(&format!("bridge.{world}")),
            "{world}: {error}"
        );
    }
}

#[tokio::test]
async fn other_computers_are_refused() {
    let fixture = Fixture::start().await;
    for world in SERVERS {
        let settings = settings(world, "listen = \"0.0.0.0:0\"", "::Demo::Ticker");
        let error = match settings.plan(&folder("beyond")) {
            Ok(planned) => {
                let started = Bridges::start(planned, &fixture.client).await;
                started.expect_err("nobody was let in").to_string()
            }
            Err(error) => error.to_string(),
        };
        assert!(error.contains("0.0.0.0"), "{world}: {error}");
    }
    fixture.end().await;
}

#[test]
fn a_class_is_refused_and_a_struct_is_said() {
    for world in ALL {
        let judged = |interface: &str| {
            let settings = settings(world, &free(world), interface);
            let planned = settings.plan(&folder("class"));
            let planned = planned.unwrap_or_else(|error| panic!("{world}: {error}"));
            planned[0].world.judge(&planned[0].topics[0])
        };
        let findings = judged("::Demo::Graphs");
        let refused = findings.iter().find(|it| it.verdict.is_refused());
        let refused = refused.unwrap_or_else(|| panic!("{world}: {findings:?}"));
        let refused = refused.to_string();
        assert!(
            refused.to_lowercase().contains("node"),
            "{world}: {refused}"
        );
        for interface in ["::Demo::Ticker", "::Demo::Two"] {
            let findings = judged(interface);
            assert!(!findings.is_empty(), "{world}");
            assert!(
                findings.iter().all(|it| !it.verdict.is_refused()),
                "{world}: {findings:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cost_their_own_connection_only() {
    let fixture = Fixture::start().await;
    for world in SERVERS {
        let planned = plan("strangers", world, &free(world));
        let bridges = Bridges::start(planned, &fixture.client).await;
        let bridges = bridges.unwrap_or_else(|error| panic!("{world}: {error}"));
        let address = bridges.list().pop().expect("it is there").address;
        let garbage = tokio::task::spawn_blocking(move || {
            // One says nothing, and stays until the end.
            let silent = TcpStream::connect(&address).expect("it listens");
            for first in 0..=255_u8 {
                let mut stream = TcpStream::connect(&address).expect("it listens");
                let bytes: Vec<u8> = (0..2000_u32)
                    .map(|i| first ^ ((i * i) >> 3) as u8)
                    .collect();
                // It may be closed at any time.
                let _ = stream.write_all(&bytes);
                let _ = stream.shutdown(std::net::Shutdown::Write);
                stream
                    .set_read_timeout(Some(Duration::from_secs(10)))
                    .expect("it can be set");
                let _ = stream.read(&mut [0; 100]);
            }
            silent
        });
        let silent = garbage.await.expect("it listens all the time");
        let begun = Instant::now();
        bridges.shut_down().await;
        let took = begun.elapsed();
        assert!(
            took < Duration::from_secs(5),
            "{world} took {took:?} to end"
        );
        drop(silent);
    }
    fixture.end().await;
}
