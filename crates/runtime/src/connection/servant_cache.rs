//! The servant cache: the dispatcher found last, for further requests to the same object.

use std::sync::{Arc, Weak};

use floe_wire::message::SystemException;

use crate::dispatch::{Dispatcher, RequestParts};

/// The dispatcher found last. Only its adapter keeps it alive.
#[derive(Default)]
pub(super) struct ServantCache {
    dispatcher: Option<Weak<dyn Dispatcher>>,
    /// The version of the adapter's servants at the time of the look-up.
    version: u64,
    /// Identity and facet as encoded on the wire.
    target: Vec<u8>,
}

impl ServantCache {
    /// Finds the dispatcher of a request.
    #[inline]
    pub(super) fn find(
        &mut self,
        parts: &RequestParts,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        let adapter = parts.current.origin.adapter();
        // Read before the look-up, so that a change during the look-up is found the next time.
        let version = adapter.servants_version();
        let request = &parts.current.request;
        if self.version == version
            && self.target == request.target_bytes()
            && let Some(known) = self.dispatcher.as_ref().and_then(Weak::upgrade)
        {
            return Ok(known);
        }
        let dispatcher = adapter.servants().find(request)?;
        self.dispatcher = Some(Arc::downgrade(&dispatcher));
        self.version = version;
        self.target.clear();
        self.target.extend_from_slice(request.target_bytes());
        Ok(dispatcher)
    }

    /// Returns the version of the adapter's servants at the time of the look-up.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn forget(&mut self) {
        self.dispatcher = None;
    }
}
