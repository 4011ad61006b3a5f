//! When rounds rest, and for how long.

use super::*;

const REST_MAX: Duration = Duration::from_millis(1);

/// Schedule in a time that goes on as it is told to.
struct Course {
    schedule: Schedule,
    now: Instant,
    /// How many subscribers a round serves, how long it takes in microseconds, and how many of them have several events
    /// after a rest.
    served: usize,
    took: u64,
    gained: usize,
}

impl Course {
    fn new(served: usize, took: u64) -> Self {
        Self {
            schedule: Schedule::default(),
            now: Instant::now(),
            served,
            took,
            gained: served,
        }
    }

    /// A round whose events come so long after the last one, in microseconds; how long it rests.
    fn round(&mut self, gap: u64) -> Option<u128> {
        self.now += Duration::from_micros(gap);
        let rest = self.schedule.rest(self.now, REST_MAX);
        if let Some(rest) = rest {
            self.schedule.note_rest();
            self.now += rest;
        }
        let gained = rest.map_or(0, |_| self.gained);
        let mut left = self.served;
        while left > 0 {
            let count = self.schedule.serve(left, 64, self.now);
            left -= count;
            self.now += Duration::from_micros(self.took) * count as u32 / self.served as u32;
            self.schedule.note_served(gained.min(count), || self.now);
        }
        rest.map(|rest| rest.as_micros())
    }

    fn rounds(&mut self, count: usize, gap: u64) -> Vec<Option<u128>> {
        (0..count).map(|_| self.round(gap)).collect()
    }
}

#[test]
fn the_first_of_many_events_do_not_rest_and_the_others_do_with_what_has_passed_counted() {
    let rests = Course::new(10, 50).rounds(7, 20);
    assert_eq!(
        rests,
        [None, None, None, None, Some(380), Some(380), Some(380)]
    );
}

#[test]
fn events_that_come_later_than_a_publisher_needs_do_not_rest() {
    assert_eq!(Course::new(10, 50).rounds(50, 101), [None; 50]);
}

#[test]
fn there_is_a_longest_rest() {
    let rests = Course::new(1000, 10_000).rounds(9, 1);
    assert_eq!(rests[4..], [Some(999); 5]);
}

#[test]
fn one_subscriber_alone_is_served_at_once() {
    assert_eq!(Course::new(1, 10).rounds(50, 5), [None; 50]);
}

#[test]
fn a_pause_of_the_publishers_ends_the_stream() {
    let mut course = Course::new(10, 100);
    let rested = [10, 10, 10, 10, 10, 10, 101, 10, 10, 10, 10].map(|gap| course.round(gap));
    let has_rested = rested.map(|rest| rest.is_some());
    assert_eq!(has_rested[..6], [false, false, false, false, true, true]);
    assert_eq!(has_rested[6..], [false, false, false, false, true]);
}

#[test]
fn events_of_which_one_follows_the_other_rest_less_and_less() {
    let mut course = Course::new(10, 100);
    course.gained = 4;
    let rests = course.rounds(100_000, 10);
    let count = rests.iter().flatten().count();
    assert!((10..40).contains(&count), "{count}");
    // A stream is known again by the first rest that is worth it.
    course.gained = 5;
    let rests = course.rounds(10_000, 10);
    let first = rests.iter().position(Option::is_some).expect("a rest");
    assert!(rests[first..].iter().all(Option::is_some));
}

#[test]
fn who_calls_during_a_round_belongs_to_the_next() {
    let mut schedule = Schedule::default();
    let now = Instant::now();
    assert_eq!(schedule.serve(100, 64, now), 64);
    schedule.note_served(0, || panic!("it goes on"));
    assert_eq!(schedule.rest(now, REST_MAX), None);
    assert_eq!(schedule.serve(36 + 64, 64, now), 36);
    schedule.note_served(0, || now);
    assert_eq!(schedule.serve(64, 64, now), 64);
}

#[test]
fn who_wants_no_rests_has_none() {
    let mut schedule = Schedule::default();
    let now = Instant::now();
    for _ in 0..50 {
        assert_eq!(schedule.rest(now, Duration::ZERO), None);
        assert_eq!(schedule.serve(10, 64, now), 10);
        schedule.note_served(10, || now + Duration::from_micros(1));
    }
}

#[test]
fn events_are_awaited_while_they_press_and_do_not_rest() {
    let awaited = |course: &mut Course, gap| {
        let awaited = (0..8).map(|_| {
            course.round(gap);
            course.schedule.are_awaited(REST_MAX)
        });
        awaited.collect::<Vec<_>>()
    };
    let of_one = awaited(&mut Course::new(1, 10), 20);
    assert_eq!(of_one[..4], [false; 4]);
    assert_eq!(of_one[4..], [true; 4]);
    assert_eq!(awaited(&mut Course::new(1, 10), 101), [false; 8]);
    let mut of_many = Course::new(10, 50);
    assert_eq!(awaited(&mut of_many, 20), [false; 8]);
    assert!(of_many.schedule.are_awaited(Duration::ZERO));
    // They come when a rest of 40 us is over.
    let mut of_two = Course::new(2, 5);
    assert_eq!(of_two.rounds(8, 60), [None; 8]);
    assert!(of_two.schedule.are_awaited(REST_MAX));
    // A rest in vain has others follow that are none.
    of_many.gained = 0;
    assert_eq!(of_many.rounds(1, 20).iter().flatten().count(), 1);
    assert!(of_many.schedule.are_awaited(REST_MAX));
}
