//! The size of a window of events in flight, which grows and shrinks automatically.

use std::time::Duration;

/// The size of the window of one subscriber.
///
/// It begins with the size that IceStorm has. It grows by one for each answer that comes in order while the window is
/// full, so it doubles in the time of an answer. It stops growing when answers take longer than [`TIME_MAX`]: the
/// subscriber is then busy, and more requests would only wait there. While answers take longer than that, it halves,
/// once in the time of an answer. A failure, or an answer that overtakes another one, sets it back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// The size at first, and after trouble.
    first: usize,
    max: usize,
    size: usize,
    /// The shortest time that an answer took.
    shortest: Duration,
    /// Answers to events before this number say nothing about the current size, because they were sent before it was
    /// reduced.
    reduced_at: u64,
}

/// The sizes that a window may have: at first, and at most. It is kept for each subscriber, and so as short as possible.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowLimits {
    first: u16,
    max: u16,
}

impl WindowLimits {
    /// The limit on what a subscriber may ask for ([`OUTSTANDING_LIMIT`](super::qos::OUTSTANDING_LIMIT)) fits.
    pub(super) fn new(first: usize, max: usize) -> Self {
        let short = |size: usize| u16::try_from(size).unwrap_or(u16::MAX);
        Self {
            first: short(first),
            max: short(max),
        }
    }
}

impl From<WindowLimits> for Window {
    fn from(limits: WindowLimits) -> Self {
        Self::new(limits.first.into(), limits.max.into())
    }
}

/// Answers, the last of which is about the size of the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    /// How many events were answered together.
    pub(super) count: usize,
    /// The number of the last one.
    pub(super) last: u64,
    /// The time from its sending to its answer.
    pub(super) time: Duration,
    /// True if no earlier event is in flight.
    pub(super) is_in_order: bool,
    /// True if the window was full before.
    pub(super) was_full: bool,
    /// The number of the event that is sent next.
    pub(super) next: u64,
}

/// An answer may take this long without keeping the window from growing. A subscriber that works on each event for some
/// time therefore has only events for this time before it. If its connection breaks, no more are in doubt.
const TIME_MAX: Duration = Duration::from_millis(100);
/// On a connection with a long delay, an answer may take this many times as long as the shortest one instead.
const TIME_RATIO: u32 = 2;

impl Window {
    pub(crate) fn new(first: usize, max: usize) -> Self {
        let max = max.max(first);
        Self {
            first,
            max,
            size: first,
            shortest: Duration::MAX,
            reduced_at: 0,
        }
    }

    /// How many events may be in flight now.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// How many events may be in flight at most.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// The size at first, and after trouble.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Returns true if its size can change.
    pub(super) fn may_grow(&self) -> bool {
        self.max > self.first
    }

    /// Events were answered without a failure.
    pub(super) fn handle_answered(&mut self, answered: Answered) {
        if !self.may_grow() {
            return;
        }
        if !answered.is_in_order {
            return self.handle_trouble(answered.next);
        }
        self.shortest = self.shortest.min(answered.time);
        let is_late =
            answered.time > TIME_MAX && answered.time > self.shortest.saturating_mul(TIME_RATIO);
        if is_late {
            if answered.last >= self.reduced_at {
                self.size = (self.size / 2).max(self.first);
                self.reduced_at = answered.next;
            }
        } else if answered.was_full && answered.last >= self.reduced_at {
            self.size = (self.size + answered.count).min(self.max);
        }
    }

