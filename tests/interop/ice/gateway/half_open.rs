//! A line between a client and a gateway that loses everything, without a word to either side, and works again later.
//!
//! The gateway and all behind it run on one machine, the client on another.

use std::fs;
use std::path::PathBuf;

use floe_tests::ice::{self, Ice};
use floe_tests::machines::{FIRST, Machines};
use floe_tests::peer::Peer;
use floe_tests::workspace;

/// A gateway with a hub in the same process.
struct Scene {
    machines: Machines,
    gateway: Peer,
    router: String,
    config: PathBuf,
}

impl Scene {
    /// `None` after reporting a skip.
    fn or_skip(name: &str) -> Option<Self> {
        let machines = Machines::or_skip()?;
        let config = workspace::target_dir().join(format!("half-open-{name}.toml"));
        let text = format!(
            "listen = \"{HUB}\"\n[gateway]\nlisten = \"tcp -h {FIRST} -p 4063\"\n\
             server-listen = \"tcp -h {FIRST} -p 0\"\nverifier = \"accept-all\"\nidle-timeout = \"2s\"\n"
        );
        fs::write(&config, text).expect("the target folder can be written");
        let mut serve = machines.on_first(workspace::program("floe"));
        serve.args(["serve", "--config"]).arg(&config);
        let mut gateway = Peer::start("floe serve", serve.env("FLOE_LOG", "floe_gateway=info"));
        gateway.ready();
        let router = gateway.line_after("router");
        Some(Self {
            machines,
            gateway,
            router,
            config,
        })
    }

    /// Cuts the line until the gateway says that it has noticed. `meanwhile` runs before that and after it.
    fn cut_until(&self, noticed: &str, meanwhile: impl Fn()) {
        self.machines.cut();
        meanwhile();
        self.gateway.errors_with(noticed);
        meanwhile();
        self.machines.mend();
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.config);
    }
}

const HUB: &str = "tcp -h 10.99.0.1 -p 10000";

#[test]
fn a_session_of_floe_survives_a_line_that_loses_everything_for_a_while() {
    let Some(scene) = Scene::or_skip("floe") else {
        return;
    };
    let contract = ice::folder().join("Interop.ice");
    let contract = contract
        .to_str()
        .expect("the path of the workspace is text");
    let hub = format!("IceStorm/TopicManager:{HUB}");
    let event = |number: usize| format!("[\"key {number}\", true]");
    let common = ["--slice", contract, "--hub", &hub];
    let mut sub = scene.machines.on_second(workspace::program("floe"));
    sub.args(["sub", "news", "--create", "-n", "10"])
        .args(common);
    sub.args(["--router", &scene.router, "--user", "joe"]);
    let subscriber = Peer::start("floe sub", sub.env("FLOE_PASSWORD", "any"));
    subscriber.errors_with("subscribed to topic");
    let published = std::cell::Cell::new(0);
    let publish = |count: usize| {
        for number in (published.get()..).take(count) {
            let mut publish = scene.machines.on_first(workspace::program("floe"));
            publish
                .args(["pub", "news", "flagged", &event(number)])
                .args(common);
            Peer::start("floe pub", &mut publish).succeed();
            published.set(number + 1);
        }
    };
    publish(2);
    scene.cut_until("has lost its connection, and may come back", || publish(3));
    scene.gateway.errors_with("has come back");
    publish(2);
    let expected = (0..10).map(|number| {
        format!(r#"{{"operation":"flagged","parameters":{{"key":"key {number}","value":true}}}}"#)
    });
    assert_eq!(subscriber.succeed(), expected.collect::<Vec<_>>());
}

#[test]
fn a_session_of_ice_ends_behind_a_line_that_loses_everything_and_its_client_logs_in_again() {
    let Some(ice) = Ice::or_skip() else { return };
    let Some(scene) = Scene::or_skip("ice") else {
        return;
    };
    let folder = ice::folder().join("gateway");
    let mut backend = scene.machines.on_first(ice.python());
    let mut backend = Peer::start("the back end", backend.arg(folder.join("backend.py")));
    let service = backend.ready();
    let mut client = scene.machines.on_second(ice.python());
    client.arg(folder.join("client.py"));
    client.args(["half_open", &scene.router, &service]);
    let mut client = Peer::start("the Ice client", &mut client);
    let who = "service /service '' Normal";
    assert_eq!(client.line(), format!("before: {who}"));
    assert_eq!(client.line(), "waiting: True");
    scene.cut_until("\"joe\" has ended: its connection was closed", || ());
    client.close_input();
    let expected = [
        "after: connection lost",
        "another: True",
        &format!("again: {who}"),
        "done: half_open",
    ];
    assert_eq!(client.succeed(), expected);
}
