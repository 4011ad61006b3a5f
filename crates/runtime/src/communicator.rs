//! The communicator: what proxies, adapters and connections of a program have in common.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use floe_wire::reference::{ParseReferenceError, Reference, parse_endpoints};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;

use crate::adapter::{Adapter, AdapterCore};
use crate::connection::Connection;
use crate::connection::pool::Pool;
use crate::error::AdapterError;
use crate::heartbeat::Heartbeat;
use crate::proxy::{Proxy, TypedProxy};
use crate::settings::Settings;

/// What proxies and adapters are made from; a clone is the same communicator.
///
/// It must be used inside a tokio runtime. It owns its adapters: they serve until it is shut down,
/// or until its last clone, proxy and [`Adapter`] handle is gone. Then its connections close, too;
/// [`Communicator::shutdown`] does so in order and waits for it. (A servant that holds a proxy or an
/// adapter of its own communicator keeps it alive until the shutdown.)
#[derive(Clone)]
#[doc(alias = "Ice.Communicator")]
pub struct Communicator {
    core: Arc<Core>,
}

impl Communicator {
    /// A communicator with default settings.
    pub fn new() -> Self {
        Self::with_settings(Settings::default())
    }

    /// A communicator with other settings.
    pub fn with_settings(settings: Settings) -> Self {
        Self {
            core: Arc::new(Core::new(settings)),
        }
    }

    /// Its limits and waits.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.core.settings
    }

    /// A proxy from its stringified form, such as `greeter:tcp -h 127.0.0.1 -p 4061`, with the type
    /// that the caller expects. Nothing is sent: the object may not exist, or be of another type.
    ///
    /// # Errors
    /// [`ParseReferenceError`] if the text is no proxy, or the nil proxy.
    #[doc(alias = "stringToProxy")]
    pub fn proxy<P: TypedProxy>(&self, text: &str) -> Result<P, ParseReferenceError> {
        Ok(P::from_proxy(self.proxy_from(text.parse()?)))
    }

    /// A proxy from what it holds.
    pub fn proxy_from(&self, reference: Reference) -> Proxy {
        Proxy::new(reference, Some(self.clone()))
    }

    /// An adapter that listens on these endpoints, such as `tcp -h 127.0.0.1 -p 4061`; port 0 picks
    /// a free one. It listens at once, and accepts when it is activated.
    ///
    /// # Errors
    /// [`AdapterError`] if the text is no endpoint list, or the system refuses to listen.
    #[doc(alias = "createObjectAdapterWithEndpoints")]
    pub async fn adapter(&self, endpoints: &str) -> Result<Adapter, AdapterError> {
        let adapter = Adapter::bind(self, parse_endpoints(endpoints)?).await?;
        self.core.adapters().push(adapter.core().clone());
        if self.core.is_shut_down() {
            self.begin_shutdown();
            return Err(AdapterError::Shutdown);
        }
        Ok(adapter)
    }

    /// Starts to end everything, and waits for nothing: adapters accept no more, connections finish
    /// what they have and close. A servant may call it.
    pub fn begin_shutdown(&self) {
        self.core.is_shut_down.send_replace(true);
        for adapter in std::mem::take(&mut *self.core.adapters()) {
            adapter.end();
        }
        for connection in self.core.live_connections() {
            connection.close();
        }
    }

    /// Ends everything in order: adapters accept no more, connections finish what they have and
    /// close, tasks end. Waits at most the close timeout twice. A servant must not wait for it, for
    /// it waits for the servant.
    pub async fn shutdown(&self) {
        self.begin_shutdown();
        self.finish_shutdown().await;
    }

    /// Waits until somebody shuts the communicator down, and until that is done.
    #[doc(alias = "waitForShutdown")]
    pub async fn wait_for_shutdown(&self) {
        let mut is_shut_down = self.core.is_shut_down.subscribe();
        // The sender lives as long as `self`.
        let _ = is_shut_down.wait_for(|is_shut_down| *is_shut_down).await;
        self.finish_shutdown().await;
    }

    async fn finish_shutdown(&self) {
        let deadline = Instant::now() + 2 * self.core.settings.close_timeout;
        for connection in self.core.live_connections() {
            if timeout_at(deadline, connection.closed()).await.is_err() {
                connection.abort("the communicator was shut down".to_owned());
            }
        }
        self.core.tracker.close();
        if timeout_at(deadline, self.core.tracker.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                "{} tasks still run after the shutdown",
                self.core.tracker.len()
            );
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn from_core(core: Arc<Core>) -> Self {
        Self { core }
    }
}

impl Default for Communicator {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Communicator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Communicator")
            .field("settings", &self.core.settings)
            .finish_non_exhaustive()
    }
}

/// What all clones of a communicator share.
pub(crate) struct Core {
    settings: Arc<Settings>,
    pool: Pool,
    tracker: TaskTracker,
    is_shut_down: watch::Sender<bool>,
    adapters: Mutex<Vec<Arc<AdapterCore>>>,
    connections: Mutex<Connections>,
    /// Started with the first connection.
    heartbeat: OnceLock<Heartbeat>,
}

/// All connections of a communicator, in both directions.
#[derive(Default)]
struct Connections {
    list: Vec<Weak<Connection>>,
    /// When the list is longer than this, dead ones are taken out.
    prune_at: usize,
}

impl Core {
    fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            pool: Pool::default(),
            tracker: TaskTracker::new(),
            is_shut_down: watch::Sender::new(false),
            adapters: Mutex::default(),
            connections: Mutex::default(),
            heartbeat: OnceLock::new(),
        }
    }

    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        *self.is_shut_down.borrow()
    }

    /// Where tasks of this communicator are spawned. Called inside the runtime.
    pub(crate) fn tasks(&self) -> Tasks {
        Tasks {
            tracker: self.tracker.clone(),
            runtime: Handle::current(),
        }
    }

    /// Remembers a connection for heartbeats and for the shutdown.
    pub(crate) fn track(self: &Arc<Self>, connection: &Arc<Connection>) {
        {
            let mut connections = self
                .connections
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if connections.list.len() >= connections.prune_at {
                connections
                    .list
                    .retain(|connection| connection.strong_count() > 0);
                connections.prune_at = 2 * connections.list.len() + 16;
            }
            connections.list.push(Arc::downgrade(connection));
        }
        self.heartbeat
            .get_or_init(|| Heartbeat::start(self, self.settings.heartbeat_interval));
        if self.is_shut_down() {
            connection.close();
        }
    }

    pub(crate) fn forget_adapter(&self, adapter: &Arc<AdapterCore>) {
        self.adapters().retain(|known| !Arc::ptr_eq(known, adapter));
    }

    pub(crate) fn live_connections(&self) -> Vec<Arc<Connection>> {
        let connections = self
            .connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connections.list.iter().filter_map(Weak::upgrade).collect()
    }

    fn adapters(&self) -> std::sync::MutexGuard<'_, Vec<Arc<AdapterCore>>> {
        self.adapters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        for connection in self.live_connections() {
            connection.close();
        }
    }
}

/// Spawns tasks that the communicator awaits when it shuts down.
#[derive(Clone)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    runtime: Handle,
}

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn_on(task, &self.runtime);
    }
}
