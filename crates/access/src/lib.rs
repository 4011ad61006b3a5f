//! Access control: names, credentials and rules. It makes pure decisions about who may do what.
//!
//! A [`Caller`] holds what is known of a peer: the name and groups that its token proves, the subject of its
//! certificate, and the place from which it calls. [`Access`] holds what an operator allows, as read from `floe.toml`
//! and the files that it names. [`Access::decide`] returns a [`Decision`] with the rule that made it. This crate opens
//! no file and uses no clock and no network: its user passes in texts, times and addresses.
//!
//! - `access.rs`: the rules, users and token keys that are in force
//! - `settings.rs`: the table `[access]` of `floe.toml`; `table.rs`: how its values are read
//! - `rules.rs`: all rules, and which of them decides; `rule.rs`: one rule
//! - `action.rs`, `pattern.rs`, `network.rs`: the parts of a rule
//! - `caller.rs`: what is known of a peer
//! - `callback.rs`: the addresses at which a subscriber may be called
//! - `direction.rs`: characters that change the order of a line
//! - `distinguished_name.rs`, `trust.rs`: subjects of certificates, and IceSSL's `TrustOnly`
//! - `users.rs`, `password.rs`: the users' file; `decoys.rs`: what hides the users in it
//! - `token.rs`, `keys.rs`: signed tokens, and the keys that prove them; `signer.rs`: the key that signs them
//! - `refusal.rs`: a refusal, for the caller and for the audit log; `audit.rs`: the lines of that log
//! - `problem.rs`: problems in an operator's text, by line

mod access;
mod action;
mod audit;
mod callback;
mod caller;
mod decoys;
mod direction;
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
#[cfg(feature = "tokens")]
mod signer;
mod table;
mod token;
mod trust;
mod users;

pub use access::{Access, Files};
pub use action::{Action, Actions};
pub use audit::{AUDIT_LINES_MAX, AuditLines};
pub use callback::{Callback, Reach};
pub use caller::{ANONYMOUS, Caller, NAME_LEN_MAX, Place, check_name};
pub use distinguished_name::{DN_LEN_MAX, DistinguishedName};
pub use keys::{KEYS_FILE_MAX, KEYS_MAX, Keys};
pub use network::{Network, Networks};
pub use password::PasswordHash;
pub use pattern::{PATTERN_LEN_MAX, Pattern};
pub use problem::{Problem, Problems};
pub use refusal::{ACCESS_REFUSED, Reason, Refusal};
pub use rule::{Called, Objects, Rule, Who};
pub use rules::{Decided, Decision, RULES_MAX, Rules};
pub use settings::{LIST_MAX, Settings, TokenSettings};
#[cfg(feature = "tokens")]
pub use signer::{Grant, Signer};
pub use token::{Claims, GROUPS_MAX, TOKEN_LEN_MAX, TokenError, Tokens, Unverified};
pub use trust::{ENTRIES_MAX, TrustOnly};
pub use users::{USERS_FILE_MAX, USERS_MAX, Users};
