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
    /// [`Interruption::Resubscribed`]. Those of a durable subscription come later: the hub keeps them as long as the retention of the
    /// topic allows.
    Interrupted {
        /// The cause.
        reason: String,
        /// The subscription is durable.
        is_durable: bool,
    },
    /// The subscription is restored. The hub may deliver a few events before this item.
    Resubscribed {
        /// How long the subscription was interrupted.
        after: Duration,
        /// The subscription is durable: it goes on where it was.
        is_durable: bool,
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
            Self::Interrupted {
                reason,
                is_durable: false,
            } => write!(
                f,
                "the subscription is interrupted, and events may be lost until it is restored: {reason}"
            ),
            Self::Interrupted {
                reason,
                is_durable: true,
            } => write!(
                f,
                "the durable subscription is interrupted, and the hub keeps its events until it is restored: {reason}"
            ),
            Self::Resubscribed {
                after,
                is_durable: false,
            } => write!(
                f,
                "subscribed again after {after:.1?}; events that were published in between are lost"
            ),
            Self::Resubscribed {
                after,
                is_durable: true,
            } => write!(
                f,
                "subscribed again after {after:.1?}; the durable subscription goes on where it was"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_subscription_that_is_not_durable_is_told_of_lost_events() {
        for is_durable in [false, true] {
            let (reason, after) = ("the hub was lost".to_owned(), Duration::from_secs(2));
            let interrupted = Interruption::Interrupted { reason, is_durable };
            let again = Interruption::Resubscribed { after, is_durable };
            for text in [interrupted.to_string(), again.to_string()] {
                assert_eq!(
                    text.contains("lost until") || text.contains("are lost"),
                    !is_durable,
                    "{text}"
                );
            }
        }
    }
}
