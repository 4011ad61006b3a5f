//! Settings of the parts of a server that are neither hub nor gateway.

use std::net::SocketAddr;

/// Where metrics are served, at `/metrics`, with the probes `/healthz` and `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsSettings {
    /// Where to listen; port 0 is any free port.
    pub listen: SocketAddr,
    /// Further names of this computer by which a scraper asks. A request for any other host is refused.
    pub hosts: Vec<String>,
    /// True if there are metrics of each subscriber, for up to 1,000 subscribers.
    pub has_subscribers: bool,
}

impl MetricsSettings {
    /// Metrics without those of each subscriber, served there.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            hosts: Vec::new(),
            has_subscribers: false,
        }
    }
}

/// Where the console is served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsoleSettings {
    /// The IP address and the port; port 0 is any free port. Without it, there is no console.
    pub listen: Option<SocketAddr>,
    /// Further names of this computer by which a browser asks. A request for any other host is refused.
    pub hosts: Vec<String>,
}
