//! Interceptors for invocations on their way to a connection, and for dispatches on their way to a servant. Each
//! concern has a file.
//!
//! The traits are in `invoker/` and `dispatch/`. The interceptors here use these traits alone.
//!
//! A program without interceptors pays nothing for them: nothing is allocated and nothing is copied.

mod deadline;
mod logging;
mod metrics;
mod retry;
mod spans;

pub use deadline::Deadline;
pub use logging::Logging;
pub use metrics::{LATENCY_BUCKETS, Metrics, OperationMetrics};
pub use retry::Retry;

pub use crate::dispatch::{DispatchInterceptor, NextDispatch};
pub use crate::invoker::{
    Intercepted, Interceptor, Interceptors, Invocation, InvokeFuture, Invoker, Next,
};
pub use spans::Spans;
