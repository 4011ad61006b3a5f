//! The guard asks the rules before a servant does anything.
//!
//! - `peer.rs`: who calls, remembered for each connection
//! - `address.rs`: where the proxies of subscribers and linked topics lead
//! - `audit.rs`: the log of refusals

mod address;
mod audit;
mod peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use floe::{Current, Proxy, Reference, SystemException};
use floe_access::{Access, Action, Caller, Decision, Reason, Refusal};

pub(crate) use address::is_one_of;
use audit::Audit;
use peer::{NotKnown, Peer, Rules};

use crate::lock::RwLock;
use crate::service::client::Client;
use crate::service::user_accounts::{UserAccounts, UserName};
use crate::settings::HubSettings;

/// Asks the rules. They can change while a hub runs, and hold for open connections, too.
pub(crate) struct Guard {
    access: RwLock<Arc<Access>>,
    /// Changes with the rules, so that connections forget the decisions that they remember.
    version: AtomicU64,
    /// Without rules nothing is asked, and an event costs nothing more.
    is_open: AtomicBool,
    takes_tokens: AtomicBool,
    audit: Audit,
    refused: AtomicU64,
    users: Arc<UserAccounts>,
}

/// The decision about a caller, under the rules of this moment.
struct Verdict {
    access: Arc<Access>,
    caller: Arc<Caller>,
    decision: Decision,
}

impl Guard {
    pub(crate) fn new(settings: &HubSettings) -> Self {
        Self {
            access: RwLock::new(settings.access.clone()),
            version: AtomicU64::new(0),
            is_open: AtomicBool::new(settings.access.is_open()),
            takes_tokens: AtomicBool::new(settings.access.takes_tokens()),
            audit: Audit::new(settings.audit.as_deref()),
            refused: AtomicU64::new(0),
            users: Arc::new(UserAccounts::new(settings.limits)),
        }
    }

    /// Puts other rules in force, and opens the audit log again, which may have been moved away.
    pub(crate) fn replace(&self, settings: &HubSettings) {
        let mut access = self.access.write();
        *access = settings.access.clone();
        self.is_open.store(access.is_open(), Ordering::Release);
        self.takes_tokens
            .store(access.takes_tokens(), Ordering::Release);
        // The number changes after the rules, whose lock is held: a connection that sees this number finds them.
        self.version.fetch_add(1, Ordering::Release);
        drop(access);
        self.users.set_limits(settings.limits);
        self.audit.open(settings.audit.as_deref());
    }

    /// Returns true if there are no rules.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Returns true if requests of one connection may come from several users, so that the rules are asked about each request.
    pub(crate) fn asks_each(&self) -> bool {
        !self.is_open() && self.takes_tokens.load(Ordering::Acquire)
    }

    /// The accounts of all users.
    pub(crate) fn users(&self) -> &Arc<UserAccounts> {
        &self.users
    }

    /// The user that calls, if the hub knows it.
    pub(crate) fn user(&self, current: &Current) -> Option<UserName> {
        let verdict = self.verdict(current, Action::Observe, "").ok()??;
        verdict.caller.name().map(UserName::from)
    }

    /// The client that calls.
    pub(crate) fn client(&self, current: &Current) -> Client {
        let connection = current.connection();
        let address = connection.and_then(|it| it.info().remote_network());
        match (self.user(current), address) {
            (Some(user), _) => Client::User(user),
            (None, Some(address)) => Client::Address(address),
            (None, None) => Client::Unknown,
        }
    }

    /// The caller, so that rules can be asked about it later; `None` for a call from within the program, which is trusted.
    pub(crate) fn caller(&self, current: &Current) -> Option<Arc<Caller>> {
        let connection = current.connection()?;
        match self.verdict(current, Action::Observe, "") {
            Ok(Some(verdict)) => Some(verdict.caller),
            // Nothing is asked now, but after a reload there may be rules.
            _ => Some(Arc::new(connection.remember(Peer::new).nobody())),
        }
    }

    /// Checks that somebody who called before may do this with a topic under the rules of this moment.
    ///
    /// # Errors
    /// It may not; the audit log knows why.
    pub(crate) fn check_caller(
        &self,
        caller: &Caller,
        action: Action,
        topic: &str,
    ) -> Result<(), SystemException> {
        if self.is_open() {
            return Ok(());
        }
        let decision = self.access().decide(caller, action, topic);
        if decision.is_allowed {
            return Ok(());
        }
        let reason = Reason::Rules(decision.decided);
        Err(self.refuse(Refusal::of(caller, action, topic, reason)))
    }

    /// How many requests were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Checks that the caller may do this with a topic; with an empty name, with the hub as a whole.
    ///
    /// # Errors
    /// It may not; the audit log knows why.
    pub(crate) fn check(
        &self,
        current: &Current,
        action: Action,
        topic: &str,
    ) -> Result<(), SystemException> {
        if self.is_known_to_be_allowed(current, action, topic) {
            return Ok(());
        }
        self.ask(current, action, topic).map(drop)
    }

