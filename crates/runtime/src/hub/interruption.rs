//! What a subscriber is told besides events.

use std::fmt;
use std::time::Duration;

/// What a subscription tells besides events: where events may be missing, and why.
///
/// It is an error only in so far as events may be lost. The subscription goes on.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interruption {
    /// The hub was lost, or it has ended the subscription. Events published from now on are lost, until
    /// [`Interruption::Resubscribed`].
    Interrupted {
        /// What happened.
        reason: String,
    },
    /// The subscription stands again. The hub may deliver a few events before this is told.
    Resubscribed {
        /// How long it did not.
        after: Duration,
    },
    /// A Floe hub dropped events for this subscriber, before the event that follows.
    Lost {
        /// How many.
        count: u64,
    },
    /// An event does not fit the contract. The hub was told so, and may end the subscription.
    Refused {
        /// The operation.
        operation: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted { reason } => write!(
                f,
                "the subscription is interrupted, and events may be lost until it stands again: {reason}"
            ),
            Self::Resubscribed { after } => write!(
                f,
                "subscribed again after {after:.1?}; events that were published meanwhile are lost"
            ),
            Self::Lost { count } => {
                write!(f, "the hub dropped {count} events for this subscriber")
            }
            Self::Refused { operation, reason } => write!(
                f,
                "refused event \"{operation}\": {reason}; compile publisher and subscriber from the \
                 same contract"
            ),
        }
    }
}

/// As the text for people, so that an error that ends `main` reads well.
impl fmt::Debug for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Interruption {}
