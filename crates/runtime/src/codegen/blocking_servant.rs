//! Servants without async.

/// Adapts a blocking servant to the async servant trait: generated dispatchers wrap a servant that
/// implements `GreeterBlocking` in it.
#[derive(Debug, Clone, Default)]
pub struct Servant<S>(pub S);
