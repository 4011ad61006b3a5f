//! The token in the context of a request. It says who publishes, and is kept secret from subscribers.

use floe::forwarding::{Events, EventsBuilder};

use super::context::{encode_with_entries, may_have_context, value_of};

/// The key that a token has in a context.
pub(crate) const TOKEN_KEY: &str = "floe.token";

/// Returns the events without the tokens of their publisher. Events without a token stay as they are.
pub(crate) fn without_tokens(events: Events) -> Events {
    // Most events have no context, which a few bytes show.
    let has_token = |event: &[u8]| may_have_context(event) && value_of(event, TOKEN_KEY).is_some();
    if !events.iter().any(has_token) {
        return events;
    }
    let mut builder = EventsBuilder::default();
    for event in events.iter() {
        let pushed =
            builder.push_with(|buffer| encode_with_entries(event, &[TOKEN_KEY], &[], buffer));
        // The message was checked when it came. What is no event, nobody could take.
        if let Err(error) = pushed {
            tracing::warn!("left out an event whose context cannot be read: {error}");
        }
    }
    builder.finish().unwrap_or(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::events_with_contexts;

    #[test]
    fn only_tokens_are_left_out() {
        let contexts = [
            &[(TOKEN_KEY, "SECRET")][..],
            &[("a", "1"), (TOKEN_KEY, "SECRET"), ("b", "")],
            &[(TOKEN_KEY, "SECRET"), (TOKEN_KEY, "OTHER")],
            &[("cost", "3")],
            &[],
        ];
        let expected = [
            &[][..],
            &[("a", "1"), ("b", "")],
            &[],
            &[("cost", "3")],
            &[],
        ];
        let kept = without_tokens(events_with_contexts("tick", &contexts));
        let expected = events_with_contexts("tick", &expected);
        assert!(kept.iter().eq(expected.iter()));
        let kept = without_tokens(expected.clone());
        assert!(kept.iter().eq(expected.iter()));
    }
}
