//! Endpoints as people write them: `HOST` and `HOST:PORT`, beside what Ice writes.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use floe::reference::Readable;

/// Where a hub listens unless told otherwise.
pub const HUB_PORT: u16 = 10000;

/// The endpoint of `HOST:PORT`, or of `HOST` where there is a port for it; any other text stays as it is.
///
/// A host is a name, an address or `*`. An IPv6 address stands in brackets if a port follows it.
pub fn full(text: &str, port: Option<u16>) -> Cow<'_, str> {
    let found = host_and_port(text.trim());
    match found.and_then(|(host, said)| Some((host, said.or(port)?))) {
        Some((host, port)) => Cow::Owned(tcp(host, port)),
        None => Cow::Borrowed(text),
    }
}

/// Completes the text of a proxy in the same way: `IDENTITY:HOST:PORT`.
pub fn full_proxy(text: &str) -> Cow<'_, str> {
    let Some((object, endpoints)) = split_object(text) else {
        return Cow::Borrowed(text);
    };
    match full(endpoints, None) {
        Cow::Owned(endpoint) => Cow::Owned(format!("{object}:{endpoint}")),
        Cow::Borrowed(_) => Cow::Borrowed(text),
    }
}

/// Returns true if the text is `IDENTITY:HOST`: an object on a host has no port that is usual.
pub fn lacks_port(text: &str) -> bool {
    let host = split_object(text).and_then(|(_, endpoints)| host_and_port(endpoints));
    matches!(host, Some((_, None)))
}

/// Describes the mistake in a text that is meant as `HOST:PORT`, if it is not right.
pub fn mistake(text: &str) -> Option<String> {
    let (host, port) = text.trim().split_once(':')?;
    let is_word = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '-');
    if host.is_empty() && !port.is_empty() && is_word(port) {
        return Some(format!(
            "expected HOST:PORT, got no host in `{text}`: write localhost:{port} for this computer; --listen also \
             takes *:{port}, which is all its addresses"
        ));
    }
    let is_meant = is_host(host) && is_word(port) && !PROTOCOLS.contains(&port);
    if !is_meant || port.parse::<u16>().is_ok() {
        return None;
    }
    let expected = format!("expected a port from 1 to {} in `{text}`", u16::MAX);
    Some(match port {
        "" => format!("{expected}, got none"),
        port => format!("{expected}, got `{port}`"),
    })
}

/// Finds such a mistake in the text of a proxy: `IDENTITY:HOST:PORT`.
pub fn mistake_in_proxy(text: &str) -> Option<String> {
    let (_, endpoints) = split_object(text)?;
    mistake(endpoints)
}

/// The text of a TCP endpoint.
pub fn tcp(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("tcp -h \"{host}\" -p {port}"),
        false => format!("tcp -h {host} -p {port}"),
    }
}

/// Returns true if the text begins with the name of a protocol, as endpoints do.
pub fn is_endpoint(text: &str) -> bool {
    let first = text.split([' ', ':']).find(|word| !word.is_empty());
    first.is_some_and(|word| PROTOCOLS.contains(&word))
}

/// Returns true if the name of a protocol is all of the text's last endpoint.
pub fn ends_with_protocol(text: &str) -> bool {
    let last = text.rsplit(':').next().unwrap_or(text);
    PROTOCOLS.contains(&last)
}

/// The text of a proxy or an endpoint without default timeouts: nobody has asked for them, and it means the same.
///
/// `floe proxy` shows proxies as Ice writes them, with the timeout.
pub fn readable(text: &str) -> String {
    Readable(text).to_string()
}

const PROTOCOLS: [&str; 8] = [
    "tcp", "ssl", "ws", "wss", "udp", "unix", "opaque", "default",
];

