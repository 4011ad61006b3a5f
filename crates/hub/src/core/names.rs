//! The names of objects in identities. The category is the instance name of the hub.

use floe::Identity;

/// The longest key of IceStorm's database. The hub refuses longer names too, so that names work with either service.
const KEY_LEN_MAX: usize = 511;

const TOPIC_PREFIX: &str = "topic.";
const PUBLISHER_SUFFIX: &str = ".publish";
const RECEIVER_SUFFIX: &str = ".link";

/// The meaning of the name in an identity.
///
/// Observed: IceStorm 3.7.8. One name can mean several objects, because topics can have any name: `topic.a.publish` can
/// be a topic or a publisher object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectName<'a> {
    /// `TopicManager`
    TopicManager,
    /// `topic.T`
    Topic(&'a str),
    /// `T.publish`
    Publisher(&'a str),
    /// `T.link`
    LinkReceiver(&'a str),
    /// `topic.T.publish.S`, where S is the identity of the subscriber as text. This holds the whole name.
    SubscriberPublisher(&'a str),
}

impl<'a> ObjectName<'a> {
    /// Everything that the name can mean. The first existing object counts.
    pub(crate) fn candidates(name: &'a str) -> impl Iterator<Item = Self> {
        let topic = name.strip_prefix(TOPIC_PREFIX);
        let candidates = [
            (name == "TopicManager").then_some(Self::TopicManager),
            topic.map(Self::Topic),
            name.strip_suffix(PUBLISHER_SUFFIX).map(Self::Publisher),
            name.strip_suffix(RECEIVER_SUFFIX).map(Self::LinkReceiver),
            topic.map(|_| Self::SubscriberPublisher(name)),
        ];
        candidates.into_iter().flatten()
    }
}

/// The name of the topic object.
pub(crate) fn topic_name(topic: &str) -> String {
    format!("{TOPIC_PREFIX}{topic}")
}

/// The name of the publisher object of a topic.
pub(crate) fn publisher_name(topic: &str) -> String {
    format!("{topic}{PUBLISHER_SUFFIX}")
}

/// The name of the object that receives the events of links to a topic.
pub(crate) fn receiver_name(topic: &str) -> String {
    format!("{topic}{RECEIVER_SUFFIX}")
}

/// The topic that this object name belongs to. Very old services have names without our prefix, which are topic names.
pub(crate) fn named_topic(name: &str) -> &str {
    name.strip_prefix(TOPIC_PREFIX).unwrap_or(name)
}

/// The name of the publisher object that sends to one subscriber alone.
pub(crate) fn subscriber_publisher_name(topic: &str, subscriber: &Identity) -> String {
    format!("{TOPIC_PREFIX}{topic}{PUBLISHER_SUFFIX}.{subscriber}")
}

/// Returns true if an identity of this name is that of a publisher object, of this hub or of another.
pub(crate) fn is_publisher_name(name: &str) -> bool {
    let infix = format!("{PUBLISHER_SUFFIX}.");
    name.ends_with(PUBLISHER_SUFFIX) || name.starts_with(TOPIC_PREFIX) && name.contains(&infix)
}

/// Returns true if the names of topic and subscriber together are longer than IceStorm can store. The identity is empty
/// if there is no subscriber.
pub(crate) fn is_too_long(instance_name: &str, topic: &str, subscriber: &Identity) -> bool {
    let topic = string_len(TOPIC_PREFIX.len() + topic.len()) + string_len(instance_name.len());
    let subscriber = string_len(subscriber.name.len()) + string_len(subscriber.category.len());
    topic + subscriber > KEY_LEN_MAX
}

/// Checks the name of a new topic: tools write what belongs to a topic into files of its name, so it must not be empty
/// or lead to another folder. Stores of earlier hubs may have such topics, and keep them.
///
/// # Errors
/// What was expected.
pub(crate) fn check_name(topic: &str) -> Result<(), String> {
    if topic.is_empty() {
        return Err(
            "topic name \"\": expected at least one character, got none; use another name"
                .to_owned(),
        );
    }
    let mut parts = topic.split(['/', '\\']);
    match parts.find(|part| [".", ".."].contains(part)) {
        Some(part) => Err(format!(
            "topic name {topic:?}: expected no part \".\" or \"..\" between slashes, as paths have, got {part:?}; use another name"
        )),
        None => Ok(()),
    }
}

/// Encoded length of a string: a size of one or five bytes, and the text.
fn string_len(text_len: usize) -> usize {
    if text_len < 255 {
        1 + text_len
    } else {
        5 + text_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(name: &str) -> Vec<ObjectName<'_>> {
        ObjectName::candidates(name).collect()
    }

    #[test]
    fn every_object_is_found_by_its_name() {
        assert!(candidates(&topic_name("t")).contains(&ObjectName::Topic("t")));
        assert!(candidates(&publisher_name("t")).contains(&ObjectName::Publisher("t")));
        assert!(candidates(&receiver_name("t")).contains(&ObjectName::LinkReceiver("t")));
        assert_eq!(named_topic(&topic_name("topic.t")), "topic.t");
        let name = subscriber_publisher_name("t", &Identity::with_category("n", "c"));
        assert_eq!(name, "topic.t.publish.c/n");
        assert!(candidates(&name).contains(&ObjectName::SubscriberPublisher(&name)));
        assert_eq!(candidates("TopicManager"), [ObjectName::TopicManager]);
        assert_eq!(candidates("other"), []);
    }

    #[test]
    fn a_topic_takes_precedence_over_a_publisher_of_the_same_name() {
        let found = candidates("topic.a.publish");
        assert_eq!(found[0], ObjectName::Topic("a.publish"));
        assert_eq!(found[1], ObjectName::Publisher("topic.a"));
    }

    #[test]
    fn a_name_is_neither_empty_nor_a_path_to_another_folder() {
        for good in [
            "a",
            "plant/line 1/heat",
            ".hidden",
            "a..b",
            "...",
            "a.",
            "/",
            "x/",
        ] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/../b", "a\\..", "./a", "/.."] {
            let refusal = check_name(bad).expect_err(bad);
            assert!(
                refusal.contains("expected ") && refusal.contains("use another name"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn names_can_be_as_long_as_icestorm_stores_them_and_no_longer() {
        let none = Identity::default();
        // 5 + 6 + 489 bytes for the name, 1 + 8 for the category, 2 for no subscriber.
        assert!(!is_too_long("IceStorm", &"x".repeat(489), &none));
        assert!(is_too_long("IceStorm", &"x".repeat(490), &none));
        assert!(is_too_long(
            "IceStorm",
            "t",
            &Identity::new("x".repeat(512))
        ));
    }
}
