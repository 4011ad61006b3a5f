//! How the requests of a proxy begin, encoded once for each operation.
//!
//! What a proxy sends in front of the parameters does not change: its target, its context, and what the
//! contract says of the operation. Only a context that the communicator adds does.

use std::sync::OnceLock;

use floe_wire::message::PreparedHead;

use super::{OperationInfo, Proxy};

/// A head for each operation, in the order in which they were first invoked.
#[derive(Default)]
pub(super) struct Heads {
    first: OnceLock<Box<Known>>,
}

struct Known {
    operation: &'static OperationInfo,
    head: PreparedHead,
    others: Heads,
}

/// Operations of which a proxy remembers how their requests begin. Few proxies invoke more, and those
/// that do encode the others each time.
const OPERATIONS_MAX: usize = 8;

impl Proxy {
    /// How each request to an operation begins; `None` if that is not always the same, or not remembered.
    #[inline(always)]
    pub(super) fn head_of(&self, operation: &'static OperationInfo) -> Option<&PreparedHead> {
        if self.has_implicit_context() {
            return None;
        }
        match self.inner.heads.first.get() {
            Some(known) if std::ptr::eq(known.operation, operation) => Some(&known.head),
            _ => self.find_head(operation),
        }
    }

    fn find_head(&self, operation: &'static OperationInfo) -> Option<&PreparedHead> {
        let mut heads = &self.inner.heads;
        for _ in 0..OPERATIONS_MAX {
            let known = match heads.first.get() {
                Some(known) => known,
                None => self.remember(heads, operation)?,
            };
            if std::ptr::eq(known.operation, operation) {
                return Some(&known.head);
            }
            heads = &known.others;
        }
        None
    }

    /// Remembers an operation, unless another thread has just remembered one here: that one then.
    #[cold]
    fn remember<'a>(
        &self,
        heads: &'a Heads,
        operation: &'static OperationInfo,
    ) -> Option<&'a Known> {
        let header = self.header(operation.name, operation.mode, self.context());
        let head = header.prepare(self.sending_encoding()).ok()?;
        let known = heads.first.get_or_init(|| {
            Box::new(Known {
                operation,
                head,
                others: Heads::default(),
            })
        });
        Some(known)
    }
}
