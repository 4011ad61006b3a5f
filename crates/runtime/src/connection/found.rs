//! The servant that was found last, for requests to the same object.

use std::sync::{Arc, Weak};

use floe_wire::message::SystemException;

use crate::adapter::{Dispatcher, Parts};

/// The servant that was found last. It is kept alive by its adapter alone.
#[derive(Default)]
pub(super) struct Found {
    servant: Option<Weak<dyn Dispatcher>>,
    /// Of the servants when it was found.
    version: u64,
    /// Identity and facet, as they stand on the wire.
    target: Vec<u8>,
}

impl Found {
    /// Who answers a request. A servant that is among the parts answered the request before, which
    /// was to the same object.
    #[inline]
    pub(super) fn find(
        &mut self,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        let adapter = parts.current.origin.adapter();
        // Read before the look-up: what changes during it is found the next time.
        let version = adapter.servants_version();
        let known = self.servant.as_ref().filter(|_| self.version == version);
        if let Some(known) = known {
            if let Some(returned) = parts.servant.take()
                && std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(&returned))
            {
                return Ok(returned);
            }
            if self.target == parts.current.request.target_bytes()
                && let Some(known) = known.upgrade()
            {
                return Ok(known);
            }
        }
        let request = &parts.current.request;
        let servant = adapter.find(request)?;
        self.servant = Some(Arc::downgrade(&servant));
        self.version = version;
        self.target.clear();
        self.target.extend_from_slice(request.target_bytes());
        Ok(servant)
    }

    /// Whether it is this one, and the adapter has the same servants as when it was found.
    #[inline]
    pub(super) fn is_still(&self, servant: &Arc<dyn Dispatcher>, parts: &Parts) -> bool {
        let known = self.servant.as_ref();
        let is_known =
            known.is_some_and(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(servant)));
        is_known && self.version == parts.current.origin.adapter().servants_version()
    }

    /// That of the adapter's servants when it was found.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn forget(&mut self) {
        self.servant = None;
    }
}
