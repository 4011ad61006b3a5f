//! The table `[bridge.soap]`.

use std::net::{IpAddr, SocketAddr};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::world::SoapWorld;
use crate::networks::Networks;
use crate::settings::{TopicSettings, WorldSettings, value};
use crate::world::World;

/// How SOAP programs are served.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields, rename_all = "kebab-case")]
pub struct SoapSettings {
    /// Where it listens for HTTP. Default: `127.0.0.1:8070`.
    #[serde(default = "usual_listen", deserialize_with = "value::address")]
    pub listen: SocketAddr,
    /// The networks whose programs may call. Default: this machine alone; must be set to listen elsewhere.
    pub clients: Option<Networks>,
    /// The networks to which events are pushed. Default: this machine if it listens there, and otherwise none, because
    /// programs elsewhere could then reach what only this machine should.
    pub consumers: Option<Networks>,
    /// Names of this host that programs may use in URLs, beside IP addresses and `localhost`.
    #[serde(default, deserialize_with = "value::texts")]
    pub hosts: Vec<String>,
    /// The beginning of the XML namespaces of the contract. Default: `urn:floe:slice`.
    #[serde(default = "usual_namespace")]
    pub namespace: String,
    /// The longest lease of a subscription, and the one of those that ask for none, in seconds. Default: a day.
    #[serde(default = "usual_lease")]
    pub lease_seconds: u64,
    /// How long a pull point may be without a request before it ends, in seconds. Default: ten minutes.
    #[serde(default = "usual_idle")]
    pub idle_seconds: u64,
    /// How long a consumer may be away before its subscription ends, in seconds. Default: a minute.
    #[serde(default = "usual_away")]
    pub away_seconds: u64,
    /// The topics.
    #[serde(default)]
    pub topic: Vec<TopicSettings>,
}

fn usual_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8070))
}

fn usual_namespace() -> String {
    "urn:floe:slice".to_owned()
}

fn usual_lease() -> u64 {
    24 * 60 * 60
}

fn usual_idle() -> u64 {
    10 * 60
}

fn usual_away() -> u64 {
    60
}

/// The longest of the times, in seconds: a year. What lasts longer was a mistake.
pub const SECONDS_MAX: u64 = 365 * 24 * 60 * 60;

impl Default for SoapSettings {
    fn default() -> Self {
        Self {
            listen: usual_listen(),
            clients: None,
            consumers: None,
            hosts: Vec::new(),
            namespace: usual_namespace(),
            lease_seconds: usual_lease(),
            idle_seconds: usual_idle(),
            away_seconds: usual_away(),
            topic: Vec::new(),
        }
    }
}

impl<'de> Deserialize<'de> for SoapSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The derived function, which checks keys and types only.
        let settings = Self::deserialize(deserializer)?;
        settings.check().map_err(D::Error::custom)?;
        Ok(settings)
    }
}

impl WorldSettings for SoapSettings {
    fn world(&self) -> Box<dyn World> {
        Box::new(SoapWorld::new(self.clone()))
    }

    fn topics(&self) -> &[TopicSettings] {
        &self.topic
    }
}

impl SoapSettings {
    /// Reports what the settings do not allow for.
    fn check(&self) -> Result<(), String> {
        if !self.is_local() && self.clients.is_none() {
            return Err(format!(
                "listen = \"{}\" lets other machines in, so clients must name their networks: clients = [\"10.0.0.0/8\"]",
                self.listen
            ));
        }
        for (key, seconds) in [
            ("lease-seconds", self.lease_seconds),
            ("idle-seconds", self.idle_seconds),
            ("away-seconds", self.away_seconds),
        ] {
            if seconds == 0 || seconds > SECONDS_MAX {
                return Err(format!(
                    "expected 1 to {SECONDS_MAX} as {key}, got {seconds}"
                ));
            }
        }
        let is_plain =
            |it: char| it.is_ascii_graphic() && !matches!(it, '<' | '>' | '&' | '"' | '\'');
        match self.namespace.contains(':') && self.namespace.chars().all(is_plain) {
            true => Ok(()),
            false => Err(format!(
                "expected a URI such as urn:example:events as namespace, got {:?}",
                self.namespace
            )),
        }
    }

    /// The networks whose programs may call.
    pub(super) fn client_networks(&self) -> Networks {
        self.clients.clone().unwrap_or_else(Networks::loopback)
    }

    /// The networks to which events are pushed.
    pub(super) fn consumer_networks(&self) -> Networks {
        let usual = || match self.is_local() {
            true => Networks::loopback(),
            false => Networks::default(),
        };
        self.consumers.clone().unwrap_or_else(usual)
    }

    /// True if only programs of this machine can connect.
    fn is_local(&self) -> bool {
        self.listen.ip().to_canonical().is_loopback()
    }

    /// True if a `Host` of HTTP is one of this server's. A web page can give its own name the address of this server, and
    /// must not speak to it in the name of the user who looks at the page.
    pub(super) fn is_host(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() && !name.ends_with(':') => name,
            _ => host,
        };
        let bare = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        bare.unwrap_or(name).parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|it| it.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> SoapSettings {
        toml::from_str(text).expect("settings")
    }

    #[test]
    fn other_machines_come_in_only_by_a_rule() {
        assert_eq!(settings(""), SoapSettings::default());
        let open = toml::from_str::<SoapSettings>("listen = \"0.0.0.0:8070\"");
        let error = open.expect_err("no rule").to_string();
        assert!(error.contains("clients must name"), "{error}");
        let ruled = settings("listen = \"0.0.0.0:8070\"\nclients = [\"10.0.0.0/8\"]");
        // Whoever comes from elsewhere must not make this end speak to its own machine.
        let loopback: IpAddr = [127, 0, 0, 1].into();
        assert!(!ruled.consumer_networks().contain(loopback));
        assert!(settings("").consumer_networks().contain(loopback));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "lease-seconds = 0",
            "away-seconds = 99999999999",
            "namespace = \"x\"",
            "namespace = \"urn:<\"",
            "clients = [\"localhost\"]",
            "port = 1",
        ] {
            assert!(toml::from_str::<SoapSettings>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_are_addresses_and_known_names() {
        let settings = settings("hosts = [\"hub.example\"]");
        for (host, is_ours) in [
            ("127.0.0.1:8070", true),
            ("[::1]:8070", true),
            ("::1", true),
            ("localhost", true),
            ("Hub.Example:80", true),
            ("evil.example:8070", false),
            ("127.0.0.1:1@evil.example", false),
            ("127.0.0.1\" x", false),
            ("[::1", false),
            ("", false),
        ] {
            assert_eq!(settings.is_host(host), is_ours, "{host}");
        }
    }
}
