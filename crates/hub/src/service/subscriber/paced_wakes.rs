//! Wakes many delivery tasks a few at a time, so that one event for thousands of subscribers does not keep all other
//! tasks waiting.
//!
//! A task that is woken runs before the tasks that are woken after it. A delivery task often connects, which takes some
//! system calls. So if there are many wakes at a time, all but a small number wait here, and the pacer wakes a few
//! tasks in each round of the runtime.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::MutexGuard;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::lock::Mutex;

/// The wakes of delivery tasks.
#[derive(Default)]
pub(crate) struct PacedWakes(Mutex<Wakes>);

#[derive(Default)]
struct Wakes {
    /// When the count began.
    since: Option<Instant>,
    /// Tasks that were woken without a wait since then.
    count: usize,
    /// In the order in which they are to be woken.
    waiting: VecDeque<Waker>,
    /// Wakes the pacer, which waits.
    pacer: Option<Waker>,
    /// True if there is a pacer. Without one, nothing waits.
    is_paced: bool,
}

/// Tasks that are woken without a wait in each [`BURST_INTERVAL`].
const BURST: usize = 64;
const BURST_INTERVAL: Duration = Duration::from_millis(1);
/// Tasks that the pacer wakes before others have their turn.
const STEP: usize = 16;

impl PacedWakes {
    /// Wakes a task, now or a little later.
    pub(crate) fn wake(&self, task: Waker, now: Instant) {
        let mut wakes = self.lock();
        let is_new = |since| now.saturating_duration_since(since) >= BURST_INTERVAL;
        if wakes.since.is_none_or(is_new) {
            (wakes.since, wakes.count) = (Some(now), 0);
        }
        wakes.count += 1;
        if !wakes.is_paced || wakes.waiting.is_empty() && wakes.count <= BURST {
            drop(wakes);
            return task.wake();
        }
        wakes.waiting.push_back(task);
        let pacer = wakes.pacer.take();
        drop(wakes);
        if let Some(pacer) = pacer {
            pacer.wake();
        }
    }

    /// Wakes the tasks that wait. It never completes; when it is dropped, it wakes all of them.
    pub(crate) async fn pace(&self) {
        let _pacer = Pacer::begin(self);
        poll_fn(|context| {
            let mut wakes = self.lock();
            let count = wakes.waiting.len().min(STEP);
            let next: Vec<_> = wakes.waiting.drain(..count).collect();
            let is_all = wakes.waiting.is_empty();
            if is_all {
                wakes.pacer = Some(context.waker().clone());
            }
            drop(wakes);
            next.into_iter().for_each(Waker::wake);
            if !is_all {
                // Behind the tasks that were just woken.
                context.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, Wakes> {
        self.0.lock()
    }
}

/// A running pacer.
struct Pacer<'a>(&'a PacedWakes);

impl<'a> Pacer<'a> {
    fn begin(wakes: &'a PacedWakes) -> Self {
        wakes.lock().is_paced = true;
        Self(wakes)
    }
}

impl Drop for Pacer<'_> {
    fn drop(&mut self) {
        let mut wakes = self.0.lock();
        wakes.is_paced = false;
        wakes.pacer = None;
        let waiting = std::mem::take(&mut wakes.waiting);
        drop(wakes);
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_burst_is_woken_a_few_at_a_time() {
        let (wakes, woken) = (PacedWakes::default(), Arc::<Woken>::default());
        let count = || woken.0.load(Ordering::Relaxed);
        let mut pacer = Box::pin(wakes.pace());
        let mut context = Context::from_waker(Waker::noop());
        assert!(pacer.as_mut().poll(&mut context).is_pending());
        let now = Instant::now();
        for _ in 0..BURST + 2 * STEP + 1 {
            wakes.wake(woken.clone().into(), now);
        }
        assert_eq!(count(), BURST);
        for expected in [STEP, 2 * STEP, 2 * STEP + 1] {
            assert!(pacer.as_mut().poll(&mut context).is_pending());
            assert_eq!(count(), BURST + expected);
        }
        wakes.wake(woken.clone().into(), now + BURST_INTERVAL);
        assert_eq!(count(), BURST + 2 * STEP + 2, "nothing waits any more");
    }

    #[test]
    fn nothing_waits_without_a_pacer() {
        let (wakes, woken) = (PacedWakes::default(), Arc::<Woken>::default());
        let now = Instant::now();
        let wake_many = || (0..2 * BURST).for_each(|_| wakes.wake(woken.clone().into(), now));
        wake_many();
        assert_eq!(woken.0.load(Ordering::Relaxed), 2 * BURST);
        {
            let mut pacer = pin!(wakes.pace());
            let mut context = Context::from_waker(Waker::noop());
            assert!(pacer.as_mut().poll(&mut context).is_pending());
            wake_many();
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 4 * BURST, "it has ended");
    }
}
