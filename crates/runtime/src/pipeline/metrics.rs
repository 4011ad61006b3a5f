//! Counters and latencies by operation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use floe_wire::message::Outcome;
use tokio::time::Instant;

use super::{DispatchInterceptor, Interceptor, Invocation, InvokeFuture, Next, NextDispatch};
use crate::dispatch::{DispatchFuture, Request};

/// Number of latency buckets: bucket `i` counts latencies below 2^i microseconds, and not below
/// half of that; the last bucket also counts all longer ones.
pub const LATENCY_BUCKETS: usize = 32;

/// Number of operations that are counted separately. A peer may request any name, so further
/// operations count as [`OTHER`].
const OPERATIONS_MAX: usize = 1024;
const OTHER: &str = "(other)";

/// Counts invocations or dispatches. A clone shares the counters. One value can serve both sides;
/// use two to tell them apart.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// Guards the counters. Held for an update, never across a wait.
    operations: Arc<Mutex<BTreeMap<String, OperationMetrics>>>,
}

/// The counters of one operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationMetrics {
    /// Under way now.
    pub current: u64,
    /// Ended with a result, or with no reply due.
    pub succeeded: u64,
    /// Ended with a user exception.
    pub user_exceptions: u64,
    /// Ended with a system exception or an error.
    pub failed: u64,
    /// Cancelled by their caller before they ended.
    pub cancelled: u64,
    /// Total time from begin to end.
    pub total_latency: Duration,
    /// Number of results by latency: see [`LATENCY_BUCKETS`].
    pub latency: [u64; LATENCY_BUCKETS],
}

impl OperationMetrics {
    /// How many ended.
    pub fn ended(&self) -> u64 {
        self.succeeded + self.user_exceptions + self.failed
    }

    /// The latency that this share (0 to 1) of the ended ones did not exceed, rounded up to a power
    /// of two microseconds; `None` if none ended.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (share.clamp(0.0, 1.0) * self.ended() as f64)
            .ceil()
            .max(1.0) as u64;
        let mut count = 0;
        for (bucket, in_bucket) in self.latency.iter().enumerate() {
            count += in_bucket;
            if count >= wanted {
                return Some(Duration::from_micros(1 << bucket));
            }
        }
        None
    }
}

/// How an invocation or dispatch ended.
enum CallEnd {
    Succeeded,
    UserException,
    Failed,
    Cancelled,
}

impl Metrics {
    /// All counters at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// The current counters, by operation.
    pub fn snapshot(&self) -> BTreeMap<String, OperationMetrics> {
        self.lock().clone()
    }

    fn begin(&self, operation: &str) -> Counting<'_> {
        let mut operations = self.lock();
        let is_known = operations.contains_key(operation) || operations.len() < OPERATIONS_MAX;
        let operation = if is_known { operation } else { OTHER };
        operations.entry(operation.to_owned()).or_default().current += 1;
        Counting {
            metrics: self,
            operation: operation.to_owned(),
            start: Instant::now(),
            end: CallEnd::Cancelled,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, OperationMetrics>> {
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the end of an invocation or dispatch when it is dropped, however it ended.
struct Counting<'a> {
    metrics: &'a Metrics,
    operation: String,
    start: Instant,
    end: CallEnd,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        let elapsed = self.start.elapsed();
        let mut operations = self.metrics.lock();
        let Some(numbers) = operations.get_mut(&self.operation) else {
            return;
        };
        numbers.current -= 1;
        match self.end {
            CallEnd::Succeeded => numbers.succeeded += 1,
            CallEnd::UserException => numbers.user_exceptions += 1,
            CallEnd::Failed => numbers.failed += 1,
            CallEnd::Cancelled => return numbers.cancelled += 1,
        }
        numbers.total_latency += elapsed;
        let bits = u128::BITS - elapsed.as_micros().leading_zeros();
        numbers.latency[(bits as usize).min(LATENCY_BUCKETS - 1)] += 1;
    }
}

impl Interceptor for Metrics {
    fn invoke<'a>(&'a self, invocation: Invocation, next: Next<'a>) -> InvokeFuture<'a> {
        Box::pin(async move {
            let mut counting = self.begin(invocation.operation());
            let result = next.invoke(invocation).await;
            counting.end = match &result {
                Ok(Some(Outcome::UserException(_))) => CallEnd::UserException,
                Ok(_) => CallEnd::Succeeded,
                Err(_) => CallEnd::Failed,
            };
            result
        })
    }
}

impl DispatchInterceptor for Metrics {
    fn dispatch(self: Arc<Self>, request: Request, next: NextDispatch) -> DispatchFuture {
        Box::pin(async move {
            let mut counting = self.begin(request.operation());
            let result = next.dispatch(request).await;
            counting.end = match &result {
                Ok(response) if response.is_user_exception() => CallEnd::UserException,
                Ok(_) => CallEnd::Succeeded,
                Err(_) => CallEnd::Failed,
            };
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_are_counted_together() {
        let metrics = Metrics::new();
        for name in 0..OPERATIONS_MAX + 10 {
            metrics.begin(&name.to_string()).end = CallEnd::Succeeded;
        }
        let snapshot = metrics.snapshot();
        assert_eq!(snapshot.len(), OPERATIONS_MAX + 1);
        assert_eq!(snapshot[OTHER].succeeded, 10);
    }

    #[test]
    fn a_quantile_is_the_upper_end_of_its_bucket() {
        let mut numbers = OperationMetrics::default();
        assert_eq!(numbers.quantile(0.5), None);
        numbers.succeeded = 10;
        numbers.latency[4] = 9;
        numbers.latency[10] = 1;
        assert_eq!(numbers.quantile(0.5), Some(Duration::from_micros(16)));
        assert_eq!(numbers.quantile(1.0), Some(Duration::from_micros(1024)));
    }
}
