//! How subscriptions and links are encoded in records.

use std::sync::Arc;

use floe::codegen::Nilable;
use floe::encoding::{Decode, Decoder, Encode, Encoder};
use floe::{DecodeError, EncodeError, EncodingVersion, Identity, Reference};
use floe_access::{Caller, Place};

use super::record::{Kind, Named, StoreRecord, seal};
use super::{StoreError, StoredCaller, StoredLink, StoredSubscription};

impl Encode for StoredSubscription {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        Reference::encode_nilable(Some(&self.subscriber), encoder);
        encoder.put(&self.qos);
        // Without a user and a chooser, the record is as earlier hubs wrote it.
        if self.user.is_some() || self.chooser.is_some() {
            encoder.string(self.user.as_deref().unwrap_or_default());
        }
        if let Some(chooser) = &self.chooser {
            encoder.put(chooser);
        }
    }
}

impl Encode for StoredLink {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        Reference::encode_nilable(Some(&self.topic), encoder);
        Reference::encode_nilable(self.receiver.as_ref(), encoder);
        encoder.put(&self.cost);
        // Without a maker, the record is as earlier hubs wrote it.
        if let Some(maker) = &self.maker {
            encoder.put(maker);
        }
    }
}

impl Encode for StoredCaller {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        let Caller {
            user,
            groups,
            certificate,
            place,
        } = &*self.0;
        let place = match place {
            Place::At(address) => address.to_string(),
            Place::Here => HERE.to_owned(),
            Place::Unknown => String::new(),
        };
        encoder.put(user.as_ref().unwrap_or(&String::new()));
        encoder.put(groups);
        let subject = certificate.as_ref().map(ToString::to_string);
        encoder.put(&subject.unwrap_or_default());
        encoder.put(&place);
    }
}

/// The place of a caller on the computer of the hub.
const HERE: &str = "here";

pub(super) fn encoded(value: &impl Encode) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.put(value);
    let finished: Result<(), EncodeError> = encoder.finish();
    finished.map_err(|error| StoreError::because("cannot store a subscription or link", error))?;
    Ok(bytes)
}

pub(super) fn decode_subscription(bytes: &[u8]) -> Result<StoredSubscription, DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let subscriber = Reference::decode_nilable(&mut decoder)?.unwrap_or_else(nil_reference);
    let qos = Decode::decode(&mut decoder)?;
    let user = decode_user(&mut decoder)?;
    let chooser = match decoder.remaining() {
        0 => None,
        _ => Some(decode_caller(&mut decoder)?),
    };
    decoder.finish_exact("subscription")?;
    // An empty name in front of a chooser is none. Earlier hubs may have stored one.
    let user = user.filter(|user| !user.is_empty() || chooser.is_none());
    Ok(StoredSubscription {
        subscriber,
        qos,
        user,
        chooser,
    })
}

/// The payload of a topic's own record: who created it, empty if no one knows, and then `true` if the topic is durable. A
/// topic that is not durable has the user alone, or nothing, as earlier hubs wrote it.
pub(super) fn encoded_topic(user: Option<&str>, is_durable: bool) -> Result<Vec<u8>, StoreError> {
    let is_short = user.is_none() && !is_durable;
    let mut bytes = match is_short {
        true => Vec::new(),
        false => encoded(&user.unwrap_or_default().to_owned())?,
    };
    if is_durable {
        bytes.extend(encoded(&true)?);
    }
    Ok(bytes)
}

/// The user who created a topic, and whether the topic is durable.
pub(super) fn decode_topic(bytes: &[u8]) -> Result<(Option<String>, bool), DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let user = decode_user(&mut decoder)?;
    let is_durable = match decoder.remaining() {
        0 => false,
        _ => decoder.get()?,
    };
    decoder.finish_exact("topic")?;
    // Earlier hubs may have stored an empty name, which is none.
    let is_named = |user: &String| !user.is_empty() || !is_durable;
    Ok((user.filter(is_named), is_durable))
}

/// The user at the end of a record.
fn decode_user(decoder: &mut Decoder<'_>) -> Result<Option<String>, DecodeError> {
    match decoder.remaining() {
        0 => Ok(None),
        _ => decoder.get().map(Some),
    }
}

pub(super) fn decode_link(bytes: &[u8]) -> Result<StoredLink, DecodeError> {
    let mut decoder = Decoder::new(bytes, EncodingVersion::V1_1);
    let topic = Reference::decode_nilable(&mut decoder)?.unwrap_or_else(nil_reference);
    let receiver = Reference::decode_nilable(&mut decoder)?;
    let cost = decoder.get()?;
    let maker = match decoder.remaining() {
        0 => None,
        _ => Some(decode_caller(&mut decoder)?),
    };
    decoder.finish_exact("link")?;
    Ok(StoredLink {
        topic,
        receiver,
        cost,
        maker,
    })
}

fn decode_caller(decoder: &mut Decoder<'_>) -> Result<StoredCaller, DecodeError> {
    let user: String = decoder.get()?;
    let groups = decoder.get()?;
    let (subject, place): (String, String) = (decoder.get()?, decoder.get()?);
    let place = match place.as_str() {
        HERE => Place::Here,
        // A place that cannot be read is one that no network has.
        address => address.parse().map_or(Place::Unknown, Place::At),
    };
    Ok(StoredCaller(Arc::new(Caller {
        user: (!user.is_empty()).then_some(user),
        groups,
        certificate: subject.parse().ok().filter(|_| !subject.is_empty()),
        place,
    })))
}

/// Reads the payload of a record of this kind, and writes it again; `None` if it cannot be read. It is for tests: nothing
/// is stored.
#[doc(hidden)]
pub fn inspect_store_record(kind: u8, payload: &[u8]) -> Option<Vec<u8>> {
    let key = ("t", kind, &payload[..payload.len().min(8)]);
    // Damaged values must not do harm either.
    let _ = StoreRecord::open(key, payload);
    let _ = Named(key).to_string();
    let opened = StoreRecord::open(key, &seal(key, 1, payload))?;
    let written = match opened.kind {
        Kind::Topic => {
            let (user, is_durable) = decode_topic(&opened.payload).ok()?;
            encoded_topic(user.as_deref(), is_durable)
        }
        Kind::Subscription => encoded(&decode_subscription(&opened.payload).ok()?),
        Kind::Link => encoded(&decode_link(&opened.payload).ok()?),
    };
    written.ok()
}

/// Takes the place of a nil proxy, which is never stored.
fn nil_reference() -> Reference {
    Reference::new(Identity::default(), floe::reference::Target::WellKnown)
}
