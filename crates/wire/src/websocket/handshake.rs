//! The request that opens a WebSocket, and its response.
//!
//! Both are accepted and sent as Ice does. The sub-protocol is `ice.zeroc.com`, in upper or lower case, and a client
//! may leave it out. A line may end with LF alone. A header that comes more than once is a list, as in HTTP. A header
//! value that is not UTF-8 does not affect the other headers.
//!
//! Source: RFC 6455; RFC 9110, 5.3; RFC 9112, 2.2; observed: Ice 3.7.8.

use super::WebSocketError;
use crate::base64;

/// The maximum length of a request or response in bytes. Browsers with many cookies need less than half of it.
pub const HEADER_LEN_MAX: usize = 16 * 1024;

/// Length of a blank line and the end of the line before it: LF, CR, LF.
const BLANK_LINE_LEN_MAX: usize = 3;

const PROTOCOL: &str = "ice.zeroc.com";
/// The text that a server appends to the key before it hashes both, from RFC 6455.
const ACCEPT_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The key that a client sends: 16 random bytes in base64. The server answers with its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key from random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(base64::encode(&bytes))
    }

    fn accept(&self) -> String {
        let mut hash = sha1_smol::Sha1::new();
        hash.update(self.0.as_bytes());
        hash.update(ACCEPT_SUFFIX);
        base64::encode(&hash.digest().bytes())
    }
}

/// Appends the request of a client. `host` is the host of the endpoint, `resource` the path that it asks for.
///
/// # Errors
/// [`WebSocketError::Handshake`] if the host or the resource has spaces or control characters. They come from a proxy,
/// often from another program, and must not end the line of the request: what follows would be a request of its own.
pub fn append_request(
    buffer: &mut Vec<u8>,
    host: &str,
    port: u16,
    resource: &str,
    key: &Key,
) -> Result<(), WebSocketError> {
    for (text, expected) in [
        (
            host,
            "a host without spaces and control characters in the proxy's endpoint",
        ),
        (
            resource,
            "a resource without spaces and control characters in the proxy's endpoint",
        ),
    ] {
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(WebSocketError::handshake(expected, text.as_bytes()));
        }
    }
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    let request = format!(
        "GET {resource} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {}\r\n\r\n",
        key.0
    );
    buffer.extend_from_slice(request.as_bytes());
    Ok(())
}

/// Length of the request or response at the front of `input`, blank line included. Returns `None` if it is incomplete.
/// `searched_len` is the length of the input for which it returned `None` before; 0 at first. So each byte is looked at
/// once or twice, even if the input comes byte by byte.
///
/// # Errors
/// [`WebSocketError::HeaderTooLong`].
pub fn head_len(input: &[u8], searched_len: usize) -> Result<Option<usize>, WebSocketError> {
    let searched = &input[..input.len().min(HEADER_LEN_MAX)];
    // The input may have ended between the bytes of a blank line.
    let first = searched_len.saturating_sub(BLANK_LINE_LEN_MAX - 1);
    let line_ends = (first..searched.len()).filter(|at| searched[*at] == b'\n');
    let end = line_ends
        .map(|at| at + 1)
        .find_map(|at| match &searched[at..] {
            [b'\n', ..] => Some(at + 1),
            [b'\r', b'\n', ..] => Some(at + 2),
            _ => None,
        });
    match end {
        Some(len) => Ok(Some(len)),
        None if input.len() < HEADER_LEN_MAX => Ok(None),
        None => Err(WebSocketError::HeaderTooLong {
            limit: HEADER_LEN_MAX,
        }),
    }
}

/// The parts of a request that a server needs to answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeRequest {
    key: Key,
    names_protocol: bool,
    origin: Option<String>,
}

impl UpgradeRequest {
    /// The origin of the web page that opens the WebSocket, such as `https://example.org`. Only browsers send it.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }
}

/// Checks a whole request.
///
/// # Errors
/// [`WebSocketError::Handshake`].
pub fn check_request(head: &[u8]) -> Result<UpgradeRequest, WebSocketError> {
    let head = String::from_utf8_lossy(head);
    let head = Head::parse(&head)?;
    let mut words = head.first_line.split(' ');
    let is_get = words.next() == Some("GET") && words.next().is_some_and(|word| !word.is_empty());
    if !is_get || words.next() != Some("HTTP/1.1") || words.next().is_some() {
        let expected = "`GET <resource> HTTP/1.1`";
        return Err(WebSocketError::handshake(
            expected,
            head.first_line.as_bytes(),
        ));
    }
    head.require_upgrade()?;
    if head.value("sec-websocket-version") != "13" {
        let expected = "the header `Sec-WebSocket-Version: 13`";
        return Err(head.lacks(expected, "sec-websocket-version"));
    }
    let names_protocol = head.names_protocol()?;
    let key = head.value("sec-websocket-key");
    if base64::decode(&key).is_none_or(|bytes| bytes.len() != 16) {
        let expected = "the header `Sec-WebSocket-Key` with 16 bytes in base64";
        return Err(head.lacks(expected, "sec-websocket-key"));
    }
    Ok(UpgradeRequest {
        key: Key(key),
        names_protocol,
        origin: head.has("origin").then(|| head.value("origin")),
    })
}

