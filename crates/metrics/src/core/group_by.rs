//! The id of a metrics object: the values of attributes, with text between them.

use std::fmt;

use super::groups::Measured;

/// How a metrics map groups: attributes with text between them, as in `topic/state`.
///
/// Names of attributes consist of letters, digits, dots and underscores. Other characters are copied to the id. The
/// attribute `none` has no value, so that all objects share one id.
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
    /// The given attribute; empty if none was given.
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

/// An attribute that ends with this stands for any name with the same beginning.
const ANY: &str = ".*";

impl GroupBy {
    /// Parses a text such as `topic/state`, with the attributes in `known`.
    ///
    /// # Errors
    /// [`GroupByError`] if it names another attribute, or none.
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

    /// The id of the group that this object belongs to.
    pub(super) fn id(&self, object: &impl Measured) -> String {
        let text = |part: &Part| match part {
            Part::Attribute(name) if name == "none" => String::new(),
            Part::Attribute(name) => object.attribute(name),
            Part::Text(text) => text.clone(),
        };
        self.parts.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Values;

    struct Named;

    const TOPICS: &[&str] = &["id", "parent", "none", "topic", "service"];
    const SUBSCRIBERS: &[&str] = &[
        "id", "none", "topic", "service", "identity", "facet", "state", "qos.*",
    ];

    impl Measured for Named {
        fn number(&self) -> usize {
            0
        }

        fn counts(&self) -> Values {
            Values::default()
        }

        fn amounts(&self) -> Values {
            Values::default()
        }

        fn attribute(&self, name: &str) -> String {
            name.to_uppercase()
        }
    }

    #[test]
    fn attributes_are_replaced_and_other_text_is_copied() {
        let id = |text| GroupBy::parse(text, SUBSCRIBERS).map(|by| by.id(&Named));
        assert_eq!(id("id").as_deref(), Ok("ID"));
        assert_eq!(
            id("service-topic-identity/facet| state").as_deref(),
            Ok("SERVICE-TOPIC-IDENTITY/FACET| STATE")
        );
        assert_eq!(id("none").as_deref(), Ok(""));
        assert_eq!(id("qos.retryCount").as_deref(), Ok("QOS.RETRYCOUNT"));
    }

    #[test]
    fn the_error_for_an_unknown_attribute_lists_the_known_ones() {
        let error = |text| GroupBy::parse(text, TOPICS).unwrap_err().to_string();
        let expected = "expected attributes (id, parent, none, topic, service), got \"state\"";
        assert_eq!(error("topic/state"), expected);
        for text in ["", "/-"] {
            assert!(error(text).ends_with("got none"), "{text}");
        }
        assert!(GroupBy::parse("qos.", SUBSCRIBERS).is_err());
    }
}
