//! The pace of long work: other tasks run between its steps.

/// Counts what a task has looked at, and lets other tasks run when it is much.
#[derive(Default)]
pub(super) struct Pace {
    looked_at: usize,
}

/// Topics or subscribers that are taken from a list at a time, while its lock is held.
pub(super) const STEP: usize = if cfg!(test) { 16 } else { 128 };
/// Topics and subscribers that are looked at before other tasks run.
pub(super) const LOOKED_AT_MAX: usize = 32 * STEP;

impl Pace {
    /// Counts that this many were looked at. Returns true if other tasks should run now.
    pub(super) fn is_due(&mut self, count: usize) -> bool {
        self.looked_at += count;
        let is_due = self.looked_at >= LOOKED_AT_MAX;
        if is_due {
            self.looked_at = 0;
        }
        is_due
    }

    /// Counts that this many were looked at, and lets other tasks run if it is time. Returns true if it did.
    pub(super) async fn yield_if_due(&mut self, count: usize) -> bool {
        let is_due = self.is_due(count);
        if is_due {
            tokio::task::yield_now().await;
        }
        is_due
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use super::*;

    /// Runs a task to its end. Returns how many times it let other tasks run.
    pub(in crate::service) async fn pauses<T>(task: impl Future<Output = T>) -> usize {
        let (mut task, mut count) = (pin!(task), 0);
        poll_fn(|context| {
            let polled = task.as_mut().poll(context);
            count += usize::from(polled.is_pending());
            polled
        })
        .await;
        count
    }

    #[tokio::test]
    async fn other_tasks_run_each_time_that_so_many_were_looked_at() {
        let mut pace = Pace::default();
        let looks = async {
            for _ in 0..10 * LOOKED_AT_MAX {
                pace.yield_if_due(1).await;
            }
        };
        assert_eq!(pauses(looks).await, 10);
    }
}
