//! The time limit of an invocation.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection::wait::{is_waiting, wait_until};
use crate::deadline;

/// A time limit that starts now.
pub(super) struct TimeLimit {
    /// The length of the limit.
    pub(super) limit: Duration,
    /// The end of the limit.
    pub(super) deadline: Instant,
    /// Wakes the task. A waiting thread keeps the time itself and needs no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimeLimit {
    pub(super) fn new(limit: Duration) -> Self {
        Self::until(deadline::after(limit), limit)
    }

    /// Makes a limit of this length that ends at `deadline`.
    pub(super) fn until(deadline: Instant, limit: Duration) -> Self {
        Self {
            limit,
            deadline,
            timer: None,
        }
    }

    /// Ready when the time is over. Until then it arranges that the task or the thread is woken at the deadline.
    pub(super) fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !is_waiting(context.waker()) {
            let sleep = || Box::pin(sleep_until(self.deadline));
            let timer = self.timer.get_or_insert_with(sleep);
            return timer.as_mut().poll(context);
        }
        if Instant::now() >= self.deadline {
            return Poll::Ready(());
        }
        wait_until(self.deadline.into_std());
        Poll::Pending
    }

    /// Returns the output of a future, or `None` if it is not done in time.
    pub(super) async fn bound<F: Future>(mut self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll_over(context).map(|()| None),
        })
        .await
    }
}
