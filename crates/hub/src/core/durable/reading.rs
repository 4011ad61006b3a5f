//! The wishes of a subscriber that reads the log of its topic.

use std::collections::BTreeMap;
use std::time::Duration;

use super::redelivery::Redelivery;
use super::start::parse_start;
use crate::core::log::Position;
use crate::core::wishes::{self, Wishes, count, not_empty, positive_milliseconds};

/// How a subscriber reads the log of its topic. Other subscribers get events as they are published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The name of the durable subscription. Without one, the position is forgotten when the subscription ends.
    pub(crate) name: Option<String>,
    /// Where it begins if it has no position yet.
    pub(crate) start: Position,
    /// When events are delivered again. A deadline of `None` is that of the hub.
    pub(crate) redelivery: Redelivery,
    /// True if the context of each event tells its sequence, its time and the number of the attempt.
    pub(crate) is_stamped: bool,
    /// True if several subscribers share the subscription, so that each event goes to one of them.
    pub(crate) is_shared: bool,
    /// The entry of the context that has the key of an event, if the events of one key go to one of these subscribers.
    pub(crate) sticky: Option<String>,
    /// The subscriber wants no older events than this.
    pub(crate) lifespan: Option<Duration>,
    /// True if the subscription is from an earlier run of the hub.
    pub(crate) is_restored: bool,
    /// The topic of its dead letters; `None` for the topic's name with `.dead` behind it.
    dead_letters: Option<String>,
}

/// How the names of the positions of links begin.
const LINK_PREFIX: &str = "link to ";

/// The longest name of a durable subscription, in bytes.
const NAME_LEN_MAX: usize = 200;

impl Reading {
    /// The name of the topic for the dead letters of a subscription of this topic; `None` if events are tried for ever.
    pub(crate) fn dead_letters_of(&self, topic: &str) -> Option<String> {
        self.redelivery.attempts_max?;
        let named = self.dead_letters.clone();
        Some(named.unwrap_or_else(|| format!("{topic}.dead")))
    }

    /// The topic that the subscriber has chosen for its dead letters, if it may have any and has chosen one.
    pub(crate) fn chosen_dead_letters(&self) -> Option<&str> {
        self.redelivery.attempts_max?;
        self.dead_letters.as_deref()
    }

    /// How a link reads the log of its topic: from the next event on, with a position of its own.
    pub(crate) fn of_link(identity: &str) -> Self {
        Self {
            name: Some(Self::name_of_link(identity)),
            start: Position::End,
            redelivery: Redelivery {
                deadline: None,
                ..Redelivery::default()
            },
            is_stamped: false,
            is_shared: false,
            sticky: None,
            lifespan: None,
            is_restored: false,
            dead_letters: None,
        }
    }

    /// The name of the position of a link to the topic with this identity.
    pub(crate) fn name_of_link(identity: &str) -> String {
        format!("{LINK_PREFIX}{identity}")
    }

    /// Notes that the hub has started again. A position that was not saved is lost: the subscriber continues with new
    /// events, and does not get the earlier ones again.
    pub(crate) fn go_on_after_restart(&mut self) {
        self.is_restored = true;
        if self.name.is_none() {
            self.start = Position::End;
        }
    }

    /// Parses the keys of Floe that concern the log; `None` if there are none. A key that has no meaning in its context
    /// is an error, because a subscriber that asks for durability must not silently go without it.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub(crate) fn parse(qos: &BTreeMap<String, String>) -> Result<Option<Self>, String> {
        let ours = Wishes(qos);
        let (name, from) = (ours.text("floe.durable"), ours.text("floe.from"));
        if name.is_none() && from.is_none() {
            let lonely = KEYS.iter().find(|key| qos.contains_key(**key));
            return match lonely {
                Some(key) => Err(format!(
                    "invalid {key}: expected floe.durable or floe.from beside it, got neither"
                )),
                None => Ok(None),
            };
        }
        let name = ours.parsed("floe.durable", wishes::name(NAME_LEN_MAX))?;
        if let Some(name) = &name
            && name.starts_with(LINK_PREFIX)
        {
            return Err(format!(
                "invalid floe.durable: expected a name that does not begin with {LINK_PREFIX:?}, which is for links, got {name:?}"
            ));
        }
        let start = ours.parsed("floe.from", parse_start)?;
        let defaults = Redelivery {
            deadline: None,
            ..Redelivery::default()
        };
        let back_off_min = ours
            .parsed("floe.backOff", positive_milliseconds)?
            .unwrap_or(defaults.back_off_min);
        let is_shared = ours.is_on("floe.shared")?;
        if is_shared && name.is_none() {
            return Err(
                "invalid floe.shared: expected floe.durable beside it, got none".to_owned(),
            );
        }
        if ours.text("floe.sticky").is_some() && !is_shared {
            return Err(
                "invalid floe.sticky: expected floe.shared=yes beside it, got none".to_owned(),
            );
        }
        let key = not_empty("the key of an entry of the context, such as customer");
        Ok(Some(Self {
            name,
            start: start.unwrap_or(Position::End),
            redelivery: Redelivery {
                deadline: ours.parsed("floe.deadline", positive_milliseconds)?,
                back_off_min,
                back_off_max: defaults.back_off_max.max(back_off_min),
                attempts_max: ours.parsed("floe.attempts", count)?,
            },
            is_stamped: ours.is_on("floe.stamps")?,
            is_shared,
            sticky: ours.parsed("floe.sticky", key)?,
            lifespan: None,
            is_restored: false,
            dead_letters: ours.parsed("floe.deadLetters", not_empty("the name of a topic"))?,
        }))
    }
}

