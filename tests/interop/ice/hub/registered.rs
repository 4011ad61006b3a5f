//! A hub that clients find by IceGrid alone: its proxies say in which adapter its objects are, and not where.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;
use floe_tests::workspace;

/// A property file of this name, for this process alone.
fn config(name: &str, properties: &str) -> PathBuf {
    let file = workspace::target_dir().join(format!("{name}-{}.config", std::process::id()));
    fs::write(&file, properties).expect("the target folder can be written");
    file
}

fn start_hub(config: &PathBuf) -> Peer {
    let mut serve = Command::new(workspace::program("floe"));
    let mut hub = Peer::start("floe serve", serve.args(["serve", "--config"]).arg(config));
    let manager = hub.ready();
    assert!(!manager.contains("tcp"), "{manager}");
    hub
}

/// Returns a client's lines about the service whose topic manager is in this adapter.
fn converse(ice: &Ice, locator: &str, adapter: &str) -> Vec<String> {
    let mut python = ice.peer("registered", Language::Python);
    python.args([locator, &format!("Service/TopicManager @ {adapter}")]);
    let said = Peer::start("the client", &mut python).succeed();
    assert_eq!(said.last().map(String::as_str), Some("done"));
    said
}

#[test]
fn a_hub_is_found_by_a_real_icegrid_as_an_icestorm_is() {
    let Some(ice) = Ice::or_skip() else { return };
    let grid = ice.start_grid();
    let locator = grid.locator();
    let named = "IceStorm.TopicManager.AdapterId=Topics\nIceStorm.Publish.AdapterId=Publishers\n";
    let grouped =
        "IceStorm.TopicManager.ReplicaGroupId=Hubs\nIceStorm.Publish.ReplicaGroupId=Doors\n";
    for (properties, adapters) in [
        (named.to_owned(), &["Topics"] as &[_]),
        (format!("{named}{grouped}"), &["Topics", "Hubs"]),
    ] {
        let properties =
            format!("Ice.Default.Locator={locator}\nIceStorm.InstanceName=Service\n{properties}");
        let storm = ice.start_storm_with(&properties);
        let converse = |adapter: &&str| converse(&ice, locator, adapter);
        let expected: Vec<_> = adapters.iter().map(converse).collect();
        drop(storm);

        let listen = "IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0\n\
                      IceStorm.Publish.Endpoints=tcp -h 127.0.0.1 -p 0\nIceStorm.Transient=1\n";
        let config = config("registered", &format!("{properties}{listen}"));
        let mut hub = start_hub(&config);
        let came: Vec<_> = adapters.iter().map(converse).collect();
        assert_eq!(came, expected);

        // The next one is elsewhere, though this one could not say that it ended.
        hub.kill();
        let hub = start_hub(&config);
        let came: Vec<_> = adapters.iter().map(converse).collect();
        assert_eq!(came, expected);
        hub.signal("TERM");
        assert!(hub.end().status.success());
        let mut ping = Command::new(workspace::program("floe"));
        let manager = format!("Service/TopicManager @ {}", adapters[0]);
        ping.args(["ping", "--count", "1", "--locator", locator, &manager]);
        let told = Peer::start("floe ping", &mut ping).end();
        assert!(!told.status.success());
        let told = told.errors;
        assert!(told.contains("adapter \"Topics\""), "{told}");
        fs::remove_file(&config).expect("it is there");
    }
}
