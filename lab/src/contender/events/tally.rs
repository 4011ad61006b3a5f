//! Checks that a subscriber got all events in order, and measures their rate.

use super::case::Case;
use super::number::{Number, now};
use crate::contender::{Failure, announce};
use crate::measure::Effort;
use crate::sample::Sample;

/// Counts the events of a subscriber, and tells the lab when all publishers are heard and when all have ended.
#[derive(Debug)]
pub(crate) struct Tally {
    case: Case,
    effort: Effort,
    publishers: Vec<Heard>,
    /// Publishers of which nothing was heard yet.
    unheard: usize,
    /// Publishers that have not ended.
    unended: usize,
    window: Window,
    delays: Sample,
}

/// The events that were heard of a publisher.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    is_heard: bool,
    is_measured: bool,
    /// Ticks.
    count: u64,
    /// The value of the last tick.
    last: u64,
}

/// The part of the run in which ticks are counted: from the first mark until the time of a round is over, or
/// until nothing follows. What comes later is not counted, and how much later says nothing: where events are sent
/// in batches, the rest of them waits for a timer, which no round is long enough for.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    /// Nanoseconds; 0 before the first mark.
    from: u64,
    /// Nanoseconds; 0 while it is open.
    until: u64,
    count: u64,
}

impl Tally {
    pub(crate) fn new(case: Case, effort: Effort) -> Self {
        Self {
            case,
            effort,
            publishers: vec![Heard::default(); case.publishers],
            unheard: case.publishers,
            unended: case.publishers,
            window: Window::default(),
            delays: Sample::new(),
        }
    }

    /// Takes an event.
    ///
    /// # Errors
    /// One is missing, came twice or out of order, or is of nobody.
    pub(crate) fn take(&mut self, number: i64) -> Result<(), Failure> {
        let (index, number) = Number::decode(number);
        let count = self.publishers.len();
        let heard = self.publishers.get_mut(index);
        let heard =
            heard.ok_or_else(|| format!("expected {count} publishers, got number {index}"))?;
        match number {
            Number::Probe if !heard.is_heard => {
                heard.is_heard = true;
                self.unheard -= 1;
                if self.unheard == 0 {
                    announce("ready")?;
                }
            }
            Number::Probe => {}
            Number::Tick(value) => {
                heard.check(self.case, value, index)?;
                heard.count += 1;
                heard.last = value;
                if self.case.is_timed() {
                    if heard.is_measured {
                        self.delays.record(now().saturating_sub(value) as f64, 1);
                    }
                } else {
                    self.window.count(self.effort);
                }
            }
            Number::Mark(count) => {
                heard.expect(count, index)?;
                heard.is_measured = true;
                self.window.open();
            }
            Number::End(count) => {
                heard.expect(count, index)?;
                self.unended -= 1;
                if self.unended == 0 {
                    self.report()?;
                }
            }
        }
        Ok(())
    }

    fn report(&mut self) -> Result<(), Failure> {
        let delivered: u64 = self.publishers.iter().map(|heard| heard.count).sum();
        let mut sample = std::mem::replace(&mut self.delays, Sample::new());
        if !self.case.is_timed() {
            sample.record(self.window.rate(self.effort), 1);
        }
        announce(&sample.to_delivered_line(delivered))
    }
}

impl Heard {
    /// Checks that this tick follows those that were heard.
    fn check(&self, case: Case, value: u64, publisher: usize) -> Result<(), Failure> {
        let (is_next, expected) = match case.is_timed() {
            // Times grow. If one is missing, the count at the end shows it.
            true => (value > self.last, self.last + 1),
            false => (value == self.count, self.count),
        };
        if is_next {
            return Ok(());
        }
        Err(format!(
            "expected tick {expected} of publisher {publisher}, got {value}: events were lost, or came \
             twice or out of order"
        )
        .into())
    }

    fn expect(&self, count: u64, publisher: usize) -> Result<(), Failure> {
        if self.count == count {
            return Ok(());
        }
        let got = self.count;
        Err(
            format!("expected {count} ticks of publisher {publisher}, got {got}: events were lost")
                .into(),
        )
    }
}

impl Window {
    fn open(&mut self) {
        if self.from == 0 {
            self.from = now();
        }
    }

