//! The servant that was found last, for requests of one read to the same object.

use std::sync::Arc;

use floe_wire::message::SystemException;

use crate::adapter::{Dispatcher, Parts};

/// The servant that was found last.
#[derive(Default)]
pub(super) struct Found {
    servant: Option<Arc<dyn Dispatcher>>,
    /// Of the servants when it was found.
    version: u64,
    /// Identity and facet, as they stand on the wire.
    target: Vec<u8>,
    /// Requests of this read.
    count: usize,
}

impl Found {
    /// Who answers a request. A servant that is among the parts answered the request before, which
    /// was to the same object.
    #[inline]
    pub(super) fn find(
        &mut self,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Dispatcher>, SystemException> {
        self.count += 1;
        let adapter = parts.current.origin.adapter();
        // Read before the look-up: what changes during it is found the next time.
        let version = adapter.servants_version();
        let known = self.servant.as_ref().filter(|_| self.version == version);
        if let (Some(known), Some(returned)) = (known, parts.servant.take())
            && std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(&returned))
        {
            return Ok(returned);
        }
        let request = &parts.current.request;
        if let Some(known) = known
            && self.target == request.target_bytes()
        {
            return Ok(known.clone());
        }
        let servant = adapter.find(request)?;
        // A request that comes alone need not be remembered.
        if self.count > 1 {
            self.servant = Some(servant.clone());
            self.version = version;
            self.target.clear();
            self.target.extend_from_slice(request.target_bytes());
        }
        Ok(servant)
    }

    pub(super) fn forget(&mut self) {
        self.servant = None;
        self.count = 0;
    }
}
