//! The encoded heads of a proxy's requests, one for each operation.
//!
//! A head is all that comes before the parameters: the proxy's target, its context, and the contract's facts about the
//! operation. Only a context that the communicator adds can change it.

use std::borrow::Cow;
use std::sync::OnceLock;

use floe_wire::message::{Context, OperationMode, PreparedHead, RequestHead, RequestTarget};

use super::{OperationInfo, Proxy};

/// The heads of a proxy's requests, in the order in which their operations were first invoked.
#[derive(Default)]
pub(crate) struct HeadCache {
    first: OnceLock<Box<CachedHead>>,
}

struct CachedHead {
    operation: &'static OperationInfo,
    head: PreparedHead,
    others: HeadCache,
}

/// Number of operations whose heads a proxy caches. Few proxies invoke more; heads beyond the limit are encoded each
/// time.
const OPERATIONS_MAX: usize = 8;

impl Proxy {
    /// The context of a request: the proxy's, and the communicator's entries whose keys the proxy's does not have.
    #[inline]
    pub(crate) fn sent_context(&self) -> Cow<'_, Context> {
        let implicit = self
            .communicator()
            .and_then(|c| c.implicit_context().current(|| self.may_carry_secrets()));
        let Some(mut context) = implicit else {
            return Cow::Borrowed(self.context());
        };
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

    /// The head of requests to an operation, which it caches. `None` if the head can change, or cannot be cached.
    #[inline(always)]
    pub(crate) fn head_of(&self, operation: &'static OperationInfo) -> Option<&PreparedHead> {
        let communicator = self.communicator();
        if communicator.is_some_and(|it| !it.implicit_context().is_empty()) {
            return None;
        }
        match self.inner.head_cache.first.get() {
            Some(entry) if std::ptr::eq(entry.operation, operation) => Some(&entry.head),
            _ => self.find_head(operation),
        }
    }

    fn find_head(&self, operation: &'static OperationInfo) -> Option<&PreparedHead> {
        let mut cache = &self.inner.head_cache;
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

    /// Caches the head of an operation. If another thread has just cached one here, returns that one.
    #[cold]
    fn remember<'a>(
        &self,
        cache: &'a HeadCache,
        operation: &'static OperationInfo,
    ) -> Option<&'a CachedHead> {
        let header = self.request_head(operation.name, operation.mode, self.context());
        let head = header.prepare(self.sending_encoding()).ok()?;
        let entry = cache.first.get_or_init(|| {
            Box::new(CachedHead {
                operation,
                head,
                others: HeadCache::default(),
            })
        });
        Some(entry)
    }
}
