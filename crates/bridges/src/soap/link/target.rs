//! URLs of consumers, and which addresses may be called.
//!
//! Whoever subscribes chooses an address that this end then posts to. Without a rule, it could be made to speak to programs
//! that only this machine reaches.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::Uri;
use tokio::net::lookup_host;
use tokio::time::timeout;

use crate::networks::Networks;

/// The longest URL of a consumer, in bytes.
const URL_LEN_MAX: usize = 2048;
/// How long a name may take to be resolved.
const RESOLVE_PATIENCE: Duration = Duration::from_secs(5);
/// The most addresses of a name that are tried.
const ADDRESS_MAX: usize = 4;

/// Where a consumer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    url: String,
    host: String,
    port: u16,
    /// For the header `Host`.
    authority: String,
    path: String,
}

impl Target {
    /// Reads the URL of a consumer: `http://HOST[:PORT][/PATH]`.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let shown: String = url.chars().take(100).collect();
        let expected = || {
            format!("expected http://HOST:PORT/PATH as the address of a consumer, got {shown:?}")
        };
        let uri: Uri = match url.len() <= URL_LEN_MAX {
            true => url.parse().map_err(|_| expected())?,
            false => return Err(expected()),
        };
        let authority = uri.authority().ok_or_else(expected)?;
        let host = authority.host();
        let is_plain = uri.scheme_str() == Some("http") && !authority.as_str().contains('@');
        // A number that is no port is taken for none by the library.
        let has_port = authority.as_str().len() > host.len();
        if !is_plain || host.is_empty() || has_port != authority.port_u16().is_some() {
            return Err(expected());
        }
        let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        Ok(Self {
            url: url.to_owned(),
            host: bare.unwrap_or(host).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            authority: authority.as_str().to_owned(),
            path: path.to_owned(),
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// With the query.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The addresses that its name leads to now, and that may be called. A connection must be made to one of these: a name that
    /// is resolved again may lead elsewhere.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) async fn addresses(&self, allowed: &Networks) -> Result<Vec<SocketAddr>, String> {
        let resolved = lookup_host((self.host.as_str(), self.port));
        let resolved = timeout(RESOLVE_PATIENCE, resolved).await;
        let resolved = resolved.map_err(|_| format!("{} was not resolved in time", self.host))?;
        let all: Vec<_> = resolved
            .map_err(|error| format!("{} cannot be resolved: {error}", self.host))?
            .collect();
        let judged = all.iter().copied().filter(|it| allowed.contain(it.ip()));
        let judged: Vec<_> = judged.take(ADDRESS_MAX).collect();
        match judged.is_empty() {
            false => Ok(judged),
            true => Err(format!(
                "{self} is in none of the networks to which events are pushed ({}); add its network to consumers of [bridge.soap] if it \
                 should be",
                match allowed.to_string() {
                    none if none.is_empty() => "none".to_owned(),
                    some => some,
                }
            )),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let target = Target::parse("http://[::1]:9000/a/b?c=d").expect("a URL");
        assert_eq!((target.host.as_str(), target.port), ("::1", 9000));
        assert_eq!(
            (target.authority(), target.path()),
            ("[::1]:9000", "/a/b?c=d")
        );
        let target = Target::parse("http://sink.example").expect("a URL");
        assert_eq!((target.port, target.path()), (80, "/"));
        for url in [
            "",
            "/",
            "https://x/",
            "file:///etc/passwd",
            "http://",
            "http://a@127.0.0.1/",
            "http://a b/",
            "x",
            "http://x:99999/",
        ] {
            assert!(Target::parse(url).is_err(), "{url}");
        }
        assert!(Target::parse(&format!("http://x/{}", "a".repeat(URL_LEN_MAX))).is_err());
    }

    #[tokio::test]
    async fn addresses_are_judged_after_they_are_resolved() {
        let loopback = Networks::loopback();
        for (url, is_allowed) in [
            ("http://127.0.0.1:1/", true),
            ("http://localhost:1/", true),
            ("http://[::ffff:127.0.0.1]:1/", true),
            ("http://0.0.0.0:1/", false),
            ("http://169.254.169.254/latest", false),
            ("http://[::ffff:10.0.0.1]:1/", false),
            // Decimal and short forms are addresses for a resolver, and are judged as what they lead to.
            ("http://167772161:1/", false),
        ] {
            let target = Target::parse(url).expect("a URL");
            let judged = target.addresses(&loopback).await;
            assert_eq!(judged.is_ok(), is_allowed, "{url}: {judged:?}");
            let nowhere = target.addresses(&Networks::default()).await;
            assert!(nowhere.is_err(), "{url}");
        }
    }
}
