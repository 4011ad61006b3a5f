//! A hub on one machine, its publishers and subscribers on another: two network namespaces, joined by a cable.
//!
//! Nothing is routed between them, and the loopback of one is not that of the other. The programs are those of the example
//! `ticker`.

use std::fs;
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use floe_tests::ice::Ice;
use floe_tests::peer::Peer;
use floe_tests::{skip, workspace};

#[test]
fn a_floe_hub_on_another_machine_reaches_a_subscriber_that_listens_nowhere() {
    let Some(machines) = Machines::or_skip() else {
        return;
    };
    let mut serve = machines.on_first(workspace::program("floe"));
    serve.args(["serve", "--transient", "--listen", FIRST_ENDPOINT]);
    let mut hub = Peer::start("floe serve", &mut serve);
    hub.line();
    let mut subscriber = machines.start_subscriber();
    let listening = machines.listening_on_second();
    assert!(!listening.contains("LISTEN"), "{listening}");
    machines.publish();
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
    let mut icebox = machines.on_first("icebox".into());
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
    let mut subscriber = machines.start_subscriber();
    let listening = machines.listening_on_second();
    assert!(listening.contains(SECOND), "{listening}");
    assert!(!listening.contains("127.0.0.1"), "{listening}");
    machines.publish();
    expect_ticks(&mut subscriber);
}

fn expect_ticks(subscriber: &mut Peer) {
    for expected in ["FLOE 1.50", "ICE 0.50", "FLOE 1.75"] {
        assert_eq!(subscriber.line(), expected);
    }
}

const FIRST: &str = "10.99.0.1";
const SECOND: &str = "10.99.0.2";
const FIRST_ENDPOINT: &str = "tcp -h 10.99.0.1 -p 10000";
const FIRST_ADDRESS: &str = "10.99.0.1:10000";

/// Two network namespaces, and a cable between them. Dropping them removes them.
struct Machines {
    names: [String; 2],
}

impl Machines {
    /// Two of them; `None` after reporting a skip if this process may not make any.
    fn or_skip() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |end| format!("floe{}-{number}{end}", process::id());
        let machines = Self {
            names: [name("a"), name("b")],
        };
        match machines.connect() {
            Ok(()) => Some(machines),
            Err(reason) => {
                skip::report("two network namespaces", &reason);
                None
            }
        }
    }

    fn connect(&self) -> Result<(), String> {
        let [first, second] = &self.names;
        for name in &self.names {
            ip(&format!("netns add {name}"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        ip(&format!(
            "-n {first} link add cable type veth peer name cable netns {second}"
        ))?;
        for (name, address) in [(first, FIRST), (second, SECOND)] {
            ip(&format!("-n {name} address add {address}/24 dev cable"))?;
            ip(&format!("-n {name} link set cable up"))?;
        }
        Ok(())
    }

    fn on_first(&self, program: PathBuf) -> Command {
        on(&self.names[0], program)
    }

    fn on_second(&self, program: PathBuf) -> Command {
        on(&self.names[1], program)
    }

    fn start_subscriber(&self) -> Peer {
        let mut subscriber = self.on_second(workspace::program("ticker-subscriber"));
        let mut subscriber = Peer::start("subscriber", subscriber.arg(FIRST_ADDRESS));
        subscriber.ready();
        subscriber
    }

    fn publish(&self) {
        let mut publisher = self.on_second(workspace::program("ticker-publisher"));
        Peer::start("publisher", publisher.arg(FIRST_ADDRESS)).succeed();
    }

    /// What the kernel says of sockets that listen on the second machine.
    fn listening_on_second(&self) -> String {
        let listed = self.on_second("ss".into()).args(["-Htln"]).output();
        let listed = listed.expect("`ss` comes with `ip`");
        String::from_utf8_lossy(&listed.stdout).into_owned()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for name in &self.names {
            // The cable goes with its ends.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

/// A program in a namespace.
fn on(namespace: &str, program: PathBuf) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "`ip {arguments}` failed: {}; run as root",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("`ip` does not run: {error}")),
    }
}

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
