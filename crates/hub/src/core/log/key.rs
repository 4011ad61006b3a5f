//! The key of an event: the value of one entry of its context.

use floe::EncodingVersion;
use floe::encoding::Decoder;
use floe::forwarding::EventParts;

/// The value that an event's context has for a key. `None` if it has none, or the bytes are no event.
pub(crate) fn event_key<'a>(event: &'a [u8], context_key: &str) -> Option<&'a [u8]> {
    let context = EventParts::parse(event).ok()?.context;
    let mut decoder = Decoder::new(context, EncodingVersion::V1_0);
    for _ in 0..decoder.count(2, "context").ok()? {
        let key = decoder.str("context key").ok()?;
        let value = decoder.str("context value").ok()?;
        if key == context_key {
            return Some(value.as_bytes());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_the_context_and_in_nothing_else() {
        let event = b"\x02op\x01\x02\x01k\x01v\x02kk\x00\x06\0\0\0\x01\x01";
        assert_eq!(event_key(event, "k"), Some(&b"v"[..]));
        assert_eq!(event_key(event, "kk"), Some(&b""[..]));
        assert_eq!(event_key(event, "op"), None);
        for cut in 0..event.len() {
            assert_eq!(event_key(&event[..cut], "k"), None);
        }
    }
}
