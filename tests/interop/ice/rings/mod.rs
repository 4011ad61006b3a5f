//! Graphs with cycles of which one side keeps a part: Floe and Ice keep and send the same.
//!
//! `peer.py` says what is asked. Floe has both roles, and so has Ice, whose answers to itself are the expected ones.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
mod contract {
    floe::include_contract!("Rings");
}
mod client;
#[cfg(feature = "ice38")]
mod ice38;
mod servant;

use std::process::Command;

use floe::Communicator;
use floe_tests::ice::{Ice, folder};
use floe_tests::peer::Peer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_rings_are_kept_and_sent_as_ice_does() {
    let Some(ice) = Ice::or_skip() else { return };
    agree(ice).await;
}

/// Asks each side in each role.
async fn agree(ice: Ice) {
    let (keeper, proxy) = start(&ice);
    let expected = ask(&ice, &proxy);
    assert_eq!(expected.len(), 2 * 24, "{expected:#?}");
    let communicator = Communicator::new();
    let said = client::ask(&communicator, &proxy).await;
    assert_eq!(said, expected, "a Floe client");
    end(keeper);

    let (_adapter, proxy) = servant::serve(&communicator).await;
    let asked = tokio::task::spawn_blocking(move || ask(&ice, &proxy));
    let said = asked.await.expect("the client succeeds");
    assert_eq!(said, expected, "a Floe servant");
    communicator.shutdown().await;
}

/// Returns an Ice client's lines about a keeper, one for each answer.
fn ask(ice: &Ice, keeper: &str) -> Vec<String> {
    let mut client = command(ice, "call");
    let mut lines = Peer::start("the Ice client", client.arg(keeper)).succeed();
    assert_eq!(lines.pop().as_deref(), Some("done"));
    lines
}

fn start(ice: &Ice) -> (Peer, String) {
    let mut server = Peer::start("the Ice server", &mut command(ice, "keeper"));
    let proxy = server.ready();
    (server, proxy)
}

fn end(mut server: Peer) {
    server.close_input();
    server.succeed();
}

fn command(ice: &Ice, role: &str) -> Command {
    let mut command = Command::new(ice.python());
    command.arg(folder().join("rings/peer.py")).arg(role);
    command
}
