//! All rules. The first rule that applies decides.

use std::collections::BTreeMap;
use std::fmt;

use crate::action::{Action, Actions};
use crate::callback::Callback;
use crate::caller::Caller;
use crate::network::{ANY, Networks};
use crate::pattern::Pattern;
use crate::rule::{Called, Objects, Rule, Who};
use crate::trust::TrustOnly;

/// Rules in their order, and the groups and networks that they name.
///
/// If there are no rules, everything is allowed. If there are rules, only what a rule allows is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// At most [`RULES_MAX`].
    pub(crate) rules: Vec<Rule>,
    pub(crate) groups: Groups,
    pub(crate) networks: Networks,
}

/// The largest number of rules in a file. In the worst case a decision looks at each of them.
pub const RULES_MAX: usize = 1000;

/// Members of groups, by the group's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Groups(pub(crate) BTreeMap<String, Vec<Pattern>>);

/// A decision to allow or refuse something, with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// True if it is allowed.
    pub is_allowed: bool,
    /// The rule or the default that decided.
    pub decided: Decided,
}

/// The reason for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    /// There are no rules, so everything is allowed.
    Open,
    /// A rule.
    Rule {
        /// From 0, in the order of the file.
        index: usize,
        /// Its line in the file, from 1.
        line: usize,
    },
    /// No rule applies, so it is not allowed.
    NoRule,
}

impl Rules {
    /// A single rule that allows everything to callers with a trusted certificate.
    pub(crate) fn trusting(trust: TrustOnly) -> Self {
        let who = Who {
            certificate: Some(trust),
            ..Who::default()
        };
        let rule = Rule {
            allows: true,
            actions: Actions::all(),
            topics: Vec::new(),
            objects: Objects::default(),
            who,
            // A server of Ice delivers to any address.
            callbacks: vec![ANY.to_owned()],
            line: 0,
        };
        Self {
            rules: vec![rule],
            ..Self::default()
        }
    }

    /// Returns true if there are no rules, so that everything is allowed.
    pub fn is_open(&self) -> bool {
        self.rules.is_empty()
    }

    /// Decides whether a caller may do this with a topic. An empty name stands for the hub or the gateway as a whole.
    /// Calls through a gateway are decided by [`Rules::decide_call`].
    pub fn decide(&self, caller: &Caller, action: Action, topic: &str) -> Decision {
        let known = (&self.groups, &self.networks);
        self.first(|rule| rule.applies(caller, action, topic, known))
    }

    /// Decides whether a caller may make this call through a gateway.
    pub fn decide_call(&self, caller: &Caller, called: &Called<'_>) -> Decision {
        let known = (&self.groups, &self.networks);
        self.first(|rule| rule.applies_to_call(caller, called, known))
    }

    /// The decision of the first rule that applies.
    fn first(&self, applies: impl Fn(&Rule) -> bool) -> Decision {
        if self.is_open() {
            return Decision {
                is_allowed: true,
                decided: Decided::Open,
            };
        }
        let mut rules = self.rules.iter().enumerate();
        let found = rules.find(|(_, rule)| applies(rule));
        match found {
            Some((index, rule)) => Decision {
                is_allowed: rule.allows,
                decided: Decided::Rule {
                    index,
                    line: rule.line,
                },
            },
            None => Decision {
                is_allowed: false,
                decided: Decided::NoRule,
            },
        }
    }

    /// Returns true if a caller may do anything with a topic. Looks at each rule once.
    pub fn may_find(&self, caller: &Caller, topic: &str) -> bool {
        let mut undecided = Actions::of_hub();
        let known = (&self.groups, &self.networks);
        let mut rules = self.rules.iter();
        self.is_open()
            || rules.any(|rule| {
                let decided = rule.actions.and(undecided);
                if decided.is_empty() || !rule.speaks_of(caller, topic, known) {
                    return false;
                }
                undecided = undecided.without(decided);
                rule.allows
            })
    }

    /// Where a subscriber may be, if this decision allows its subscription.
    pub fn callback<'a>(&'a self, decision: Decision, caller: &Caller) -> Callback<'a> {
        let rule = match decision.decided {
            Decided::Rule { index, .. } => self.rules.get(index),
            Decided::Open => return Callback::anywhere(),
            Decided::NoRule => None,
        };
        let networks = rule.map_or(&[][..], |rule| &rule.callbacks);
        Callback::new(caller.place, networks, &self.networks)
    }
}

