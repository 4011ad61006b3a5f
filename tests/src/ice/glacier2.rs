//! A real Glacier2 3.7, as Debian installs it.

use std::fs;
use std::process::Command;

use super::storm::{new_database, published_endpoint};
use crate::gateway::Router;
use crate::peer::Peer;

/// Starts a `glacier2router` on a free port of loopback for each side, with these properties, a line each.
pub(super) fn start(properties: &str) -> Router {
    let folder = new_database();
    let config = folder.join("glacier2.config");
    let own = "Ice.Default.Host=127.0.0.1\nIce.Trace.Network=1\nIce.PrintAdapterReady=1\n\
               Glacier2.Server.Endpoints=tcp -p 0\n";
    // What comes last counts.
    fs::write(&config, format!("{own}{properties}")).expect("the target folder can be written");
    let mut router = Command::new("glacier2router");
    router.arg(format!("--Ice.Config={}", config.display()));
    let mut peer = Peer::start("glacier2router", &mut router);
    peer.line_after("Glacier2.Client ready");
    peer.line_after("Glacier2.Server ready");
    let endpoint = published_endpoint(&peer, "Glacier2.Client");
    let proxy = format!("Glacier2/router:{endpoint}");
    // What was read at the start is not needed any more.
    let _ = fs::remove_dir_all(folder);
    Router::new(peer, proxy)
}
