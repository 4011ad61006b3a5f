//! Prints endpoints as text.

use std::fmt::{self, Display, Formatter, Write};

use super::{
    Endpoint, OpaqueEndpoint, Protocol, TcpEndpoint, Timeout, UdpEndpoint, UnixEndpoint, WsEndpoint,
};
use crate::base64;
use crate::reference::Style;

/// As Ice 3.7 prints it.
impl Display for Endpoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_endpoint(self, Style::V37, f)
    }
}

impl Endpoint {
    /// The text of the endpoint.
    pub fn to_text(&self, style: Style) -> String {
        let mut text = String::new();
        write_endpoint(self, style, &mut text).expect("a string takes all that is written to it");
        text
    }
}

/// Writes an endpoint, including options that are not encoded.
pub(in crate::reference) fn write_endpoint(
    endpoint: &Endpoint,
    style: Style,
    out: &mut dyn Write,
) -> fmt::Result {
    match endpoint {
        Endpoint::Tcp(tcp) => write_tcp(Protocol::Tcp, tcp, style, out),
        Endpoint::Ssl(tcp) => write_tcp(Protocol::Ssl, tcp, style, out),
        Endpoint::Ws(ws) => write_ws(Protocol::Ws, ws, style, out),
        Endpoint::Wss(ws) => write_ws(Protocol::Wss, ws, style, out),
        Endpoint::Udp(udp) => write_udp(udp, out),
        Endpoint::Unix(unix) => write_unix(unix, style, out),
        Endpoint::Opaque(opaque) => write_opaque(opaque, out),
    }
}

fn write_tcp(
    protocol: Protocol,
    tcp: &TcpEndpoint,
    style: Style,
    out: &mut dyn Write,
) -> fmt::Result {
    write_address(protocol, &tcp.host, tcp.port, out)?;
    if let Some(address) = tcp.source_address {
        write_option("--sourceAddress", &address.to_string(), out)?;
    }
    write_timeout(tcp.timeout, style, out)?;
    write_flag("-z", tcp.compress, out)
}

fn write_ws(protocol: Protocol, ws: &WsEndpoint, style: Style, out: &mut dyn Write) -> fmt::Result {
    write_tcp(protocol, &ws.tcp, style, out)?;
    write_option("-r", &ws.resource, out)
}

fn write_udp(udp: &UdpEndpoint, out: &mut dyn Write) -> fmt::Result {
    write_address(Protocol::Udp, &udp.host, udp.port, out)?;
    if let Some(address) = udp.source_address {
        write_option("--sourceAddress", &address.to_string(), out)?;
    }
    if let Some(interface) = &udp.interface {
        write_option("--interface", interface, out)?;
    }
    if let Some(ttl) = udp.ttl {
        write!(out, " --ttl {ttl}")?;
    }
    write_flag("-c", udp.connect, out)?;
    write_flag("-z", udp.compress, out)
}

fn write_unix(unix: &UnixEndpoint, style: Style, out: &mut dyn Write) -> fmt::Result {
    out.write_str(Protocol::Unix.as_str())?;
    write_option("-f", &unix.path, out)?;
    if !unix.host.is_empty() {
        write_option("-h", &unix.host, out)?;
    }
    write_timeout(unix.timeout, style, out)?;
    write_flag("-z", unix.compress, out)
}

fn write_timeout(timeout: Timeout, style: Style, out: &mut dyn Write) -> fmt::Result {
    match style == Style::V37 || timeout != Timeout::default() {
        true => write!(out, " -t {timeout}"),
        false => Ok(()),
    }
}

fn write_opaque(opaque: &OpaqueEndpoint, out: &mut dyn Write) -> fmt::Result {
    out.write_str("opaque")?;
    write_option("-t", &opaque.type_code.to_string(), out)?;
    write!(out, " -e {}", opaque.encoding)?;
    write_option("-v", &base64::encode(&opaque.bytes), out)
}

fn write_address(protocol: Protocol, host: &str, port: u16, out: &mut dyn Write) -> fmt::Result {
    out.write_str(protocol.as_str())?;
    if !host.is_empty() {
        write_option("-h", host, out)?;
    }
    write!(out, " -p {port}")
}

fn write_flag(option: &str, is_set: bool, out: &mut dyn Write) -> fmt::Result {
    match is_set {
        true => write!(out, " {option}"),
        false => Ok(()),
    }
}

/// Writes an option whose argument may need quotes.
///
/// Backslashes at the end are written outside of the quotes, where they escape nothing.
fn write_option(option: &str, argument: &str, out: &mut dyn Write) -> fmt::Result {
    let needs_quotes = argument.is_empty()
        || argument.starts_with('-')
        || argument.contains([' ', '\t', '\r', '\n', ':', '"', '\'']);
    if !needs_quotes {
        return write!(out, " {option} {argument}");
    }
    let inside = argument.trim_end_matches('\\');
    let backslashes = &argument[inside.len()..];
    let inside = inside.replace('"', "\\\"");
    write!(out, " {option} \"{inside}\"{backslashes}")
}
