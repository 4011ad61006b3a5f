//! The table `[bridge.dds]` of a `floe.toml`.

use std::net::{IpAddr, Ipv4Addr};

use serde::Deserialize;

use super::world::Dds;
use crate::settings::{TopicSettings, WorldSettings};
use crate::world::World;

/// A domain of DDS, and the topics of it that are joined with a hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Settings {
    /// The domain, 0 to 232. Default: 0.
    pub domain: u32,
    /// The addresses of the interfaces that are used, and no others. Default: loopback.
    pub interfaces: Vec<IpAddr>,
    /// Hosts that may take part, and to which the bridge announces itself at the standard ports of the first [`PEER_INDEXES`]
    /// participants there. Default: loopback.
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
