//! Rules about the hosts and ports of the objects that a client registers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use floe::forwarding::ConnectionJudge;
use floe::reference::is_offer;
use floe::{Endpoint, Reference};

use super::host::{Host, HostPattern};
use super::pattern::Group;

/// A rule about hosts and ports, such as `db*.example.com:[1000-2000,3000]`.
///
/// In the host, `*` matches any characters or none, `[1-3,7]` matches a decimal number of the group, and all other
/// characters match themselves. The ports stand behind a colon. A rule without ports matches any port.
///
/// A host of numbers, `*` and groups matches IPv4 addresses, however a proxy spells them, and no names. All other hosts
/// match names, in any case, and no addresses. `*` alone matches any host. An IPv6 address or network stands in brackets:
/// `[::1]:4061`, `[2001:db8::/32]`.
///
/// Source: Ice manual, "Glacier2 Request Filters".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRule {
    text: String,
    host: HostPattern,
    /// `None` for any port.
    ports: Option<Group>,
}

/// A text that is not an [`AddressRule`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRuleError {
    rule: String,
    reason: String,
}

impl AddressRule {
    /// Returns true if the proxy matches the rule: it has endpoints, and each endpoint has a host and a port of the
    /// rule. An endpoint without a host, such as one of an unknown transport, matches no rule.
    fn matches(&self, reference: &Reference) -> bool {
        // An offer of compression does not lead to the object.
        let endpoints = reference.endpoints().iter();
        let mut endpoints = endpoints.filter(|it| !is_offer(it)).peekable();
        endpoints.peek().is_some() && endpoints.all(|endpoint| self.has(endpoint))
    }

    fn has(&self, endpoint: &Endpoint) -> bool {
        let (Some(host), Some(port)) = (endpoint.host(), endpoint.port()) else {
            return false;
        };
        self.host.matches(&Host::parse(host))
            && self.ports.as_ref().is_none_or(|p| p.has(port.into()))
    }
}

impl FromStr for AddressRule {
    type Err = AddressRuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let failed = |reason: String| AddressRuleError {
            rule: text.to_owned(),
            reason,
        };
        let (host, ports) = split(text);
        let host = match host {
            RuleHost::Empty => Err("expected a host, or `*` for any".to_owned()),
            RuleHost::Pattern(pattern) => HostPattern::parse(pattern),
            RuleHost::Network(network) => network.parse().map(HostPattern::Network),
        };
        let ports = match ports {
            None | Some("*") => None,
            Some(ports) => {
                let inner = ports
                    .strip_prefix('[')
                    .and_then(|inner| inner.strip_suffix(']'));
                let group = Group::parse(inner.unwrap_or(ports)).map_err(|reason| {
                    failed(format!(
                        "{reason} as a port; an IPv6 address stands in brackets"
                    ))
                })?;
                if let Some(port) = group.beyond(u16::MAX.into()) {
                    // The rule would silently match nothing.
                    let reason = format!("expected a port of at most {}, got `{port}`", u16::MAX);
                    return Err(failed(reason));
                }
                Some(group)
            }
        };
        Ok(Self {
            text: text.to_owned(),
            host: host.map_err(failed)?,
            ports,
        })
    }
}

/// The part of a rule that stands for the host.
enum RuleHost<'a> {
    Empty,
    Pattern(&'a str),
    /// Without its brackets.
    Network(&'a str),
}

/// The host of a rule, and its ports.
fn split(rule: &str) -> (RuleHost<'_>, Option<&str>) {
    // A group of numbers has no colon.
    let bracketed = rule.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if let Some((network, rest)) = bracketed
        && network.contains(':')
        && (rest.is_empty() || rest.starts_with(':'))
    {
        return (RuleHost::Network(network), rest.strip_prefix(':'));
    }
    let (host, ports) = match rule.split_once(':') {
        Some((host, ports)) => (host, Some(ports)),
        None => (rule, None),
    };
    match host {
        "" => (RuleHost::Empty, ports),
        host => (RuleHost::Pattern(host), ports),
    }
}

impl fmt::Display for AddressRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for AddressRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, reason } = self;
        write!(
            f,
            "expected a rule such as db*.example.com:[1000-2000,3000], got `{rule}`: {reason}"
        )
    }
}

impl std::error::Error for AddressRuleError {}

