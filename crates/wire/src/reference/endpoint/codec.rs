//! Endpoints as bytes.
//!
//! ```text
//! | type: short | encapsulation { body of the type } |
//! ```
//!
//! The encapsulation has the encoding of the stream. That of an opaque endpoint has its own.

use super::{
    Endpoint, OpaqueEndpoint, Protocol, TcpEndpoint, Timeout, UdpEndpoint, UnixEndpoint, WsEndpoint,
};
use crate::encoding::{
    Decode, DecodeError, DecodeErrorKind, Decoder, ENCAPSULATION_HEADER_LEN, Encapsulation, Encode,
    Encoder, EncodingVersion, ProtocolVersion,
};

/// An endpoint with an empty body.
pub(in crate::reference) const MIN_ENDPOINT_LEN: usize = 2 + ENCAPSULATION_HEADER_LEN;

impl Encode for Endpoint {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.put(&self.type_code());
        if let Self::Opaque(opaque) = self {
            encoder.encapsulation(opaque.encoding, |body| body.bytes(&opaque.bytes));
        } else {
            encoder.encapsulation(encoder.encoding(), |body| encode_body(self, body));
        }
    }
}

impl Decode for Endpoint {
    const MIN_WIRE_LEN: usize = MIN_ENDPOINT_LEN;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let type_code = decoder.get()?;
        let unopened = decoder.clone().encapsulation()?;
        match Protocol::from_type_code(type_code) {
            Some(protocol) if unopened.encoding.is_supported() => {
                let body = decoder.open_encapsulation()?;
                decode_known(protocol, body, unopened)
            }
            _ => {
                decoder.encapsulation()?;
                Ok(opaque(type_code, unopened))
            }
        }
    }
}

/// Reads the whole payload of an endpoint's encapsulation; `unopened` is the same payload. An endpoint with an invalid
/// value, for example a timeout of 0, becomes opaque if all its fields are there.
///
/// Source: observed, Ice 3.7.8. It never connects to such endpoints, and sends them on.
pub(super) fn decode_known(
    protocol: Protocol,
    body: Decoder<'_>,
    unopened: Encapsulation<'_>,
) -> Result<Endpoint, DecodeError> {
    decode_body(protocol, body).or_else(|error| match is_carried(protocol, unopened) {
        true => Ok(opaque(protocol.type_code(), unopened)),
        false => Err(error),
    })
}

#[cold]
fn is_carried(protocol: Protocol, unopened: Encapsulation<'_>) -> bool {
    // The number is not reserved for Floe: an endpoint with another layout becomes opaque.
    protocol == Protocol::Unix
        || unopened
            .decoder()
            .and_then(|body| skip_fields(protocol, body))
            .is_ok()
}

fn opaque(type_code: i16, unopened: Encapsulation<'_>) -> Endpoint {
    Endpoint::Opaque(OpaqueEndpoint {
        type_code,
        encoding: unopened.encoding,
        bytes: unopened.payload.to_vec(),
    })
}

fn decode_body(protocol: Protocol, mut body: Decoder<'_>) -> Result<Endpoint, DecodeError> {
    let endpoint = match protocol {
        Protocol::Tcp => Endpoint::Tcp(decode_tcp(&mut body)?),
        Protocol::Ssl => Endpoint::Ssl(decode_tcp(&mut body)?),
        Protocol::Ws => Endpoint::Ws(decode_ws(&mut body)?),
        Protocol::Wss => Endpoint::Wss(decode_ws(&mut body)?),
        Protocol::Udp => Endpoint::Udp(decode_udp(&mut body)?),
        Protocol::Unix => Endpoint::Unix(decode_unix(&mut body)?),
    };
    match protocol {
        Protocol::Unix => body.finish_exact("end of endpoint")?,
        // As in any encapsulation, surplus bytes are ignored, and not sent on. Source: observed, Ice 3.7.8.
        _ => body.finish()?,
    }
    Ok(endpoint)
}