/// The keys that mean something only together with `floe.durable` or `floe.from`.
const KEYS: [&str; 7] = [
    "floe.deadLetters",
    "floe.deadline",
    "floe.backOff",
    "floe.attempts",
    "floe.stamps",
    "floe.shared",
    "floe.sticky",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Option<Reading>, String> {
        let owned = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Reading::parse(&owned.collect())
    }

    #[test]
    fn two_keys_make_a_subscription_durable() {
        assert_eq!(parse(&[("reliability", "ordered")]), Ok(None));
        let reading = parse(&[("floe.durable", "billing"), ("floe.from", "beginning")]);
        let reading = reading.unwrap().unwrap();
        assert_eq!(reading.name.as_deref(), Some("billing"));
        assert_eq!(reading.start, Position::First);
        let reading = parse(&[("floe.durable", "billing")]).unwrap().unwrap();
        assert_eq!(reading.start, Position::End);
        let late = parse(&[("floe.from", "-5")]).unwrap().unwrap();
        assert_eq!((&late.name, late.start), (&None, Position::Last(5)));
        let [mut named, mut late] = [reading, late];
        named.start = Position::First;
        named.go_on_after_restart();
        late.go_on_after_restart();
        assert_eq!((named.start, late.start), (Position::First, Position::End));
    }

    #[test]
    fn each_key_changes_one_thing() {
        let reading = parse(&[
            ("floe.durable", "n"),
            ("floe.deadline", "1500"),
            ("floe.backOff", "60000"),
            ("floe.attempts", "3"),
            ("floe.stamps", "yes"),
            ("floe.shared", "1"),
            ("floe.sticky", "customer"),
        ]);
        let reading = reading.unwrap().unwrap();
        let expected = Redelivery {
            deadline: Some(Duration::from_millis(1500)),
            back_off_min: Duration::from_secs(60),
            back_off_max: Duration::from_secs(60),
            attempts_max: Some(3),
        };
        assert_eq!(reading.redelivery, expected);
        assert!(reading.is_stamped && reading.is_shared);
        assert_eq!(reading.sticky.as_deref(), Some("customer"));
    }

    #[test]
    fn wrong_values_are_refused_with_what_was_expected() {
        let named = ("floe.durable", "n");
        for (pairs, expected) in [
            (
                &[("floe.durable", "")][..],
                "invalid floe.durable: expected a name of 1 to 200 bytes, got 0",
            ),
            (
                &[("floe.from", "x")],
                "invalid floe.from: expected beginning",
            ),
            (
                &[named, ("floe.attempts", "0")],
                "invalid floe.attempts: expected a number of at least 1, got \"0\"",
            ),
            (
                &[named, ("floe.deadline", "5s")],
                "invalid floe.deadline: expected milliseconds, at least 1, got \"5s\"",
            ),
            (
                &[named, ("floe.stamps", "maybe")],
                "invalid floe.stamps: expected yes or no, got \"maybe\"",
            ),
            (
                &[("floe.stamps", "yes")],
                "invalid floe.stamps: expected floe.durable or floe.from beside it, got neither",
            ),
            (
                &[("floe.from", "new"), ("floe.shared", "yes")],
                "invalid floe.shared: expected floe.durable beside it, got none",
            ),
            (
                &[named, ("floe.sticky", "customer")],
                "invalid floe.sticky: expected floe.shared=yes beside it, got none",
            ),
            (
                &[named, ("floe.shared", "yes"), ("floe.sticky", "")],
                "invalid floe.sticky: expected the key of an entry of the context",
            ),
        ] {
            let error = parse(pairs).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
