//! What a delivery that failed says of its subscriber.

use floe::{InvokeError, LocalError, SystemException};

use crate::core::Failure;

/// Whether it may work later.
pub(super) fn failure(error: &InvokeError) -> Failure {
    match error {
        InvokeError::NotDispatched(LocalError::Shutdown)
        | InvokeError::PerhapsDispatched(LocalError::Shutdown) => Failure::Ours,
        InvokeError::System(SystemException::ObjectNotExist(_)) => Failure::Hard,
        _ => Failure::Soft,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_will_not_work_later_either_is_told_from_what_may_and_from_what_we_did() {
        let not_dispatched = InvokeError::NotDispatched;
        let shutdown = LocalError::Shutdown;
        assert_eq!(failure(&not_dispatched(shutdown.clone())), Failure::Ours);
        let perhaps = InvokeError::PerhapsDispatched(shutdown);
        assert_eq!(failure(&perhaps), Failure::Ours);
        let no_object = SystemException::ObjectNotExist(Default::default());
        assert_eq!(failure(&no_object.into()), Failure::Hard);
        let no_endpoint = LocalError::NoEndpoint {
            proxy: "s".to_owned(),
            wanted: "a tcp endpoint",
        };
        assert_eq!(failure(&not_dispatched(no_endpoint)), Failure::Soft);
        let no_facet = SystemException::FacetNotExist(Default::default());
        assert_eq!(failure(&no_facet.into()), Failure::Soft);
        let peer = "h:1".to_owned();
        let closed = LocalError::ClosedByPeer { peer };
        assert_eq!(failure(&not_dispatched(closed)), Failure::Soft);
    }
}