    /// Returns true if the rules have allowed this to the connection before. Publishers ask this with all their events.
    fn is_known_to_be_allowed(&self, current: &Current, action: Action, topic: &str) -> bool {
        // A token may have ended since then.
        if self.takes_tokens.load(Ordering::Acquire) {
            return false;
        }
        let version = self.version.load(Ordering::Acquire);
        current.connection().is_some_and(|connection| {
            let peer = connection.remember(Peer::new);
            peer.is_known_to_be_allowed(version, action, topic)
        })
    }

    /// Checks that the caller may know that there is a topic. It may if it may do anything with the topic.
    ///
    /// # Errors
    /// As [`Guard::check`].
    pub(crate) fn check_found(
        &self,
        current: &Current,
        topic: &str,
    ) -> Result<(), SystemException> {
        match self.finder(current)?.may_find(topic) {
            true => Ok(()),
            false => self.check(current, Action::Observe, topic),
        }
    }

    /// Returns the topics that the caller may know of, for lists that leave out others instead of refusing.
    ///
    /// # Errors
    /// The caller shows a token that is not good, or has too many connections: an empty list would hide that.
    pub(crate) fn finder(&self, current: &Current) -> Result<Finder, SystemException> {
        match self.verdict(current, Action::Observe, "") {
            Ok(None) => Ok(Finder::Everything),
            Ok(Some(verdict)) => Ok(Finder::Allowed(verdict.access, verdict.caller)),
            Err(refusal) => Err(self.refuse(*refusal)),
        }
    }

    /// The proxy that the hub may call for a caller that subscribes or links it: with those of its endpoints that the rules
    /// allow.
    ///
    /// # Errors
    /// The caller may not do this with the topic, or the rules allow none of the endpoints.
    pub(crate) fn check_proxy(
        &self,
        current: &Current,
        action: Action,
        topic: &str,
        proxy: &Proxy,
    ) -> Result<Proxy, SystemException> {
        let Some(verdict) = self.ask(current, action, topic)? else {
            return Ok(proxy.clone());
        };
        match verdict.permitted(proxy.reference(), current) {
            Some(reference) => Ok(proxy.with_reference(reference)),
            None => {
                let reason = Reason::Address(format!("\"{proxy}\"").replace('\n', " "));
                Err(self.refuse(Refusal::of(&verdict.caller, action, topic, reason)))
            }
        }
    }

    /// None if nothing needs to be asked.
    fn ask(
        &self,
        current: &Current,
        action: Action,
        topic: &str,
    ) -> Result<Option<Verdict>, SystemException> {
        let verdict = self
            .verdict(current, action, topic)
            .map_err(|refusal| self.refuse(*refusal))?;
        let Some(verdict) = verdict else {
            return Ok(None);
        };
        if verdict.decision.is_allowed {
            return Ok(Some(verdict));
        }
        let reason = Reason::Rules(verdict.decision.decided);
        Err(self.refuse(Refusal::of(&verdict.caller, action, topic, reason)))
    }

    fn verdict(
        &self,
        current: &Current,
        action: Action,
        topic: &str,
    ) -> Result<Option<Verdict>, Box<Refusal>> {
        if self.is_open() {
            return Ok(None);
        }
        // Calls from the same process are trusted.
        let Some(connection) = current.connection() else {
            return Ok(None);
        };
        let version = self.version.load(Ordering::Acquire);
        let access = self.access();
        let peer = connection.remember(Peer::new);
        // A hub that takes no tokens does not look for any.
        let takes_tokens = self.takes_tokens.load(Ordering::Acquire);
        let token = takes_tokens.then(|| peer::token(current)).flatten();
        let rules = Rules {
            version,
            access: &access,
            users: &self.users,
        };
        let asked = peer.ask(rules, token.as_deref(), action, topic);
        match asked {
            Ok((caller, decision)) => Ok(Some(Verdict {
                access,
                caller,
                decision,
            })),
            Err(error) => {
                let nobody = Caller::anonymous(peer.place());
                let reason = match error {
                    NotKnown::Token(error) => Reason::Token(error),
                    NotKnown::Limit(reached) => Reason::Limit(reached.to_string()),
                };
                Err(Box::new(Refusal::of(&nobody, action, topic, reason)))
            }
        }
    }

    fn access(&self) -> Arc<Access> {
        self.access.read().clone()
    }

    fn refuse(&self, refusal: Refusal) -> SystemException {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.audit.write(&refusal);
        SystemException::UnknownException(refusal.to_string())
    }
}

/// The topics that a caller may know of.
pub(crate) enum Finder {
    /// There are no rules.
    Everything,
    /// The topics that the rules allow.
    Allowed(Arc<Access>, Arc<Caller>),
}

impl Finder {
    /// Returns true if it may know of this topic.
    pub(crate) fn may_find(&self, topic: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Allowed(access, caller) => {
                !peer::is_too_long(topic) && access.may_find(caller, topic)
            }
        }
    }
}

impl Verdict {
    /// The reference with those of its endpoints that the hub may call; `None` if there are none.
    fn permitted(&self, reference: &Reference, current: &Current) -> Option<Reference> {
        let callback = self.access.callback(self.decision, &self.caller);
        address::permitted(reference, callback, &address::own(current))
    }
}
