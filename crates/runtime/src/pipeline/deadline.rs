//! A deadline for invocations that have none, or a later one.

use std::time::Duration;

use super::{Interceptor, Invocation, InvokeFuture, Next};
use crate::deadline;

/// Gives every invocation a limit in time. One that has an earlier deadline keeps it.
///
/// Inside a [`Retry`](super::Retry) the limit is that of each attempt; around one, of all together.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    limit: Duration,
}

impl Deadline {
    /// A limit to the wait for a reply.
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
