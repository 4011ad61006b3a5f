//! Parses endpoints from text.
//!
//! Source: observed, proxies given to Ice 3.7.8. Unlike in Ice, the argument of an option may be quoted with either
//! kind of quote; a quoted argument may be empty or start with a dash.

use core::net::IpAddr;
use std::slice::Iter;
use std::str::FromStr;

use super::codec::decode_known;
use super::token::{Token, Tokens, split};
use super::{
    Endpoint, OpaqueEndpoint, Protocol, TcpEndpoint, Timeout, UdpEndpoint, UnixEndpoint, WsEndpoint,
};
use crate::base64;
use crate::encoding::{Decoder, Encapsulation, EncodingVersion};
use crate::reference::scanner::parse_version;
use crate::reference::{ParseDefaults, ParseReferenceError};

/// The purpose of the endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::reference) enum EndpointRole {
    /// To connect to. A wildcard is not an address. Endpoints of unknown protocols are skipped.
    Proxy,
    /// To listen on. `*` means all interfaces, and an address to connect from is an error. Every endpoint must be
    /// known.
    Adapter,
    /// Either: accepts what is valid for one of the two. Every endpoint must be known.
    Any,
}

/// A single endpoint, of a proxy or of an adapter.
impl FromStr for Endpoint {
    type Err = ParseReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (endpoints, _) = parse_list(text, 0, EndpointRole::Any, &ParseDefaults::default())?;
        let count = endpoints.len();
        let mut endpoints = endpoints.into_iter();
        match (endpoints.next(), count) {
            (Some(endpoint), 1) => Ok(endpoint),
            _ => Err(ParseReferenceError::new(0, "a single endpoint", text)),
        }
    }
}

/// Parses endpoints separated by `:`. Also returns the skipped ones, as they were written.
///
/// `text` begins at byte `offset` of the whole text.
pub(in crate::reference) fn parse_list(
    text: &str,
    offset: usize,
    role: EndpointRole,
    defaults: &ParseDefaults,
) -> Result<(Vec<Endpoint>, Vec<String>), ParseReferenceError> {
    let mut endpoints = Vec::new();
    let mut skipped = Vec::new();
    let mut first_unknown = None;
    for part in split(text, offset)? {
        let (name, options) = name_and_options(&part, role)?;
        if let Some(endpoint) = parse_one(name, options, defaults)? {
            endpoints.push(endpoint);
            continue;
        }
        let error = unknown(name, "tcp, ssl, ws, wss, udp, unix, opaque or default");
        if role != EndpointRole::Proxy {
            return Err(error);
        }
        skipped.push(part.source.to_owned());
        first_unknown.get_or_insert(error);
    }
    match first_unknown {
        Some(error) if endpoints.is_empty() => Err(error),
        _ => Ok((endpoints, skipped)),
    }
}

/// The name of the protocol, and the text after it.
fn name_and_options<'a>(
    part: &'a Tokens<'_>,
    role: EndpointRole,
) -> Result<(&'a Token, Options<'a>), ParseReferenceError> {
    let Some((name, arguments)) = part.tokens.split_first() else {
        let error = ParseReferenceError::new(part.end, "an endpoint", "");
        return Err(error.help(QUOTE_ADDRESS));
    };
    let options = Options {
        tokens: arguments.iter(),
        end: part.end,
        role,
    };
    Ok((name, options))
}

/// Parses one endpoint. Returns `None` if its protocol is unknown.
fn parse_one(
    name: &Token,
    mut options: Options<'_>,
    defaults: &ParseDefaults,
) -> Result<Option<Endpoint>, ParseReferenceError> {
    let protocol = match name.text.as_str() {
        "opaque" => return parse_opaque(&mut options).map(Some),
        "default" => Some(defaults.protocol),
        name => Protocol::from_name(name),
    };
    Ok(match protocol {
        Some(Protocol::Tcp) => Some(Endpoint::Tcp(parse_tcp(&mut options, defaults, None)?)),
        Some(Protocol::Ssl) => Some(Endpoint::Ssl(parse_tcp(&mut options, defaults, None)?)),
        Some(Protocol::Ws) => Some(Endpoint::Ws(parse_ws(&mut options, defaults)?)),
        Some(Protocol::Wss) => Some(Endpoint::Wss(parse_ws(&mut options, defaults)?)),
        Some(Protocol::Udp) => Some(Endpoint::Udp(parse_udp(&mut options, defaults)?)),
        Some(Protocol::Unix) => Some(Endpoint::Unix(parse_unix(&mut options, defaults)?)),
        None => None,
    })
}

