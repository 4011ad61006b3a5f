//! Access as an operator configures it: the rules, the users and the keys.

use std::fmt;
use std::path::Path;

use crate::action::Action;
use crate::callback::Callback;
use crate::caller::{Caller, Place};
use crate::distinguished_name::DistinguishedName;
use crate::keys::{KEYS_FILE_MAX, Keys};
use crate::problem::{Problem, Problems};
use crate::rule::Called;
use crate::rules::{Decision, Rules};
use crate::settings::Settings;
use crate::token::{Claims, TokenError, Tokens};
use crate::trust::TrustOnly;
use crate::users::{USERS_FILE_MAX, Users};

/// The rules, users and keys that an operator has configured and that are in force.
///
/// It never changes. A reload reads a new one, which replaces it only if nothing is wrong with the new one.
#[derive(Debug, Clone, Default)]
pub struct Access {
    rules: Rules,
    users: Users,
    tokens: Option<Tokens>,
    problems: Vec<Problem>,
}

/// Reads a file, and stops after the given number of bytes. [`Access::load`] asks for one byte more than it allows, and
/// so sees whether a file is too long.
///
/// # Errors
/// Why it cannot be read.
pub type Files<'a> = dyn Fn(&Path, usize) -> Result<Vec<u8>, String> + 'a;

impl Access {
    /// Reads the files that the settings name.
    ///
    /// # Errors
    /// Each file that cannot be read or of which nothing can be used, by name. Lines and keys that cannot be used are
    /// left out, and are among the [`problems`](Access::problems).
    pub fn load(settings: &Settings, files: &Files<'_>) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let users = settings
            .users
            .as_deref()
            .map(|path| load_users(path, files));
        let users = users.unwrap_or_else(|| Ok(Users::default()));
        let users = users.unwrap_or_else(|wrong| {
            problems.extend(wrong.0);
            Users::default()
        });
        let mut access = Self {
            rules: settings.rules.clone(),
            users,
            tokens: None,
            problems: Vec::new(),
        };
        if let Some(path) = &settings.users {
            access.leave_out(path, access.users.problems().to_vec());
        }
        if let Some(tokens) = &settings.tokens {
            let path = &tokens.keys;
            let keys = files(path, KEYS_FILE_MAX + 1).and_then(|file| Keys::parse(&file));
            match keys {
                Ok(keys) => {
                    access.leave_out(path, keys.problems().to_vec());
                    access.tokens = Some(Tokens {
                        keys,
                        issuer: tokens.issuer.clone(),
                        audience: tokens.audience.clone(),
                    });
                }
                Err(error) => {
                    problems.push(Problem::new(0, format_args!("{}: {error}", path.display())))
                }
            }
        }
        match problems.is_empty() {
            true => Ok(access),
            false => Err(Problems(problems)),
        }
    }

    fn leave_out(&mut self, path: &Path, parts: Vec<impl fmt::Display>) {
        let shown = path.display();
        let told = parts.into_iter();
        let told =
            told.map(|part| Problem::new(0, format_args!("{shown}: {part}; it is left out")));
        self.problems.extend(told);
    }

    /// Parts of the files that cannot be used and were left out: for the operator.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Allows everything to callers with a trusted certificate, as a server with `IceSSL.TrustOnly.Server` does.
    pub fn trusting(trust: TrustOnly) -> Self {
        Self {
            rules: Rules::trusting(trust),
            ..Self::default()
        }
    }

    /// Returns true if there are no rules, so that everything is allowed.
    pub fn is_open(&self) -> bool {
        self.rules.is_open()
    }

    /// Returns true if callers may send tokens.
    pub fn takes_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// The users.
    pub fn users(&self) -> &Users {
        &self.users
    }

    /// Identifies a caller by its token, certificate and place. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// The token is invalid. Such a caller is refused. It does not count as anonymous, because rules for anonymous
    /// callers are not meant for it.
    pub fn caller(
        &self,
        place: Place,
        certificate: Option<DistinguishedName>,
        token: Option<&str>,
        now: u64,
    ) -> Result<Caller, TokenError> {
        let claims = token.map(|token| self.claims(token, now)).transpose()?;
        let (user, groups) = claims.map_or((None, Vec::new()), |claims| {
            (Some(claims.user), claims.groups)
        });
        Ok(Caller {
            user,
            groups,
            certificate,
            place,
        })
    }

    /// Checks a token, and returns what it proves. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// The token is invalid, or no tokens are accepted.
    pub fn claims(&self, token: &str, now: u64) -> Result<Claims, TokenError> {
        let tokens = self.tokens.as_ref().ok_or(TokenError::NotTaken)?;
        tokens.verify(token, now)
    }

