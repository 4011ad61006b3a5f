//! The accounts of users: how many each has of the things that a hub limits by user.
//!
//! A user is a name that the rules know: of a token, or of a certificate. Without rules there are none, and the limits of
//! all clients together hold alone.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use crate::core::{HubLimits, LimitReached, LimitUse};
use crate::lock::Mutex;

/// The name of a user, to be shared.
pub(crate) type UserName = Arc<str>;

/// The things that are counted by user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Topics that the user has created.
    Topics,
    /// Subscriptions that the user has made.
    Subscriptions,
    /// Topics with a log that the user has created.
    DurableTopics,
    /// Durable subscriptions that the user has begun, those without a subscriber included.
    DurableSubscriptions,
    /// Connections over which the user has shown its name.
    Connections,
}

/// The accounts of all users that have something.
#[derive(Debug)]
pub(crate) struct UserAccounts(Mutex<AccountsByName>);

#[derive(Debug)]
struct AccountsByName {
    limits: HubLimits,
    by_user: BTreeMap<UserName, [usize; 5]>,
}

/// A connection counts for its user until this is dropped.
#[derive(Debug)]
pub(crate) struct UserConnection {
    accounts: Arc<UserAccounts>,
    user: UserName,
}

impl UserAccounts {
    pub(crate) fn new(limits: HubLimits) -> Self {
        Self(Mutex::new(AccountsByName {
            limits,
            by_user: BTreeMap::new(),
        }))
    }

    /// Puts other limits in force. Users keep the things that they have.
    pub(crate) fn set_limits(&self, limits: HubLimits) {
        self.lock().limits = limits;
    }

    /// Checks that the user may have one more, after giving up `leaving` of them.
    ///
    /// # Errors
    /// The limit that is reached.
    pub(crate) fn check(
        &self,
        counted: Counted,
        user: Option<&UserName>,
        leaving: usize,
    ) -> Result<(), LimitReached> {
        let Some(user) = user else {
            return Ok(());
        };
        self.lock().check(counted, user, leaving)
    }

    /// The user has one more.
    pub(crate) fn add(&self, counted: Counted, user: Option<&UserName>) {
        if let Some(user) = user {
            self.lock().add(counted, user);
        }
    }

    /// The user has one less.
    pub(crate) fn remove(&self, counted: Counted, user: Option<&UserName>) {
        let Some(user) = user else {
            return;
        };
        let mut accounts = self.lock();
        if let Some(counts) = accounts.by_user.get_mut(user) {
            counts[counted as usize] = counts[counted as usize].saturating_sub(1);
            if counts.iter().all(|count| *count == 0) {
                accounts.by_user.remove(user);
            }
        }
    }

    /// Counts a connection of the user.
    ///
    /// # Errors
    /// The limit that is reached.
    pub(crate) fn connect(self: &Arc<Self>, user: &str) -> Result<UserConnection, LimitReached> {
        let user: UserName = user.into();
        let mut accounts = self.lock();
        accounts.check(Counted::Connections, &user, 0)?;
        accounts.add(Counted::Connections, &user);
        drop(accounts);
        Ok(UserConnection {
            accounts: self.clone(),
            user,
        })
    }

    /// The use of each limit by the user that has used most of it.
    pub(crate) fn of_limits(&self) -> [LimitUse; 5] {
        let accounts = self.lock();
        let all = [
            Counted::Topics,
            Counted::Subscriptions,
            Counted::DurableTopics,
            Counted::DurableSubscriptions,
            Counted::Connections,
        ];
        all.map(|counted| {
            let (_, setting, limit) = accounts.limit(counted);
            let counts = accounts.by_user.values();
            let used = counts.map(|counts| counts[counted as usize]).max();
            LimitUse {
                setting,
                used: used.unwrap_or(0),
                limit,
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, AccountsByName> {
        self.0.lock()
    }
}

impl AccountsByName {
    /// Returns the name of what is counted, its setting and its limit.
    fn limit(&self, counted: Counted) -> (&'static str, &'static str, usize) {
        let limits = &self.limits;
        match counted {
            Counted::Topics => ("topics", "limits.topics-per-user", limits.topics_per_user),
            Counted::Subscriptions => (
                "subscriptions",
                "limits.subscriptions-per-user",
                limits.subscriptions_per_user,
            ),
            Counted::DurableTopics => (
                "durable topics",
                "limits.durable-topics-per-user",
                limits.durable_topics_per_user,
            ),
            Counted::DurableSubscriptions => (
                "durable subscriptions",
                "limits.durable-subscriptions-per-user",
                limits.durable_subscriptions_per_user,
            ),
            Counted::Connections => (
                "connections",
                "limits.connections-per-user",
                limits.connections_per_user,
            ),
        }
    }

    fn check(&self, counted: Counted, user: &UserName, leaving: usize) -> Result<(), LimitReached> {
        let counts = self.by_user.get(user);
        let used = counts.map_or(0, |counts| counts[counted as usize]);
        let (what, setting, limit) = self.limit(counted);
        match used.saturating_sub(leaving) < limit {
            true => Ok(()),
            false => Err(LimitReached {
                user: Some(user.clone()),
                what,
                setting,
                limit,
            }),
        }
    }

    fn add(&mut self, counted: Counted, user: &UserName) {
        self.by_user.entry(user.clone()).or_default()[counted as usize] += 1;
    }
}

impl UserConnection {
    pub(crate) fn user(&self) -> &str {
        &self.user
    }
}

impl Drop for UserConnection {
    fn drop(&mut self) {
        self.accounts.remove(Counted::Connections, Some(&self.user));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Arc<UserAccounts> {
        Arc::new(UserAccounts::new(HubLimits {
            topics_per_user: 2,
            connections_per_user: 1,
            ..HubLimits::default()
        }))
    }

    #[test]
    fn each_user_has_its_own_account_which_is_removed_at_zero() {
        let accounts = accounts();
        let (ann, ben): (UserName, UserName) = ("ann".into(), "ben".into());
        for _ in 0..2 {
            accounts.check(Counted::Topics, Some(&ann), 0).unwrap();
            accounts.add(Counted::Topics, Some(&ann));
        }
        let reached = accounts.check(Counted::Topics, Some(&ann), 0).unwrap_err();
        assert_eq!(
            reached.to_string(),
            "user \"ann\" has 2 topics, as many as limits.topics-per-user allows: remove some, or raise it in the hub's floe.toml"
        );
        accounts.check(Counted::Topics, Some(&ann), 1).unwrap();
        accounts.check(Counted::Topics, Some(&ben), 0).unwrap();
        accounts.check(Counted::Topics, None, 0).unwrap();
        let [topics, ..] = accounts.of_limits();
        assert_eq!((topics.used, topics.limit), (2, 2));
        for _ in 0..2 {
            accounts.remove(Counted::Topics, Some(&ann));
        }
        assert!(accounts.lock().by_user.is_empty());
    }

    #[test]
    fn a_connection_counts_until_it_is_dropped() {
        let accounts = accounts();
        let first = accounts.connect("ann").unwrap();
        let reached = accounts.connect("ann").unwrap_err().to_string();
        assert!(reached.contains("limits.connections-per-user"), "{reached}");
        drop(first);
        accounts.connect("ann").unwrap();
        assert!(accounts.lock().by_user.is_empty());
    }
}
