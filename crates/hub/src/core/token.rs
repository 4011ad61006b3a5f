//! The token in the context of a request. It says who publishes, and is a secret from those who subscribe.

use floe::encoding::{Decoder, Encoder};
use floe::forwarding::{Event, EventParts, Events, EventsBuilder};
use floe::{DecodeError, EncodingVersion};

/// The key that a token has in a context.
pub(crate) const TOKEN_KEY: &str = "floe.token";

/// An event without the token of its publisher. An event that has none stays as it is.
///
/// # Errors
/// [`DecodeError`] if it is no event.
pub(crate) fn without_token(event: Event) -> Result<Events, DecodeError> {
    let parts = EventParts::parse(event.as_bytes())?;
    let entries = entries(parts.context)?;
    if entries.iter().all(|(key, _)| *key != TOKEN_KEY) {
        return Ok(event.into());
    }
    let mut kept = EventsBuilder::default();
    kept.push_with(|buffer| {
        let entries: Vec<_> = entries
            .iter()
            .filter(|(key, _)| *key != TOKEN_KEY)
            .copied()
            .collect();
        encode_with_context(&parts, &entries, buffer);
        Ok(())
    })?;
    Ok(kept.finish().expect("an event was added"))
}

/// Appends an event with another context.
pub(super) fn encode_with_context(
    parts: &EventParts<'_>,
    context: &[(&str, &str)],
    buffer: &mut Vec<u8>,
) {
    let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
    encoder.bytes(parts.head);
    encoder.size(context.len());
    for (key, value) in context {
        encoder.string(key);
        encoder.string(value);
    }
    encoder.bytes(parts.parameters);
    encoder
        .finish()
        .expect("texts that came in a message fit into one");
}

/// The entries of an encoded context.
pub(super) fn entries(context: &[u8]) -> Result<Vec<(&str, &str)>, DecodeError> {
    let mut decoder = Decoder::new(context, EncodingVersion::V1_0);
    let count = decoder.count(2, "context")?;
    let mut entry = || Ok((decoder.str("context key")?, decoder.str("context value")?));
    (0..count).map(|_| entry()).collect()
}

#[cfg(test)]
mod tests {
    use floe::OperationMode;

    use super::*;

    /// An event with this context.
    fn event(context: &[(&str, &str)]) -> Event {
        let mut builder = EventsBuilder::default();
        let write = |buffer: &mut Vec<u8>| {
            let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
            encoder.string("tick");
            encoder.put(&OperationMode::Idempotent);
            encoder.size(context.len());
            for (key, value) in context {
                encoder.string(key);
                encoder.string(value);
            }
            encoder.encapsulation(EncodingVersion::V1_1, |encoder| encoder.int(7));
            encoder.finish().expect("it is short");
            Ok(())
        };
        builder.push_with(write).expect("it is an event");
        let events = builder.finish().expect("one event");
        events.each().next().expect("one event")
    }

    #[test]
    fn only_the_token_is_left_out() {
        for (with, without) in [
            (&[(TOKEN_KEY, "SECRET")][..], &[][..]),
            (
                &[("a", "1"), (TOKEN_KEY, "SECRET"), ("b", "")],
                &[("a", "1"), ("b", "")],
            ),
            (&[(TOKEN_KEY, "SECRET"), (TOKEN_KEY, "OTHER")], &[]),
            (&[("cost", "3")], &[("cost", "3")]),
            (&[], &[]),
        ] {
            let kept = without_token(event(with)).expect("it is an event");
            let kept: Vec<_> = kept.iter().collect();
            assert_eq!(kept, [event(without).as_bytes()], "{with:?}");
        }
    }
}
