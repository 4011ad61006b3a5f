//! What the things of a metrics object have in common: attributes, and what stands between them.

use std::fmt;

use super::Thing;

/// How a metrics map groups: attributes with other characters between them, as in `topic/state`.
///
/// Names of attributes are letters, digits, dots and underscores; all else stands as it is between their values.
/// The attribute `none` has no value, and groups all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupBy {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Attribute(String),
    Text(String),
}

/// An attribute that a map does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupByError {
    /// What was given; empty if there was none.
    attribute: String,
    known: &'static [&'static str],
}

impl fmt::Display for GroupByError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.join(", ");
        match self.attribute.is_empty() {
            true => write!(f, "expected attributes ({known}), got none"),
            false => write!(f, "expected attributes ({known}), got {:?}", self.attribute),
        }
    }
}

impl std::error::Error for GroupByError {}

/// An attribute that ends so has any name behind it.
const ANY: &str = ".*";

impl GroupBy {
    /// The attributes of topics.
    pub const OF_TOPICS: &'static [&'static str] = &["id", "parent", "none", "topic", "service"];
    /// The attributes of subscribers; `qos.` with a key behind it is what was asked for.
    pub const OF_SUBSCRIBERS: &'static [&'static str] = &[
        "id", "parent", "none", "topic", "service", "identity", "facet", "encoding", "mode",
        "proxy", "link", "state", "qos.*",
    ];

    /// Reads a text such as `topic/state`, of these attributes.
    ///
    /// # Errors
    /// [`GroupByError`] if it names another one, or none.
    pub fn parse(text: &str, known: &'static [&'static str]) -> Result<Self, GroupByError> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(first) = rest.chars().next() {
            let is_name = is_of_name(first);
            let len = rest
                .find(|c| is_of_name(c) != is_name)
                .unwrap_or(rest.len());
            let (part, behind) = rest.split_at(len);
            let part = part.to_owned();
            parts.push(match is_name {
                true => Part::Attribute(part),
                false => Part::Text(part),
            });
            rest = behind;
        }
        let is_known = |name: &str| {
            known.iter().any(|known| match known.strip_suffix(ANY) {
                Some(prefix) => name.strip_prefix(prefix).is_some_and(|key| key.len() > 1),
                None => name == *known,
            })
        };
        let mut attributes = parts.iter().filter_map(|part| match part {
            Part::Attribute(name) => Some(name),
            Part::Text(_) => None,
        });
        let unknown = match attributes.clone().count() {
            0 => Some(String::new()),
            _ => attributes.find(|name| !is_known(name)).cloned(),
        };
        match unknown {
            None => Ok(Self { parts }),
            Some(attribute) => Err(GroupByError { attribute, known }),
        }
    }

    /// What this thing has in common with others of its group.
    pub(super) fn id(&self, thing: &impl Thing) -> String {
        let text = |part: &Part| match part {
            Part::Attribute(name) if name == "none" => String::new(),
            Part::Attribute(name) => thing.attribute(name),
            Part::Text(text) => text.clone(),
        };
        self.parts.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named;

    impl Thing for Named {
        fn number(&self) -> usize {
            0
        }

        fn counts(&self) -> [u64; 2] {
            [0, 0]
        }

        fn amounts(&self) -> [u64; 2] {
            [0, 0]
        }

        fn attribute(&self, name: &str) -> String {
            name.to_uppercase()
        }
    }

    #[test]
    fn attributes_are_replaced_and_all_else_stands() {
        let id = |text| GroupBy::parse(text, GroupBy::OF_SUBSCRIBERS).map(|by| by.id(&Named));
        assert_eq!(id("id").as_deref(), Ok("ID"));
        assert_eq!(
            id("service-topic-identity/facet| state").as_deref(),
            Ok("SERVICE-TOPIC-IDENTITY/FACET| STATE")
        );
        assert_eq!(id("none").as_deref(), Ok(""));
        assert_eq!(id("qos.retryCount").as_deref(), Ok("QOS.RETRYCOUNT"));
    }

    #[test]
    fn an_attribute_that_there_is_not_is_refused_with_those_that_there_are() {
        let error = |text| {
            GroupBy::parse(text, GroupBy::OF_TOPICS)
                .unwrap_err()
                .to_string()
        };
        let expected = "expected attributes (id, parent, none, topic, service), got \"state\"";
        assert_eq!(error("topic/state"), expected);
        for text in ["", "/-"] {
            assert!(error(text).ends_with("got none"), "{text}");
        }
        assert!(GroupBy::parse("qos.", GroupBy::OF_SUBSCRIBERS).is_err());
    }
}
