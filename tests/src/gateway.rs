//! Routers for clients behind a firewall: a Floe gateway as its users start it, `floe serve` with a property file of
//! Glacier2, or a real Glacier2.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::peer::Peer;
use crate::workspace;

/// The properties of every gateway.
const OWN: &str = "Ice.Default.Host=127.0.0.1\nGlacier2.Server.Endpoints=tcp -p 0\n";

/// A running router. Dropping it kills it.
#[derive(Debug)]
pub struct Router {
    peer: Peer,
    proxy: String,
}

impl Router {
    pub(crate) fn new(peer: Peer, proxy: String) -> Self {
        Self { peer, proxy }
    }

    /// Starts a Floe gateway on a free port of loopback for each side, with these properties of Glacier2, a line each.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_floe(properties: &str) -> Self {
        Self::start_with(&format!("{OWN}{properties}"), "config", &[])
    }

    /// Starts a gateway that offers all compressions to peers of Floe.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_offering(properties: &str) -> Self {
        let offer = ["--offer", "zstd,brotli,zstd-stream,zstd-batch"];
        Self::start_with(&format!("{OWN}{properties}"), "config", &offer)
    }

    /// Starts what this `floe.toml` says; the line that names the router is the second if there is a hub.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_toml(text: &str) -> Self {
        Self::start_toml_with(text, &[])
    }

    /// Starts the gateway in the same way, with further arguments to `floe serve`.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn start_toml_with(text: &str, arguments: &[&str]) -> Self {
        Self::start_with(text, "toml", arguments)
    }

    fn start_with(text: &str, extension: &str, arguments: &[&str]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gateway-{}-{number}.{extension}", std::process::id());
        let file = workspace::target_dir().join(name);
        fs::write(&file, text).expect("the target folder can be written");
        let mut serve = Command::new(workspace::program("floe"));
        serve.args(["serve", "--config"]).arg(&file).args(arguments);
        let mut peer = Peer::start("floe serve", &mut serve);
        let ready = peer.ready();
        let proxy = match ready.contains("/router ") || ready.contains("/router:") {
            true => ready,
            false => peer.line_after("router"),
        };
        let _ = fs::remove_file(file);
        Self { peer, proxy }
    }

    /// The proxy of the router.
    pub fn proxy(&self) -> &str {
        &self.proxy
    }

    /// The process, to look at its standard error or to kill it.
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }
}
