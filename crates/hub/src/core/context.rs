//! The entries in the context of an event. Nothing else in the hub looks into them; a link copies them.

use floe::encoding::{Decoder, Encoder};
use floe::forwarding::{Event, EventParts, EventsBuilder};
use floe::{DecodeError, EncodingVersion};

/// Returns true if the context of an event may have entries. It looks at a few bytes, because most events have none.
pub(crate) fn may_have_context(event: &[u8]) -> bool {
    let operation_end = match event {
        [255, a, b, c, d, ..] => 5 + u32::from_le_bytes([*a, *b, *c, *d]) as usize,
        [len, ..] => 1 + usize::from(*len),
        [] => return false,
    };
    // The mode is one byte.
    event.get(operation_end + 1) != Some(&0)
}

/// The entries of an encoded context, or an error where it is malformed.
pub(crate) fn entries(
    context: &[u8],
) -> impl Iterator<Item = Result<(&str, &str), DecodeError>> + '_ {
    let mut decoder = Decoder::new(context, EncodingVersion::V1_0);
    let (count, error) = match decoder.count(2, "context") {
        Ok(count) => (count, None),
        Err(error) => (0, Some(Err(error))),
    };
    let entry = move |_| Ok((decoder.str("context key")?, decoder.str("context value")?));
    error.into_iter().chain((0..count).map(entry))
}

/// The entries in the context of an event, up to the first malformed one. There are none if the bytes are no event.
pub(crate) fn entries_of(event: &[u8]) -> impl Iterator<Item = (&str, &str)> + '_ {
    let parts = EventParts::parse(event).ok();
    let context = parts.map_or(&[][..], |parts| parts.context);
    entries(context).map_while(Result::ok)
}

/// The value that the context of an event has for a key. `None` if it has none, or the bytes are no event.
pub(crate) fn value_of<'a>(event: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut entries = entries_of(event);
    let (_, value) = entries.find(|(known, _)| *known == key)?;
    Some(value.as_bytes())
}

/// Returns the event without the entries of its context that are `removed`, and with other entries behind the rest.
///
/// # Errors
/// [`DecodeError`] if it is no event.
pub(crate) fn with_entries(
    event: &[u8],
    removed: &[&str],
    added: &[(&str, String)],
) -> Result<Event, DecodeError> {
    let mut builder = EventsBuilder::default();
    builder.push_with(|buffer| encode_with_entries(event, removed, added, buffer))?;
    let events = builder.finish().expect("an event was added");
    Ok(events.each().next().expect("an event was added"))
}

/// Appends to a buffer what [`with_entries`] returns.
///
/// # Errors
/// As [`with_entries`]. The buffer stays as it was.
pub(crate) fn encode_with_entries(
    event: &[u8],
    removed: &[&str],
    added: &[(&str, String)],
    buffer: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let parts = EventParts::parse(event)?;
    let mut kept = entries(parts.context).collect::<Result<Vec<_>, _>>()?;
    kept.retain(|(key, _)| !removed.contains(key));
    kept.extend(added.iter().map(|(key, value)| (*key, value.as_str())));
    let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
    encoder.bytes(parts.head);
    encoder.size(kept.len());
    for (key, value) in kept {
        encoder.string(key);
        encoder.string(value);
    }
    encoder.bytes(parts.parameters);
    encoder
        .finish()
        .expect("texts that came in a message fit into one");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_the_context_and_in_nothing_else() {
        let event = b"\x02op\x01\x02\x01k\x01v\x02kk\x00\x06\0\0\0\x01\x01";
        assert_eq!(value_of(event, "k"), Some(&b"v"[..]));
        assert_eq!(value_of(event, "kk"), Some(&b""[..]));
        assert_eq!(value_of(event, "op"), None);
        for cut in 0..event.len() {
            assert_eq!(value_of(&event[..cut], "k"), None);
        }
    }

    #[test]
    fn a_malformed_context_is_an_error_and_ends() {
        let context = b"\x02\x01k\x01v\x01";
        let known: Vec<_> = entries(context).map_while(Result::ok).collect();
        assert_eq!(known, [("k", "v")]);
        assert!(entries(context).any(|entry| entry.is_err()));
        assert!(entries(b"\xff").all(|entry| entry.is_err()));
    }
}
