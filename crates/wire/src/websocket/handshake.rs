//! The request that opens a WebSocket, and its response.
//!
//! Both are accepted and sent as Ice does: the sub-protocol is `ice.zeroc.com`, and a client may
//! leave it out.

use super::WebSocketError;
use crate::base64;

/// Longest request or response, in bytes. Browsers with many cookies stay below a half of it.
pub const HEADER_LEN_MAX: usize = 16 * 1024;

const PROTOCOL: &str = "ice.zeroc.com";
/// What RFC 6455 has servers append to a key.
const ACCEPT_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// What a client sends, and expects to see hashed: 16 random bytes.
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

/// Appends the request of a client. `host` is the endpoint's, `resource` what it asks for.
pub fn append_request(buffer: &mut Vec<u8>, host: &str, port: u16, resource: &str, key: &Key) {
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
}

/// Length of the request or response at the front of `input`, its blank line included; `None` if
/// more must come first.
///
/// # Errors
/// [`WebSocketError::HeaderTooLong`].
pub fn head_len(input: &[u8]) -> Result<Option<usize>, WebSocketError> {
    let searched = &input[..input.len().min(HEADER_LEN_MAX)];
    let end = searched.windows(4).position(|window| window == b"\r\n\r\n");
    match end {
        Some(at) => Ok(Some(at + 4)),
        None if input.len() < HEADER_LEN_MAX => Ok(None),
        None => Err(WebSocketError::HeaderTooLong {
            limit: HEADER_LEN_MAX,
        }),
    }
}

/// What a server needs of a request in order to answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    key: Key,
    names_protocol: bool,
}

/// Checks a whole request.
///
/// # Errors
/// [`WebSocketError::Handshake`]; the connection is dropped without an answer.
pub fn check_request(head: &[u8]) -> Result<Request, WebSocketError> {
    let head = Head::parse(head)?;
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
    if head.value("sec-websocket-version")? != Some("13") {
        return Err(head.lacks("the header `Sec-WebSocket-Version: 13`"));
    }
    let protocol = head.value("sec-websocket-protocol")?;
    if protocol.is_some_and(|list| list.split(',').any(|word| word.trim() != PROTOCOL)) {
        return Err(head.lacks("the sub-protocol `ice.zeroc.com` and no other"));
    }
    let key = head.value("sec-websocket-key")?.unwrap_or_default();
    if base64::decode(key).is_none_or(|bytes| bytes.len() != 16) {
        return Err(head.lacks("the header `Sec-WebSocket-Key` with 16 bytes in base64"));
    }
    Ok(Request {
        key: Key(key.to_owned()),
        names_protocol: protocol.is_some(),
    })
}

/// Appends the response to a request.
pub fn append_response(buffer: &mut Vec<u8>, request: &Request) {
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
    let head = Head::parse(head)?;
    let mut words = head.first_line.split(' ');
    if words.next() != Some("HTTP/1.1") || words.next() != Some("101") {
        let expected = "the response `HTTP/1.1 101 Switching Protocols`";
        return Err(WebSocketError::handshake(
            expected,
            head.first_line.as_bytes(),
        ));
    }
    head.require_upgrade()?;
    let protocol = head.value("sec-websocket-protocol")?;
    if protocol.is_some_and(|protocol| protocol != PROTOCOL) {
        return Err(head.lacks("the sub-protocol `ice.zeroc.com`"));
    }
    if head.value("sec-websocket-accept")? != Some(&key.accept()) {
        return Err(head.lacks("the header `Sec-WebSocket-Accept` that belongs to our key"));
    }
    Ok(())
}

/// A request or response, cut into lines.
struct Head<'a> {
    first_line: &'a str,
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Head<'a> {
    fn parse(head: &'a [u8]) -> Result<Self, WebSocketError> {
        const EXPECTED: &str = "the opening handshake of a WebSocket";
        let text =
            std::str::from_utf8(head).map_err(|_| WebSocketError::handshake(EXPECTED, head))?;
        let mut lines = text.trim_end_matches("\r\n").split("\r\n");
        let first_line = lines.next().unwrap_or_default();
        let pairs = lines.map(|line| {
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| WebSocketError::handshake("a header line", line.as_bytes()))?;
            Ok((name, value.trim()))
        });
        Ok(Self {
            first_line,
            lines: pairs.collect::<Result<_, _>>()?,
        })
    }

    /// The value of a header, whose name is in lower case; an error if it is there twice.
    fn value(&self, name: &str) -> Result<Option<&'a str>, WebSocketError> {
        let mut values = self
            .lines
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value);
        let value = values.next();
        match values.next() {
            None => Ok(value),
            Some(second) => Err(WebSocketError::handshake(
                "a header once",
                second.as_bytes(),
            )),
        }
    }

    fn require_upgrade(&self) -> Result<(), WebSocketError> {
        let has = |name, word: &str| {
            let value = self.value(name)?.unwrap_or_default().to_ascii_lowercase();
            Ok(value.contains(word))
        };
        if !has("upgrade", "websocket")? {
            return Err(self.lacks("the header `Upgrade: websocket`"));
        }
        if !has("connection", "upgrade")? {
            return Err(self.lacks("the header `Connection: Upgrade`"));
        }
        Ok(())
    }

    fn lacks(&self, expected: &'static str) -> WebSocketError {
        WebSocketError::handshake(expected, self.first_line.as_bytes())
    }
}
