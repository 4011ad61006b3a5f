//! Who may do what: names, credentials, rules; pure decisions.
//!
//! A [`Caller`] is what is known of a peer: the name and groups that its token proves, the subject of its certificate, and
//! where it calls from. [`Access`] is what an operator allows, as read from `floe.toml` and the files that it names;
//! [`Access::decide`] gives a [`Decision`] with the rule that made it. Nothing here opens a file, asks a clock or a network:
//! the caller of this crate passes in texts, times and addresses.
//!
//! - `access.rs`: rules, users and token keys together, as they are in force
//! - `settings.rs`: the table `[access]` of `floe.toml`
//! - `rules.rs`, `rule.rs`: the rules, and which of them decides
//! - `action.rs`, `pattern.rs`, `network.rs`: what a rule speaks of
//! - `caller.rs`: what is known of a peer
//! - `callback.rs`: the addresses at which a subscriber may be called
//! - `distinguished_name.rs`, `trust.rs`: subjects of certificates, and IceSSL's `TrustOnly`
//! - `users.rs`, `password.rs`: the users' file
//! - `token.rs`, `keys.rs`: signed tokens, and the keys that prove them
//! - `refusal.rs`: how a caller and the audit log are told of a refusal
//! - `problem.rs`: what is wrong with a text, by line

mod access;
mod action;
mod callback;
mod caller;
mod distinguished_name;
mod keys;
mod network;
mod password;
mod pattern;
mod problem;
mod refusal;
mod rule;
mod rules;
mod settings;
mod token;
mod trust;
mod users;

pub use access::{Access, Files};
pub use action::{Action, Actions};
pub use callback::{Callback, Reach};
pub use caller::{ANONYMOUS, Caller, NAME_LEN_MAX, Place, check_name};
pub use distinguished_name::{DN_LEN_MAX, DistinguishedName};
pub use keys::{KEYS_FILE_MAX, KEYS_MAX, Keys};
pub use network::{Network, Networks};
pub use password::PasswordHash;
pub use pattern::{PATTERN_LEN_MAX, Pattern};
pub use problem::{Problem, Problems};
pub use refusal::{ACCESS_REFUSED, Reason, Refusal};
pub use rule::{Rule, Who};
pub use rules::{Decided, Decision, RULES_MAX, Rules};
pub use settings::{LIST_MAX, Settings, TokenSettings};
pub use token::{Claims, GROUPS_MAX, TOKEN_LEN_MAX, TokenError, Tokens};
pub use trust::{ENTRIES_MAX, TrustOnly};
pub use users::{USERS_FILE_MAX, USERS_MAX, Users};