/// Reads the whole payload without checking the values of the fields.
fn skip_fields(protocol: Protocol, mut body: Decoder<'_>) -> Result<(), DecodeError> {
    skip_string(&mut body, "endpoint host")?;
    body.int("endpoint port")?;
    if protocol != Protocol::Udp {
        body.int("endpoint timeout")?;
    } else if body.encoding() == EncodingVersion::V1_0 {
        body.get::<ProtocolVersion>()?;
        body.get::<EncodingVersion>()?;
    }
    body.get::<bool>()?;
    if matches!(protocol, Protocol::Ws | Protocol::Wss) {
        skip_string(&mut body, "endpoint resource")?;
    }
    body.finish()
}

fn skip_string(body: &mut Decoder<'_>, what: &'static str) -> Result<(), DecodeError> {
    let len = body.size(what)?;
    body.bytes(len, what).map(drop)
}

fn encode_body(endpoint: &Endpoint, body: &mut Encoder<'_>) {
    match endpoint {
        Endpoint::Tcp(tcp) | Endpoint::Ssl(tcp) => encode_tcp(tcp, body),
        Endpoint::Ws(ws) | Endpoint::Wss(ws) => {
            encode_tcp(&ws.tcp, body);
            body.string(&ws.resource);
        }
        Endpoint::Udp(udp) => encode_udp(udp, body),
        Endpoint::Unix(unix) => encode_unix(unix, body),
        Endpoint::Opaque(opaque) => body.bytes(&opaque.bytes),
    }
}

fn encode_tcp(tcp: &TcpEndpoint, body: &mut Encoder<'_>) {
    body.string(&tcp.host);
    body.int(i32::from(tcp.port));
    body.int(tcp.timeout.to_wire());
    body.put(&tcp.compress);
}

fn decode_tcp(body: &mut Decoder<'_>) -> Result<TcpEndpoint, DecodeError> {
    Ok(TcpEndpoint {
        host: body.str("endpoint host")?.to_owned(),
        port: decode_port(body)?,
        timeout: decode_timeout(body)?,
        compress: body.get()?,
        source_address: None,
    })
}

fn decode_ws(body: &mut Decoder<'_>) -> Result<WsEndpoint, DecodeError> {
    Ok(WsEndpoint {
        tcp: decode_tcp(body)?,
        resource: body.str("endpoint resource")?.to_owned(),
    })
}

fn encode_udp(udp: &UdpEndpoint, body: &mut Encoder<'_>) {
    body.string(&udp.host);
    body.int(i32::from(udp.port));
    if body.encoding() == EncodingVersion::V1_0 {
        body.put(&ProtocolVersion::V1_0);
        body.put(&EncodingVersion::V1_0);
    }
    body.put(&udp.compress);
}

fn decode_udp(body: &mut Decoder<'_>) -> Result<UdpEndpoint, DecodeError> {
    let host = body.str("endpoint host")?.to_owned();
    let port = decode_port(body)?;
    if body.encoding() == EncodingVersion::V1_0 {
        // Versions that the receiver supports: always 1.0 and 1.0, without any effect.
        body.get::<ProtocolVersion>()?;
        body.get::<EncodingVersion>()?;
    }
    Ok(UdpEndpoint {
        compress: body.get()?,
        ..UdpEndpoint::new(host, port)
    })
}

fn encode_unix(unix: &UnixEndpoint, body: &mut Encoder<'_>) {
    body.string(&unix.path);
    body.int(unix.timeout.to_wire());
    body.put(&unix.compress);
    body.string(&unix.host);
}

fn decode_unix(body: &mut Decoder<'_>) -> Result<UnixEndpoint, DecodeError> {
    Ok(UnixEndpoint {
        path: body.str("endpoint path")?.to_owned(),
        timeout: decode_timeout(body)?,
        compress: body.get()?,
        host: body.str("endpoint host")?.to_owned(),
    })
}

fn decode_port(body: &mut Decoder<'_>) -> Result<u16, DecodeError> {
    int_within(body, "endpoint port", |port| u16::try_from(port).ok())
}

fn decode_timeout(body: &mut Decoder<'_>) -> Result<Timeout, DecodeError> {
    int_within(body, "endpoint timeout", Timeout::from_wire)
}

fn int_within<T>(
    body: &mut Decoder<'_>,
    what: &'static str,
    convert: impl FnOnce(i32) -> Option<T>,
) -> Result<T, DecodeError> {
    let start = body.clone();
    let value = body.int(what)?;
    let kind = DecodeErrorKind::InvalidValue(i64::from(value));
    convert(value).ok_or_else(|| start.error(what, kind))
}