/// Which proxies a client may register.
#[derive(Debug, Default)]
pub(crate) struct AddressFilter {
    pub(crate) accept: Vec<AddressRule>,
    pub(crate) reject: Vec<AddressRule>,
    /// The largest length of a proxy's text, in bytes. A proxy with a longer text is refused.
    pub(crate) proxy_len_max: Option<usize>,
}

impl AddressFilter {
    /// Returns true if the client may register this proxy, whose text has `len` bytes.
    pub(crate) fn allows(&self, reference: &Reference, len: usize) -> bool {
        if self.proxy_len_max.is_some_and(|max| len > max) || !is_plausible(reference) {
            return false;
        }
        let any = |rules: &[AddressRule]| rules.iter().any(|rule| rule.matches(reference));
        (self.accept.is_empty() || any(&self.accept)) && !any(&self.reject)
    }

    /// Says which connections may be used, if there are rules that reject: those to addresses that no rule rejects, whatever
    /// their names are, and whatever else the proxy offers.
    pub(crate) fn judge(&self) -> Option<ConnectionJudge> {
        let reject = self.reject.clone();
        if reject.is_empty() {
            return None;
        }
        Some(Arc::new(move |endpoint, address| {
            let host = address.ip().to_canonical().to_string();
            let connected = Endpoint::tcp(host, address.port());
            !reject
                .iter()
                .any(|rule| rule.has(endpoint) || rule.has(&connected))
        }))
    }
}

/// The largest length of a host, in bytes. No name of the domain name system is longer.
const HOST_LEN_MAX: usize = 255;
/// The largest number of endpoints of a proxy.
const ENDPOINTS_MAX: usize = 256;

/// Returns true if an object can have this proxy. Rules are not tried on hosts of a megabyte, nor on thousands of
/// endpoints.
fn is_plausible(reference: &Reference) -> bool {
    let endpoints = reference.endpoints();
    let is_short = |endpoint: &Endpoint| endpoint.host().is_none_or(|it| it.len() <= HOST_LEN_MAX);
    endpoints.len() <= ENDPOINTS_MAX && endpoints.iter().all(is_short)
}

