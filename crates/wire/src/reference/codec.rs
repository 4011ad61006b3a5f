//! Proxies as bytes.
//!
//! ```text
//! | name | category | facet: string[0..1] | mode: byte | secure: bool |
//! | protocol: 2 bytes | encoding: 2 bytes |                              only in encoding 1.1
//! | endpoints: size, endpoint ... | adapter id: string, only without endpoints |
//! ```
//!
//! Nil is an empty identity with nothing after it. Vectors: `tests/vectors/proxies.json`.

use super::endpoint::MIN_ENDPOINT_LEN;
use super::{Identity, InvocationMode, Reference, Target};
use crate::encoding::{
    DecodeError, DecodeErrorKind, Decoder, Encoder, EncodingVersion, Nilable, ProtocolVersion,
};

impl Nilable for Reference {
    const NIL_WIRE_LEN: usize = 2;

    fn encode_nilable(value: Option<&Self>, encoder: &mut Encoder<'_>) {
        match value {
            Some(reference) if !reference.identity.name.is_empty() => {
                reference.encode_present(encoder);
            }
            _ => encoder.put(&Identity::default()),
        }
    }

    fn decode_nilable(decoder: &mut Decoder<'_>) -> Result<Option<Self>, DecodeError> {
        let start = decoder.clone();
        let identity: Identity = decoder.get()?;
        if identity.is_empty() {
            return Ok(None);
        }
        if identity.name.is_empty() {
            let kind = DecodeErrorKind::InvalidValue(0);
            return Err(start.error("length of an identity's name", kind));
        }
        decode_rest(identity, decoder).map(Some)
    }
}

impl Reference {
    fn encode_present(&self, encoder: &mut Encoder<'_>) {
        encoder.put(&self.identity);
        encode_facet(&self.facet, encoder);
        encoder.byte(self.mode.to_byte());
        encoder.put(&self.secure);
        if encoder.encoding() != EncodingVersion::V1_0 {
            encoder.put(&self.protocol);
            encoder.put(&self.encoding);
        }
        encoder.put(self.endpoints());
        match &self.target {
            Target::Direct(endpoints) if !endpoints.is_empty() => {}
            Target::Direct(_) | Target::WellKnown => encoder.string(""),
            Target::Indirect { adapter_id } => encoder.string(adapter_id),
        }
    }
}

fn decode_rest(identity: Identity, decoder: &mut Decoder<'_>) -> Result<Reference, DecodeError> {
    let facet = decode_facet(decoder)?.to_owned();
    let mode = decode_mode(decoder)?;
    let secure = decoder.get()?;
    let (protocol, encoding) = match decoder.encoding() {
        EncodingVersion::V1_0 => (ProtocolVersion::V1_0, EncodingVersion::V1_0),
        _ => (decoder.get()?, decoder.get()?),
    };
    Ok(Reference {
        identity,
        facet,
        mode,
        secure,
        protocol,
        encoding,
        target: decode_target(decoder)?,
    })
}

/// Appends a facet: a sequence of at most one string.
pub(crate) fn encode_facet(facet: &str, encoder: &mut Encoder<'_>) {
    if facet.is_empty() {
        encoder.size(0);
    } else {
        encoder.size(1);
        encoder.string(facet);
    }
}

/// Reads a facet without copying it.
pub(crate) fn decode_facet<'a>(decoder: &mut Decoder<'a>) -> Result<&'a str, DecodeError> {
    let start = decoder.position();
    match decoder.count(1, "facet")? {
        0 => Ok(""),
        1 => decoder.str("facet"),
        count => {
            let kind = DecodeErrorKind::InvalidValue(i64::try_from(count).unwrap_or(i64::MAX));
            Err(decoder.error_at(start, "number of facets", kind))
        }
    }
}

fn decode_mode(decoder: &mut Decoder<'_>) -> Result<InvocationMode, DecodeError> {
    const WHAT: &str = "invocation mode";
    let start = decoder.clone();
    let byte = decoder.byte(WHAT)?;
    let kind = DecodeErrorKind::InvalidValue(i64::from(byte));
    InvocationMode::from_byte(byte).ok_or_else(|| start.error(WHAT, kind))
}

fn decode_target(decoder: &mut Decoder<'_>) -> Result<Target, DecodeError> {
    let count = decoder.count(MIN_ENDPOINT_LEN, "endpoints")?;
    if count > 0 {
        // Most proxies have one endpoint, and programs keep many proxies. More are allocated as they are decoded.
        let mut endpoints = Vec::with_capacity(1);
        for _ in 0..count {
            endpoints.push(decoder.get()?);
        }
        return Ok(Target::Direct(endpoints));
    }
    let adapter_id: String = decoder.get()?;
    Ok(match adapter_id.is_empty() {
        true => Target::WellKnown,
        false => Target::Indirect { adapter_id },
    })
}
