//! The table `[bridge.dds]` of a `floe.toml`.

use std::net::{IpAddr, Ipv4Addr};

use floe_rtps::locator::DOMAIN_MAX;
use serde::Deserialize;

use super::world::Dds;
use crate::settings::{TopicSettings, WorldSettings, value};
use crate::world::World;

/// A domain of DDS, and the topics of it that are joined with a hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Settings {
    /// The domain, 0 to 232. Default: 0.
    pub domain: u32,
    /// The addresses of the interfaces that are used, and no others. Default: loopback.
    #[serde(deserialize_with = "value::ip_addresses")]
    pub interfaces: Vec<IpAddr>,
    /// Hosts that may take part, and to which the bridge announces itself at the standard ports of the first [`PEER_INDEXES`]
    /// participants there. Default: loopback.
    #[serde(deserialize_with = "value::ip_addresses")]
    pub peers: Vec<IpAddr>,
    /// Announces itself to the standard's multicast group, too, hears those who do, and lets all hosts of the networks of the
    /// interfaces take part. Default: false; those of loopback may always.
    pub multicast: bool,
    /// The topics.
    pub topic: Vec<TopicSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            domain: 0,
            interfaces: vec![Ipv4Addr::LOCALHOST.into()],
            peers: vec![Ipv4Addr::LOCALHOST.into()],
            multicast: false,
            topic: Vec::new(),
        }
    }
}

impl WorldSettings for Settings {
    fn world(&self) -> Box<dyn World> {
        Box::new(Dds::new(self.clone()))
    }

    fn check(&self) -> Result<(), String> {
        if self.domain > DOMAIN_MAX {
            let domain = self.domain;
            return Err(format!(
                "expected a domain from 0 to {DOMAIN_MAX}, got {domain}"
            ));
        }
        if self.interfaces.is_empty() {
            return Err(
                "expected at least one address in `interfaces`, got none; without the key it is loopback".to_owned(),
            );
        }
        // Participants have no names that rules could know, so that others must have been let in.
        let beyond = self.interfaces.iter().find(|it| !it.is_loopback());
        match beyond {
            Some(interface) if !self.multicast && self.peers.iter().all(IpAddr::is_loopback) => {
                Err(format!(
                    "interface {interface} leads beyond loopback, and nobody there may take part: name the hosts in `peers`, or let its \
                 whole network in with `multicast = true`"
                ))
            }
            _ => Ok(()),
        }
    }

    fn topics(&self) -> &[TopicSettings] {
        &self.topic
    }
}

/// How many participants of a host are looked for: as many as Cyclone DDS makes without multicast.
pub const PEER_INDEXES: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_guide_is_read() {
        let text = r#"
            domain = 3
            interfaces = ["127.0.0.1"]
            peers = ["127.0.0.1", "10.0.0.2"]
            [[topic]]
            topic = "ticks"
            interface = "::Demo::Ticker"
            name = "Ticks"
        "#;
        let settings: Settings = toml::from_str(text).expect("it is one");
        assert_eq!((settings.domain, settings.peers.len()), (3, 2));
        assert!(!settings.multicast);
        assert_eq!(settings.topic[0].name.as_deref(), Some("Ticks"));
        let unknown = toml::from_str::<Settings>("listen = 1").expect_err("it is unknown");
        assert!(unknown.to_string().contains("listen"), "{unknown}");
        let empty: Settings = toml::from_str("").expect("all has a default");
        assert_eq!(empty, Settings::default());
    }
}
