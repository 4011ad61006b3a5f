//! The gate asks who may ask the console for what.
//!
//! A page of another origin must neither read nor change anything. It cannot name this host (a page that gives its own name
//! this address still says its own name), its requests say its origin, and it cannot read the token that changes need. There are
//! no cookies, so that no request has rights that its page did not give it.

use std::fmt::Write;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use floe_access::{Access, Action, Caller, Place};
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};

use super::response::Refused;
use crate::http::HostNames;

/// The rules, the names of this server, and the token of changes.
pub(crate) struct Gate {
    /// Replaced when the settings are read again.
    access: RwLock<Arc<Access>>,
    hosts: HostNames,
    change_token: String,
}

/// A caller, with what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rights {
    /// Its name, or `anonymous`.
    pub(super) user: String,
    /// True if it may change something.
    pub(super) may_change: bool,
}

/// The header with the token of changes.
pub(super) const CHANGE_TOKEN: &str = "floe-change-token";

impl Gate {
    /// # Errors
    /// The system gives no randomness.
    pub(crate) fn new(access: Arc<Access>, hosts: HostNames) -> io::Result<Self> {
        Ok(Self {
            access: RwLock::new(access),
            hosts,
            change_token: random_token()?,
        })
    }

    /// Puts other rules in force.
    pub(crate) fn set_access(&self, access: Arc<Access>) {
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = access;
    }

    /// A text that only a page of this server can know.
    pub(super) fn change_token(&self) -> &str {
        &self.change_token
    }

    /// Checks that a request is for this server, and returns the host that it names.
    ///
    /// # Errors
    /// It names another host, or none.
    pub(super) fn check_host(&self, headers: &HeaderMap) -> Result<String, Refused> {
        let mut hosts = headers.get_all(HOST).into_iter();
        let host = hosts
            .next()
            .map(|host| String::from_utf8_lossy(host.as_bytes()));
        let host = host.filter(|host| self.hosts.has(host) && hosts.next().is_none());
        host.map(std::borrow::Cow::into_owned).ok_or_else(|| {
            Refused::new(
                StatusCode::MISDIRECTED_REQUEST,
                "expected an IP address, localhost, or a name of this server as the host; console.hosts adds names",
            )
        })
    }

    /// Checks that a request is for this server, and that no page of another origin has sent it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let host = self.check_host(headers)?;
        let is_own = |origin: &str| {
            let rest = origin.strip_prefix("http://");
            let rest = rest.or_else(|| origin.strip_prefix("https://"));
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(&host))
        };
        let origin = headers
            .get(ORIGIN)
            .map(|origin| origin.to_str().unwrap_or("?"));
        let site = headers.get("sec-fetch-site");
        let site = site.map_or("", |site| site.to_str().unwrap_or("?"));
        let is_foreign_site = !matches!(site, "" | "same-origin" | "none");
        match origin {
            Some(origin) if !is_own(origin) => Err(foreign()),
            None if is_foreign_site => Err(foreign()),
            _ => Ok(()),
        }
    }

    /// Says what the caller may do.
    ///
    /// # Errors
    /// It may not see the server.
    pub(super) fn rights(&self, peer: IpAddr, headers: &HeaderMap) -> Result<Rights, Refused> {
        let access = self
            .access
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if access.is_open() {
            return match peer.to_canonical().is_loopback() {
                true => Ok(Rights {
                    user: floe_access::ANONYMOUS.to_owned(),
                    may_change: true,
                }),
                false => Err(Refused::new(
                    StatusCode::FORBIDDEN,
                    "expected rules of access for callers from other computers, got none in the settings",
                )),
            };
        }
        let token = bearer(headers);
        let place = Place::At(peer.to_canonical());
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let caller = access
            .caller(place, None, token, now.as_secs())
            .map_err(|error| {
                Refused::new(
                    StatusCode::UNAUTHORIZED,
                    &format!("the token is not good: {error}"),
                )
            })?;
        let may = |action| access.decide(&caller, action, "").is_allowed;
        if !may(Action::Observe) {
            let (status, help) = match token {
                None => (StatusCode::UNAUTHORIZED, "; a token says who you are"),
                Some(_) => (StatusCode::FORBIDDEN, ""),
            };
            let message = format!("{} may not observe this server{help}", named(&caller));
            return Err(Refused::new(status, &message));
        }
        Ok(Rights {
            user: named(&caller),
            may_change: may(Action::Admin),
        })
    }

    /// Checks that a request may change something: the caller has the right, and its page the token.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn check_change(&self, rights: &Rights, headers: &HeaderMap) -> Result<(), Refused> {
        if !rights.may_change {
            let message = format!(
                "{} may only observe: a change needs the action admin",
                rights.user
            );
            return Err(Refused::new(StatusCode::FORBIDDEN, &message));
        }
        let token = headers.get(CHANGE_TOKEN).map(|token| token.as_bytes());
        if token != Some(self.change_token.as_bytes()) {
            let message = "expected the header Floe-Change-Token with the change_token of the snapshot; read it again";
            return Err(Refused::new(StatusCode::FORBIDDEN, message));
        }
        Ok(())
    }
}

