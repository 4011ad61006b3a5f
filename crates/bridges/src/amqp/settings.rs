//! The table `[bridge.amqp]`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::AmqpWorld;
use crate::core::mapping::Direction;
use crate::settings::{TopicSettings, WorldSettings};
use crate::world::World;

/// The table `[bridge.amqp]`: a broker for programs that speak AMQP 1.0.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "AmqpTable")]
pub struct Settings {
    /// Where it listens: an address of loopback, `127.0.0.1:5672` by default. Port 0 is a free one.
    pub listen: String,
    /// A users' file, in the form of the gateway's. With it, programs must say who they are (SASL PLAIN); without it, none
    /// is asked (SASL ANONYMOUS).
    pub passwords: Option<PathBuf>,
    /// The topics.
    pub topics: Vec<TopicSettings>,
    /// Those of them, by their names in the hub, whose messages are MapMessages. The others are TextMessages.
    pub maps: HashSet<String>,
}

/// The table as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct AmqpTable {
    listen: String,
    passwords: Option<PathBuf>,
    topic: Vec<AmqpTopicTable>,
}

/// A topic as it is written: the keys of [`TopicSettings`], and the type of its messages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AmqpTopicTable {
    topic: String,
    interface: String,
    name: Option<String>,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    body: MessageBody,
}

/// The type of the messages that programs get. They may send both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MessageBody {
    /// A TextMessage with JSON. The default.
    #[default]
    Text,
    /// A MapMessage.
    Map,
}

impl Default for AmqpTable {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:5672".to_owned(),
            passwords: None,
            topic: Vec::new(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        AmqpTable::default().into()
    }
}

impl From<AmqpTable> for Settings {
    fn from(table: AmqpTable) -> Self {
        let maps = table.topic.iter();
        let maps = maps.filter(|topic| topic.body == MessageBody::Map);
        Self {
            listen: table.listen,
            passwords: table.passwords,
            maps: maps.map(|topic| topic.topic.clone()).collect(),
            topics: table.topic.into_iter().map(TopicSettings::from).collect(),
        }
    }
}

impl From<AmqpTopicTable> for TopicSettings {
    fn from(table: AmqpTopicTable) -> Self {
        Self {
            topic: table.topic,
            interface: table.interface,
            name: table.name,
            direction: table.direction,
        }
    }
}

impl Settings {
    /// The type of messages of a topic, by its name in the hub.
    pub(crate) fn body(&self, topic: &str) -> MessageBody {
        match self.maps.contains(topic) {
            true => MessageBody::Map,
            false => MessageBody::Text,
        }
    }
}

impl WorldSettings for Settings {
    fn world(&self) -> Box<dyn World> {
        self.world_in(Path::new(""))
    }

    fn world_in(&self, folder: &Path) -> Box<dyn World> {
        Box::new(AmqpWorld::new(self.clone(), folder))
    }

    fn topics(&self) -> &[TopicSettings] {
        &self.topics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_listens_on_loopback() {
        let settings: Settings = toml::from_str("").expect("all has a default");
        assert_eq!(settings, Settings::default());
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
        let settings: Settings = toml::from_str(text).expect("it is right");
        assert_eq!(settings.body("ticks"), MessageBody::Map);
        assert_eq!(settings.body("quotes"), MessageBody::Text);
        assert_eq!(settings.topics()[0].direction, Direction::Out);
        assert_eq!(settings.topics()[1].direction, Direction::Both);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = toml::from_str::<Settings>("queue = 'ticks'").expect_err("a typing error");
        assert!(error.to_string().contains("queue"), "{error}");
    }
}
