//! The facts known about a peer.

use core::net::IpAddr;
use std::fmt;

use crate::direction::changes_order;
use crate::distinguished_name::DistinguishedName;

/// The facts known about a peer that makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name that its password or token proves.
    pub user: Option<String>,
    /// Groups that its token names.
    pub groups: Vec<String>,
    /// The subject of its certificate, which the TLS handshake has verified.
    pub certificate: Option<DistinguishedName>,
    /// The place from which it calls.
    pub place: Place,
}

/// Where a peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At an address at which the peer receives replies.
    At(IpAddr),
    /// On this computer, connected over a Unix socket.
    Here,
    /// Anywhere, because the sender address of a datagram can be forged.
    Unknown,
}

/// The name of a peer that has proved none. No user can have this name.
pub const ANONYMOUS: &str = "anonymous";
/// The largest length of the name of a user or group, in bytes. The distinguished names of a directory fit.
pub const NAME_LEN_MAX: usize = 256;

impl Caller {
    /// A caller of which only the place is known.
    pub fn anonymous(place: Place) -> Self {
        Self {
            user: None,
            groups: Vec::new(),
            certificate: None,
            place,
        }
    }
}

impl Caller {
    /// The name that it has proved: that of its password or token, or else the subject of its certificate.
    pub fn name(&self) -> Option<String> {
        let certificate = || self.certificate.as_ref().map(ToString::to_string);
        self.user.clone().or_else(certificate)
    }
}

/// The text for people and the audit log.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.user, &self.certificate) {
            (Some(user), _) => f.write_str(user),
            (None, Some(certificate)) => certificate.fmt(f),
            (None, None) => f.write_str(ANONYMOUS),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(address) => address.to_canonical().fmt(f),
            Self::Here => f.write_str("this computer"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// Checks that a text can be the name of a user or a group.
///
/// # Errors
/// The text describes what is wrong with the name.
pub fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("expected a name, got nothing".to_owned());
    }
    if name.len() > NAME_LEN_MAX {
        let len = name.len();
        return Err(format!(
            "expected a name of at most {NAME_LEN_MAX} bytes, got {len}"
        ));
    }
    if name.contains(|c: char| c.is_control() || c.is_whitespace() || changes_order(c)) {
        return Err(format!(
            "expected a name without blanks and control characters, got {name:?}"
        ));
    }
    match name == ANONYMOUS {
        true => Err(format!(
            "{ANONYMOUS:?} is what a caller without a name is called"
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_blanks_and_are_not_those_of_nobody() {
        for good in ["ann", "CN=ann,O=ZeroC", "a@b.example", "ünal"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        let long = "x".repeat(NAME_LEN_MAX + 1);
        for bad in [
            "",
            " ann",
            "a b",
            "a\nb",
            "a\u{1b}[0m",
            "a\u{202e}b",
            "anonymous",
            &long,
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
