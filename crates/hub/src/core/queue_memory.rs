//! The memory of all queues, and how they share it when there is too little.

use std::time::Instant;

/// The memory that one subscriber holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueUse {
    /// Bytes of waiting events that other subscribers of the topic may hold, too.
    pub(crate) shared: u64,
    /// Bytes of waiting events that only this subscriber holds.
    pub(crate) exclusive: u64,
    /// Bytes of events that are being sent, or were read from a log to be sent: each subscriber has its own.
    pub(crate) outstanding: u64,
    /// When the oldest and the newest waiting event came, if any waits.
    pub(crate) span: Option<(Instant, Instant)>,
}

impl QueueUse {
    /// Returns true if it holds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared + self.exclusive + self.outstanding == 0
    }
}

/// The memory that all subscribers hold.
#[derive(Debug, Default)]
pub(crate) struct MemoryUse {
    /// The bytes of queues, without those that another queue holds already.
    queues: Vec<u64>,
    /// Bytes that shorter queues would not free.
    outstanding: u64,
}

impl MemoryUse {
    /// Adds the subscribers of a topic.
    pub(crate) fn add_topic(&mut self, mut subscribers: Vec<QueueUse>) {
        let exclusive = subscribers.iter().map(|it| it.exclusive);
        self.queues.extend(exclusive.filter(|len| *len > 0));
        self.outstanding += subscribers.iter().map(|it| it.outstanding).sum::<u64>();
        self.queues.extend(distinct_parts(&mut subscribers));
    }

    /// Adds events that were read from a log.
    pub(crate) fn add_read(&mut self, bytes: u64) {
        self.outstanding += bytes;
    }

    /// The bytes in all.
    pub(crate) fn total(&self) -> u64 {
        self.queues.iter().sum::<u64>() + self.outstanding
    }

    /// The longest that a queue may be, in bytes, so that all together have at most `limit`. `None` if they have less
    /// without a limit. At least half of the limit is for queues, so that subscribers that read nothing leave room for
    /// the others.
    ///
    /// Short queues stay as they are. All queues that must give way get the same limit.
    pub(crate) fn queue_len_max(mut self, limit: u64) -> Option<u64> {
        if self.total() <= limit {
            return None;
        }
        let mut left = limit - self.outstanding.min(limit / 2);
        self.queues.sort_unstable();
        let mut count = self.queues.len() as u64;
        for len in self.queues {
            let share = left / count;
            if len > share {
                return Some(share);
            }
            left -= len;
            count -= 1;
        }
        None
    }
}

/// The shared bytes of each queue of a topic, without those that another queue holds already.
///
/// Queues get the same events, so queues whose events came in the same time hold the same events. The queue of a
/// subscriber that stopped earlier holds others. Within a queue, the bytes count as evenly spread over its time.
fn distinct_parts(subscribers: &mut Vec<QueueUse>) -> Vec<u64> {
    subscribers.retain(|it| it.shared > 0 && it.span.is_some());
    subscribers.sort_unstable_by_key(|it| it.span);
    let longest = subscribers.iter().map(|it| it.shared).max().unwrap_or(0);
    let mut parts = Vec::new();
    let mut covered = None;
    for (shared, (oldest, newest)) in subscribers
        .iter()
        .filter_map(|it| Some((it.shared, it.span?)))
    {
        match covered {
            Some(until) if newest <= until => {}
            Some(until) if oldest <= until => {
                let new = newest.saturating_duration_since(until).as_secs_f64();
                let all = newest.saturating_duration_since(oldest).as_secs_f64();
                parts.push((shared as f64 * (new / all)) as u64);
                covered = Some(newest);
            }
            _ => {
                parts.push(shared);
                covered = Some(newest);
            }
        }
    }
    // Events are not really spread evenly, but the whole of the longest queue must count.
    let missing = longest.saturating_sub(parts.iter().sum());
    if let Some(first) = parts.first_mut() {
        *first += missing;
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of_queues(queues: Vec<u64>) -> MemoryUse {
        MemoryUse {
            queues,
            outstanding: 0,
        }
    }

    fn queue(begun: Instant, from: u64, to: u64, shared: u64) -> QueueUse {
        let at = |seconds| begun + Duration::from_secs(seconds);
        QueueUse {
            shared,
            exclusive: 0,
            outstanding: 0,
            span: Some((at(from), at(to))),
        }
    }

    fn total(subscribers: Vec<QueueUse>) -> u64 {
        let mut used = MemoryUse::default();
        used.add_topic(subscribers);
        used.total()
    }

    #[test]
    fn nothing_is_cut_while_all_fits() {
        assert_eq!(of_queues(vec![]).queue_len_max(0), None);
        assert_eq!(of_queues(vec![3, 4]).queue_len_max(7), None);
    }

    #[test]
    fn long_queues_share_what_short_ones_leave() {
        assert_eq!(of_queues(vec![100, 1, 50, 2]).queue_len_max(23), Some(10));
        assert_eq!(of_queues(vec![100]).queue_len_max(23), Some(23));
        assert_eq!(of_queues(vec![5, 5, 5]).queue_len_max(14), Some(4));
    }

    #[test]
    fn what_is_left_is_within_the_limit() {
        for limit in 0..200 {
            let queues: Vec<u64> = vec![0, 1, 7, 7, 40, 90];
            let cut = of_queues(queues.clone())
                .queue_len_max(limit)
                .unwrap_or(u64::MAX);
            let left: u64 = queues.iter().map(|len| len.min(&cut)).sum();
            assert!(left <= limit, "{limit}: {cut}");
        }
    }

    #[test]
    fn queues_of_the_same_time_share_their_events() {
        let now = Instant::now();
        let (long, short) = (queue(now, 0, 10, 100), queue(now, 5, 10, 50));
        assert_eq!(total(vec![short, long, long]), 100);
        assert_eq!(total(vec![queue(now, 0, 10, 60), short, long]), 100);
        let single = queue(now, 3, 3, 7);
        assert_eq!(total(vec![single, single]), 7);
    }

    #[test]
    fn queues_of_different_times_hold_different_events() {
        let now = Instant::now();
        let first = queue(now, 0, 10, 100);
        assert_eq!(total(vec![queue(now, 20, 30, 100), first]), 200);
        assert_eq!(total(vec![first, queue(now, 5, 15, 100)]), 150);
    }

    #[test]
    fn exclusive_and_outstanding_bytes_count_for_each_subscriber() {
        let own = QueueUse {
            exclusive: 30,
            outstanding: 4,
            ..queue(Instant::now(), 0, 1, 100)
        };
        assert_eq!(total(vec![own, own]), 168);
    }

    #[test]
    fn outstanding_bytes_leave_half_of_the_limit_to_queues() {
        let used = |outstanding| MemoryUse {
            queues: vec![100, 100],
            outstanding,
        };
        assert_eq!(used(20).queue_len_max(100), Some(40));
        assert_eq!(used(1000).queue_len_max(100), Some(25));
    }
}
