//! What wraps an invocation on its way to a connection, and a dispatch on its way to a servant. A
//! file per concern.
//!
//! The traits are in `invoker/` and `dispatch/`. Here are ready interceptors, written against these traits alone.
//!
//! Where there is none, nothing is allocated and nothing is copied for their sake.

mod deadline;
mod logging;
mod metrics;
mod retry;

pub use deadline::Deadline;
pub use logging::Logging;
pub use metrics::{LATENCY_BUCKETS, Metrics, OperationMetrics};
pub use retry::Retry;

pub use crate::dispatch::{DispatchInterceptor, NextDispatch};
pub use crate::invoker::{
    Intercepted, Interceptor, Interceptors, Invocation, InvokeFuture, Invoker, Next,
};