/// The length of a proxy's text, in bytes, without a copy of the text.
pub(crate) fn text_len(reference: &Reference) -> usize {
    struct Length(usize);

    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }

    let mut length = Length(0);
    // This cannot fail, because `Length` takes every text.
    let _ = fmt::write(&mut length, format_args!("{reference}"));
    length.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(accept: &[&str], reject: &[&str]) -> AddressFilter {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        AddressFilter {
            accept: rules(accept),
            reject: rules(reject),
            proxy_len_max: None,
        }
    }

    fn allows(accept: &[&str], reject: &[&str], proxy: &str) -> bool {
        let reference = proxy.parse().unwrap();
        filter(accept, reject).allows(&reference, text_len(&reference))
    }

    const DB: &str = "o:tcp -h db1.example -p 1000";
    const TWO: &str = "o:tcp -h db1.example -p 1000:tcp -h other -p 1000";

    #[test]
    fn accept_and_reject_rules_decide_together() {
        assert!(allows(&[], &[], DB));
        assert!(allows(&["db*"], &[], DB));
        assert!(!allows(&["web*"], &[], DB));
        assert!(!allows(&[], &["db*"], DB));
        assert!(allows(&[], &["web*"], DB));
        assert!(allows(&["*"], &["web*"], DB));
        assert!(!allows(&["*"], &["db*"], DB));
        assert!(!allows(&["web*"], &["db2*"], DB));
    }

    #[test]
    fn all_endpoints_must_match_and_a_proxy_without_any_never_does() {
        assert!(!allows(&["db*"], &[], TWO));
        assert!(allows(&["*"], &[], TWO));
        assert!(allows(&[], &["db*"], TWO));
        assert!(!allows(&["*"], &[], "o @ adapter"));
        assert!(allows(&[], &["*"], "o"));
        assert!(!allows(&["*"], &[], "o:opaque -t 99 -v AA=="));
    }

    #[test]
    fn an_offer_of_compression_matters_to_no_rule() {
        let offer = "opaque -t 18029 -e 1.1 -v AA==";
        assert!(allows(&["db*"], &[], &format!("{DB}:{offer}")));
        assert!(!allows(&[], &["db*"], &format!("{DB}:{offer}")));
        assert!(!allows(&["web*"], &[], &format!("{DB}:{offer}")));
        assert!(!allows(&["*"], &[], &format!("o:{offer}")));
    }

    #[test]
    fn another_spelling_of_a_host_makes_no_difference() {
        for host in ["DB1.EXAMPLE", "db1.example."] {
            assert!(!allows(&[], &["db*"], &DB.replace("db1.example", host)));
        }
        for host in ["127.1", "2130706433", "\"::ffff:127.0.0.1\""] {
            let proxy = DB.replace("db1.example", host);
            assert!(!allows(&[], &["127.0.0.*"], &proxy), "{proxy}");
            assert!(allows(&["127.*"], &[], &proxy), "{proxy}");
        }
        let disguised = DB.replace("db1.example", "127.0.0.attacker.example");
        assert!(!allows(&["127.0.0.*"], &[], &disguised));
    }

    #[test]
    fn ports_are_numbers_lists_and_ranges() {
        for ports in [
            "1000",
            "999-1000",
            "[1000]",
            "[1,1000]",
            "*",
            "[900-1100,3]",
        ] {
            assert!(allows(&[&format!("db*:{ports}")], &[], DB), "{ports}");
        }
        for ports in ["1001", "1-999", "[10000]", "[1,2]"] {
            assert!(!allows(&[&format!("db*:{ports}")], &[], DB), "{ports}");
        }
    }

    #[test]
    fn a_port_that_no_endpoint_can_have_is_refused() {
        for rule in ["db:70000", "db:[1-2,65536-70000]"] {
            let error = rule.parse::<AddressRule>().unwrap_err().to_string();
            assert!(
                error.contains("expected a port of at most 65535, got `"),
                "{error}"
            );
        }
        assert!(allows(&["db*:900-99999"], &[], DB));
    }

    #[test]
    fn an_ipv6_network_stands_in_brackets() {
        let proxy = "o:tcp -h \"2001:db8::7\" -p 1000";
        for rule in [
            "[2001:db8::7]",
            "[2001:db8::/32]:1000",
            "[2001:db8::/32]:[999-1000]",
            "*:1000",
        ] {
            assert!(allows(&[rule], &[], proxy), "{rule}");
            assert!(!allows(&[], &[rule], proxy), "{rule}");
        }
        for rule in [
            "[2001:db8::8]",
            "[2001:db9::/32]",
            "[2001:db8::7]:1001",
            "[0-9]*",
        ] {
            assert!(!allows(&[rule], &[], proxy), "{rule}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_and_said() {
        for text in [
            "", ":80", "a:", "a:b", "::1", "[1:80", "a:[1", "[::1]80", "[::1]:", "[::1]:a", "[::g]",
        ] {
            let error = text.parse::<AddressRule>().unwrap_err().to_string();
            assert!(error.contains("expected a rule"), "{error}");
        }
    }

    /// Returns true if a proxy is allowed, and `None` if that is not known within a minute.
    fn allows_in_time(rule: &'static str, proxy: String) -> Option<bool> {
        let (done, decided) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(allows(&[rule], &[], &proxy)));
        decided
            .recv_timeout(std::time::Duration::from_secs(60))
            .ok()
    }

    #[test]
    fn a_host_of_a_million_digits_is_refused_at_once() {
        let host = "1".repeat(1_000_000);
        let proxy = DB.replace("db1.example", &format!("db{host}.example"));
        assert_eq!(allows_in_time("db*[2].example", proxy), Some(false));
    }

    #[test]
    fn thousands_of_endpoints_are_refused_at_once() {
        let host = format!("db{}.example", "1".repeat(240));
        let endpoint = format!(":tcp -h {host} -p 1");
        let proxy = |count| format!("o{}", endpoint.repeat(count));
        assert_eq!(allows_in_time("db*[2].example", proxy(4_000)), Some(false));
        assert_eq!(allows_in_time("db*1.example", proxy(256)), Some(true));
        assert_eq!(allows_in_time("db*1.example", proxy(257)), Some(false));
    }

    #[test]
    fn a_long_proxy_is_refused_whatever_its_address() {
        let mut filter = filter(&["*"], &[]);
        let reference: Reference = DB.parse().unwrap();
        let len = text_len(&reference);
        assert_eq!(len, reference.to_string().len());
        filter.proxy_len_max = Some(len);
        assert!(filter.allows(&reference, len));
        filter.proxy_len_max = Some(len - 1);
        assert!(!filter.allows(&reference, len));
    }
}
