//! Tells a subscriber the sequence and time of an event, in the context of the event.

use floe::DecodeError;
use floe::forwarding::Event;

use crate::core::context::with_entries;
use crate::core::log::EventTime;

/// The context key for the number of an event in the log of its topic.
pub(crate) const SEQUENCE_KEY: &str = "floe.sequence";

/// The context key for the time at which the hub got an event, in microseconds since 1970.
pub(crate) const TIME_KEY: &str = "floe.time";

/// The context key for the number of the attempt to deliver an event, from 1.
pub(crate) const ATTEMPT_KEY: &str = "floe.attempt";

/// The event, and its stamp behind the entries that its publisher has put into the context.
///
/// # Errors
/// [`DecodeError`] if it is no event.
pub(crate) fn stamped(
    event: &[u8],
    sequence: u64,
    time: EventTime,
    attempt: u32,
) -> Result<Event, DecodeError> {
    let stamp = [
        (SEQUENCE_KEY, sequence.to_string()),
        (TIME_KEY, time.0.to_string()),
        (ATTEMPT_KEY, attempt.to_string()),
    ];
    with_entries(event, &[], &stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamp_follows_the_entries_of_the_publisher() {
        let event = b"\x02op\x01\x01\x01k\x01v\x06\0\0\0\x01\x01";
        let stamped_event = stamped(event, 42, EventTime(7), 2).unwrap();
        let mut expected = b"\x02op\x01\x04\x01k\x01v".to_vec();
        for text in ["floe.sequence", "42", "floe.time", "7", "floe.attempt", "2"] {
            expected.push(text.len() as u8);
            expected.extend_from_slice(text.as_bytes());
        }
        expected.extend_from_slice(b"\x06\0\0\0\x01\x01");
        assert_eq!(stamped_event.as_bytes(), expected);
        let without = with_entries(
            stamped_event.as_bytes(),
            &[SEQUENCE_KEY, TIME_KEY, ATTEMPT_KEY],
            &[],
        );
        assert_eq!(without.unwrap().as_bytes(), event);
        for cut in 0..event.len() {
            stamped(&event[..cut], 1, EventTime(1), 1).unwrap_err();
        }
    }
}
