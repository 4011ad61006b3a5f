//! What wraps an invocation on its way to a connection, and a dispatch on its way to a servant. A
//! file per concern.
//!
//! - `invocation.rs`: the caller's side
//! - `dispatch.rs`: the servant's side
//! - `deadline.rs`, `logging.rs`, `metrics.rs`, `retry.rs`, `spans.rs`: ready ones
//!
//! Where there is none, nothing is allocated and nothing is copied for their sake.

mod deadline;
pub(crate) mod dispatch;
mod invocation;
mod logging;
mod metrics;
pub(crate) mod retry;
mod spans;

pub use deadline::Deadline;
pub use dispatch::{DispatchInterceptor, NextDispatch};
pub use invocation::{Interceptor, Interceptors, Invocation, InvokeFuture, Next};
pub use logging::Logging;
pub use metrics::{LATENCY_BUCKETS, Metrics, OperationMetrics};
pub use retry::Retry;
pub use spans::Spans;
