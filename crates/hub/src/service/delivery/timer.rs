//! Pauses shorter than a millisecond, the resolution of tokio's timers.

use std::task::{Context, Poll};
use std::time::Duration;

#[cfg(target_os = "linux")]
use linux::TimerFd;

/// A timer of the operating system. On systems without one there are no pauses.
pub(super) struct Timer {
    #[cfg(target_os = "linux")]
    timer: Option<TimerFd>,
}

#[cfg(target_os = "linux")]
impl Timer {
    /// Creates a timer that belongs to the current runtime.
    pub(super) fn new() -> Self {
        let timer = TimerFd::new();
        if let Err(error) = &timer {
            tracing::debug!(
                "deliveries do not rest, because the system provides no timer: {error}"
            );
        }
        Self { timer: timer.ok() }
    }

    /// Returns true if this system has such a timer.
    pub(super) fn is_possible(&self) -> bool {
        self.timer.is_some()
    }

    /// Begins a pause. Returns false if it cannot.
    pub(super) fn begin(&mut self, length: Duration) -> bool {
        let begun = |timer: &TimerFd| timer.begin(length).is_ok();
        self.timer.as_ref().is_some_and(begun)
    }

    /// Waits until the pause ends.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &self.timer {
            Some(timer) => timer.poll(context),
            None => Poll::Ready(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Timer {
    /// This system has no such timer.
    pub(super) fn new() -> Self {
        Self {}
    }

    /// Always false.
    pub(super) fn is_possible(&self) -> bool {
        false
    }

    /// Always false: no pause begins.
    pub(super) fn begin(&mut self, _length: Duration) -> bool {
        false
    }

    /// Always ready: no pause has begun.
    pub(super) fn poll(&mut self, _context: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::task::{Context, Poll, ready};
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    pub(super) struct TimerFd(AsyncFd<OwnedFd>);

    impl TimerFd {
        // The replacement of `with_interest` is unsafe, for types that do not own their descriptor. This type owns it.
        #[allow(deprecated)]
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
        }

        pub(super) fn begin(&self, length: Duration) -> io::Result<()> {
            let once = Itimerspec {
                it_interval: Timespec::default(),
                it_value: Timespec::try_from(length).map_err(io::Error::other)?,
            };
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
            Ok(())
        }

        pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
            if let Ok(mut ready) = ready!(self.0.poll_read_ready(context)) {
                // The timer is not read. It reports each end anew, and beginning again discards the last one.
                ready.clear_ready();
            }
            Poll::Ready(())
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::future::poll_fn;
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn each_pause_lasts_as_long_as_it_shall_at_least() {
        let mut timer = Timer::new();
        for micros in [1, 300, 20, 2000, 100] {
            let (start, length) = (Instant::now(), Duration::from_micros(micros));
            assert!(timer.begin(length));
            poll_fn(|context| timer.poll(context)).await;
            assert!(start.elapsed() >= length, "{micros} us");
        }
    }
}
