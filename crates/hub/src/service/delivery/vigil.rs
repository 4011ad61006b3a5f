//! Waits that ask whether anything has come instead of sleeping.

use std::pin::pin;
use std::task::Context;
use std::thread;
use std::time::{Duration, Instant};

use tokio::task::yield_now;

/// Keeps the thread of the runtime awake for a while.
///
/// To go to sleep and to be woken by another core takes longer than all else that is done with an event, and most of that
/// time nobody works. While events press, a thread that asks again and again has the next one at once. All
/// else that the runtime has to do is done in between, and so is what other threads of this core have to do. Where
/// those take their time, or nothing comes, it was in vain: then more and more waits sleep as ever.
#[derive(Debug, Default)]
pub(super) struct Vigil {
    /// Until when, while it lasts.
    until: Option<Instant>,
    /// Whether it has looked in vain once: what was there already would have been so for who sleeps.
    has_looked: bool,
    /// So many waits slept after the last one in vain, less what hits have brought back.
    last_asleep: u32,
    /// Waits that are still to sleep.
    asleep_count: u32,
}

impl Vigil {
    /// A core that others took for longer is one that they need. What a peer on the same core does with an event takes
    /// less.
    const OTHERS_MAX: Duration = Duration::from_micros(50);
    /// Waits that sleep after one vigil in vain, and twice as many after the next, up to so many.
    const ASLEEP_MIN: u32 = 4;
    const ASLEEP_MAX: u32 = 4096;

    /// A wait begins, which lasts until then at most. It is awake unless the last ones were so in vain.
    pub(super) fn begin(&mut self, until: Instant, context: &mut Context<'_>) {
        match self.asleep_count.checked_sub(1) {
            Some(left) => self.asleep_count = left,
            None => {
                self.until = Some(until);
                self.has_looked = false;
                come_back(context);
            }
        }
    }

    /// Nothing has come so far: comes back for the next look, or goes to sleep.
    pub(super) fn go_on(&mut self, context: &mut Context<'_>) {
        let Some(until) = self.until else {
            return;
        };
        self.has_looked = true;
        let asked = Instant::now();
        // A peer on this core can answer only if it gets its turn.
        thread::yield_now();
        match is_worthwhile(until.saturating_duration_since(asked), asked.elapsed()) {
            true => come_back(context),
            false => self.end(false),
        }
    }

    /// What was waited for is there.
    pub(super) fn hit(&mut self) {
        self.end(true);
    }

    fn end(&mut self, is_hit: bool) {
        if self.until.take().is_none() {
            return;
        }
        if is_hit {
            self.last_asleep >>= u32::from(self.has_looked);
        } else {
            self.last_asleep = (self.last_asleep * 2).clamp(Self::ASLEEP_MIN, Self::ASLEEP_MAX);
            self.asleep_count = self.last_asleep;
        }
    }
}

/// Whether a wait of which so much was left stays awake after others had the core for so long.
fn is_worthwhile(left: Duration, others_took: Duration) -> bool {
    !left.is_zero() && others_took <= Vigil::OTHERS_MAX
}

/// The runtime looks once for whatever has come, and then asks this task again.
fn come_back(context: &mut Context<'_>) {
    let _ = pin!(yield_now()).poll(context);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// Counts how often it comes back.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether the task would be asked again after this.
    fn comes_back(step: impl FnOnce(&mut Context<'_>)) -> bool {
        let count = Arc::<Count>::default();
        let waker = Waker::from(count.clone());
        step(&mut Context::from_waker(&waker));
        count.0.load(Ordering::Relaxed) > 0
    }

    /// How many of so many waits in which nothing comes are awake at all.
    fn in_vain(vigil: &mut Vigil, count: usize) -> usize {
        let awake = (0..count).map(|_| {
            let is_awake = comes_back(|context| vigil.begin(Instant::now(), context));
            assert!(!comes_back(|context| vigil.go_on(context)));
            usize::from(is_awake)
        });
        awake.sum()
    }

    #[test]
    fn a_wait_is_awake_until_its_time_is_over() {
        let mut vigil = Vigil::default();
        let until = Instant::now() + Duration::from_millis(5);
        assert!(comes_back(|context| vigil.begin(until, context)));
        while comes_back(|context| vigil.go_on(context)) {}
        assert!(vigil.until.is_none());
        assert!(!comes_back(|context| vigil.go_on(context)));
    }

    #[test]
    fn waits_in_vain_sleep_and_one_hit_after_the_other_brings_vigils_back() {
        let mut vigil = Vigil::default();
        let awake = in_vain(&mut vigil, 100_000);
        assert!((10..50).contains(&awake), "{awake}");
        let later = Instant::now() + Duration::from_secs(3600);
        let hits = (0..20_000).map(|_| {
            let is_awake = comes_back(|context| vigil.begin(later, context));
            vigil.has_looked = true;
            vigil.hit();
            is_awake
        });
        let hits: Vec<_> = hits.collect();
        let first = hits.iter().position(|&is_awake| is_awake);
        assert!(first.is_some_and(|first| first <= 4096));
        assert!(hits[first.unwrap()..].iter().all(|&is_awake| is_awake));
        // It was forgotten by and by.
        assert_eq!(in_vain(&mut vigil, 5), 1);
    }

    #[test]
    fn what_was_not_awake_teaches_nothing() {
        let mut vigil = Vigil::default();
        in_vain(&mut vigil, 1);
        let later = Instant::now() + Duration::from_secs(3600);
        assert!(!comes_back(|context| vigil.begin(later, context)));
        vigil.hit();
        assert!(!comes_back(|context| vigil.go_on(context)));
        assert_eq!((vigil.last_asleep, vigil.asleep_count), (4, 3));
    }

    #[test]
    fn what_was_there_already_teaches_nothing() {
        let mut vigil = Vigil::default();
        in_vain(&mut vigil, 1);
        let later = Instant::now() + Duration::from_secs(3600);
        for _ in 0..100 {
            comes_back(|context| vigil.begin(later, context));
            vigil.hit();
        }
        assert_eq!(vigil.last_asleep, 4);
    }

    #[test]
    fn a_vigil_goes_on_while_there_is_time_and_nobody_else_needs_the_core() {
        let micros = Duration::from_micros;
        assert!(is_worthwhile(micros(1), micros(50)));
        assert!(!is_worthwhile(micros(0), micros(1)));
        assert!(!is_worthwhile(micros(100), micros(51)));
        // Others may take the core at any look, but not at each.
        let later = Instant::now() + Duration::from_secs(3600);
        let goes_on = || {
            let mut vigil = Vigil::default();
            comes_back(|context| vigil.begin(later, context));
            comes_back(|context| vigil.go_on(context))
        };
        assert!((0..10_000).any(|_| goes_on()));
    }
}