fn host_and_port(text: &str) -> Option<(&str, Option<u16>)> {
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((text, None));
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            let is_address = host.split('%').next()?.parse::<Ipv6Addr>().is_ok();
            let port = is_address.then_some(rest)?;
            (host, port)
        }
        None => {
            let end = text.find(':').unwrap_or(text.len());
            let (host, port) = text.split_at(end);
            (is_host(host).then_some(host)?, port)
        }
    };
    match port.strip_prefix(':') {
        Some(port) => Some((host, Some(port.parse().ok()?))),
        None => port.is_empty().then_some((host, None)),
    }
}

fn is_host(text: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let is_name = !text.is_empty() && text.chars().all(is_of_name);
    (is_name && !PROTOCOLS.contains(&text)) || text == "*"
}

/// Splits the text at the first colon outside quotes.
fn split_object(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, char) in text.char_indices() {
        match (quote, char) {
            _ if is_escaped => is_escaped = false,
            (_, '\\') => is_escaped = true,
            (Some(open), _) if open == char => quote = None,
            (None, '"' | '\'') => quote = Some(char),
            (None, ':') => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_an_endpoint() {
        for (short, full_text) in [
            ("example.org:4061", "tcp -h example.org -p 4061"),
            ("10.0.0.1:1", "tcp -h 10.0.0.1 -p 1"),
            ("*:7", "tcp -h * -p 7"),
            ("[::1]:7", "tcp -h \"::1\" -p 7"),
            ("[fe80::1%eth0]:7", "tcp -h \"fe80::1%eth0\" -p 7"),
        ] {
            assert_eq!(full(short, None), full_text);
            assert_eq!(full(short, Some(9)), full_text);
        }
    }

    #[test]
    fn a_host_alone_takes_the_port_of_its_place() {
        assert_eq!(full("localhost", Some(9)), "tcp -h localhost -p 9");
        assert_eq!(full("*", Some(0)), "tcp -h * -p 0");
        assert_eq!(full("::1", Some(9)), "tcp -h \"::1\" -p 9");
        assert_eq!(full("localhost", None), "localhost");
    }

    #[test]
    fn what_ice_writes_stays_as_it_is() {
        for text in [
            "tcp -h a -p 1",
            "tcp -h a -p 1:ssl -h b -p 2",
            "default",
            "a b",
            "Demo/TopicManager",
            "a:99999",
            "a:b",
            "[a]:1",
            "",
        ] {
            assert_eq!(full(text, Some(9)), text);
        }
    }

    #[test]
    fn a_port_that_is_none_is_told() {
        for (text, told) in [
            (
                "a:99999",
                "expected a port from 1 to 65535 in `a:99999`, got `99999`",
            ),
            (
                "a:http",
                "expected a port from 1 to 65535 in `a:http`, got `http`",
            ),
            ("*:", "expected a port from 1 to 65535 in `*:`, got none"),
        ] {
            assert_eq!(mistake(text).as_deref(), Some(told));
        }
        let no_host = mistake(":10777").unwrap();
        assert!(
            no_host.starts_with("expected HOST:PORT, got no host in `:10777`"),
            "{no_host}"
        );
        for text in [
            "a:1",
            "*:0",
            "a",
            "::1",
            "[::1]:7",
            "tcp -h a -p 1",
            "tcp -h a -p 1:ssl -h b -p 2",
            "Demo/TopicManager:tcp -h a -p 1",
            "greeter:tcp",
            "tcp:ssl",
        ] {
            assert_eq!(mistake(text), None, "{text}");
        }
    }

    #[test]
    fn a_proxy_may_say_host_and_port() {
        for (short, full_text) in [
            ("greeter:localhost:4061", "greeter:tcp -h localhost -p 4061"),
            ("a/b -o:[::1]:4061", "a/b -o:tcp -h \"::1\" -p 4061"),
            ("\"a:b\":c:1", "\"a:b\":tcp -h c -p 1"),
        ] {
            assert_eq!(full_proxy(short), full_text);
        }
        for text in [
            "greeter:tcp -h a -p 1",
            "greeter",
            "greeter @ adapter",
            "a:b",
            "\"a:b",
        ] {
            assert_eq!(full_proxy(text), text);
        }
    }
}
