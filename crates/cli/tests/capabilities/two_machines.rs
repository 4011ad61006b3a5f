//! A hub on one machine and its users on another: two network namespaces with a cable between them.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::command::{Ran, floe, slice_file};
use crate::hub::Running;

const CONTRACT: &str = "module M { interface I { void n(long number); } }";

/// The address of the machine with the hub.
pub(crate) const SERVER: &str = "10.213.7.1";

/// The address of the other machine.
const CLIENT: &str = "10.213.7.2";

/// Two machines and the cable between them; dropping it takes them down.
pub(crate) struct Network {
    server: String,
    client: String,
}

impl Network {
    /// None where that is not allowed, which is said.
    pub(crate) fn make() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{count}", std::process::id());
        let network = Self {
            server: format!("floe-server-{id}"),
            client: format!("floe-client-{id}"),
        };
        match network.connect() {
            Ok(()) => Some(network),
            Err(reason) => {
                eprintln!("\nSKIPPED: two machines: network namespaces need root and ip: {reason}");
                None
            }
        }
    }

    fn connect(&self) -> Result<(), String> {
        let Self { server, client } = self;
        ip(&["netns", "add", server])?;
        ip(&["netns", "add", client])?;
        ip(&[
            "-n", server, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
            client,
        ])?;
        for (machine, address) in [(server, SERVER), (client, CLIENT)] {
            ip(&[
                "-n",
                machine,
                "address",
                "add",
                &format!("{address}/24"),
                "dev",
                "cable",
            ])?;
            ip(&["-n", machine, "link", "set", "cable", "up"])?;
            ip(&["-n", machine, "link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    /// Starts the command on the machine of the hub.
    pub(crate) fn on_server(&self, arguments: &[&str]) -> Running {
        Running::run(on(&self.server, arguments))
    }

    /// Starts the command on the other machine.
    fn on_client(&self, arguments: &[&str]) -> Running {
        Running::run(on(&self.client, arguments))
    }

    /// Runs the command on the other machine to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = on(&self.client, arguments).output();
        Ran::from(output.expect("ip is there"))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for machine in [&self.server, &self.client] {
            // It may not have been made.
            let _ = ip(&["netns", "delete", machine]);
        }
    }
}

/// The command on this machine.
fn on(machine: &str, arguments: &[&str]) -> Command {
    let floe = floe();
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", machine])
        .arg(floe.get_program())
        .args(arguments);
    for (name, value) in floe.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

#[test]
fn events_calls_and_pings_go_from_machine_to_machine() {
    let Some(network) = Network::make() else {
        return;
    };
    let file = slice_file("machines.ice", CONTRACT);
    let hub = network.on_server(&["serve", "--transient", "--listen", "*"]);
    assert!(hub.line().starts_with("ready "));

    let typed = ["--create", "--slice", &file, "--hub", SERVER];
    let subscriber = network.on_client(&[&["sub", "t", "-n", "2"], &typed[..]].concat());
    let told = subscriber.talked("subscribed to topic `t`");
    // The events come over its connection: nothing listens on its machine.
    assert!(!told.contains("tcp"), "{told}");
    network
        .run(&[&["pub", "t", "n", "[1]"], &typed[..]].concat())
        .ended(0);
    let here = [
        "pub",
        "t",
        "n",
        "[2]",
        "--slice",
        &file,
        "--hub",
        "localhost",
    ];
    network.on_server(&here).end().ended(0);
    for number in ["1", "2"] {
        let line = subscriber.line();
        assert!(line.contains(&format!(r#""number":{number}"#)), "{line}");
    }
    subscriber.end().ended(0);

    let echo = network.on_server(&["echo", "--listen", "*:4061"]);
    echo.line();
    let proxy = format!("Floe/Echo:{SERVER}:4061");
    network.run(&["call", &proxy, "ice_ping"]).ended(0);
    let ping = network.run(&["ping", &proxy, "-n", "3"]).ended(0);
    assert!(!ping.stdout.is_empty());
}

#[test]
fn a_subscriber_may_say_where_it_listens() {
    let Some(network) = Network::make() else {
        return;
    };
    let file = slice_file("machines-listen.ice", CONTRACT);
    let hub = network.on_server(&[
        "serve",
        "--transient",
        "--listen",
        &format!("{SERVER}:7000"),
    ]);
    assert!(hub.line().starts_with("ready "));
    let at = format!("{SERVER}:7000");
    let typed = ["--create", "--slice", &file, "--hub", &at];
    let listen = format!("{CLIENT}:7001");
    let subscribe = [&["sub", "t", "-n", "1", "--listen", &listen], &typed[..]].concat();
    let subscriber = network.on_client(&subscribe);
    let told = subscriber.talked("subscribed to topic `t`");
    assert!(told.contains(&format!("tcp -h {CLIENT} -p 7001")), "{told}");
    network
        .run(&[&["pub", "t", "n", "[1]"], &typed[..]].concat())
        .ended(0);
    subscriber.end().ended(0);
}