fn parse_tcp(
    options: &mut Options<'_>,
    defaults: &ParseDefaults,
    mut resource: Option<&mut String>,
) -> Result<TcpEndpoint, ParseReferenceError> {
    let mut tcp = TcpEndpoint {
        timeout: defaults.timeout,
        ..TcpEndpoint::new(defaults.host.as_str(), 0)
    };
    while let Some(option) = options.next()? {
        match (option.text.as_str(), &mut resource) {
            ("-h", _) => tcp.host = options.host(option)?,
            ("-p", _) => tcp.port = options.number(option, PORT)?,
            ("-t", _) => tcp.timeout = options.timeout(option)?,
            ("-z", _) => tcp.compress = true,
            ("--sourceAddress", _) => tcp.source_address = Some(options.source_address(option)?),
            ("-r", Some(resource)) => **resource = options.value(option)?.text.clone(),
            ("-r", None) => {
                return Err(unknown(option, "-h, -p, -t, -z or --sourceAddress")
                    .help("a resource needs the protocol ws or wss"));
            }
            (_, None) => return Err(unknown(option, "-h, -p, -t, -z or --sourceAddress")),
            (_, Some(_)) => return Err(unknown(option, "-h, -p, -t, -z, -r or --sourceAddress")),
        }
    }
    Ok(tcp)
}

fn parse_ws(
    options: &mut Options<'_>,
    defaults: &ParseDefaults,
) -> Result<WsEndpoint, ParseReferenceError> {
    let mut resource = WsEndpoint::DEFAULT_RESOURCE.to_owned();
    let tcp = parse_tcp(options, defaults, Some(&mut resource))?;
    Ok(WsEndpoint { tcp, resource })
}

fn parse_udp(
    options: &mut Options<'_>,
    defaults: &ParseDefaults,
) -> Result<UdpEndpoint, ParseReferenceError> {
    let mut udp = UdpEndpoint::new(defaults.host.as_str(), 0);
    while let Some(option) = options.next()? {
        match option.text.as_str() {
            "-h" => udp.host = options.host(option)?,
            "-p" => udp.port = options.number(option, PORT)?,
            "-z" => udp.compress = true,
            "-c" => udp.connect = true,
            "--sourceAddress" => udp.source_address = Some(options.source_address(option)?),
            "--interface" => udp.interface = Some(options.interface(option)?),
            "--ttl" => udp.ttl = Some(options.number(option, "a number of hops from 0 to 255")?),
            // Releases before 3.3 wrote it. It has no effect since.
            "-v" | "-e" => {
                options.version(option)?;
            }
            _ => {
                let known = "-h, -p, -z, -c, --interface, --ttl or --sourceAddress";
                return Err(unknown(option, known));
            }
        }
    }
    Ok(udp)
}

fn parse_unix(
    options: &mut Options<'_>,
    defaults: &ParseDefaults,
) -> Result<UnixEndpoint, ParseReferenceError> {
    let mut unix = UnixEndpoint {
        timeout: defaults.timeout,
        ..UnixEndpoint::default()
    };
    while let Some(option) = options.next()? {
        match option.text.as_str() {
            "-f" => unix.path = options.value(option)?.text.clone(),
            "-h" => unix.host = options.value(option)?.text.clone(),
            "-t" => unix.timeout = options.timeout(option)?,
            "-z" => unix.compress = true,
            _ => return Err(unknown(option, "-f, -h, -t or -z")),
        }
    }
    if unix.path.is_empty() {
        let expected = "-f and the path of the socket";
        return Err(ParseReferenceError::new(options.end, expected, ""));
    }
    Ok(unix)
}

fn parse_opaque(options: &mut Options<'_>) -> Result<Endpoint, ParseReferenceError> {
    let mut type_code = None;
    let mut encoding = EncodingVersion::V1_0;
    let mut value = None;
    while let Some(option) = options.next()? {
        match option.text.as_str() {
            "-t" if type_code.is_none() => type_code = Some(options.number(option, TYPE)?),
            "-e" => encoding = options.version(option)?,
            "-v" if value.is_none() => value = Some(options.base64(option)?),
            _ => return Err(unknown(option, "each of -t and -v once, or -e")),
        }
    }
    let missing = |what| ParseReferenceError::new(options.end, what, "");
    let type_code = type_code.ok_or_else(|| missing("-t and the type of the opaque endpoint"))?;
    let (at, bytes) = value.ok_or_else(|| missing("-v and the bytes of the opaque endpoint"))?;
    match Protocol::from_type_code(type_code) {
        Some(protocol) if encoding.is_supported() => {
            let payload = bytes.as_slice();
            let unopened = Encapsulation { encoding, payload };
            decode_known(protocol, Decoder::new(payload, encoding), unopened).map_err(|error| {
                let expected = format!("the bytes of a {protocol} endpoint ({error})");
                ParseReferenceError::new(at, expected, &base64::encode(payload))
            })
        }
        _ => Ok(Endpoint::Opaque(OpaqueEndpoint {
            type_code,
            encoding,
            bytes,
        })),
    }
}