    /// Decides whether a caller may do this with a topic. An empty name stands for the hub or the gateway as a whole.
    pub fn decide(&self, caller: &Caller, action: Action, topic: &str) -> Decision {
        self.rules.decide(caller, action, topic)
    }

    /// Decides whether a caller may make this call through a gateway.
    pub fn decide_call(&self, caller: &Caller, called: &Called<'_>) -> Decision {
        self.rules.decide_call(caller, called)
    }

    /// Returns true if a caller may do anything with a topic, and so may know that it exists.
    pub fn may_find(&self, caller: &Caller, topic: &str) -> bool {
        self.rules.may_find(caller, topic)
    }

    /// Where a subscriber may be, if this decision allows its subscription.
    pub fn callback(&self, decision: Decision, caller: &Caller) -> Callback<'_> {
        self.rules.callback(decision, caller)
    }
}

fn load_users(path: &Path, files: &Files<'_>) -> Result<Users, Problems> {
    let shown = path.display();
    let file = files(path, USERS_FILE_MAX + 1)
        .map_err(|error| Problem::new(0, format_args!("{shown}: {error}")))?;
    Users::parse(&file).map_err(|problems| {
        let of_file = |problem| Problem::new(0, format_args!("{shown}: {problem}"));
        Problems(problems.0.into_iter().map(of_file).collect())
    })
}

#[cfg(all(test, feature = "tokens"))]
mod tests {
    use crate::rules::Decided;

    use super::*;

    const TEXT: &str = r#"
[access]
users = "users"
[access.tokens]
keys = "keys"
[[access.rule]]
allow = "publish"
users = "ann"
"#;
    const USERS: &str = "bob $5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA\n";
    const KEYS: &[u8] = include_bytes!("../tests/tokens/keys.pem");
    const TOKENS: &str = include_str!("../tests/tokens/tokens.txt");
    const NOW: u64 = 1_999_999_000;

    fn load(users: &str, keys: &[u8]) -> Result<Access, Problems> {
        let settings = Settings::parse(TEXT).expect("settings");
        let read = |path: &Path, _: usize| match path.to_str() {
            Some("users") => Ok(users.as_bytes().to_vec()),
            Some("keys") if !keys.is_empty() => Ok(keys.to_vec()),
            _ => Err("there is no such file".to_owned()),
        };
        Access::load(&settings, &read)
    }

    fn token() -> &'static str {
        let first = TOKENS.lines().next().expect("a token");
        first.split_once(' ').expect("a name before it").1
    }

    #[test]
    fn a_caller_with_a_token_does_what_the_rules_allow_its_user() {
        let access = load(USERS, KEYS).expect("good files");
        assert!(access.users().has("bob"));
        let caller = access
            .caller(Place::Unknown, None, Some(token()), NOW)
            .expect("a good token");
        let decision = access.decide(&caller, Action::Publish, "any");
        assert!(decision.is_allowed);
        assert_eq!(decision.decided, Decided::Rule { index: 0, line: 6 });
        let nobody = access
            .caller(Place::Unknown, None, None, NOW)
            .expect("nobody in particular");
        assert!(!access.decide(&nobody, Action::Publish, "any").is_allowed);
    }

    #[test]
    fn a_caller_with_a_bad_token_is_not_taken_for_anonymous() {
        let access = load(USERS, KEYS).expect("good files");
        for (bad, error) in [
            ("no.token", TokenError::Malformed),
            (token(), TokenError::Expired),
        ] {
            assert_eq!(
                access.caller(Place::Here, None, Some(bad), u64::MAX),
                Err(error)
            );
        }
        let none = Access::default();
        assert_eq!(
            none.caller(Place::Here, None, Some(token()), NOW),
            Err(TokenError::NotTaken)
        );
    }

    #[test]
    fn a_line_that_cannot_be_used_is_told_with_its_file_and_keeps_nobody_else_out() {
        let access = load(&format!("eve $1$a$b\n{USERS}"), KEYS).expect("bob can be used");
        assert!(access.users().has("bob") && !access.users().has("eve"));
        let [problem] = access.problems() else {
            panic!("{:?}", access.problems());
        };
        let message = &problem.message;
        assert!(message.starts_with("users: line 1: eve: "), "{message}");
        assert!(message.ends_with("it is left out"), "{message}");
    }

    #[test]
    fn each_file_that_makes_no_sense_is_named() {
        let problems = load("x", b"").expect_err("two bad files").to_string();
        assert!(problems.contains("users: line 1: "), "{problems}");
        assert!(
            problems.contains("keys: there is no such file"),
            "{problems}"
        );
    }
}
