//! Encoded request headers of a proxy, one for each operation.
//!
//! The bytes in front of the parameters are always the same: the proxy's target, its context, and the contract's facts
//! about the operation. Only a context that the communicator adds can change them.

use std::borrow::Cow;
use std::sync::OnceLock;

use floe_wire::message::{Context, OperationMode, PreparedHead, RequestHead, Target};

use super::{OperationInfo, Proxy};

/// The headers of a proxy's operations, in the order in which these were first invoked.
#[derive(Default)]
pub(crate) struct HeaderCache {
    first: OnceLock<Box<CachedHeader>>,
}

struct CachedHeader {
    operation: &'static OperationInfo,
    head: PreparedHead,
    others: HeaderCache,
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
    pub(crate) fn target(&self) -> &Target {
        self.inner.target.get_or_init(|| {
            let reference = self.reference();
            Target::new(&reference.identity, &reference.facet)
        })
    }

    pub(crate) fn header<'a>(
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
            Some(known) if std::ptr::eq(known.operation, operation) => Some(&known.head),
            _ => self.find_head(operation),
        }
    }

    fn find_head(&self, operation: &'static OperationInfo) -> Option<&PreparedHead> {
        let mut cache = &self.inner.header_cache;
        for _ in 0..OPERATIONS_MAX {
            let known = match cache.first.get() {
                Some(known) => known,
                None => self.remember(cache, operation)?,
            };
            if std::ptr::eq(known.operation, operation) {
                return Some(&known.head);
            }
            cache = &known.others;
        }
        None
    }

    /// Caches the header of an operation. If another thread has just cached one here, returns that one.
    #[cold]
    fn remember<'a>(
        &self,
        cache: &'a HeaderCache,
        operation: &'static OperationInfo,
    ) -> Option<&'a CachedHeader> {
        let header = self.header(operation.name, operation.mode, self.context());
        let head = header.prepare(self.sending_encoding()).ok()?;
        let known = cache.first.get_or_init(|| {
            Box::new(CachedHeader {
                operation,
                head,
                others: HeaderCache::default(),
            })
        });
        Some(known)
    }
}
