//! Invocations: requests before they are sent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use floe_wire::message::{Context, OperationMode};
use floe_wire::reference::Reference;
use tokio::time::Instant;

/// A request before it is sent. A clone shares the parameters.
#[derive(Debug, Clone)]
pub struct Invocation {
    target: Arc<Reference>,
    operation: Arc<str>,
    mode: OperationMode,
    context: Context,
    deadline: Option<Instant>,
    parameters: Bytes,
}

impl Invocation {
    /// Makes an invocation of an operation. The parameters are a whole encapsulation. It has no context and no deadline
    /// yet.
    pub fn new(
        target: impl Into<Arc<Reference>>,
        operation: &str,
        mode: OperationMode,
        parameters: impl Into<Bytes>,
    ) -> Self {
        Self {
            target: target.into(),
            operation: operation.into(),
            mode,
            context: Context::new(),
            deadline: None,
            parameters: parameters.into(),
        }
    }

    /// The target: identity, facet, endpoints, and invocation mode.
    pub fn target(&self) -> &Arc<Reference> {
        &self.target
    }

    /// Changes the target.
    pub fn set_target(&mut self, target: impl Into<Arc<Reference>>) {
        self.target = target.into();
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Returns the mode of the operation, which says whether the invocation may be repeated.
    pub fn mode(&self) -> OperationMode {
        self.mode
    }

    /// The context: that of the proxy and of the communicator together.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The context, mutable.
    pub fn context_mut(&mut self) -> &mut Context {
        &mut self.context
    }

    /// When the invocation ends, with all its attempts. `None` if it has no deadline.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Sets the deadline.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// The time until the deadline. `None` if there is no deadline.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The parameters, encoded, with their encapsulation header.
    pub fn parameters(&self) -> &Bytes {
        &self.parameters
    }

    /// Replaces the parameters: a whole encapsulation.
    pub fn set_parameters(&mut self, parameters: Bytes) {
        self.parameters = parameters;
    }
}
