//! The compressions that an adapter offers in its proxies, beyond bzip2.
//!
//! ```text
//! endpoint of type 18029, encoding 1.1: | compressions: sequence<byte> | endpoints: sequence<endpoint> |
//! ```
//!
//! The bytes are those of [`Compression::accepted`]. The offer holds only for the endpoints in it, because a proxy can
//! combine the endpoints of several servers. Ice carries it as an opaque endpoint, and never connects to it.

use crate::encoding::{Decoder, Encoder, EncodingVersion};
use crate::message::Compression;
use crate::reference::{Endpoint, OpaqueEndpoint};

/// The number of the endpoint type of an offer.
pub const OFFER_TYPE_CODE: i16 = 18029;

/// The endpoint that offers these compressions at these endpoints. Returns `None` if there is nothing to offer, or no
/// endpoint that can be offered. bzip2 needs no offer.
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

/// Returns true if one of a proxy's `endpoints` offers a compression for the endpoint `at`. An unreadable offer is
/// ignored.
pub fn offered(compression: Compression, endpoints: &[Endpoint], at: &Endpoint) -> bool {
    endpoints.iter().any(|endpoint| match endpoint {
        Endpoint::Opaque(opaque) if opaque.type_code == OFFER_TYPE_CODE => {
            covers(opaque, compression, at).unwrap_or(false)
        }
        _ => false,
    })
}

/// Returns true if an endpoint is an offer. No peer connects to it.
pub fn is_offer(endpoint: &Endpoint) -> bool {
    matches!(endpoint, Endpoint::Opaque(opaque) if opaque.type_code == OFFER_TYPE_CODE)
}

fn covers(offer: &OpaqueEndpoint, compression: Compression, at: &Endpoint) -> Option<bool> {
    let mut decoder = Decoder::new(&offer.bytes, offer.encoding);
    let codes: Vec<u8> = decoder.get().ok()?;
    let endpoints: Vec<Endpoint> = decoder.get().ok()?;
    let is_there = endpoints.iter().any(|it| is_same_place(it, at));
    Some(is_there && codes.contains(&compression.accepted()))
}

/// Timeouts and `-z` may change on the way; the rest does not.
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

/// A datagram may be lost, and with it everything that is coded against it. An offer within an offer is ignored.
fn takes_offers(endpoint: &Endpoint) -> bool {
    !endpoint.is_datagram() && !matches!(endpoint, Endpoint::Opaque(_))
}
