//! The table `[bridge.amqp]` of a `floe.toml`.

use std::path::PathBuf;

use floe_dynamic::Contract;
use serde::Deserialize;

use crate::core::mapping::{Direction, EventTypesError};
use crate::hub::TopicPlan;
use crate::settings::TopicSettings;

/// A broker for programs that speak AMQP 1.0.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AmqpSettings {
    /// Where it listens: `127.0.0.1:5672` by default. Beyond loopback it needs `passwords`.
    pub listen: String,
    /// A users' file, in the form of the gateway's. With it, programs must say who they are (SASL PLAIN); without it, none
    /// is asked (SASL ANONYMOUS). A relative path starts at the folder of the `floe.toml`.
    pub passwords: Option<PathBuf>,
    /// The topics.
    pub topic: Vec<AmqpTopicSettings>,
}

impl Default for AmqpSettings {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:5672".to_owned(),
            passwords: None,
            topic: Vec::new(),
        }
    }
}

/// A topic: the keys of [`TopicSettings`], and the type of its messages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmqpTopicSettings {
    /// The topic of the hub; created if it does not exist.
    pub topic: String,
    /// The interface of its events: `::Demo::Ticker`.
    pub interface: String,
    /// Its name over there; by default the topic's.
    pub name: Option<String>,
    /// Which way events go; both by default.
    #[serde(default)]
    pub direction: Direction,
    /// Which messages programs get. They may send both.
    #[serde(default)]
    pub body: MessageBody,
}

/// The type of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageBody {
    /// A TextMessage with JSON. The default.
    #[default]
    Text,
    /// A MapMessage.
    Map,
}

impl AmqpTopicSettings {
    /// The topic with its events.
    ///
    /// # Errors
    /// [`EventTypesError`]: the contract has no such events.
    pub fn plan(&self, contract: &Contract) -> Result<TopicPlan, EventTypesError> {
        let settings = TopicSettings {
            topic: self.topic.clone(),
            interface: self.interface.clone(),
            name: self.name.clone(),
            direction: self.direction,
        };
        settings.plan(contract)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_listens_on_loopback() {
        let settings: AmqpSettings = toml::from_str("").expect("all has a default");
        assert_eq!(settings, AmqpSettings::default());
        assert_eq!(settings.listen, "127.0.0.1:5672");
    }

    #[test]
    fn a_topic_names_its_messages() {
        let text = "
            listen = '127.0.0.1:0'
            passwords = 'users'
            [[topic]]
            topic = 'ticks'
            interface = '::Demo::Ticker'
            direction = 'out'
            body = 'map'
            [[topic]]
            topic = 'quotes'
            interface = '::Demo::Ticker'
        ";
        let settings: AmqpSettings = toml::from_str(text).expect("it is right");
        assert_eq!(settings.topic[0].body, MessageBody::Map);
        assert_eq!(settings.topic[1].body, MessageBody::Text);
        assert_eq!(settings.topic[1].direction, Direction::Both);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = toml::from_str::<AmqpSettings>("queue = 'ticks'").expect_err("a typing error");
        assert!(error.to_string().contains("queue"), "{error}");
    }
}
