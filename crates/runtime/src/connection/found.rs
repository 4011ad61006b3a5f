//! The servant that was found last, for requests to the same object, and who takes them if they are events.

use std::sync::{Arc, Weak};

use floe_wire::message::SystemException;

use crate::adapter::{Dispatcher, EventSink, Parts};

/// The servant that was found last. It is kept alive by its adapter alone.
#[derive(Default)]
pub(super) struct Found {
    servant: Option<Weak<dyn Dispatcher>>,
    /// Of the servants when it was found.
    version: u64,
    /// Identity and facet, as they stand on the wire.
    target: Vec<u8>,
    /// Who takes requests to it as events, if that is lasting. It is kept alive by whoever gave it.
    sink: Option<Weak<dyn EventSink>>,
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
        self.sink = None;
        let servant = adapter.find(request)?;
        self.servant = Some(Arc::downgrade(&servant));
        self.version = version;
        self.target.clear();
        self.target.extend_from_slice(request.target_bytes());
        Ok(servant)
    }

    /// Who takes a request to this target as an event, if it is the same object as before, and nobody else could have
    /// to take it by now. The parts are those of the connection.
    #[inline]
    pub(super) fn sink(&self, parts: &Parts, target: &[u8]) -> Option<Arc<dyn EventSink>> {
        let sink = self.sink.as_ref()?;
        let is_known = self.version == parts.current.origin.adapter().servants_version()
            && self.target == target;
        if !is_known {
            return None;
        }
        sink.upgrade().filter(|sink| sink.is_lasting())
    }

    /// The servant that was found last gave this sink for its events.
    pub(super) fn note_sink(&mut self, sink: &Arc<dyn EventSink>) {
        self.sink = sink.is_lasting().then(|| Arc::downgrade(sink));
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
        self.sink = None;
    }
}
