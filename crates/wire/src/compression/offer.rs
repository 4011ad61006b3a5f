//! What an adapter says in its proxies that it understands beyond bzip2.
//!
//! ```text
//! endpoint of type 18029, encoding 1.1: | compressions: sequence<byte> | endpoints: sequence<endpoint> |
//! ```
//!
//! The bytes are those of [`Compression::accepted`]. The offer holds for the endpoints in it and for
//! no others: somebody may join the endpoints of several servers in one proxy. Ice carries it as an
//! opaque endpoint, to which it never connects.

use crate::encoding::{Decoder, Encoder, EncodingVersion};
use crate::message::Compression;
use crate::reference::{Endpoint, OpaqueEndpoint};

/// The number of the endpoint type of an offer.
pub const OFFER_TYPE_CODE: i16 = 18029;

/// The endpoint that offers these compressions at these endpoints; `None` if nothing is left to
/// offer or nowhere. bzip2 needs no offer.
pub fn offer(compressions: &[Compression], endpoints: &[Endpoint]) -> Option<Endpoint> {
    let is_offered = |it: &Compression| *it != Compression::Bzip2 && it.is_built();
    let codes: Vec<u8> = Compression::ALL
        .into_iter()
        .filter(|it| compressions.contains(it) && is_offered(it))
        .map(Compression::accepted)
        .collect();
    let streams: Vec<_> = endpoints.iter().filter(|it| takes_offers(it)).collect();
    if codes.is_empty() || streams.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.put(&codes);
    encoder.size(streams.len());
    for endpoint in streams {
        encoder.put(endpoint);
    }
    encoder.finish().ok()?;
    Some(Endpoint::Opaque(OpaqueEndpoint {
        type_code: OFFER_TYPE_CODE,
        encoding: EncodingVersion::V1_1,
        bytes,
    }))
}

/// Whether `endpoints`, those of a proxy, offer a compression at one of them. An offer that cannot
/// be read is none.
pub fn offered(compression: Compression, endpoints: &[Endpoint], at: &Endpoint) -> bool {
    endpoints.iter().any(|endpoint| match endpoint {
        Endpoint::Opaque(opaque) if opaque.type_code == OFFER_TYPE_CODE => {
            covers(opaque, compression, at).unwrap_or(false)
        }
        _ => false,
    })
}

fn covers(offer: &OpaqueEndpoint, compression: Compression, at: &Endpoint) -> Option<bool> {
    let mut decoder = Decoder::new(&offer.bytes, offer.encoding);
    let codes: Vec<u8> = decoder.get().ok()?;
    let endpoints: Vec<Endpoint> = decoder.get().ok()?;
    let is_there = endpoints.iter().any(|it| is_same_place(it, at));
    Some(is_there && codes.contains(&compression.accepted()))
}

/// Timeouts and `-z` may be changed on the way, the rest may not.
fn is_same_place(one: &Endpoint, other: &Endpoint) -> bool {
    match (one.as_tcp(), other.as_tcp()) {
        (Some(a), Some(b)) => {
            one.type_code() == other.type_code() && (&a.host, a.port) == (&b.host, b.port)
        }
        _ => match (one, other) {
            (Endpoint::Unix(a), Endpoint::Unix(b)) => (&a.path, &a.host) == (&b.path, &b.host),
            _ => one == other,
        },
    }
}

/// A datagram may be lost, with all that is coded against it; an offer in an offer says nothing.
fn takes_offers(endpoint: &Endpoint) -> bool {
    !endpoint.is_datagram() && !matches!(endpoint, Endpoint::Opaque(_))
}