const PORT: &str = "a port from 0 to 65535";
const TYPE: &str = "an endpoint type from 0 to 32767";
const QUOTE_ADDRESS: &str = "quote an address that contains `:`, as in `-h \"::1\"`";
const WILDCARD: &str = "`*` is for adapters, which listen on all interfaces then";

/// The options of an endpoint that have not been read.
struct Options<'a> {
    tokens: Iter<'a, Token>,
    /// The end of the endpoint, for errors.
    end: usize,
    role: EndpointRole,
}

impl<'a> Options<'a> {
    fn next(&mut self) -> Result<Option<&'a Token>, ParseReferenceError> {
        match self.tokens.next() {
            Some(token) if !token.is_option() => Err(unknown(token, "an option")
                .help("the option before takes no more arguments; quote one that has blanks")),
            token => Ok(token),
        }
    }

    fn value(&mut self, option: &Token) -> Result<&'a Token, ParseReferenceError> {
        let missing = |at, found| {
            let expected = format!("an argument of {}", option.text);
            Err(ParseReferenceError::new(at, expected, found))
        };
        match self.tokens.next() {
            Some(token) if token.is_option() => missing(token.offset, &token.text),
            Some(token) => Ok(token),
            None => missing(self.end, ""),
        }
    }

    fn host(&mut self, option: &Token) -> Result<String, ParseReferenceError> {
        let token = self
            .value(option)
            .map_err(|error| error.help(QUOTE_ADDRESS))?;
        match token.text.as_str() {
            "" => Err(ParseReferenceError::new(token.offset, "a host", "")),
            "*" if self.role == EndpointRole::Proxy => {
                Err(unknown(token, "the host of a proxy").help(WILDCARD))
            }
            host => Ok(host.to_owned()),
        }
    }

    fn interface(&mut self, option: &Token) -> Result<String, ParseReferenceError> {
        let token = self.value(option)?;
        match token.text.as_str() {
            "" => Err(ParseReferenceError::new(token.offset, "an interface", "")),
            "*" if self.role == EndpointRole::Proxy => {
                Err(unknown(token, "the interface of a proxy").help(WILDCARD))
            }
            interface => Ok(interface.to_owned()),
        }
    }

    fn source_address(&mut self, option: &Token) -> Result<IpAddr, ParseReferenceError> {
        if self.role == EndpointRole::Adapter {
            let expected = "the options of an adapter's endpoint";
            return Err(unknown(option, expected).help("only proxies connect from an address"));
        }
        let token = self.value(option)?;
        let help = match token.text.contains('%') {
            true => "the zone of an address is not supported",
            false => "",
        };
        let parsed = token.text.parse();
        parsed.map_err(|_| unknown(token, "an IP address").help(help))
    }

    fn number<T: FromStr>(
        &mut self,
        option: &Token,
        expected: &'static str,
    ) -> Result<T, ParseReferenceError> {
        let token = self.value(option)?;
        let parsed = without_blanks_in_front(token).parse();
        parsed.map_err(|_| unknown(token, expected))
    }

    fn timeout(&mut self, option: &Token) -> Result<Timeout, ParseReferenceError> {
        let token = self.value(option)?;
        let parsed = match token.text.as_str() {
            "infinite" => Some(Timeout::INFINITE),
            _ => without_blanks_in_front(token)
                .parse()
                .ok()
                .and_then(Timeout::from_ms),
        };
        parsed.ok_or_else(|| unknown(token, "a timeout from 1 to 2147483647 ms, or `infinite`"))
    }

    fn version(&mut self, option: &Token) -> Result<EncodingVersion, ParseReferenceError> {
        let token = self.value(option)?;
        let (major, minor) = parse_version(&token.text, token.offset)?;
        Ok(EncodingVersion::new(major, minor))
    }

    fn base64(&mut self, option: &Token) -> Result<(usize, Vec<u8>), ParseReferenceError> {
        let token = self.value(option)?;
        let bytes = base64::decode(&token.text).ok_or_else(|| unknown(token, "base64"))?;
        Ok((token.offset, bytes))
    }
}

/// Parses a number. If it is quoted, blanks may come before it, but not after it.
fn without_blanks_in_front(token: &Token) -> &str {
    const BLANKS: [char; 6] = [' ', '\t', '\r', '\n', '\x0B', '\x0C'];
    token.text.trim_start_matches(BLANKS)
}

fn unknown(token: &Token, expected: &'static str) -> ParseReferenceError {
    ParseReferenceError::new(token.offset, expected, &token.text)
}