    fn count(&mut self, effort: Effort) {
        if self.from == 0 || self.until != 0 {
            return;
        }
        // To read the clock takes as long as the rest of it.
        if self.count.is_multiple_of(32) && now() >= self.end(effort) {
            self.until = self.end(effort);
            return;
        }
        self.count += 1;
    }

    fn end(&self, effort: Effort) -> u64 {
        self.from
            .saturating_add(effort.round_time.as_nanos() as u64)
    }

    /// Ticks a second.
    fn rate(&mut self, effort: Effort) -> f64 {
        if self.until == 0 {
            self.until = now().min(self.end(effort));
        }
        self.count as f64 * 1e9 / (self.until - self.from).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tally(case: &str) -> Tally {
        let round_time = Duration::from_millis(50);
        Tally::new(Case::parse(case).unwrap(), Effort { round_time })
    }

    fn take(tally: &mut Tally, publisher: usize, numbers: &[Number]) -> Result<(), String> {
        let mut numbers = numbers.iter();
        numbers.try_for_each(|number| {
            let taken = tally.take(number.encode(publisher));
            taken.map_err(|error| error.to_string())
        })
    }

    use Number::{End, Mark, Probe, Tick};

    #[test]
    fn an_event_that_is_missing_ends_the_run() {
        let mut tally = tally("batched-2-1");
        take(&mut tally, 0, &[Probe, Probe, Tick(0), Tick(1)]).unwrap();
        take(&mut tally, 1, &[Tick(0)]).unwrap();
        let error = take(&mut tally, 0, &[Tick(3)]).unwrap_err();
        assert!(
            error.starts_with("expected tick 2 of publisher 0, got 3: events were lost"),
            "{error}"
        );
        assert!(take(&mut tally, 0, &[Tick(1)]).is_err());
        assert!(take(&mut tally, 2, &[Tick(0)]).is_err());
    }

    #[test]
    fn one_that_is_missing_in_front_of_the_end_is_missed() {
        let mut tally = tally("latency-1-1");
        take(&mut tally, 0, &[Tick(10), Mark(1), Tick(12)]).unwrap();
        assert!(take(&mut tally, 0, &[Tick(11)]).is_err());
        let error = take(&mut tally, 0, &[End(3)]).unwrap_err();
        assert_eq!(
            error,
            "expected 3 ticks of publisher 0, got 2: events were lost"
        );
    }

    #[test]
    fn what_comes_before_the_mark_is_not_measured() {
        let mut early = tally("latency-1-1");
        take(&mut early, 0, &[Tick(1), Mark(1)]).unwrap();
        assert_eq!(early.delays.count(), 0);
        take(&mut early, 0, &[Tick(2)]).unwrap();
        assert_eq!(early.delays.count(), 1);
        let mut many = tally("twoway-1-1");
        take(&mut many, 0, &[Tick(0), Mark(1), Tick(1), Tick(2)]).unwrap();
        assert_eq!(many.window.count, 2);
        assert!(many.window.rate(many.effort) > 0.0);
    }

    #[test]
    fn under_load_it_is_the_time_of_each_event_that_is_measured() {
        let mut loaded = tally("load-2-1");
        take(&mut loaded, 0, &[Tick(5), Mark(1), Tick(8), Tick(9)]).unwrap();
        take(&mut loaded, 1, &[Tick(7), Mark(1), Tick(8)]).unwrap();
        assert_eq!(loaded.delays.count(), 3);
        assert!(take(&mut loaded, 0, &[Tick(9)]).is_err());
        assert!(take(&mut loaded, 0, &[End(4)]).is_err());
        take(&mut loaded, 0, &[End(3)]).unwrap();
    }

    #[test]
    fn what_comes_after_the_time_of_a_round_is_not_measured() {
        let mut late = tally("batched-1-1");
        let tick = |value| Tick(value);
        take(&mut late, 0, &[Mark(0)]).unwrap();
        take(&mut late, 0, &(0..32).map(tick).collect::<Vec<_>>()).unwrap();
        // The rest of the batches, when the round has long been over.
        late.window.from -= 10 * late.effort.round_time.as_nanos() as u64;
        take(&mut late, 0, &(32..64).map(tick).collect::<Vec<_>>()).unwrap();
        take(&mut late, 0, &[End(64)]).unwrap();
        let seconds = late.effort.round_time.as_secs_f64();
        assert_eq!(late.window.count, 32);
        assert!((late.window.rate(late.effort) - 32.0 / seconds).abs() < 1e-6);
    }
}