impl Groups {
    /// Returns true if a caller is in a group, because the file lists its name or because its token names the group.
    pub(crate) fn has(&self, group: &str, caller: &Caller) -> bool {
        let members = self.0.get(group).into_iter().flatten();
        let is_member = |user: &String| members.into_iter().any(|pattern| pattern.matches(user));
        caller.groups.iter().any(|own| own == group) || caller.user.as_ref().is_some_and(is_member)
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("there are no rules"),
            Self::Rule { index, line } => write!(f, "rule {} in line {line}", index + 1),
            Self::NoRule => f.write_str("no rule applies"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::caller::Place;
    use crate::settings::Settings;

    use super::*;

    fn rules(text: &str) -> Rules {
        let settings = Settings::parse(text).unwrap_or_else(|problems| panic!("{problems}"));
        settings.rules
    }

    fn at(address: &str) -> Caller {
        Caller::anonymous(Place::At(address.parse().expect("an address")))
    }

    fn named(user: &str, address: &str) -> Caller {
        Caller {
            user: Some(user.to_owned()),
            ..at(address)
        }
    }

    const FIRST_MATCH: &str = r#"
[access.networks]
lab = ["10.1.0.0/16", "fd00::/8"]
[access.groups]
operators = ["ann", "op-*"]

[[access.rule]]
deny = "publish"
topics = "alarm"
users = "bob"

[[access.rule]]
allow = ["publish", "subscribe"]
users = "*"

[[access.rule]]
allow = "*"
groups = "operators"

[[access.rule]]
allow = "subscribe"
topics = ["telemetry.*", "weather"]
networks = "lab"

[[access.rule]]
allow = "publish"
certificate = "O=ZeroC; !CN=Mallory"
networks = "lab"
"#;

    fn decide(caller: &Caller, action: Action, topic: &str) -> (bool, Option<usize>) {
        let decision = rules(FIRST_MATCH).decide(caller, action, topic);
        let rule = match decision.decided {
            Decided::Rule { index, .. } => Some(index),
            _ => None,
        };
        (decision.is_allowed, rule)
    }

    #[test]
    fn the_first_rule_that_applies_decides() {
        let bob = named("bob", "192.0.2.1");
        assert_eq!(decide(&bob, Action::Publish, "alarm"), (false, Some(0)));
        assert_eq!(decide(&bob, Action::Subscribe, "alarm"), (true, Some(1)));
        assert_eq!(decide(&bob, Action::Publish, "weather"), (true, Some(1)));
        assert_eq!(decide(&bob, Action::Create, "weather"), (false, None));
    }

    #[test]
    fn groups_come_from_the_file_and_from_the_token() {
        for user in ["ann", "op-7"] {
            assert_eq!(
                decide(&named(user, "192.0.2.1"), Action::Admin, ""),
                (true, Some(2))
            );
        }
        let mut eve = named("eve", "192.0.2.1");
        assert_eq!(decide(&eve, Action::Admin, ""), (false, None));
        eve.groups = vec!["operators".to_owned()];
        assert_eq!(decide(&eve, Action::Admin, ""), (true, Some(2)));
    }

    #[test]
    fn the_anonymous_are_known_by_their_network_alone() {
        let inside = at("::ffff:10.1.2.3");
        assert_eq!(
            decide(&inside, Action::Subscribe, "telemetry.cpu"),
            (true, Some(3))
        );
        assert_eq!(decide(&inside, Action::Subscribe, "alarm"), (false, None));
        assert_eq!(
            decide(&at("10.2.0.1"), Action::Subscribe, "weather"),
            (false, None)
        );
        for place in [Place::Unknown, Place::Here] {
            assert_eq!(
                decide(&Caller::anonymous(place), Action::Subscribe, "weather"),
                (false, None)
            );
        }
    }

    #[test]
    fn all_that_a_rule_says_of_its_callers_must_hold() {
        let mut caller = at("10.1.2.3");
        assert_eq!(decide(&caller, Action::Publish, "alarm"), (false, None));
        caller.certificate = Some("CN=ann,O=ZeroC".parse().expect("a name"));
        assert_eq!(decide(&caller, Action::Publish, "alarm"), (true, Some(4)));
        caller.certificate = Some("CN=Mallory,O=ZeroC".parse().expect("a name"));
        assert_eq!(decide(&caller, Action::Publish, "alarm"), (false, None));
        caller.certificate = Some("CN=ann,O=ZeroC".parse().expect("a name"));
        caller.place = Place::Unknown;
        assert_eq!(decide(&caller, Action::Publish, "alarm"), (false, None));
    }

    #[test]
    fn without_rules_all_is_allowed_and_with_one_nothing_else() {
        let open = Rules::default();
        let closed = rules("[[access.rule]]\nallow = \"observe\"\nanyone = true\n");
        for action in Action::ALL {
            let decision = open.decide(&at("192.0.2.1"), action, "any");
            assert_eq!(
                (decision.is_allowed, decision.decided),
                (true, Decided::Open)
            );
            let decision = closed.decide(&at("192.0.2.1"), action, "any");
            assert_eq!(decision.is_allowed, action == Action::Observe, "{action}");
        }
    }

    #[test]
    fn a_topic_is_found_by_those_who_may_do_anything_with_it() {
        let callers = [
            named("bob", "192.0.2.1"),
            named("ann", "192.0.2.1"),
            at("10.1.2.3"),
            at("192.0.2.1"),
        ];
        let denied_first = "[[access.rule]]\ndeny = \"*\"\nusers = \"ann\"\n[[access.rule]]\nallow = \"link\"\nanyone = true\n";
        let denied_in_part = "[[access.rule]]\ndeny = [\"link\", \"publish\"]\ntopics = \"a*\"\nanyone = true\n\
                              [[access.rule]]\nallow = \"link\"\nanyone = true\n";
        let all = [FIRST_MATCH, "", denied_first, denied_in_part].map(rules);
        for (rules, caller) in all
            .iter()
            .flat_map(|rules| callers.iter().map(move |own| (rules, own)))
        {
            for topic in ["", "alarm", "weather", "telemetry.cpu"] {
                let mut actions = Action::ALL
                    .into_iter()
                    .filter(|action| !action.is_of_gateway());
                let may = actions.any(|action| rules.decide(caller, action, topic).is_allowed);
                assert_eq!(
                    rules.may_find(caller, topic),
                    may,
                    "{caller} {topic} {rules:?}"
                );
            }
        }
    }

    #[test]
    fn calls_are_decided_by_identity_category_adapter_and_operation() {
        let rules = rules(
            r#"
[[access.rule]]
deny = "call"
operations = "shut*"
anyone = true
[[access.rule]]
allow = "call"
categories = "open"
users = "ann"
[[access.rule]]
allow = "call"
identities = ["door", "a/b*"]
adapters = "Store*"
anyone = true
[[access.rule]]
allow = "*"
topics = "*"
anyone = true
"#,
        );
        let decide = |user: &str, identity: &str, adapter, operation| {
            let category = identity
                .split_once('/')
                .map_or("", |(category, _)| category);
            let called = Called {
                identity,
                category,
                adapter,
                operation,
            };
            let decision = rules.decide_call(&named(user, "192.0.2.1"), &called);
            match decision.decided {
                Decided::Rule { index, .. } => Some(index),
                _ => None,
            }
        };
        assert_eq!(decide("ann", "open/x", None, "look"), Some(1));
        assert_eq!(decide("ann", "open/x", None, "shutdown"), Some(0));
        assert_eq!(decide("bob", "open/x", None, "look"), None);
        assert_eq!(decide("bob", "a/bc", Some("Store1"), "look"), Some(2));
        assert_eq!(decide("bob", "a/bc", Some("Other"), "look"), None);
        assert_eq!(decide("bob", "door", None, "look"), None);
        // A rule about topics says nothing about calls, and one about objects nothing about topics.
        let decision = rules.decide(&named("ann", "192.0.2.1"), Action::Publish, "t");
        assert!(matches!(decision.decided, Decided::Rule { index: 3, .. }));
        let login = rules.decide(&named("ann", "192.0.2.1"), Action::Login, "");
        assert!(login.is_allowed);
    }

    #[test]
    fn a_decision_names_its_rule_and_line() {
        let rules = rules(FIRST_MATCH);
        let decision = rules.decide(&named("bob", "192.0.2.1"), Action::Publish, "alarm");
        assert_eq!(decision.decided.to_string(), "rule 1 in line 7");
        let decision = rules.decide(&named("bob", "192.0.2.1"), Action::Admin, "alarm");
        assert_eq!(decision.decided.to_string(), "no rule applies");
    }
}
