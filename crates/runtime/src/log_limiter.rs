//! Log lines that peers can provoke as often as they like: a few, and then a count.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// Lines about peers that are logged one by one in a window; those beyond are counted, and their
/// number is logged when the window is over.
const LINES_MAX: u32 = 20;
/// How long a window is.
const WINDOW: Duration = Duration::from_secs(1);

/// Decides which lines are logged; a clone is the same.
#[derive(Clone, Default)]
pub(crate) struct LogLimiter {
    /// Guards the window; held for a moment.
    window: Arc<Mutex<Window>>,
}

#[derive(Debug, Default)]
struct Window {
    begun: Option<Instant>,
    line_count: u32,
    unlogged_count: u64,
}

/// What becomes of a line.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Logged,
    /// The first that is only counted: somebody has to tell the count when so much time has passed.
    FirstCounted(Duration),
    Counted,
}

impl LogLimiter {
    /// Logs a line as a warning, or counts it. The runtime tells the count later; without one, the
    /// next line does.
    pub(crate) fn warn(&self, runtime: Option<Handle>, line: impl FnOnce() -> String) {
        let now = Instant::now();
        let (earlier, fate) = {
            let mut window = self.lock();
            (window.end_if_over(now), window.note(now))
        };
        tell(earlier);
        match fate {
            Fate::Logged => tracing::warn!("{}", line()),
            Fate::Counted => {}
            Fate::FirstCounted(left) => {
                let Some(runtime) = runtime else { return };
                let own = self.clone();
                runtime.spawn(async move {
                    tokio::time::sleep(left).await;
                    let count = own.lock().end_if_over(Instant::now());
                    tell(count);
                });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    /// How many lines of the last window were not logged, if it is over.
    fn end_if_over(&mut self, now: Instant) -> u64 {
        match self.begun {
            Some(begun) if now.saturating_duration_since(begun) < WINDOW => 0,
            _ => std::mem::take(self).unlogged_count,
        }
    }

    fn note(&mut self, now: Instant) -> Fate {
        let begun = *self.begun.get_or_insert(now);
        self.line_count += 1;
        if self.line_count <= LINES_MAX {
            return Fate::Logged;
        }
        self.unlogged_count += 1;
        match self.unlogged_count {
            1 => Fate::FirstCounted((begun + WINDOW).saturating_duration_since(now)),
            _ => Fate::Counted,
        }
    }
}

fn tell(count: u64) {
    if count > 0 {
        tracing::warn!(
            "{count} more connections were refused or dropped in that second; only the first \
             {LINES_MAX} of a second are logged one by one"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_too_often_is_counted_and_told_once_the_window_is_over() {
        let start = Instant::now();
        let mut window = Window::default();
        for _ in 0..LINES_MAX {
            assert_eq!(window.note(start), Fate::Logged);
        }
        let later = start + WINDOW / 4;
        assert_eq!(window.end_if_over(later), 0);
        assert_eq!(window.note(later), Fate::FirstCounted(WINDOW - WINDOW / 4));
        for _ in 0..977 {
            assert_eq!(window.note(later), Fate::Counted);
        }
        assert_eq!(window.end_if_over(start + WINDOW), 978);
        assert_eq!(window.end_if_over(start + WINDOW), 0, "it is told once");
        assert_eq!(window.note(start + WINDOW), Fate::Logged);
    }
}
