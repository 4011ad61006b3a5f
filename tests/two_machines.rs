//! A hub on one machine, its publishers and subscribers on another: two network namespaces, joined by a cable.
//!
//! The programs are those of the example `ticker`.

use std::fs;
use std::path::PathBuf;
use std::process;

use floe_tests::ice::Ice;
use floe_tests::machines::{FIRST, Machines, SECOND};
use floe_tests::peer::Peer;
use floe_tests::workspace;

#[test]
fn a_floe_hub_on_another_machine_reaches_a_subscriber_that_listens_nowhere() {
    let Some(machines) = Machines::or_skip() else {
        return;
    };
    let mut serve = machines.on_first(workspace::program("floe"));
    serve.args(["serve", "--transient", "--listen", FIRST_ENDPOINT]);
    let mut hub = Peer::start("floe serve", &mut serve);
    hub.line();
    let mut subscriber = start_subscriber(&machines);
    let listening = listening_on_second(&machines);
    assert!(!listening.contains("LISTEN"), "{listening}");
    publish(&machines);
    expect_ticks(&mut subscriber);
}

#[test]
fn an_icestorm_on_another_machine_reaches_a_subscriber_at_the_address_it_came_from() {
    if Ice::or_skip().is_none() {
        return;
    }
    let Some(machines) = Machines::or_skip() else {
        return;
    };
    let database = Database::new();
    let mut icebox = machines.on_first("icebox");
    let config = workspace::root().join("tests/interop/ice/icestorm.config");
    icebox.arg(format!("--Ice.Config={}", config.display()));
    icebox.arg(format!("--IceStorm.LMDB.Path={}", database.0.display()));
    icebox.arg(format!(
        "--IceStorm.TopicManager.Endpoints={FIRST_ENDPOINT}"
    ));
    icebox.arg(format!(
        "--IceStorm.Publish.Endpoints=tcp -h {FIRST} -p 10001"
    ));
    let mut storm = Peer::start("IceStorm", &mut icebox);
    storm.line_after("IceBox ready");
    let mut subscriber = start_subscriber(&machines);
    let listening = listening_on_second(&machines);
    assert!(listening.contains(SECOND), "{listening}");
    assert!(!listening.contains("127.0.0.1"), "{listening}");
    publish(&machines);
    expect_ticks(&mut subscriber);
}

fn start_subscriber(machines: &Machines) -> Peer {
    let mut subscriber = machines.on_second(workspace::program("ticker-subscriber"));
    let mut subscriber = Peer::start("subscriber", subscriber.arg(FIRST_ADDRESS));
    subscriber.ready();
    subscriber
}

fn publish(machines: &Machines) {
    let mut publisher = machines.on_second(workspace::program("ticker-publisher"));
    Peer::start("publisher", publisher.arg(FIRST_ADDRESS)).succeed();
}

/// Returns the kernel's list of sockets that listen on the second machine.
fn listening_on_second(machines: &Machines) -> String {
    let listed = machines.on_second("ss").args(["-Htln"]).output();
    let listed = listed.expect("`ss` comes with `ip`");
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

fn expect_ticks(subscriber: &mut Peer) {
    for expected in ["FLOE 1.50", "ICE 0.50", "FLOE 1.75"] {
        assert_eq!(subscriber.line(), expected);
    }
}

const FIRST_ENDPOINT: &str = "tcp -h 10.99.0.1 -p 10000";
const FIRST_ADDRESS: &str = "10.99.0.1:10000";

/// An empty folder for IceStorm, removed at the end of the test.
struct Database(PathBuf);

impl Database {
    fn new() -> Self {
        let name = format!("interop/two-machines-{}", process::id());
        let path = workspace::target_dir().join(name);
        fs::create_dir_all(&path).expect("the target folder can be written");
        Self(path)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
