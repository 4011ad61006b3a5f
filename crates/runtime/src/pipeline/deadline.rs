//! An interceptor that sets a deadline on invocations.

use std::time::Duration;

use super::{Interceptor, Invocation, InvokeFuture, Next};
use crate::deadline;

/// Limits the time of every invocation. An invocation with an earlier deadline keeps that.
///
/// Inside a [`Retry`](super::Retry) the limit holds for each attempt; around one, for all attempts
/// together.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    limit: Duration,
}

impl Deadline {
    /// Makes an interceptor with this limit for an invocation.
    pub fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl Interceptor for Deadline {
    fn invoke<'a>(&'a self, mut invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        let ours = deadline::after(self.limit);
        let theirs = invocation.deadline();
        invocation.set_deadline(Some(theirs.map_or(ours, |theirs| theirs.min(ours))));
        next.invoke(invocation)
    }
}
