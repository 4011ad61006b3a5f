//! The table `[bridge.corba]` of a `floe.toml`.

use std::net::SocketAddr;

use serde::Deserialize;

use super::world::Corba;
use crate::networks::Networks;
use crate::settings::{TopicSettings, WorldSettings, value};
use crate::world::World;

/// The settings of the world.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where programs connect by IIOP; `127.0.0.1:2809` by default. Port 0 takes a free one. Beyond loopback it is refused.
    #[serde(default = "default_listen", deserialize_with = "value::address")]
    pub listen: SocketAddr,
    /// The networks to whose consumers the bridge connects; this computer by default.
    #[serde(default = "Networks::loopback")]
    pub consumer_networks: Networks,
    /// The longest message of a program, in bytes; 4 MiB by default. A connection holds at most three times as much.
    #[serde(default = "default_message_len_max")]
    pub message_len_max: usize,
    /// The most connections of programs at a time; 256 by default. Further ones are closed at once.
    #[serde(default = "default_connections_max")]
    pub connections_max: usize,
    /// The most consumers of a channel; 256 by default. Each costs a connection and a subscription.
    #[serde(default = "default_consumers_max")]
    pub consumers_max: usize,
    /// How many pushes a consumer may have at a time, before it answers; 1 by default, because ORBs run requests of one
    /// connection side by side, and then events lose their order.
    #[serde(default = "default_consumer_window")]
    pub consumer_window: usize,
    /// The seconds for which a consumer that cannot be reached is tried, before it is disconnected; 60 by default.
    #[serde(default = "default_consumer_patience")]
    pub consumer_patience: u64,
    /// The topics.
    #[serde(default)]
    pub topic: Vec<TopicSettings>,
}

impl WorldSettings for Settings {
    fn world(&self) -> Box<dyn World> {
        Box::new(Corba::new(self.clone()))
    }

    fn check(&self) -> Result<(), String> {
        let listen = self.listen;
        if !listen.ip().is_loopback() {
            return Err(format!(
                "listen = \"{listen}\" is beyond this computer, and programs of CORBA have no names in the rules of the hub: listen \
                 on 127.0.0.1, and let a tunnel lead there"
            ));
        }
        match self.consumer_window {
            0 => Err("expected a consumer-window of at least 1, got 0".to_owned()),
            _ => Ok(()),
        }
    }

    fn topics(&self) -> &[TopicSettings] {
        &self.topic
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: default_listen(),
            consumer_networks: Networks::loopback(),
            message_len_max: default_message_len_max(),
            connections_max: default_connections_max(),
            consumers_max: default_consumers_max(),
            consumer_window: default_consumer_window(),
            consumer_patience: default_consumer_patience(),
            topic: Vec::new(),
        }
    }
}

fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], floe_giop::reference::DEFAULT_PORT))
}

fn default_message_len_max() -> usize {
    4 << 20
}

fn default_connections_max() -> usize {
    256
}

fn default_consumers_max() -> usize {
    256
}

fn default_consumer_window() -> usize {
    1
}

fn default_consumer_patience() -> u64 {
    60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_the_defaults() {
        let settings: Settings = toml::from_str("").expect("it is a table");
        assert_eq!(settings, Settings::default());
        assert_eq!(settings.listen.to_string(), "127.0.0.1:2809");
    }

    #[test]
    fn a_key_that_is_not_known_is_an_error() {
        let error = toml::from_str::<Settings>("lissten = \"127.0.0.1:1\"");
        let error = error.expect_err("it is no key").to_string();
        assert!(error.contains("lissten"), "{error}");
    }
}
