//! The token in the context of a request. It says who publishes, and is kept secret from subscribers.

use floe::DecodeError;
use floe::forwarding::{Event, EventParts, Events};

use super::context::{entries, with_entries};

/// The key that a token has in a context.
pub(crate) const TOKEN_KEY: &str = "floe.token";

/// Returns an event without the token of its publisher. An event without a token stays as it is.
///
/// # Errors
/// [`DecodeError`] if it is no event.
pub(crate) fn without_token(event: Event) -> Result<Events, DecodeError> {
    let parts = EventParts::parse(event.as_bytes())?;
    for entry in entries(parts.context) {
        if entry?.0 == TOKEN_KEY {
            return Ok(with_entries(event.as_bytes(), &[TOKEN_KEY], &[])?.into());
        }
    }
    Ok(event.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::events_with_contexts;

    /// An event with this context.
    fn event(context: &[(&str, &str)]) -> Event {
        let events = events_with_contexts("tick", &[context]);
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
