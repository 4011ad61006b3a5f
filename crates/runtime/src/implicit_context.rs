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
    /// Guards the entries that are secret, in the same way.
    secrets: Mutex<Arc<Context>>,
    /// True once a proxy has left the secrets out.
    has_withheld: AtomicBool,
}

impl ImplicitContext {
    /// All entries but the secrets.
    pub fn context(&self) -> Context {
        (**self.lock()).clone()
    }

    /// Replaces all entries but the secrets.
    #[doc(alias = "setContext")]
    pub fn set(&self, context: Context) {
        self.change(|entries| *entries = context);
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        self.lock().get(key).cloned()
    }

    /// Sets the value of a key that nobody on the way may read, such as a token. It is sent only by proxies all of whose
    /// endpoints are encrypted or lead to this host, by secure proxies (`-s`), and over such connections of routers. The
    /// first time that a proxy leaves it out, a warning is logged.
    pub fn put_secret(&self, key: impl Into<String>, value: impl Into<String>) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut secrets).insert(key.into(), value.into());
        self.is_set.store(true, Ordering::Release);
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

    /// The entries of a request, for one that may carry secrets or not; `None` if there are none at all.
    #[inline]
    pub(crate) fn current(&self, may_carry_secrets: impl FnOnce() -> bool) -> Option<Context> {
        if self.is_empty() {
            return None;
        }
        let mut context = self.context();
        let secrets = self
            .secrets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if !secrets.is_empty() {
            match may_carry_secrets() {
                true => context.extend((*secrets).clone()),
                false => self.note_withheld(&secrets),
            }
        }
        Some(context)
    }

    #[cold]
    fn note_withheld(&self, secrets: &Context) {
        if !self.has_withheld.swap(true, Ordering::Relaxed) {
            let keys: Vec<_> = secrets.keys().map(String::as_str).collect();
            tracing::warn!(
                "{} is not sent, because everybody on the way could read it: connect by ssl or wss endpoints alone, or on this \
                 host",
                keys.join(", ")
            );
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Context) -> T) -> T {
        let mut context = self.lock();
        let result = change(Arc::make_mut(&mut context));
        let has_secrets = !self
            .secrets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty();
        self.is_set
            .store(!context.is_empty() || has_secrets, Ordering::Release);
        result
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<Context>> {
        self.context.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
