//! One rule: it allows or refuses actions on topics to some callers.

use crate::action::{Action, Actions};
use crate::caller::Caller;
use crate::network::Networks;
use crate::pattern::Pattern;
use crate::rules::Groups;
use crate::trust::TrustOnly;

/// A rule of `floe.toml`. It applies if the action is one of its actions, the topic matches one of its topics or the
/// called object matches its `objects`, and the caller matches its `who`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// True if the rule allows or refuses.
    pub allows: bool,
    /// The actions to which the rule applies.
    pub actions: Actions,
    /// Patterns of topics. If there are none, the rule applies to all topics. If there are some, it applies to topics
    /// alone.
    pub topics: Vec<Pattern>,
    /// The objects whose calls the rule is about. If it restricts them, the rule applies to calls alone.
    pub objects: Objects,
    /// The callers to whom the rule applies.
    pub who: Who,
    /// Networks in which subscribers may be called back, besides the host that subscribes.
    pub callbacks: Vec<String>,
    /// The line of the rule in the file, from 1.
    pub line: usize,
}

/// The callers to whom a rule applies. A caller must match each list that is not empty. To match a list, it must match
/// one of its entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// Patterns of users' names.
    pub users: Vec<Pattern>,
    /// Names of groups, from the file or from a token.
    pub groups: Vec<String>,
    /// Subjects of certificates.
    pub certificate: Option<TrustOnly>,
    /// Names of networks.
    pub networks: Vec<String>,
}

/// Objects that are called through a gateway. A call must match each list that is not empty. To match a list, it must
/// match one of its entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Objects {
    /// Patterns of identities, as Ice writes them: `category/name`, or `name` without a category.
    pub identities: Vec<Pattern>,
    /// Patterns of categories.
    pub categories: Vec<Pattern>,
    /// Patterns of adapter ids. An object whose proxy has endpoints instead of an adapter id matches none.
    pub adapters: Vec<Pattern>,
    /// Patterns of operations.
    pub operations: Vec<Pattern>,
}

/// A call through a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Called<'a> {
    /// The identity of the object, as Ice writes it.
    pub identity: &'a str,
    /// The category of the identity.
    pub category: &'a str,
    /// The adapter id in the object's proxy.
    pub adapter: Option<&'a str>,
    /// The operation.
    pub operation: &'a str,
}

impl Objects {
    /// Returns true if this restricts nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn has(&self, called: &Called<'_>) -> bool {
        let matches = |patterns: &[Pattern], text: Option<&str>| {
            let is_one = |text| patterns.iter().any(|pattern| pattern.matches(text));
            patterns.is_empty() || text.is_some_and(is_one)
        };
        matches(&self.identities, Some(called.identity))
            && matches(&self.categories, Some(called.category))
            && matches(&self.adapters, called.adapter)
            && matches(&self.operations, Some(called.operation))
    }
}

impl Rule {
    /// Returns true if the rule applies to this call through a gateway.
    pub(crate) fn applies_to_call(
        &self,
        caller: &Caller,
        called: &Called<'_>,
        known: (&Groups, &Networks),
    ) -> bool {
        self.actions.contains(Action::Call)
            && self.topics.is_empty()
            && self.objects.has(called)
            && self.who.is_one(caller, known)
    }

    /// Returns true if the rule applies to this action.
    pub(crate) fn applies(
        &self,
        caller: &Caller,
        action: Action,
        topic: &str,
        known: (&Groups, &Networks),
    ) -> bool {
        self.actions.contains(action) && self.speaks_of(caller, topic, known)
    }

    /// Returns true if the rule applies to this topic and caller for some action.
    pub(crate) fn speaks_of(
        &self,
        caller: &Caller,
        topic: &str,
        known: (&Groups, &Networks),
    ) -> bool {
        let is_of_topics =
            || self.topics.is_empty() || self.topics.iter().any(|pattern| pattern.matches(topic));
        self.objects.is_empty() && is_of_topics() && self.who.is_one(caller, known)
    }
}

impl Who {
    fn is_one(&self, caller: &Caller, (groups, networks): (&Groups, &Networks)) -> bool {
        let user = caller.user.as_deref();
        let is_of_users = || {
            let matches = |pattern: &Pattern| user.is_some_and(|user| pattern.matches(user));
            self.users.is_empty() || self.users.iter().any(matches)
        };
        let is_of_groups =
            || self.groups.is_empty() || self.groups.iter().any(|group| groups.has(group, caller));
        let is_of_networks = || {
            let is_in = |name: &String| networks.contain(name, caller.place);
            self.networks.is_empty() || self.networks.iter().any(is_in)
        };
        let has_certificate = || {
            let trust = self.certificate.as_ref();
            trust.is_none_or(|trust| trust.trusts(caller.certificate.as_ref()))
        };
        is_of_users() && is_of_groups() && is_of_networks() && has_certificate()
    }
}
