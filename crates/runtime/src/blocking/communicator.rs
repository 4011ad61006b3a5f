//! The communicator of programs without async.

use std::io;
use std::sync::Arc;

use floe_wire::reference::{ParseReferenceError, Reference};

use super::Wait;
use crate::adapter::Adapter;
use crate::error::AdapterError;
use crate::proxy::{Proxy, TypedProxy};
use crate::settings::{AdapterSettings, Settings};

/// Makes the proxies and adapters of a blocking program; a clone is the same communicator.
///
/// It is a [`floe::Communicator`](crate::Communicator) that needs no runtime. Callers write their requests themselves,
/// and read the connection while they wait for replies. Each connection that an adapter accepts has a thread of its own
/// (see [`Settings::thread_limit`](crate::Settings::thread_limit)), which reads the requests and runs the servants.
#[derive(Debug, Clone)]
pub struct Communicator {
    inner: crate::Communicator,
}

impl Communicator {
    /// Makes a communicator with default settings.
    pub fn new() -> Self {
        Self::with_settings(Settings::default())
    }

    /// Makes a communicator with other settings.
    pub fn with_settings(settings: Settings) -> Self {
        let inner = crate::Communicator::blocking(settings);
        Self { inner }
    }

    /// The communicator's limits and timeouts.
    pub fn settings(&self) -> &Arc<Settings> {
        self.as_async().settings()
    }

    /// Makes a proxy from its stringified form: see
    /// [`floe::Communicator::proxy`](crate::Communicator::proxy).
    ///
    /// # Errors
    /// [`ParseReferenceError`] if the text is not a proxy, or is the nil proxy.
    pub fn proxy<P: TypedProxy>(&self, text: &str) -> Result<P, ParseReferenceError> {
        self.as_async().proxy(text)
    }

    /// Makes a proxy from a reference.
    pub fn proxy_from(&self, reference: Reference) -> Proxy {
        self.as_async().proxy_from(reference)
    }

    /// Makes an adapter that listens on these endpoints: see
    /// [`floe::Communicator::adapter`](crate::Communicator::adapter).
    ///
    /// # Errors
    /// [`AdapterError`] if the text is not a list of endpoints, or the system refuses to listen.
    pub fn adapter(&self, endpoints: &str) -> Result<Adapter, AdapterError> {
        self.as_async().adapter(endpoints).wait()
    }

    /// Makes an adapter with settings of its own, such as limits, or the id by which a locator finds it.
    ///
    /// # Errors
    /// See [`Communicator::adapter`].
    pub fn adapter_with(
        &self,
        endpoints: &str,
        settings: AdapterSettings,
    ) -> Result<Adapter, AdapterError> {
        self.as_async().adapter_with(endpoints, settings).wait()
    }

    /// Makes an adapter without endpoints, for peers that call back over connections of this side: see
    /// [`floe::Communicator::adapter_without_endpoints`](crate::Communicator::adapter_without_endpoints).
    ///
    /// # Errors
    /// None that a program can cause. The type is that of [`Communicator::adapter`].
    pub fn adapter_without_endpoints(&self) -> Result<Adapter, AdapterError> {
        self.as_async().adapter_without_endpoints().wait()
    }

    /// Begins the shutdown, and returns without a wait. A servant may call it.
    pub fn begin_shutdown(&self) {
        self.as_async().begin_shutdown();
    }

    /// Shuts the communicator down at the first signal that asks for it, and aborts it at the second:
    /// see [`floe::Communicator::shutdown_on_signals`](crate::Communicator::shutdown_on_signals).
    ///
    /// # Errors
    /// If the system does not deliver signals.
    pub fn shutdown_on_signals(&self) -> io::Result<()> {
        self.as_async().shutdown_on_signals()
    }

    /// Shuts down in order, and waits at most four times the close timeout: see
    /// [`floe::Communicator::shutdown`](crate::Communicator::shutdown).
    pub fn shutdown(&self) {
        self.as_async().shutdown().wait();
    }

    /// Waits until a shutdown is complete. Any thread may begin it.
    pub fn wait_for_shutdown(&self) {
        self.as_async().wait_for_shutdown().wait();
    }

    /// Returns this communicator for async code. You can await its proxies in any runtime.
    pub fn as_async(&self) -> &crate::Communicator {
        &self.inner
    }
}

impl Default for Communicator {
    fn default() -> Self {
        Self::new()
    }
}
