//! How long events wait in queues, how long their subscribers take to answer, and both together: counts by duration, which
//! only grow.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The latencies of a hub. Nothing is measured until a program asks for them.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    is_on: AtomicBool,
    waits: Histogram,
    answers: Histogram,
    deliveries: Histogram,
}

/// Batches of events of one twoway subscriber that are in flight: the number of the first event of each, and when its
/// oldest event came. Empty unless latencies are measured.
#[derive(Debug, Default)]
pub(crate) struct SentBatches(VecDeque<(u64, Instant)>);

impl SentBatches {
    /// Forgets all batches: their events are sent in another way, or not at all.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// How many batches of one subscriber are followed at a time. Others are not counted.
const BATCHES_MAX: usize = 1024;

impl Latencies {
    /// Begins to measure.
    pub(crate) fn measure(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Notes events that leave their queue, the oldest of which came at this time.
    #[inline]
    pub(crate) fn note_wait(&self, oldest: Option<Instant>) {
        if let Some(oldest) = oldest.filter(|_| self.is_on.load(Ordering::Relaxed)) {
            self.waits.note(oldest.elapsed());
        }
    }

    /// Notes the answer to this many events that were sent at this time.
    #[inline]
    pub(crate) fn note_answers(&self, events: usize, sent: Instant, now: Instant) {
        if self.is_on.load(Ordering::Relaxed) {
            let time = now.saturating_duration_since(sent);
            self.answers.note_times(events as u64, time);
        }
    }

    /// Notes that events leave their queue, the oldest of which came at this time, and get numbers from `first` on.
    #[inline]
    pub(crate) fn note_batch(
        &self,
        batches: &mut SentBatches,
        first: u64,
        oldest: Option<Instant>,
    ) {
        if let Some(oldest) = oldest.filter(|_| self.is_on.load(Ordering::Relaxed))
            && batches.0.len() < BATCHES_MAX
        {
            batches.0.push_back((first, oldest));
        }
    }

    /// Notes the answers to all events before the number `end`. Answers come nearly in order.
    #[inline]
    pub(crate) fn note_delivered(&self, batches: &mut SentBatches, end: u64, now: Instant) {
        while let Some((_, came)) = batches.0.pop_front_if(|(first, _)| *first < end) {
            self.deliveries.note(now.saturating_duration_since(came));
        }
    }

    /// The counts now.
    pub(crate) fn counts(&self) -> HubLatencies {
        HubLatencies {
            waits: self.waits.counts(),
            answers: self.answers.counts(),
            deliveries: self.deliveries.counts(),
        }
    }
}

/// How long events of a hub took, since it began to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubLatencies {
    /// How long the oldest event waited in its queue, each time that events left a queue.
    pub waits: LatencyCounts,
    /// How long twoway subscribers took to answer, from the moment when an event was sent. Events that had to wait for
    /// a connection, or were sent again, are not counted.
    pub answers: LatencyCounts,
    /// From the moment when the oldest event of a round of deliveries came from its publisher, until the twoway subscriber
    /// answered. Events that were sent again are not counted.
    pub deliveries: LatencyCounts,
}

/// Durations, counted by length.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyCounts {
    /// For each upper bound, in ascending order, the count of durations up to it that are longer than the bound before.
    pub buckets: Vec<(Duration, u64)>,
    /// The count of durations that are longer than all bounds.
    pub longer: u64,
    /// The sum of all durations.
    pub sum: Duration,
}

/// Upper bounds in microseconds.
const BOUNDS: [u64; 19] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
];

#[derive(Debug, Default)]
struct Histogram {
    /// By [`BOUNDS`].
    counts: [AtomicU64; BOUNDS.len()],
    longer: AtomicU64,
    /// In nanoseconds.
    sum: AtomicU64,
}

impl Histogram {
    fn note(&self, time: Duration) {
        self.note_times(1, time);
    }

    /// Counts a duration so many times.
    fn note_times(&self, times: u64, time: Duration) {
        // The bounds include their durations.
        let micros = u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|bound| *bound < micros);
        let count = self.counts.get(at).unwrap_or(&self.longer);
        count.fetch_add(times, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.sum
            .fetch_add(nanos.saturating_mul(times), Ordering::Relaxed);
    }

    fn counts(&self) -> LatencyCounts {
        let counts = self
            .counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        let bounds = BOUNDS.map(Duration::from_micros);
        LatencyCounts {
            buckets: bounds.into_iter().zip(counts).collect(),
            longer: self.longer.load(Ordering::Relaxed),
            sum: Duration::from_nanos(self.sum.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_bucket_of_its_upper_bound() {
        let histogram = Histogram::default();
        for micros in [0, 25, 26, 1_000, 30_000_000, 30_000_001] {
            histogram.note(Duration::from_micros(micros));
        }
        // More than the bound, by less than a microsecond.
        histogram.note(Duration::from_nanos(25_001));
        let counts = histogram.counts();
        let at = |micros| {
            let bound = Duration::from_micros(micros);
            let bucket = counts.buckets.iter().find(|(own, _)| *own == bound);
            bucket.map(|(_, count)| *count)
        };
        assert_eq!(
            [at(25), at(50), at(1_000), at(30_000_000)],
            [2, 2, 1, 1].map(Some)
        );
        assert_eq!(counts.longer, 1);
        assert_eq!(counts.sum, Duration::from_nanos(60_001_052_000 + 25_001));
    }

    #[test]
    fn a_round_is_delivered_when_one_of_its_events_is_answered() {
        let (latencies, mut batches) = (Latencies::default(), SentBatches::default());
        let came = Instant::now();
        let after = |millis| came + Duration::from_millis(millis);
        latencies.note_batch(&mut batches, 0, Some(came));
        assert!(batches.0.is_empty(), "no percentiles were asked for");
        latencies.measure();
        for (first, millis) in [(0, 0), (10, 1), (20, 2)] {
            latencies.note_batch(&mut batches, first, Some(after(millis)));
        }
        latencies.note_delivered(&mut batches, 0, after(3));
        assert_eq!(latencies.counts().deliveries.sum, Duration::ZERO);
        latencies.note_delivered(&mut batches, 5, after(4));
        assert_eq!(latencies.counts().deliveries.sum, Duration::from_millis(4));
        latencies.note_delivered(&mut batches, 11, after(6));
        assert_eq!(latencies.counts().deliveries.sum, Duration::from_millis(9));
        batches.clear();
        latencies.note_delivered(&mut batches, 30, after(9));
        assert_eq!(latencies.counts().deliveries.sum, Duration::from_millis(9));
    }

    #[test]
    fn nothing_is_counted_before_somebody_asks() {
        let latencies = Latencies::default();
        let now = Instant::now();
        latencies.note_answers(3, now, now);
        latencies.note_wait(Some(now));
        let total =
            |counts: &LatencyCounts| counts.buckets.iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(total(&latencies.counts().answers), 0);
        latencies.measure();
        latencies.note_answers(3, now, now);
        latencies.note_wait(None);
        let counts = latencies.counts();
        assert_eq!((total(&counts.answers), total(&counts.waits)), (3, 0));
    }
}
