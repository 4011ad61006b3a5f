//! A server in a program: it starts as its file says, applies changes of the file, and ends.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use floe::hub::HubClient;
use floe_server::{Configuration, Fault, Server};

use crate::console::Folder;

/// A file of settings in a folder of its own.
fn file(folder: &Folder, text: &str) -> PathBuf {
    let path = folder.path().join("floe.toml");
    fs::write(&path, text).expect("the folder can be written");
    path
}

#[tokio::test]
async fn a_program_embeds_a_server_that_follows_its_file() {
    let folder = Folder::new("embedded");
    let path = file(
        &folder,
        "listen = \"tcp -h 127.0.0.1 -p 0\"\n[limits]\ntopics = 1\n",
    );
    let read = || Configuration::load(&path);
    let mut server = Server::start(read().expect("settings"))
        .await
        .expect("it starts");
    let manager = server.hub().expect("a hub").topic_manager();
    let changed = async {
        let client = HubClient::connect(&manager).await.expect("it listens");
        client.topic("a").await.expect("the first topic");
        assert!(client.topic("b").await.is_err(), "the limit holds");
        let more = "listen = \"tcp -h 127.0.0.1 -p 0\"\n[limits]\ntopics = 2\n# more\n";
        fs::write(&path, more).expect("the file");
        while client.topic("b").await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        "the file was applied"
    };
    let watchdog = Duration::from_secs(60);
    let reason = tokio::time::timeout(watchdog, server.serve_until(read, changed)).await;
    assert_eq!(reason, Ok("the file was applied"));
    server.shutdown().await;
    assert!(HubClient::connect(&manager).await.is_err(), "it has ended");
}

#[tokio::test]
async fn a_console_that_others_reach_needs_rules() {
    let folder = Folder::new("reached");
    let open = "listen = \"tcp -h 127.0.0.1 -p 0\"\n[console]\nlisten = \"0.0.0.0:0\"\n";
    let configuration = Configuration::load(file(&folder, open)).expect("settings");
    let error = Server::start(configuration)
        .await
        .expect_err("there are no rules");
    assert_eq!(error.fault(), Fault::Settings);
    assert!(
        error.message().contains("expected a loopback address"),
        "{error}"
    );
    let rules = "[[access.rule]]\nallow = \"*\"\nnetworks = \"any\"\n";
    let configuration = Configuration::load(file(&folder, &format!("{open}{rules}")));
    let server = Server::start(configuration.expect("settings"))
        .await
        .expect("there are rules");
    assert!(server.console_address().is_some());
    server.shutdown().await;
}
