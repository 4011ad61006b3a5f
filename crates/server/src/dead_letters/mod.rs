//! The dead letters of a topic: events that its durable subscriptions could not deliver. `again.rs` publishes an event again,
//! `replay.rs` all letters, and `purge.rs` looks for what would be deleted with them.
//!
//! Several topics may share a topic for their dead letters (`floe.deadLetters`), and anybody who may can publish to it. What is
//! done here concerns the dead letters of one topic alone.

mod again;
mod purge;
mod replay;

use floe_hub::contracts::floe::{LogContents, LoggedEvent, SubscriptionPosition};

pub use again::{publish_again, remove_number};
pub use purge::more_than_letters;
pub use replay::{Replay, ReplayError};

/// How many dead letters are read at a time.
pub const READ_COUNT: i32 = 200;
/// How the names of the durable subscriptions begin whose positions tell which dead letters were published again.
const REPLAYED: &str = "floe dlq replay";
/// The longest name of a durable subscription, in bytes.
const NAME_LEN_MAX: usize = 200;

/// Returns true if a durable subscription is a position of a replay, which nobody reads in between.
pub fn is_replay(subscription: &str) -> bool {
    subscription.starts_with(REPLAYED)
}

/// The dead letters of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetters {
    /// The topic whose events they were.
    pub topic: String,
    /// The topic in which they are.
    pub dead: String,
}

impl DeadLetters {
    /// Those of a topic, in a topic that a subscription has chosen, or in the hub's own choice, `TOPIC.dead`.
    pub fn new(topic: &str, dead: Option<&str>) -> Self {
        Self {
            topic: topic.to_owned(),
            dead: dead.map_or_else(|| own_dead(topic), str::to_owned),
        }
    }

    /// Returns true if they are in the hub's own choice: a topic of theirs alone, unless a subscription of another topic has
    /// chosen it, too.
    pub fn is_own(&self) -> bool {
        self.dead == own_dead(&self.topic)
    }

    /// Returns true if the topic of dead letters is the topic itself, whose events a replay would publish without end.
    pub fn is_topic_itself(&self) -> bool {
        self.dead == self.topic
    }

    /// Returns true if an event of the topic of dead letters is a dead letter of this topic. If that topic is the hub's own
    /// choice, an event that says nothing of its origin is one, too.
    pub fn has(&self, event: &LoggedEvent) -> bool {
        match event.context.get("floe.deadTopic") {
            Some(origin) => *origin == self.topic,
            None => self.is_own(),
        }
    }

    /// The name of the position of the replays. Topics that share a topic for their dead letters have one each.
    fn position_name(&self) -> String {
        match self.is_own() {
            true => REPLAYED.to_owned(),
            false => format!("{REPLAYED} to {}", self.topic),
        }
    }

    /// The longest name, in bytes, of a topic whose dead letters can be published again.
    pub fn topic_len_max(&self) -> usize {
        let name = self.position_name();
        match self.is_own() {
            true => usize::MAX,
            false => NAME_LEN_MAX - (name.len() - self.topic.len()),
        }
    }

    fn position<'a>(&self, contents: &'a LogContents) -> Option<&'a SubscriptionPosition> {
        let name = self.position_name();
        contents.subscriptions.iter().find(|it| it.name == name)
    }

    /// The dead letters before this number were published again.
    pub fn replayed_until(&self, contents: &LogContents) -> i64 {
        self.position(contents).map_or(0, |it| it.position)
    }
}

/// The topic of dead letters that a hub chooses itself.
pub fn own_dead(topic: &str) -> String {
    format!("{topic}.dead")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_has_only_its_own_letters() {
        let letter = |origin: Option<&str>| {
            let mut event = LoggedEvent::default();
            if let Some(origin) = origin {
                event
                    .context
                    .insert("floe.deadTopic".to_owned(), origin.to_owned());
            }
            event
        };
        let own = DeadLetters::new("t", None);
        assert_eq!(own.dead, "t.dead");
        let shared = DeadLetters::new("t", Some("shared"));
        for letters in [&own, &shared] {
            assert!(letters.has(&letter(Some("t"))));
            assert!(!letters.has(&letter(Some("other"))));
        }
        assert!(own.has(&letter(None)) && !shared.has(&letter(None)));
        assert!(DeadLetters::new("t", Some("t")).is_topic_itself());
    }

    #[test]
    fn topics_that_share_a_topic_have_positions_of_their_own() {
        let own = DeadLetters::new("t", Some("t.dead"));
        let shared = DeadLetters::new("t", Some("shared"));
        assert_eq!(own.position_name(), "floe dlq replay");
        assert_eq!(shared.position_name(), "floe dlq replay to t");
        assert!(is_replay(&own.position_name()) && is_replay(&shared.position_name()));
        let longest = DeadLetters::new(&"x".repeat(shared.topic_len_max()), Some("shared"));
        assert_eq!(longest.position_name().len(), NAME_LEN_MAX);
    }
}
