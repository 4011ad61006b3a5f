//! The peer of a connection: its callers are worked out once, and remembered as long as the rules are the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use floe::{Connection, Current};
use floe_access::{
    Access, Action, Caller, Decided, Decision, DistinguishedName, Place, TokenError,
};

use crate::core::{LimitReached, TOKEN_KEY};
use crate::lock::Mutex;
use crate::service::user_accounts::{UserAccounts, UserConnection};

/// The peer of a connection, and what was decided about it.
pub(super) struct Peer {
    place: Place,
    certificate: Option<DistinguishedName>,
    known: Mutex<Known>,
}

/// The users and decisions that are known under the rules with this number.
#[derive(Default)]
struct Known {
    version: u64,
    /// One for each token, and one without; at most [`USERS_MAX`].
    users: Vec<User>,
}

struct User {
    token: Option<String>,
    /// When the token ends, in seconds since 1970.
    expires: u64,
    caller: Arc<Caller>,
    /// Counts the connection for the user, once, however many tokens the user shows. A caller without a name has none.
    connection: Option<Arc<UserConnection>>,
    /// By topic; at most [`TOPICS_MAX`].
    decisions: BTreeMap<String, Vec<(Action, Decision)>>,
}

/// The rules in force, and what is counted by user.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) version: u64,
    pub(super) access: &'a Access,
    pub(super) users: &'a Arc<UserAccounts>,
}

/// Why the caller is not known.
pub(super) enum NotKnown {
    /// The token is not good.
    Token(TokenError),
    /// The user has too many connections.
    Limit(LimitReached),
}

/// The number of users of one connection that are remembered. A gateway has many users; the tokens of the others are
/// verified again.
const USERS_MAX: usize = 64;
/// The most topics about which decisions for one user are cached. Beyond that, the cache is cleared.
const TOPICS_MAX: usize = 64;

/// The largest length of a name that rules are asked about, in bytes. No topic has a longer name, because its key in
/// the store has at most 511 bytes. So callers cannot make the rules match long texts, or have them remembered.
const TOPIC_LEN_MAX: usize = 512;

/// Returns true if there is no topic of this name because it is too long.
pub(super) fn is_too_long(topic: &str) -> bool {
    topic.len() > TOPIC_LEN_MAX
}

impl Peer {
    pub(super) fn new(connection: &Connection) -> Self {
        let info = connection.info();
        let place = match (info.transport, info.remote_address) {
            ("unix", _) => Place::Here,
            // The sender of a datagram can write any address.
            ("udp", _) | (_, None) => Place::Unknown,
            (_, Some(address)) => Place::At(address.ip()),
        };
        let certificate = info.peer_certificates.first();
        Self {
            place,
            certificate: certificate.and_then(|der| DistinguishedName::of_certificate(der)),
            known: Mutex::default(),
        }
    }

    /// The caller without a token.
    pub(super) fn nobody(&self) -> Caller {
        let mut caller = Caller::anonymous(self.place);
        caller.certificate.clone_from(&self.certificate);
        caller
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Returns the caller with this token, and the decision if it may do this under these rules.
    ///
    /// # Errors
    /// The token is not good, or its user has too many connections.
    pub(super) fn ask(
        &self,
        rules: Rules<'_>,
        token: Option<&str>,
        action: Action,
        topic: &str,
    ) -> Result<(Arc<Caller>, Decision), NotKnown> {
        let mut known = self.known.lock();
        if known.version != rules.version {
            *known = Known {
                version: rules.version,
                users: Vec::new(),
            };
        }
        let user = self.user(&mut known.users, rules, token)?;
        if is_too_long(topic) {
            let decision = Decision {
                is_allowed: false,
                decided: Decided::NoRule,
            };
            return Ok((user.caller.clone(), decision));
        }
        let decision = match user.decided(action, topic) {
            Some(decision) => decision,
            None => {
                if user.decisions.len() >= TOPICS_MAX {
                    user.decisions.clear();
                }
                let decision = rules.access.decide(&user.caller, action, topic);
                let of_topic = user.decisions.entry(topic.to_owned()).or_default();
                of_topic.push((action, decision));
                decision
            }
        };
        Ok((user.caller.clone(), decision))
    }

    /// Returns true if the peer remembers that a caller without a token may do this under the rules of this version. If
    /// it returns false, call [`Self::ask`].
    pub(super) fn is_known_to_be_allowed(&self, version: u64, action: Action, topic: &str) -> bool {
        let known = self.known.lock();
        let user = known.users.iter().find(|user| user.token.is_none());
        let decision = user
            .filter(|_| known.version == version)
            .and_then(|user| user.decided(action, topic));
        decision.is_some_and(|decision| decision.is_allowed)
    }

    fn user<'a>(
        &self,
        users: &'a mut Vec<User>,
        rules: Rules<'_>,
        token: Option<&str>,
    ) -> Result<&'a mut User, NotKnown> {
        let now = token.map_or(0, |_| seconds());
        let found = users.iter().position(|user| user.token.as_deref() == token);
        match found {
            Some(at) if now < users[at].expires => return Ok(&mut users[at]),
            Some(at) => drop(users.remove(at)),
            None => {}
        }
        let claims = token.map(|token| rules.access.claims(token, now));
        let claims = claims.transpose().map_err(NotKnown::Token)?;
        let mut caller = self.nobody();
        let mut expires = u64::MAX;
        if let Some(claims) = claims {
            expires = claims.expires;
            caller.user = Some(claims.user);
            caller.groups = claims.groups;
        }
        let connection = match caller.name() {
            None => None,
            Some(name) => Some(connection_of(&name, users, rules.users)?),
        };
        make_room(users, now);
        users.push(User {
            token: token.map(str::to_owned),
            expires,
            caller: Arc::new(caller),
            connection,
            decisions: BTreeMap::new(),
        });
        Ok(users.last_mut().expect("it was added"))
    }
}

