//! Actions: what a caller does with a topic, a hub or a gateway.

use std::fmt;
use std::str::FromStr;

/// An action that a caller wants to take on a topic, with the hub as a whole, or with a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Create a topic.
    Create,
    /// Destroy a topic.
    Destroy,
    /// Publish events to a topic.
    Publish,
    /// Subscribe to a topic, and end subscriptions to it.
    Subscribe,
    /// Link a topic to another, or end such a link.
    Link,
    /// See subscribers, links and counters of a topic, or of the hub.
    Observe,
    /// Do anything else that an operator does with a hub.
    Admin,
    /// Have a session with a gateway.
    Login,
    /// Call objects through a gateway.
    Call,
}

impl Action {
    /// All actions, in the order in which messages list them.
    pub const ALL: [Self; 9] = [
        Self::Create,
        Self::Destroy,
        Self::Publish,
        Self::Subscribe,
        Self::Link,
        Self::Observe,
        Self::Admin,
        Self::Login,
        Self::Call,
    ];

    /// Returns true if a gateway asks about it. About all others a hub asks.
    pub fn is_of_gateway(self) -> bool {
        matches!(self, Self::Login | Self::Call)
    }

    /// Describes for a guide which calls a rule permits if it allows this action.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Create => "create a topic",
            Self::Destroy => "destroy a topic",
            Self::Publish => "publish events; also events that come over a link from another hub",
            Self::Subscribe => "subscribe, and end any subscription of the topic",
            Self::Link => {
                "link a topic to another, which needs `publish` there, too, and end such a link"
            }
            Self::Observe => {
                "see subscribers, links and counters of a topic, or of the hub; read metrics"
            }
            Self::Admin => {
                "enable and disable views of metrics, remove subscribers that have failed (`reap`), and back up the hub with the events of all its topics"
            }
            Self::Login => "have a session with a gateway",
            Self::Call => "call objects through a gateway",
        }
    }

    /// Its name in a rule.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Destroy => "destroy",
            Self::Publish => "publish",
            Self::Subscribe => "subscribe",
            Self::Link => "link",
            Self::Observe => "observe",
            Self::Admin => "admin",
            Self::Login => "login",
            Self::Call => "call",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|action| action.name() == text);
        named.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("expected one of {names}, got {text:?}")
        })
    }
}

/// A set of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Actions(u16);

impl Actions {
    /// The actions that a hub asks about.
    pub(crate) fn of_hub() -> Self {
        let all = Action::ALL.into_iter();
        all.filter(|action| !action.is_of_gateway()).collect()
    }

    /// Every action.
    pub fn all() -> Self {
        Action::ALL.into_iter().collect()
    }

    /// The actions that are in both sets.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The actions of this set that are not in the other.
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if the set is empty.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the action is in the set.
    pub fn contains(self, action: Action) -> bool {
        self.0 & (1 << action as u8) != 0
    }
}

impl FromIterator<Action> for Actions {
    fn from_iter<T: IntoIterator<Item = Action>>(actions: T) -> Self {
        Self(
            actions
                .into_iter()
                .fold(0, |set, action| set | 1 << action as u8),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_read_by_its_name_and_by_nothing_else() {
        for action in Action::ALL {
            assert_eq!(action.name().parse(), Ok(action));
        }
        let error = "write".parse::<Action>().expect_err("it is no action");
        assert!(
            error.contains("publish") && error.contains("\"write\""),
            "{error}"
        );
    }

    #[test]
    fn a_set_has_what_was_put_into_it() {
        let set: Actions = [Action::Publish, Action::Admin].into_iter().collect();
        let held: Vec<_> = Action::ALL
            .into_iter()
            .filter(|action| set.contains(*action))
            .collect();
        assert_eq!(held, [Action::Publish, Action::Admin]);
        assert!(
            Action::ALL
                .into_iter()
                .all(|action| Actions::all().contains(action))
        );
    }
}