fn foreign() -> Refused {
    Refused::new(
        StatusCode::FORBIDDEN,
        "expected a request of the console's own page, got one of another origin",
    )
}

fn named(caller: &Caller) -> String {
    caller
        .name()
        .unwrap_or_else(|| floe_access::ANONYMOUS.to_owned())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// 128 random bits.
fn random_token() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut text = String::new();
    for byte in bytes {
        // A text takes whatever is written.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use floe_access::Settings;
    use hyper::header::HeaderValue;

    use super::*;

    fn gate(rules: &str) -> Gate {
        let settings = Settings::parse(rules).expect("rules");
        let files = |path: &std::path::Path, _: usize| Err(format!("no {}", path.display()));
        let access = Access::load(&settings, &files).expect("rules");
        Gate::new(
            Arc::new(access),
            HostNames::new(&["hub.example".to_owned()]),
        )
        .expect("randomness")
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_pages_of_this_server_are_answered() {
        let gate = gate("");
        for own in [
            &[("host", "127.0.0.1:8080")][..],
            &[("host", "hub.example"), ("origin", "https://hub.example")],
            &[
                ("host", "[::1]:8080"),
                ("origin", "http://[::1]:8080"),
                ("sec-fetch-site", "same-origin"),
            ],
            &[("host", "localhost:1"), ("sec-fetch-site", "none")],
        ] {
            assert!(gate.check_origin(&headers(own)).is_ok(), "{own:?}");
        }
        for foreign in [
            &[][..],
            &[("host", "evil.example")],
            &[("host", "127.0.0.1:8080"), ("host", "evil.example")],
            &[
                ("host", "127.0.0.1:8080"),
                ("origin", "http://evil.example"),
            ],
            &[("host", "127.0.0.1:8080"), ("origin", "null")],
            &[
                ("host", "127.0.0.1:8080"),
                ("origin", "http://127.0.0.1:9000"),
            ],
            &[("host", "127.0.0.1:8080"), ("sec-fetch-site", "cross-site")],
            &[("host", "127.0.0.1:8080"), ("sec-fetch-site", "same-site")],
        ] {
            assert!(gate.check_origin(&headers(foreign)).is_err(), "{foreign:?}");
        }
    }

    #[test]
    fn without_rules_only_this_computer_may_see_and_change() {
        let gate = gate("");
        let own = gate
            .rights("127.0.0.1".parse().unwrap(), &headers(&[]))
            .expect("loopback");
        assert!(own.may_change);
        let other = gate.rights("192.0.2.1".parse().unwrap(), &headers(&[]));
        assert_eq!(
            other.expect_err("another computer").status,
            StatusCode::FORBIDDEN
        );
    }

    #[test]
    fn rules_say_who_may_see_and_who_may_change() {
        let rules =
            |actions: &str| format!("[[access.rule]]\nallow = [{actions}]\nnetworks = \"any\"\n");
        let (here, none) = ("127.0.0.1".parse().unwrap(), headers(&[]));
        let observing = gate(&rules("\"observe\""))
            .rights(here, &none)
            .expect("it may observe");
        assert!(!observing.may_change);
        let managing = gate(&rules("\"observe\", \"admin\""))
            .rights(here, &none)
            .expect("it may");
        assert!(managing.may_change);
        let refused = gate(&rules("\"publish\"")).rights(here, &none);
        assert_eq!(
            refused.expect_err("it may publish alone").status,
            StatusCode::UNAUTHORIZED
        );
        let token = headers(&[("authorization", "Bearer x.y.z")]);
        let refused = gate(&rules("\"observe\"")).rights(here, &token);
        assert_eq!(
            refused.expect_err("no tokens are taken").status,
            StatusCode::UNAUTHORIZED
        );
    }

    #[test]
    fn a_change_needs_the_right_and_the_token_of_the_page() {
        let gate = gate("");
        let rights = |may_change| Rights {
            user: "ann".to_owned(),
            may_change,
        };
        let mut right = HeaderMap::new();
        right.insert(CHANGE_TOKEN, gate.change_token().parse().unwrap());
        assert!(gate.check_change(&rights(true), &right).is_ok());
        assert!(gate.check_change(&rights(false), &right).is_err());
        assert!(gate.check_change(&rights(true), &headers(&[])).is_err());
        let wrong = headers(&[(CHANGE_TOKEN, "0123")]);
        assert!(gate.check_change(&rights(true), &wrong).is_err());
        assert_ne!(random_token().unwrap(), random_token().unwrap());
    }
}
