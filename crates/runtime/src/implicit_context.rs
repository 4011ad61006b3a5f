//! The context that a communicator sends along with each request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use floe_wire::message::Context;

/// A context that all proxies of a communicator share. It is sent together with the proxy's own
/// context, whose entries win if both have a key.
///
/// This is Ice's `Ice.ImplicitContext=Shared`. There is no context per thread, because a waiting
/// task may continue on another thread. For a context of one task, make a proxy with that context
/// ([`TypedProxy::ice_context`](crate::TypedProxy::ice_context)).
#[derive(Debug, Default)]
#[doc(alias = "Ice.ImplicitContext")]
pub struct ImplicitContext {
    /// Says without a lock whether the context may have entries.
    is_set: AtomicBool,
    /// Guards the context. Held for a read or a change, never across a wait.
    context: Mutex<Arc<Context>>,
}

impl ImplicitContext {
    /// All entries.
    pub fn context(&self) -> Context {
        (**self.lock()).clone()
    }

    /// Replaces all entries.
    #[doc(alias = "setContext")]
    pub fn set(&self, context: Context) {
        self.change(|entries| *entries = context);
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        self.lock().get(key).cloned()
    }

    /// Sets the value of a key, and returns the previous value.
    pub fn put(&self, key: impl Into<String>, value: impl Into<String>) -> Option<String> {
        self.change(|entries| entries.insert(key.into(), value.into()))
    }

    /// Removes a key, and returns its value.
    pub fn remove(&self, key: &str) -> Option<String> {
        self.change(|entries| entries.remove(key))
    }

    /// Returns true if the context is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_set.load(Ordering::Acquire)
    }

    /// The current entries; `None` if there are none.
    #[inline]
    pub(crate) fn current(&self) -> Option<Arc<Context>> {
        (!self.is_empty()).then(|| self.lock().clone())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Context) -> T) -> T {
        let mut context = self.lock();
        let result = change(Arc::make_mut(&mut context));
        self.is_set.store(!context.is_empty(), Ordering::Release);
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Context>> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
