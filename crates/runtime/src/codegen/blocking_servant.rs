//! Servants without async.

/// A servant whose functions block, as one whose functions do not: what generated dispatchers make
/// of a servant that implements `GreeterBlocking`.
#[derive(Debug, Clone, Default)]
pub struct Servant<S>(pub S);
