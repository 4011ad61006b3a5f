//! What wraps an invocation on its way to a connection. A file per concern.

pub(crate) mod retry;
