//! Which failed events are sent again.

use floe::forwarding::{Event, EventParts, Events};
use floe::{InvokeError, SystemException};

/// Events that failed, with the number of the first and their error.
pub(crate) type Resend = (u64, Events, InvokeError);

/// Returns true if a failed event may be sent again: either it surely did not arrive, or it may arrive twice. An event
/// that failed by a timeout is not sent again, because that would take the same time again. A servant that failed may
/// succeed the second time.
///
/// Source: observed, IceStorm 3.7.8. A missing object, facet or operation of the subscriber is final.
pub(crate) fn may_resend(error: &InvokeError, event: &Event) -> bool {
    match error {
        error if error.is_timeout() => false,
        InvokeError::NotDispatched(_) => true,
        InvokeError::PerhapsDispatched(_) => is_idempotent(event),
        InvokeError::System(
            SystemException::ObjectNotExist(_)
            | SystemException::FacetNotExist(_)
            | SystemException::OperationNotExist(_),
        ) => false,
        InvokeError::System(_) => is_idempotent(event),
        _ => false,
    }
}

fn is_idempotent(event: &Event) -> bool {
    EventParts::parse(event.as_bytes()).is_ok_and(|parts| parts.mode.is_idempotent())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use floe::{LocalError, OperationMode};

    use super::super::tests::{event, lost};
    use super::*;

    #[test]
    fn only_events_that_did_not_arrive_or_may_arrive_twice_are_sent_again() {
        let [normal, idempotent] = [OperationMode::Normal, OperationMode::Idempotent].map(event);
        let perhaps = InvokeError::PerhapsDispatched(LocalError::Shutdown);
        let timeout = InvokeError::NotDispatched(LocalError::Timeout {
            operation: "op".to_owned(),
            after: Duration::from_secs(1),
        });
        let gone = InvokeError::System(SystemException::ObjectNotExist(Default::default()));
        let failed = InvokeError::System(SystemException::UnknownException(String::new()));
        let cases = [
            (lost(), true, true),
            (perhaps, false, true),
            (timeout, false, false),
            (gone, false, false),
            (failed, false, true),
        ];
        for (error, resends_normal, resends_idempotent) in cases {
            assert_eq!(may_resend(&error, &normal), resends_normal, "{error}");
            assert_eq!(
                may_resend(&error, &idempotent),
                resends_idempotent,
                "{error}"
            );
        }
    }
}
