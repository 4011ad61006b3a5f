//! Interruptions: what a subscription reports besides events.

use std::fmt;
use std::time::Duration;

/// A gap in the events of a subscription, and its reason.
///
/// It is an error only in that events may be lost. The subscription continues.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interruption {
    /// The hub was lost, or it has ended the subscription. Events published from now on are lost, until
    /// [`Interruption::Resubscribed`].
    Interrupted {
        /// The cause.
        reason: String,
    },
    /// The subscription is restored. The hub may deliver a few events before this item.
    Resubscribed {
        /// How long the subscription was interrupted.
        after: Duration,
    },
    /// A Floe hub dropped events for this subscriber, before the event that follows.
    Lost {
        /// The number of dropped events.
        count: u64,
    },
    /// An event does not match the contract. The hub got an exception for it, and may end the subscription.
    Refused {
        /// The operation.
        operation: String,
        /// Describes what is wrong with the event.
        reason: String,
    },
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted { reason } => write!(
                f,
                "the subscription is interrupted, and events may be lost until it is restored: {reason}"
            ),
            Self::Resubscribed { after } => write!(
                f,
                "subscribed again after {after:.1?}; events that were published in between are lost"
            ),
            Self::Lost { count } => {
                write!(f, "the hub dropped {count} events for this subscriber")
            }
            Self::Refused { operation, reason } if reason.contains("UnsupportedEncoding") => {
                write!(
                    f,
                    "refused event \"{operation}\": {reason}; the publisher must encode it in 1.0 or 1.1"
                )
            }
            Self::Refused { operation, reason } => write!(
                f,
                "refused event \"{operation}\": {reason}; compile publisher and subscriber from the \
                 same contract"
            ),
        }
    }
}

/// Prints the same text as `Display`, so that an error that ends `main` reads well.
impl fmt::Debug for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Interruption {}
