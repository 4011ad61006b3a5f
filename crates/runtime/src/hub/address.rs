//! The address of a hub, parsed from text.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use floe_wire::reference::{ParseReferenceError, Reference};

use super::HubError;

/// The address of a hub, in one of these forms:
///
/// ```text
/// localhost                                          a host; the port is 10000
/// hub.example.com:10000   [::1]:10000                a host and a port
/// tcp -h localhost -p 10000                          endpoints
/// DemoIceStorm/TopicManager:tcp -h localhost -p 9999 the proxy of a topic manager
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubAddress {
    /// The object that knows the topic manager; `None` if the topic manager is given.
    finder: Option<Reference>,
    /// The topic manager. With a finder, it has the usual identity.
    manager: Reference,
}

/// The default port of a hub.
const PORT: u16 = 10000;

const TRANSPORTS: [&str; 6] = ["tcp", "ssl", "ws", "wss", "unix", "opaque"];

impl HubAddress {
    pub(super) fn finder(&self) -> Option<&Reference> {
        self.finder.as_ref()
    }

    pub(super) fn manager(&self) -> &Reference {
        &self.manager
    }

    fn at(endpoints: &str) -> Result<Self, ParseReferenceError> {
        Ok(Self {
            finder: Some(format!("IceStorm/Finder:{endpoints}").parse()?),
            manager: format!("IceStorm/TopicManager:{endpoints}").parse()?,
        })
    }
}

impl FromStr for HubAddress {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let address = text.trim();
        let parsed = match host_and_port(address) {
            Some((host, port)) => Self::at(&format!("tcp -h \"{host}\" -p {port}")),
            None if are_endpoints(address) => Self::at(address),
            None => address.parse().map(|manager| Self {
                finder: None,
                manager,
            }),
        };
        parsed.map_err(|source| HubError::Address {
            address: text.to_owned(),
            source,
        })
    }
}

/// The proxy of the topic manager.
impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.manager.fmt(f)
    }
}

fn are_endpoints(text: &str) -> bool {
    let first = text.split_whitespace().next();
    first.is_some_and(|first| TRANSPORTS.contains(&first))
}

/// Host and port of a text that consists of these alone.
fn host_and_port(text: &str) -> Option<(&str, u16)> {
    if text.parse::<IpAddr>().is_ok() {
        return Some((text, PORT));
    }
    if let Some(bracketed) = text.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']')?;
        let port = match rest {
            "" => PORT,
            rest => rest.strip_prefix(':')?.parse().ok()?,
        };
        return host.parse::<IpAddr>().is_ok().then_some((host, port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (text, PORT),
    };
    let is_host = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    (!host.is_empty() && host.chars().all(is_host)).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_with_or_without_a_port_is_an_endpoint_of_tcp() {
        for (text, endpoint) in [
            ("localhost", "tcp -h localhost -p 10000"),
            (" hub.example.com:9999 ", "tcp -h hub.example.com -p 9999"),
            ("192.0.2.7", "tcp -h 192.0.2.7 -p 10000"),
            ("::1", "tcp -h \"::1\" -p 10000"),
            ("[::1]:9999", "tcp -h \"::1\" -p 9999"),
            ("tcp -h localhost -p 1", "tcp -h localhost -p 1"),
        ] {
            let expected = format!("IceStorm/TopicManager:{endpoint}");
            let address: HubAddress = text.parse().unwrap();
            assert_eq!(address.manager, expected.parse().unwrap(), "{text}");
            assert!(address.finder.is_some(), "{text}");
        }
    }

    #[test]
    fn a_proxy_is_that_of_the_topic_manager() {
        let text = "DemoIceStorm/TopicManager:tcp -h localhost -p 9999";
        let address: HubAddress = text.parse().unwrap();
        assert_eq!(address.manager, text.parse().unwrap());
        assert_eq!(address.finder, None);
        let located: HubAddress = "IceStorm/TopicManager".parse().unwrap();
        assert_eq!(located.finder, None);
    }

    #[test]
    fn anything_else_is_refused_with_examples() {
        for text in ["", "localhost:port", "tcp -h", "localhost:99999"] {
            let error = text.parse::<HubAddress>().unwrap_err();
            assert!(
                error.to_string().contains("such as `localhost:10000`"),
                "{error}"
            );
        }
    }
}
