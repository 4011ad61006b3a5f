//! A Floe hub as its users start it: `floe serve`, on a free port of loopback, with nothing stored.

use std::process::Command;

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
