//! The time that an invocation has.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::connection::wait::{is_waiting, wait_until};
use crate::deadline;

/// A limit to how long something takes, from now on.
pub(super) struct TimeLimit {
    /// How long it may take.
    pub(super) limit: Duration,
    /// When it must have ended.
    pub(super) deadline: Instant,
    /// Wakes the task. A thread that waits keeps the time itself, and needs none.
    timer: Option<Pin<Box<Sleep>>>,
}

impl TimeLimit {
    pub(super) fn new(limit: Duration) -> Self {
        Self::until(deadline::after(limit), limit)
    }

    /// One that ends then, because what it limits may take this long.
    pub(super) fn until(deadline: Instant, limit: Duration) -> Self {
        Self {
            limit,
            deadline,
            timer: None,
        }
    }

    /// Whether the time is over; if not, the task or the thread is woken when it is.
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

    /// The output of a future, if it is done in time.
    pub(super) async fn bound<F: Future>(mut self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll_over(context).map(|()| None),
        })
        .await
    }
}
