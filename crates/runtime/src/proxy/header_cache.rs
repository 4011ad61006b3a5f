//! Encoded request headers of a proxy, one for each operation.
//!
//! The bytes in front of the parameters are always the same: the proxy's target, its context, and the contract's facts
//! about the operation. Only a context that the communicator adds can change them.

use std::borrow::Cow;
use std::sync::OnceLock;

use floe_wire::message::{Context, OperationMode, PreparedHead, RequestHead, RequestTarget};

use super::{OperationInfo, Proxy};

/// The headers of a proxy's operations, in the order in which these were first invoked.
#[derive(Default)]
pub(crate) struct RequestHeadCache {
    first: OnceLock<Box<CachedHead>>,
}

struct CachedHead {
    operation: &'static OperationInfo,
    head: PreparedHead,
    others: RequestHeadCache,
}

/// Number of operations whose headers a proxy caches. Few proxies invoke more; headers beyond the limit are encoded
/// each time.
const OPERATIONS_MAX: usize = 8;

impl Proxy {
    /// The context of a request: the proxy's, and the communicator's entries whose keys the proxy's does not have.
    #[inline]
    pub(crate) fn sent_context(&self) -> Cow<'_, Context> {
        let implicit = self
            .communicator()
            .and_then(|c| c.implicit_context().current());
        let Some(implicit) = implicit else {
            return Cow::Borrowed(self.context());
        };
        let mut context = (*implicit).clone();
        context.extend(self.context().clone());
        Cow::Owned(context)
    }

    /// Identity and facet, encoded.
    pub(crate) fn target(&self) -> &RequestTarget {
        self.inner.target.get_or_init(|| {
            let reference = self.reference();
            RequestTarget::new(&reference.identity, &reference.facet)
        })
    }

    pub(crate) fn request_head<'a>(
        &'a self,
        operation: &'a str,
        mode: OperationMode,
        context: &'a Context,
    ) -> RequestHead<'a> {
        RequestHead {
            target: self.target(),
            operation,
            mode,
            context,
        }
    }

    /// The header of requests to an operation; `None` if it can change, or is not cached.
    #[inline(always)]
    pub(crate) fn head_of(&self, operation: &'static OperationInfo) -> Option<&PreparedHead> {
        let communicator = self.communicator();
        if communicator.is_some_and(|it| !it.implicit_context().is_empty()) {
            return None;
        }
        match self.inner.header_cache.first.get() {
            Some(entry) if std::ptr::eq(entry.operation, operation) => Some(&entry.head),
            _ => self.find_head(operation),
        }
    }

    fn find_head(&self, operation: &'static OperationInfo) -> Option<&PreparedHead> {
        let mut cache = &self.inner.header_cache;
        for _ in 0..OPERATIONS_MAX {
            let entry = match cache.first.get() {
                Some(entry) => entry,
                None => self.remember(cache, operation)?,
            };
            if std::ptr::eq(entry.operation, operation) {
                return Some(&entry.head);
            }
            cache = &entry.others;
        }
        None
    }

    /// Caches the header of an operation. If another thread has just cached one here, returns that one.
    #[cold]
    fn remember<'a>(
        &self,
        cache: &'a RequestHeadCache,
        operation: &'static OperationInfo,
    ) -> Option<&'a CachedHead> {
        let header = self.request_head(operation.name, operation.mode, self.context());
        let head = header.prepare(self.sending_encoding()).ok()?;
        let entry = cache.first.get_or_init(|| {
            Box::new(CachedHead {
                operation,
                head,
                others: RequestHeadCache::default(),
            })
        });
        Some(entry)
    }
}
