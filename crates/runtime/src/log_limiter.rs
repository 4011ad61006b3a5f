//! Limits log lines that peers can provoke: the first lines of a window are logged, the others are
//! counted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// Lines about peers that are logged one by one in a window. Further lines are counted, and the
/// count is logged when the window is over.
const LINES_MAX: u32 = 20;
/// How long a window is.
const WINDOW: Duration = Duration::from_secs(1);

/// Decides which lines are logged; clones share their state.
#[derive(Clone, Default)]
pub(crate) struct LogLimiter {
    /// Never locked while a line is logged.
    window: Arc<Mutex<Window>>,
}

#[derive(Debug, Default)]
struct Window {
    begun: Option<Instant>,
    line_count: u32,
    unlogged_count: u64,
}

/// The limiter's decision about a line.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Logged,
    /// The first line of the window that is only counted. The count must be logged after this time.
    FirstCounted(Duration),
    Counted,
}

impl LogLimiter {
    /// Logs a line as a warning, or counts it. A task of the runtime logs the count when the window
    /// is over. Without a runtime, the count is logged when the next line comes.
    pub(crate) fn warn(&self, runtime: Option<Handle>, line: impl FnOnce() -> String) {
        if self.may_log(runtime) {
            tracing::warn!("{}", line());
        }
    }

    /// Counts a line. Returns true if the caller must log it.
    fn may_log(&self, runtime: Option<Handle>) -> bool {
        let now = Instant::now();
        let (earlier, verdict) = {
            let mut window = self.lock();
            (window.end_if_over(now), window.note(now))
        };
        log_count(earlier);
        match verdict {
            Verdict::Logged => return true,
            Verdict::Counted => {}
            Verdict::FirstCounted(left) => {
                let Some(runtime) = runtime else { return false };
                let own = self.clone();
                runtime.spawn(async move {
                    tokio::time::sleep(left).await;
                    let count = own.lock().end_if_over(Instant::now());
                    log_count(count);
                });
            }
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    /// Ends the window if it is over. Returns how many of its lines were not logged.
    fn end_if_over(&mut self, now: Instant) -> u64 {
        match self.begun {
            Some(begun) if now.saturating_duration_since(begun) < WINDOW => 0,
            _ => std::mem::take(self).unlogged_count,
        }
    }

    fn note(&mut self, now: Instant) -> Verdict {
        let begun = *self.begun.get_or_insert(now);
        self.line_count += 1;
        if self.line_count <= LINES_MAX {
            return Verdict::Logged;
        }
        self.unlogged_count += 1;
        match self.unlogged_count {
            1 => Verdict::FirstCounted((begun + WINDOW).saturating_duration_since(now)),
            _ => Verdict::Counted,
        }
    }
}

fn log_count(count: u64) {
    if count > 0 {
        tracing::warn!(
            "{count} more warnings about peers came in that second; only the first {LINES_MAX} of a \
             second are logged one by one"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted_and_the_count_is_logged_once() {
        let start = Instant::now();
        let mut window = Window::default();
        for _ in 0..LINES_MAX {
            assert_eq!(window.note(start), Verdict::Logged);
        }
        let later = start + WINDOW / 4;
        assert_eq!(window.end_if_over(later), 0);
        assert_eq!(
            window.note(later),
            Verdict::FirstCounted(WINDOW - WINDOW / 4)
        );
        for _ in 0..977 {
            assert_eq!(window.note(later), Verdict::Counted);
        }
        assert_eq!(window.end_if_over(start + WINDOW), 978);
        assert_eq!(
            window.end_if_over(start + WINDOW),
            0,
            "the count is logged once"
        );
        assert_eq!(window.note(start + WINDOW), Verdict::Logged);
    }
}
