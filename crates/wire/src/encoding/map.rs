//! Dictionaries: a size, then keys and values alternately.
//!
//! A sorted map always encodes to the same bytes. If a peer sends a key twice, the last value counts.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use super::{Decode, DecodeError, Decoder, Encode, Encoder};

impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_entries(self.len(), self.iter(), encoder);
    }
}

impl<K: Decode + Ord, V: Decode> Decode for BTreeMap<K, V> {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut map = Self::new();
        decode_entries(decoder, |key, value| {
            map.insert(key, value);
        })?;
        Ok(map)
    }
}

impl<K: Encode, V: Encode, S: BuildHasher> Encode for HashMap<K, V, S> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_entries(self.len(), self.iter(), encoder);
    }
}

impl<K: Decode + Hash + Eq, V: Decode, S: BuildHasher + Default> Decode for HashMap<K, V, S> {
    const MIN_WIRE_LEN: usize = 1;

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut map = Self::default();
        decode_entries(decoder, |key, value| {
            map.insert(key, value);
        })?;
        Ok(map)
    }
}

fn encode_entries<'a, K: Encode + 'a, V: Encode + 'a>(
    count: usize,
    entries: impl Iterator<Item = (&'a K, &'a V)>,
    encoder: &mut Encoder<'_>,
) {
    encoder.size(count);
    for (key, value) in entries {
        key.encode(encoder);
        value.encode(encoder);
    }
}

fn decode_entries<K: Decode, V: Decode>(
    decoder: &mut Decoder<'_>,
    mut insert: impl FnMut(K, V),
) -> Result<(), DecodeError> {
    let min_wire_len = K::MIN_WIRE_LEN + V::MIN_WIRE_LEN;
    let count = decoder.count(min_wire_len, "dictionary")?;
    decoder.each(count, min_wire_len, |decoder| {
        let key = K::decode(decoder)?;
        insert(key, V::decode(decoder)?);
        Ok(())
    })
}
