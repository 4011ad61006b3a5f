//! Classifies the failure of a delivery.

use std::io;

use floe::{InvocationMode, InvokeError, LocalError, SystemException};

use crate::core::DeliveryFailure;

/// Says what an error means for the subscription. `mode` is how the subscriber receives events.
///
/// Source: observed, IceStorm 3.7.8. If a connection breaks, it sends a oneway event that was not written whole over
/// another connection, and loses a batch.
pub(super) fn failure(error: &InvokeError, mode: InvocationMode) -> DeliveryFailure {
    match error {
        _ if is_for_want_of_descriptors(error) => DeliveryFailure::Ours,
        InvokeError::NotDispatched(LocalError::Shutdown)
        | InvokeError::PerhapsDispatched(LocalError::Shutdown) => DeliveryFailure::Ours,
        InvokeError::System(SystemException::ObjectNotExist(_))
        | InvokeError::NotDispatched(LocalError::NotRegistered { .. }) => DeliveryFailure::Hard,
        InvokeError::PerhapsDispatched(
            LocalError::ConnectionLost { .. } | LocalError::ClosedByPeer { .. },
        ) if mode == InvocationMode::Oneway => DeliveryFailure::Broken,
        _ => DeliveryFailure::Soft,
    }
}

/// Returns true if the machine of a peer says that nobody listens there.
pub(super) fn is_refused(error: &InvokeError) -> bool {
    let InvokeError::NotDispatched(LocalError::Connect { source, .. }) = error else {
        return false;
    };
    source.kind() == io::ErrorKind::ConnectionRefused
}

/// Returns true if nothing was sent because this process or its machine has no file descriptor left. That is not the
/// fault of the subscriber. If it were treated as one, the next event would end all subscriptions.
pub(super) fn is_for_want_of_descriptors(error: &InvokeError) -> bool {
    let error = match error {
        InvokeError::NotDispatched(LocalError::BatchLost { source, .. }) => source,
        InvokeError::NotDispatched(error) => error,
        _ => return false,
    };
    let LocalError::Connect { source, .. } = error else {
        return false;
    };
    source.kind() == io::ErrorKind::OutOfMemory
        || source
            .raw_os_error()
            .is_some_and(|code| NO_DESCRIPTORS.contains(&code))
}

/// `ENFILE` and `EMFILE`: the machine or the process has reached its limit of file descriptors. The numbers are the
/// same on all Unix systems.
const NO_DESCRIPTORS: [i32; 2] = [23, 24];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_the_hub_has_too_little_of_is_not_the_subscribers_fault() {
        let failure = |error: &InvokeError| failure(error, InvocationMode::Twoway);
        let connect = |source: io::Error| {
            InvokeError::NotDispatched(LocalError::Connect {
                endpoint: "tcp -p 1".into(),
                source: Arc::new(source),
            })
        };
        for code in NO_DESCRIPTORS {
            let error = connect(io::Error::from_raw_os_error(code));
            assert_eq!(failure(&error), DeliveryFailure::Ours, "{error}");
        }
        let refused = connect(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(failure(&refused), DeliveryFailure::Soft);
    }

    #[test]
    fn what_will_not_work_later_either_is_told_from_what_may_and_from_what_we_did() {
        let failure = |error: &InvokeError| failure(error, InvocationMode::Twoway);
        let not_dispatched = InvokeError::NotDispatched;
        let shutdown = LocalError::Shutdown;
        assert_eq!(
            failure(&not_dispatched(shutdown.clone())),
            DeliveryFailure::Ours
        );
        let perhaps = InvokeError::PerhapsDispatched(shutdown);
        assert_eq!(failure(&perhaps), DeliveryFailure::Ours);
        let no_object = SystemException::ObjectNotExist(Default::default());
        assert_eq!(failure(&no_object.into()), DeliveryFailure::Hard);
        let no_endpoint = LocalError::NoEndpoint {
            proxy: "s".to_owned(),
            wanted: "a tcp endpoint",
        };
        assert_eq!(failure(&not_dispatched(no_endpoint)), DeliveryFailure::Soft);
        let no_facet = SystemException::FacetNotExist(Default::default());
        assert_eq!(failure(&no_facet.into()), DeliveryFailure::Soft);
        let peer = "h:1".to_owned();
        let closed = LocalError::ClosedByPeer { peer };
        assert_eq!(failure(&not_dispatched(closed)), DeliveryFailure::Soft);
    }

    #[test]
    fn a_connection_that_breaks_under_oneway_events_says_nothing_of_the_next_one() {
        let lost = || LocalError::ConnectionLost {
            peer: "h:1".to_owned(),
            reason: "reset".to_owned(),
        };
        let broken = InvokeError::PerhapsDispatched(lost());
        assert_eq!(
            failure(&broken, InvocationMode::Oneway),
            DeliveryFailure::Broken
        );
        for mode in [InvocationMode::Twoway, InvocationMode::BatchOneway] {
            assert_eq!(failure(&broken, mode), DeliveryFailure::Soft, "{mode:?}");
        }
        let tried_twice = InvokeError::NotDispatched(lost());
        assert_eq!(
            failure(&tried_twice, InvocationMode::Oneway),
            DeliveryFailure::Soft
        );
    }
}