impl User {
    /// Returns the remembered decision about this, if there is one.
    fn decided(&self, action: Action, topic: &str) -> Option<Decision> {
        let of_topic = self.decisions.get(topic)?;
        let (_, decision) = of_topic.iter().find(|(of, _)| *of == action)?;
        Some(*decision)
    }
}

/// Forgets the users whose tokens have ended, and the oldest one if there are still too many.
fn make_room(users: &mut Vec<User>, now: u64) {
    if users.len() >= USERS_MAX {
        users.retain(|user| now < user.expires);
    }
    if users.len() >= USERS_MAX {
        users.remove(0);
    }
}

/// Returns the token that counts the connection for the user of this name.
fn connection_of(
    name: &str,
    users: &[User],
    accounts: &Arc<UserAccounts>,
) -> Result<Arc<UserConnection>, NotKnown> {
    let known = users.iter().find_map(|user| {
        let connection = user.connection.as_ref()?;
        (connection.user() == name).then(|| connection.clone())
    });
    match known {
        Some(connection) => Ok(connection),
        None => accounts
            .connect(name)
            .map(Arc::new)
            .map_err(NotKnown::Limit),
    }
}

/// The token that a request shows, if it shows one.
pub(super) fn token(current: &Current) -> Option<String> {
    current.context().remove(TOKEN_KEY)
}

/// Seconds since the Unix epoch.
fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(token: u64, expires: u64) -> User {
        User {
            token: Some(token.to_string()),
            expires,
            caller: Arc::new(Caller::anonymous(Place::Unknown)),
            connection: None,
            decisions: BTreeMap::new(),
        }
    }

    fn tokens(users: &[User]) -> Vec<u64> {
        let tokens = users.iter().filter_map(|user| user.token.as_ref());
        tokens.map(|token| token.parse().unwrap()).collect()
    }

    #[test]
    fn the_oldest_users_make_room_and_first_those_whose_tokens_have_ended() {
        let count = USERS_MAX as u64;
        let mut users = Vec::new();
        for token in 0..3 * count {
            make_room(&mut users, 1);
            users.push(user(token, 10));
        }
        let newest: Vec<u64> = (2 * count..3 * count).collect();
        assert_eq!(tokens(&users), newest);
        users[5].expires = 1;
        make_room(&mut users, 1);
        assert_eq!(users.len(), USERS_MAX - 1);
        assert!(!tokens(&users).contains(&newest[5]));
    }

    #[test]
    fn names_that_no_topic_can_have_are_refused_and_not_remembered() {
        let settings = "[[access.rule]]\nallow = \"create\"\nanyone = true\n";
        let settings = floe_access::Settings::parse(settings).expect("a rule");
        let access = Access::load(&settings, &|_, _| Err("no file".to_owned())).expect("rules");
        let accounts = Arc::new(UserAccounts::new(crate::core::HubLimits::default()));
        let rules = Rules {
            version: 1,
            access: &access,
            users: &accounts,
        };
        let peer = Peer {
            place: Place::Here,
            certificate: None,
            known: Mutex::default(),
        };
        let ask = |topic: &str| {
            let Ok((_, decision)) = peer.ask(rules, None, Action::Create, topic) else {
                panic!("the caller shows no token");
            };
            decision.is_allowed
        };
        let longest = "t".repeat(TOPIC_LEN_MAX);
        assert!(ask(&longest));
        assert!(!ask(&format!("{longest}t")));
        let known = peer.known.lock();
        let remembered: Vec<&String> = known.users[0].decisions.keys().collect();
        assert_eq!(remembered, [&longest]);
    }
}
