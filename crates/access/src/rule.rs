//! One rule: who may, or may not, do what with which topics.

use crate::action::{Action, Actions};
use crate::caller::Caller;
use crate::network::Networks;
use crate::pattern::Pattern;
use crate::rules::Groups;
use crate::trust::TrustOnly;

/// A rule, as it stands in `floe.toml`. It applies if the action is one of its actions, the topic one of its topics, and the
/// caller one of those whom it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Whether it allows, or refuses.
    pub allows: bool,
    /// What it speaks of.
    pub actions: Actions,
    /// Topics by name; all if there are none.
    pub topics: Vec<Pattern>,
    /// Whom it speaks of.
    pub who: Who,
    /// Networks in which subscribers may be called back, besides the host that subscribes.
    pub callbacks: Vec<String>,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// Whom a rule speaks of: callers for whom all that is said holds. Of a list one entry is enough, and nothing is said by what
/// is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// Names of users.
    pub users: Vec<Pattern>,
    /// Names of groups, from the file or a token.
    pub groups: Vec<String>,
    /// Certificates.
    pub certificate: Option<TrustOnly>,
    /// Names of networks.
    pub networks: Vec<String>,
}

impl Rule {
    /// Whether it decides on this.
    pub(crate) fn applies(
        &self,
        caller: &Caller,
        action: Action,
        topic: &str,
        known: (&Groups, &Networks),
    ) -> bool {
        self.actions.contains(action) && self.speaks_of(caller, topic, known)
    }

    /// Whether it speaks of this topic and caller, whatever the action.
    pub(crate) fn speaks_of(
        &self,
        caller: &Caller,
        topic: &str,
        known: (&Groups, &Networks),
    ) -> bool {
        let is_of_topics =
            || self.topics.is_empty() || self.topics.iter().any(|pattern| pattern.matches(topic));
        is_of_topics() && self.who.is_one(caller, known)
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
