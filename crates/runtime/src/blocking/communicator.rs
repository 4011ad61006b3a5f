//! The communicator of programs without async.

use std::io;
use std::sync::Arc;

use floe_wire::reference::{ParseReferenceError, Reference};

use super::Wait;
use crate::adapter::Adapter;
use crate::error::AdapterError;
use crate::proxy::{Proxy, TypedProxy};
use crate::settings::{AdapterSettings, Settings};

/// What proxies and adapters of a blocking program are made from; a clone is the same communicator.
///
/// It is a [`floe::Communicator`](crate::Communicator) that needs no runtime: threads read and write
/// connections themselves. A connection to an endpoint is read by the callers that wait for replies,
/// one that an adapter accepted by a thread of its own (see
/// [`Settings::thread_limit`](crate::Settings)), which runs the servant, too.
#[derive(Debug, Clone)]
pub struct Communicator {
    inner: crate::Communicator,
}

impl Communicator {
    /// A communicator with default settings.
    pub fn new() -> Self {
        Self::with_settings(Settings::default())
    }

    /// A communicator with other settings.
    pub fn with_settings(settings: Settings) -> Self {
        let inner = crate::Communicator::blocking(settings);
        Self { inner }
    }

    /// Its limits and waits.
    pub fn settings(&self) -> &Arc<Settings> {
        self.as_async().settings()
    }

    /// A proxy from its stringified form: see
    /// [`floe::Communicator::proxy`](crate::Communicator::proxy).
    ///
    /// # Errors
    /// [`ParseReferenceError`] if the text is no proxy, or the nil proxy.
    pub fn proxy<P: TypedProxy>(&self, text: &str) -> Result<P, ParseReferenceError> {
        self.as_async().proxy(text)
    }

    /// A proxy from what it holds.
    pub fn proxy_from(&self, reference: Reference) -> Proxy {
        self.as_async().proxy_from(reference)
    }

    /// An adapter that listens on these endpoints: see
    /// [`floe::Communicator::adapter`](crate::Communicator::adapter).
    ///
    /// # Errors
    /// [`AdapterError`] if the text is no endpoint list, or the system refuses to listen.
    pub fn adapter(&self, endpoints: &str) -> Result<Adapter, AdapterError> {
        self.as_async().adapter(endpoints).wait()
    }

    /// The same with settings of its own, such as limits, or the id by which a locator finds it.
    ///
    /// # Errors
    /// As [`Communicator::adapter`].
    pub fn adapter_with(
        &self,
        endpoints: &str,
        settings: AdapterSettings,
    ) -> Result<Adapter, AdapterError> {
        self.as_async().adapter_with(endpoints, settings).wait()
    }

    /// An adapter that listens nowhere, for peers that call back over connections of this side: see
    /// [`floe::Communicator::adapter_without_endpoints`](crate::Communicator::adapter_without_endpoints).
    ///
    /// # Errors
    /// None that a program could cause; the type is that of the other adapters.
    pub fn adapter_without_endpoints(&self) -> Result<Adapter, AdapterError> {
        self.as_async().adapter_without_endpoints().wait()
    }

    /// Starts to end everything, and waits for nothing. A servant may call it.
    pub fn begin_shutdown(&self) {
        self.as_async().begin_shutdown();
    }

    /// Shuts the communicator down at the first signal that asks for it, and aborts it at the second:
    /// see [`floe::Communicator::shutdown_on_signals`](crate::Communicator::shutdown_on_signals).
    ///
    /// # Errors
    /// The system does not hand signals out.
    pub fn shutdown_on_signals(&self) -> io::Result<()> {
        self.as_async().shutdown_on_signals()
    }

    /// Ends everything in order, and waits at most four times the close timeout: see
    /// [`floe::Communicator::shutdown`](crate::Communicator::shutdown).
    pub fn shutdown(&self) {
        self.as_async().shutdown().wait();
    }

    /// Waits until somebody shuts the communicator down, and until that is done.
    pub fn wait_for_shutdown(&self) {
        self.as_async().wait_for_shutdown().wait();
    }

    /// The same communicator as async code knows it. Its proxies can be awaited in any runtime.
    pub fn as_async(&self) -> &crate::Communicator {
        &self.inner
    }
}

impl Default for Communicator {
    fn default() -> Self {
        Self::new()
    }
}
