//! A Floe hub as its users start it: `floe serve`, on a free port of loopback.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::peer::Peer;
use crate::workspace;

/// A running `floe serve --transient`. Dropping it kills it.
#[derive(Debug)]
pub struct Hub {
    peer: Peer,
    endpoint: String,
}

impl Hub {
    /// Starts a hub with further arguments to `floe serve`, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not become ready, or does not say where it listens.
    pub fn start(arguments: &[&str]) -> Self {
        let mut serve = Command::new(workspace::program("floe"));
        serve
            .args(["serve", "--transient", "--listen", "tcp -h 127.0.0.1 -p 0"])
            .args(arguments);
        let mut peer = Peer::start("floe serve", &mut serve);
        let line = peer.line();
        let endpoint = tcp_endpoint(&line).unwrap_or_else(|| {
            panic!("expected `floe serve` to name a tcp endpoint, got `{line}`")
        });
        Self { peer, endpoint }
    }

    /// Where it listens: `tcp -h 127.0.0.1 -p PORT`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The proxy of its topic manager.
    pub fn manager(&self) -> String {
        format!("IceStorm/TopicManager:{}", self.endpoint)
    }

    /// The process, to look at its standard error or to kill it.
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }
}

/// Starts a hub that keeps what it must, and waits until it is ready; returns it with the proxy of
/// its topic manager.
///
/// # Panics
/// If it does not become ready.
pub fn serve(data: &Data, endpoint: &str) -> (Peer, String) {
    let mut serve = Command::new(workspace::program("floe"));
    serve.args(["serve", "--listen", endpoint, "--data"]);
    let mut hub = Peer::start("floe serve", serve.arg(data.path()));
    let manager = hub.ready();
    (hub, manager)
}

/// Starts a hub as [`serve`] does, with this text as its configuration file. `program` is `floe`, or what starts it.
///
/// # Panics
/// If it does not become ready.
pub fn serve_configured(
    mut program: Command,
    data: &Data,
    endpoint: &str,
    config: &str,
) -> (Peer, String) {
    let file = data.path().with_extension("toml");
    let folder = file.parent().expect("the data is in a folder");
    fs::create_dir_all(folder).expect("the target folder can be written");
    fs::write(&file, config).expect("the target folder can be written");
    program.args(["serve", "--listen", endpoint, "--config"]);
    program.arg(&file).arg("--data").arg(data.path());
    let mut hub = Peer::start("floe serve", &mut program);
    let manager = hub.ready();
    fs::remove_file(file).expect("it is there");
    (hub, manager)
}

/// A folder for a hub's data, removed at the end of the test.
#[derive(Debug)]
pub struct Data(PathBuf);

impl Data {
    /// One of this name, for this process alone; it does not exist yet.
    pub fn new(name: &str) -> Self {
        let name = format!("hub-data/{name}-{}", std::process::id());
        Self(workspace::target_dir().join(name))
    }

    /// One that no other has, even in this process.
    pub fn unique(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self::new(&format!("{name}-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // A folder that cannot be removed harms nobody: its name is not used again.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The first tcp endpoint that a line names, host and port alone.
fn tcp_endpoint(line: &str) -> Option<String> {
    let from = line.find("tcp ")?;
    let mut words = line[from..]
        .split([' ', ':', ',', '"', '\'', '`', ']', ')'])
        .filter(|word| !word.is_empty());
    let mut after = |flag: &str| words.by_ref().skip_while(|word| *word != flag).nth(1);
    let (host, port) = (after("-h")?, after("-p")?);
    Some(format!("tcp -h {host} -p {port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endpoint_is_found_wherever_it_stands_in_the_line() {
        let expected = Some("tcp -h 127.0.0.1 -p 4711".to_owned());
        for line in [
            "ready tcp -h 127.0.0.1 -p 4711",
            "ready: hub listens on `tcp -h 127.0.0.1 -p 4711 -t 60000`",
            "ready IceStorm/TopicManager:tcp -h 127.0.0.1 -p 4711:tcp -h 127.0.0.2 -p 1",
            r#"{"endpoints":["tcp -h 127.0.0.1 -p 4711"]}"#,
        ] {
            assert_eq!(tcp_endpoint(line), expected, "{line}");
        }
        assert_eq!(tcp_endpoint("ready"), None);
    }
}
