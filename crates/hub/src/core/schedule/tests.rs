//! When rounds rest, and for how long.

use super::*;

const REST_MAX: Duration = Duration::from_millis(1);

/// A schedule with a clock that the test sets.
struct TimedSchedule {
    schedule: Schedule,
    now: Instant,
    /// The number of subscribers that a round serves, the microseconds that it takes, and the number of subscribers that
    /// have several events after a rest.
    served: usize,
    took: u64,
    batched: usize,
}

impl TimedSchedule {
    fn new(served: usize, took: u64) -> Self {
        Self {
            schedule: Schedule::default(),
            now: Instant::now(),
            served,
            took,
            batched: served,
        }
    }

    /// A round whose events come `gap` microseconds after the last round. Returns how many microseconds it rests.
    fn round(&mut self, gap: u64) -> Option<u128> {
        self.now += Duration::from_micros(gap);
        let rest = self.schedule.rest(self.now, REST_MAX);
        if let Some(rest) = rest {
            self.schedule.note_rest();
            self.now += rest;
        }
        let batched = rest.map_or(0, |_| self.batched);
        let mut left = self.served;
        while left > 0 {
            let count = self.schedule.serve(left, 64, self.now);
            left -= count;
            self.now += Duration::from_micros(self.took) * count as u32 / self.served as u32;
            self.schedule.note_served(batched.min(count), || self.now);
        }
        rest.map(|rest| rest.as_micros())
    }

    fn rounds(&mut self, count: usize, gap: u64) -> Vec<Option<u128>> {
        (0..count).map(|_| self.round(gap)).collect()
    }
}

#[test]
fn a_stream_of_events_rests_after_its_first_rounds_and_the_gap_counts() {
    let rests = TimedSchedule::new(10, 50).rounds(7, 20);
    assert_eq!(
        rests,
        [None, None, None, None, Some(380), Some(380), Some(380)]
    );
}

#[test]
fn events_after_a_long_gap_do_not_rest() {
    assert_eq!(TimedSchedule::new(10, 50).rounds(50, 101), [None; 50]);
}

#[test]
fn a_rest_has_a_maximum() {
    let rests = TimedSchedule::new(1000, 10_000).rounds(9, 1);
    assert_eq!(rests[4..], [Some(999); 5]);
}

#[test]
fn a_single_subscriber_is_served_without_a_rest() {
    assert_eq!(TimedSchedule::new(1, 10).rounds(50, 5), [None; 50]);
}

#[test]
fn a_long_gap_ends_the_stream() {
    let mut timed = TimedSchedule::new(10, 100);
    let rested = [10, 10, 10, 10, 10, 10, 101, 10, 10, 10, 10].map(|gap| timed.round(gap));
    let has_rested = rested.map(|rest| rest.is_some());
    assert_eq!(has_rested[..6], [false, false, false, false, true, true]);
    assert_eq!(has_rested[6..], [false, false, false, false, true]);
}

#[test]
fn rests_that_bring_no_events_become_rare() {
    let mut timed = TimedSchedule::new(10, 100);
    timed.batched = 4;
    let rests = timed.rounds(100_000, 10);
    let count = rests.iter().flatten().count();
    assert!((10..40).contains(&count), "{count}");
    // The first useful rest shows that there is a stream again.
    timed.batched = 5;
    let rests = timed.rounds(10_000, 10);
    let first = rests.iter().position(Option::is_some).expect("a rest");
    assert!(rests[first..].iter().all(Option::is_some));
}

#[test]
fn a_subscriber_that_becomes_ready_during_a_round_is_served_in_the_next() {
    let mut schedule = Schedule::default();
    let now = Instant::now();
    assert_eq!(schedule.serve(100, 64, now), 64);
    schedule.note_served(0, || panic!("the round has not ended"));
    assert_eq!(schedule.rest(now, REST_MAX), None);
    assert_eq!(schedule.serve(36 + 64, 64, now), 36);
    schedule.note_served(0, || now);
    assert_eq!(schedule.serve(64, 64, now), 64);
}

#[test]
fn a_maximum_of_zero_turns_rests_off() {
    let mut schedule = Schedule::default();
    let now = Instant::now();
    for _ in 0..50 {
        assert_eq!(schedule.rest(now, Duration::ZERO), None);
        assert_eq!(schedule.serve(10, 64, now), 10);
        schedule.note_served(10, || now + Duration::from_micros(1));
    }
}

#[test]
fn events_are_expected_during_a_stream_without_rests() {
    let expected = |timed: &mut TimedSchedule, gap| {
        let expected = (0..8).map(|_| {
            timed.round(gap);
            timed.schedule.expects_events(REST_MAX)
        });
        expected.collect::<Vec<_>>()
    };
    let of_one = expected(&mut TimedSchedule::new(1, 10), 20);
    assert_eq!(of_one[..4], [false; 4]);
    assert_eq!(of_one[4..], [true; 4]);
    assert_eq!(expected(&mut TimedSchedule::new(1, 10), 101), [false; 8]);
    let mut of_many = TimedSchedule::new(10, 50);
    assert_eq!(expected(&mut of_many, 20), [false; 8]);
    assert!(of_many.schedule.expects_events(Duration::ZERO));
    // The events come after a rest of 40 us would be over.
    let mut of_two = TimedSchedule::new(2, 5);
    assert_eq!(of_two.rounds(8, 60), [None; 8]);
    assert!(of_two.schedule.expects_events(REST_MAX));
    // After a rest that brings no events, the next rounds do not rest.
    of_many.batched = 0;
    assert_eq!(of_many.rounds(1, 20).iter().flatten().count(), 1);
    assert!(of_many.schedule.expects_events(REST_MAX));
}
