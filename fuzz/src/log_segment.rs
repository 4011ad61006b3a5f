//! Segments of the log of a durable topic.

use floe_hub::log::inspect_segment;

/// Reads `input` as a segment.
///
/// Whatever the bytes are, this must end without a panic. Events are in order, and no damage overlaps another.
pub(crate) fn run(input: &[u8]) {
    let Some(inspection) = inspect_segment(input) else {
        return;
    };
    let sequences = inspection.events.iter().map(|event| event.sequence);
    assert!(sequences.is_sorted_by(|one, next| one < next));
    assert!(
        inspection
            .damage
            .is_sorted_by(|one, next| one.end <= next.start)
    );
    let damaged = inspection
        .damage
        .iter()
        .map(|range| range.end - range.start);
    assert!(damaged.sum::<u64>() <= input.len() as u64);
    assert!(inspection.served <= input.len() as u64);
}
