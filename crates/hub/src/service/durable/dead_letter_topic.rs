//! The topic for the dead letters of a durable subscription, and who has chosen it.

use std::fmt;
use std::sync::Arc;

use floe::SystemException;
use floe_access::{Action, Caller};

use crate::service::guard::Guard;

/// The topic for the events that a subscription cannot take.
#[derive(Clone)]
pub(crate) struct DeadLetterTopic {
    name: String,
    /// Asks the rules whether who has chosen the topic may publish to it, now. `None` if the hub has chosen it, or this program.
    permit: Option<(Arc<Guard>, Arc<Caller>)>,
}

impl DeadLetterTopic {
    pub(crate) fn new(name: String, permit: Option<(Arc<Guard>, Arc<Caller>)>) -> Self {
        Self { name, permit }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Checks that who has chosen the topic may publish to it under the rules of this moment.
    ///
    /// # Errors
    /// It may not; the audit log knows why.
    pub(crate) fn check(&self) -> Result<(), SystemException> {
        match &self.permit {
            Some((guard, chooser)) => guard.check_caller(chooser, Action::Publish, &self.name),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for DeadLetterTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetterTopic")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