/// Appends the response to a request.
pub fn append_response(buffer: &mut Vec<u8>, request: &UpgradeRequest) {
    let protocol = match request.names_protocol {
        true => format!("Sec-WebSocket-Protocol: {PROTOCOL}\r\n"),
        false => String::new(),
    };
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         {protocol}Sec-WebSocket-Accept: {}\r\n\r\n",
        request.key.accept()
    );
    buffer.extend_from_slice(response.as_bytes());
}

/// Checks a whole response to the request with this key.
///
/// # Errors
/// [`WebSocketError::Handshake`].
pub fn check_response(head: &[u8], key: &Key) -> Result<(), WebSocketError> {
    let head = String::from_utf8_lossy(head);
    let head = Head::parse(&head)?;
    let mut words = head.first_line.split(' ');
    if words.next() != Some("HTTP/1.1") || words.next() != Some("101") {
        let expected = "the response `HTTP/1.1 101 Switching Protocols`";
        return Err(WebSocketError::handshake(
            expected,
            head.first_line.as_bytes(),
        ));
    }
    head.require_upgrade()?;
    head.names_protocol()?;
    if head.value("sec-websocket-accept") != key.accept() {
        let expected = "the header `Sec-WebSocket-Accept` that belongs to our key";
        return Err(head.lacks(expected, "sec-websocket-accept"));
    }
    Ok(())
}

/// A request or response, split into lines.
struct Head<'a> {
    first_line: &'a str,
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Head<'a> {
    fn parse(head: &'a str) -> Result<Self, WebSocketError> {
        let mut lines = head.lines();
        let first_line = lines.next().unwrap_or_default();
        let pairs = lines.take_while(|line| !line.is_empty()).map(|line| {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| WebSocketError::handshake("a header line", line.as_bytes()))?;
            Ok((name, value.trim_ascii()))
        });
        Ok(Self {
            first_line,
            lines: pairs.collect::<Result<_, _>>()?,
        })
    }

    /// The value of a header, or an empty text. If the header comes more than once, its non-empty values form a list,
    /// which is invalid where a single value is expected.
    fn value(&self, name: &str) -> String {
        let values = self
            .lines
            .iter()
            .filter(|(known, value)| known.eq_ignore_ascii_case(name) && !value.is_empty());
        let values: Vec<_> = values.map(|(_, value)| *value).collect();
        values.join(", ")
    }

    /// Returns true if there is a header with this name, even if its value is empty.
    fn has(&self, name: &str) -> bool {
        let mut names = self.lines.iter().map(|(known, _)| known);
        names.any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns true if it names the sub-protocol `ice.zeroc.com`. Fails if it names any other.
    fn names_protocol(&self) -> Result<bool, WebSocketError> {
        let list = self.value("sec-websocket-protocol");
        let words = list.split(',').map(str::trim_ascii);
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        match words.iter().all(|word| word.eq_ignore_ascii_case(PROTOCOL)) {
            true => Ok(!words.is_empty()),
            false => {
                let expected = "the sub-protocol `ice.zeroc.com` and no other";
                Err(self.lacks(expected, "sec-websocket-protocol"))
            }
        }
    }

    fn require_upgrade(&self) -> Result<(), WebSocketError> {
        if !self.value("upgrade").eq_ignore_ascii_case("websocket") {
            return Err(self.lacks("the header `Upgrade: websocket`", "upgrade"));
        }
        let connection = self.value("connection").to_ascii_lowercase();
        if !connection.contains("upgrade") {
            return Err(self.lacks("the header `Connection: Upgrade`", "connection"));
        }
        Ok(())
    }

    /// The error for a header that is missing or has another value.
    fn lacks(&self, expected: &'static str, name: &str) -> WebSocketError {
        let found = match self.has(name) {
            true => format!("{name}: {}", self.value(name)),
            false => format!("no {name}"),
        };
        WebSocketError::handshake(expected, found.as_bytes())
    }
}