    /// An event failed, or an answer overtook another one. `next` is the number of the event that is sent next.
    pub(super) fn handle_trouble(&mut self, next: u64) {
        self.size = self.first;
        self.reduced_at = next;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 1024;

    /// A subscriber that works on one event after the other, at the end of a connection.
    #[derive(Debug, Clone, Copy)]
    struct Peer {
        /// The time of an event and of its answer on the way.
        delay: Duration,
        /// How long it works on an event.
        work: Duration,
    }

    /// Lets a peer answer this many events, while there are always events to send. Returns the largest number of
    /// events in flight, and the rate of answers.
    fn run(window: &mut Window, peer: Peer, numbers: std::ops::Range<u64>) -> (usize, f64) {
        let (mut next, mut now) = (numbers.start, Duration::ZERO);
        let mut idle_from = Duration::ZERO;
        let mut sent: VecDeque<(Duration, Duration)> = VecDeque::new();
        let mut largest = 0;
        for number in numbers.clone() {
            while sent.len() < window.size() {
                let begins = (now + peer.delay / 2).max(idle_from);
                idle_from = begins + peer.work;
                sent.push_back((now, idle_from + peer.delay / 2));
                next += 1;
            }
            largest = largest.max(sent.len());
            let (since, answered) = sent.pop_front().expect("the window is never 0");
            now = answered;
            window.handle_answered(Answered {
                count: 1,
                last: number,
                time: now - since,
                is_in_order: true,
                was_full: sent.len() + 1 >= window.size(),
                next,
            });
        }
        let count = (numbers.end - numbers.start) as f64;
        (largest, count / now.as_secs_f64())
    }

    fn micros(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    proptest! {
        #[test]
        fn the_size_stays_within_its_limits_and_a_busy_subscriber_has_little_before_it(
            delay in 10..50_000_u64,
            work in 1..400_000_u64,
        ) {
            let peer = Peer { delay: micros(delay), work: micros(work) };
            let mut window = Window::new(5, MAX);
            let (largest, _) = run(&mut window, peer, 0..20_000);
            prop_assert!((5..=MAX).contains(&window.size()));
            // One doubling at most beyond the limit, before the first answer says so.
            let shortest = peer.delay + peer.work * 5;
            let allowed = (shortest * 2).max(TIME_MAX) * 2 + peer.delay + peer.work * 2;
            let worth = peer.work * largest as u32;
            prop_assert!(largest <= 10 || worth <= allowed, "{largest} events: {worth:?}");
        }

        #[test]
        fn a_fast_subscriber_is_kept_busy_whatever_the_delay(
            delay in 100..200_000_u64,
            work in 2..50_u64,
        ) {
            let peer = Peer { delay: micros(delay), work: micros(work) };
            let mut window = Window::new(5, MAX);
            run(&mut window, peer, 0..10_000);
            let (_, rate) = run(&mut window, peer, 10_000..30_000);
            let possible = (1e6 / work as f64).min(MAX as f64 * 1e6 / (delay + work) as f64);
            prop_assert!(rate > possible * 0.4, "{rate} of {possible}");
        }
    }

    #[test]
    fn trouble_sets_it_back_and_it_grows_again() {
        let peer = Peer {
            delay: micros(500),
            work: micros(5),
        };
        let mut window = Window::new(5, MAX);
        run(&mut window, peer, 0..5_000);
        assert!(window.size() > 50);
        window.handle_trouble(5_000);
        assert_eq!(window.size(), 5);
        run(&mut window, peer, 5_000..10_000);
        assert!(window.size() > 50);
    }

    #[test]
    fn a_subscriber_that_answers_out_of_order_has_the_first_size() {
        let mut window = Window::new(5, MAX);
        let answered = Answered {
            count: 5,
            last: 4,
            time: micros(10),
            is_in_order: true,
            was_full: true,
            next: 5,
        };
        window.handle_answered(answered);
        assert_eq!(window.size(), 10);
        window.handle_answered(Answered {
            is_in_order: false,
            last: 9,
            ..answered
        });
        assert_eq!(window.size(), 5);
    }

    #[test]
    fn a_window_that_is_not_full_does_not_grow_and_a_fixed_one_never_does() {
        let answered = Answered {
            count: 1,
            last: 4,
            time: micros(10),
            is_in_order: true,
            was_full: false,
            next: 5,
        };
        let mut window = Window::new(5, MAX);
        window.handle_answered(answered);
        assert_eq!(window.size(), 5);
        let mut fixed = Window::new(1, 1);
        fixed.handle_answered(Answered {
            was_full: true,
            ..answered
        });
        assert_eq!(fixed.size(), 1);
    }
}
