//! How many hubs an event has passed, so that it does not go round between hubs for ever.
//!
//! A subscriber can be the publisher object of a topic elsewhere. If events come back from there, they would go round
//! for ever, because each is a new event to every hub. Dead letters of dead letters could go round too. So the context
//! of an event for a publisher object says how many publisher objects it was sent to, and a dead letter counts as one
//! more. Plain IceStorm services pass contexts on. Other subscribers get events unchanged.

use floe::DecodeError;
use floe::forwarding::{EventParts, Events, EventsBuilder, HOPS_KEY};

use super::context::{encode_with_entries, entries};
use super::names::is_publisher_name;

/// The maximum count. If no hub knows how an event came, it may have passed any number of plain services.
pub(crate) const HOPS_MAX: u32 = 16;

/// Returns true if events for an object of this name get hop counts.
pub(crate) fn counts_hops(name: &str) -> bool {
    is_publisher_name(name)
}

/// The events with their counts raised; `None` if none is left. Events that have reached the maximum are left out.
pub(crate) fn with_next_hop(events: &Events) -> Option<Events> {
    let mut passing = EventsBuilder::default();
    for event in events.iter() {
        // Queued events were checked when they came, so this leaves none out.
        let _checked = push_with_next_hop(event, &mut passing);
    }
    passing.finish()
}

/// The next count of an event; `None` if it has reached the maximum.
///
/// # Errors
/// [`DecodeError`] if it is no event.
pub(crate) fn next_hop(event: &[u8]) -> Result<Option<u32>, DecodeError> {
    let hops = hops(EventParts::parse(event)?.context)?;
    Ok((hops < HOPS_MAX).then_some(hops + 1))
}

/// How many of the events have not reached the maximum.
pub(crate) fn passing_count(events: &Events) -> usize {
    let count_of = |event| EventParts::parse(event).and_then(|parts| hops(parts.context));
    let passing = events.iter().map(count_of);
    passing
        .filter(|hops| matches!(hops, Ok(hops) if *hops < HOPS_MAX))
        .count()
}

fn push_with_next_hop(event: &[u8], passing: &mut EventsBuilder) -> Result<(), DecodeError> {
    let Some(next) = next_hop(event)? else {
        return Ok(());
    };
    let raised = [(HOPS_KEY, next.to_string())];
    passing.push_with(|buffer| encode_with_entries(event, &[HOPS_KEY], &raised, buffer))
}

/// The count in a context. Everything but a number counts as the maximum, because only a hub writes this entry.
fn hops(context: &[u8]) -> Result<u32, DecodeError> {
    let mut hops = 0;
    for entry in entries(context) {
        if let (HOPS_KEY, count) = entry? {
            hops = hops.max(count.parse().unwrap_or(HOPS_MAX));
        }
    }
    Ok(hops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::events_with_contexts;

    fn events(context: &[(&str, &str)]) -> Events {
        events_with_contexts("tick", &[context])
    }

    #[test]
    fn each_hop_raises_the_count_until_the_event_goes_no_further() {
        let mut event = events(&[("a", "1")]);
        for hop in 1..=HOPS_MAX {
            assert_eq!(passing_count(&event), 1);
            event = with_next_hop(&event).expect("it passes");
            let expected = events(&[("a", "1"), (HOPS_KEY, &hop.to_string())]);
            assert_eq!(event.iter().next(), expected.iter().next());
        }
        assert_eq!(passing_count(&event), 0);
        assert!(with_next_hop(&event).is_none());
    }

    #[test]
    fn a_count_that_no_hub_writes_ends_the_way() {
        for count in ["", "x", "-1", "4294967296"] {
            assert!(with_next_hop(&events(&[(HOPS_KEY, count)])).is_none());
        }
        let twice = events(&[(HOPS_KEY, "1"), (HOPS_KEY, "3")]);
        let next = with_next_hop(&twice).expect("it passes");
        assert_eq!(next.iter().next(), events(&[(HOPS_KEY, "4")]).iter().next());
    }

    #[test]
    fn only_publisher_objects_get_counts() {
        for (name, expected) in [
            ("t.publish", true),
            ("topic.t.publish.c/n", true),
            ("topic.t", false),
            ("subscriber", false),
            ("a.publish.b", false),
        ] {
            assert_eq!(counts_hops(name), expected, "{name}");
        }
    }
}
