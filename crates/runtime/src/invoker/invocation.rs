//! What is about to be invoked.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use floe_wire::message::{Context, OperationMode};
use floe_wire::reference::Reference;
use tokio::time::Instant;

/// What is about to be invoked. A clone shares the parameters.
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
    /// An invocation of an operation. The parameters are a whole encapsulation. It has no context and no deadline yet.
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

    /// The object that is invoked: identity, facet, endpoints, and whether it answers.
    pub fn target(&self) -> &Arc<Reference> {
        &self.target
    }

    /// Directs it to another object.
    pub fn set_target(&mut self, target: impl Into<Arc<Reference>>) {
        self.target = target.into();
    }

    /// The operation.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// Whether it may be repeated.
    pub fn mode(&self) -> OperationMode {
        self.mode
    }

    /// What travels beside the parameters: that of the proxy and the communicator together.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The same, to be changed.
    pub fn context_mut(&mut self) -> &mut Context {
        &mut self.context
    }

    /// When it is given up, all attempts together; `None` is never.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Lets it be given up at this time.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// How much time it has; `None` is any.
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The parameters, encoded, with their encapsulation header.
    pub fn parameters(&self) -> &Bytes {
        &self.parameters
    }

    /// Gives it other parameters: a whole encapsulation.
    pub fn set_parameters(&mut self, parameters: Bytes) {
        self.parameters = parameters;
    }
}
