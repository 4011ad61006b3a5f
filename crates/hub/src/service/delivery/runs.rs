//! Divides events into runs, each of which one reply of the subscriber answers.

use floe::forwarding::Events;

/// Appends runs of at most `run_max` events to a list, in their order, and leaves `batches` empty, which are the events as
/// their publishers sent them.
///
/// A batch that is short is copied into one run with those beside it, which costs less than a reply to each.
pub(super) fn divide(batches: &mut Vec<Events>, run_max: usize, runs: &mut Vec<Events>) {
    if batches.len() == 1
        && let Some(batch) = batches.pop_if(|batch| batch.len() <= run_max.max(1))
    {
        // Most events leave alone.
        return runs.push(batch);
    }
    if run_max <= 1 {
        batches
            .drain(..)
            .for_each(|batch| runs.extend(batch.into_each()));
        return;
    }
    let mut room = Room::of(run_max);
    let mut start = 0;
    for (at, batch) in batches.iter().enumerate() {
        if !room.has_room_for(batch) {
            join(&batches[start..at], runs);
            room = Room::of(run_max);
            start = at;
        }
        if room.has_room_for(batch) {
            room.take(batch);
            continue;
        }
        let mut rest = batch.clone();
        while rest.len() > run_max {
            runs.push(rest.split_to(run_max));
        }
        runs.push(rest);
        start = at + 1;
    }
    join(&batches[start..], runs);
    batches.clear();
}

/// How much may be added to a run.
#[derive(Clone, Copy)]
struct Room {
    events: usize,
    bytes: usize,
}

impl Room {
    fn of(run_max: usize) -> Self {
        Self {
            events: run_max,
            bytes: JOINED_LEN_MAX,
        }
    }

    fn has_room_for(self, batch: &Events) -> bool {
        batch.len() <= self.events && batch.byte_len() <= self.bytes
    }

    fn take(&mut self, batch: &Events) {
        self.events -= batch.len();
        self.bytes -= batch.byte_len();
    }
}

/// Makes one run of batches.
fn join(batches: &[Events], runs: &mut Vec<Events>) {
    match batches {
        [] => {}
        [batch] => runs.push(batch.clone()),
        several => match Events::joined(several) {
            Some(run) => runs.push(run),
            None => runs.extend_from_slice(several),
        },
    }
}

/// The longest run in bytes into which batches are copied. To copy more would cost as much as a reply.
const JOINED_LEN_MAX: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use floe::forwarding::EventsBuilder;

    use super::*;

    /// A batch of events with parameters of these lengths, numbered from `first` on.
    fn batch(first: u32, lens: &[usize]) -> Events {
        let mut builder = EventsBuilder::default();
        for (number, len) in (first..).zip(lens) {
            let size = u32::try_from(10 + len).unwrap();
            let write = |bytes: &mut Vec<u8>| {
                bytes.extend(b"\x02op\0\0");
                bytes.extend(size.to_le_bytes());
                bytes.extend([1, 1]);
                bytes.extend(number.to_le_bytes());
                bytes.resize(bytes.len() + len, 0);
                Ok(())
            };
            builder.push_with(write).unwrap();
        }
        builder.finish().unwrap()
    }

    /// How many events each run has. The runs have all events of the batches, in their order.
    fn divided(batches: &[&[usize]], run_max: usize) -> Vec<usize> {
        let mut first = 0;
        let mut own: Vec<Events> = Vec::new();
        for lens in batches {
            own.push(batch(first, lens));
            first += u32::try_from(lens.len()).unwrap();
        }
        let expected: Vec<Vec<u8>> = own
            .iter()
            .flat_map(Events::iter)
            .map(<[u8]>::to_vec)
            .collect();
        let mut runs = Vec::new();
        divide(&mut own, run_max, &mut runs);
        assert!(own.is_empty());
        assert!(
            runs.iter()
                .flat_map(Events::iter)
                .eq(expected.iter().map(Vec::as_slice))
        );
        runs.iter().map(Events::len).collect()
    }

    #[test]
    fn a_run_has_no_more_events_than_it_may() {
        let nine: &[usize] = &[1; 9];
        assert_eq!(divided(&[nine], 64), [9]);
        assert_eq!(divided(&[nine], 9), [9]);
        assert_eq!(divided(&[nine], 4), [4, 4, 1]);
        assert_eq!(divided(&[nine], 1), [1; 9]);
        assert_eq!(divided(&[nine, &[1], &[1]], 4), [4, 4, 1, 2]);
        assert_eq!(divided(&[&[1], &[1], nine, &[1]], 4), [2, 4, 4, 1, 1]);
    }

    #[test]
    fn short_batches_share_a_run_and_long_ones_do_not() {
        let one: &[usize] = &[1];
        assert_eq!(divided(&[one], 64), [1]);
        assert_eq!(divided(&[one, &[2, 3], one], 64), [4]);
        assert_eq!(divided(&[one, one, one], 2), [2, 1]);
        assert_eq!(divided(&[one, one, one], 1), [1; 3]);
        let long: &[usize] = &[JOINED_LEN_MAX];
        assert_eq!(
            divided(&[one, long, one, one, long, long], 64),
            [1, 1, 2, 1, 1]
        );
        let half: &[usize] = &[JOINED_LEN_MAX / 2];
        assert_eq!(divided(&[half, one, half, one], 64), [2, 2]);
    }
}
