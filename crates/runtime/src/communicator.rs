//! The communicator: what proxies, adapters and connections of a program have in common.

mod ending;

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use floe_wire::reference::{ParseReferenceError, Reference};
use tokio::runtime::{EnterGuard, Handle};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::adapter::{Adapter, AdapterCore, AdapterSettings, Admissions, endpoints_of};
use crate::blocking::background;
use crate::complaints::Complaints;
use crate::connection::Connection;
use crate::connection::pool::Pool;
use crate::directory::Directory;
use crate::error::{AdapterError, InvokeError};
use crate::heartbeat::Heartbeat;
use crate::implicit::ImplicitContext;
use crate::proxy::batch::Batches;
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
            core: Arc::new(Core::new(settings, false)),
        }
    }

    /// A communicator whose callers and own threads do the reading and writing.
    pub(crate) fn blocking(settings: Settings) -> Self {
        Self {
            core: Arc::new(Core::new(settings, true)),
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
        self.adapter_with(endpoints, AdapterSettings::default())
            .await
    }

    /// The same with settings of its own, such as limits, or the id by which a locator finds it.
    ///
    /// # Errors
    /// As [`Communicator::adapter`].
    pub async fn adapter_with(
        &self,
        endpoints: &str,
        settings: AdapterSettings,
    ) -> Result<Adapter, AdapterError> {
        let adapter = Adapter::bind(self, endpoints_of(endpoints)?, settings).await?;
        self.core.adapters().push(adapter.core().clone());
        self.core.has_adapters.store(true, Ordering::Relaxed);
        if self.core.is_shut_down() {
            adapter.core().end();
            self.core.forget_adapter(adapter.core());
            return Err(AdapterError::Shutdown);
        }
        Ok(adapter)
    }

    /// An adapter that nobody reaches but over a connection that is given it
    /// ([`Connection::set_adapter`](crate::Connection::set_adapter)): for clients that are called
    /// back. It need not be activated.
    ///
    /// # Errors
    /// [`AdapterError::Shutdown`].
    #[doc(alias = "createObjectAdapter")]
    pub async fn adapter_without_endpoints(&self) -> Result<Adapter, AdapterError> {
        self.adapter("").await
    }

    /// The context that goes along with each request of each proxy.
    #[doc(alias = "getImplicitContext")]
    pub fn implicit_context(&self) -> &ImplicitContext {
        &self.core.implicit
    }

    /// Sends the requests that all batch proxies have collected.
    ///
    /// # Errors
    /// The first failure; the other batches are sent nevertheless.
    #[doc(alias = "flushBatchRequests")]
    pub async fn flush_batches(&self) -> Result<(), InvokeError> {
        self.core.batches.flush(None).await
    }

    pub(crate) fn implicit(&self) -> &ImplicitContext {
        &self.core.implicit
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
    is_blocking: bool,
    /// Threads that read connections, now.
    thread_count: Arc<AtomicUsize>,
    pool: Pool,
    directory: Directory,
    tracker: TaskTracker,
    is_shut_down: watch::Sender<bool>,
    adapters: Mutex<Vec<Arc<AdapterCore>>>,
    /// Whether there ever was an adapter; without, no call is collocated.
    has_adapters: AtomicBool,
    implicit: ImplicitContext,
    batches: Batches,
    connections: Mutex<Connections>,
    /// Started with the first connection.
    heartbeat: OnceLock<Heartbeat>,
    /// Incoming connections that there are, and may be.
    admissions: Arc<Admissions>,
    complaints: Complaints,
}

/// All connections of a communicator, in both directions.
#[derive(Default)]
struct Connections {
    list: Vec<Weak<Connection>>,
    /// When the list is longer than this, dead ones are taken out.
    prune_at: usize,
}

impl Core {
    fn new(settings: Settings, is_blocking: bool) -> Self {
        Self {
            admissions: Arc::new(Admissions::of(&settings)),
            complaints: Complaints::default(),
            settings: Arc::new(settings),
            is_blocking,
            thread_count: Arc::default(),
            pool: Pool::default(),
            directory: Directory::default(),
            tracker: TaskTracker::new(),
            is_shut_down: watch::Sender::new(false),
            adapters: Mutex::default(),
            has_adapters: AtomicBool::new(false),
            implicit: ImplicitContext::default(),
            batches: Batches::default(),
            connections: Mutex::default(),
            heartbeat: OnceLock::new(),
        }
    }

    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Incoming connections that there are, and may be.
    pub(crate) fn admissions(&self) -> &Arc<Admissions> {
        &self.admissions
    }

    /// Logs what peers can provoke as often as they like. The runtime is that which is around, if it
    /// is not given.
    pub(crate) fn complain(&self, runtime: Option<&Handle>, line: impl FnOnce() -> String) {
        let runtime = runtime.cloned().or_else(|| self.runtime());
        self.complaints.note(runtime, line);
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        *self.is_shut_down.borrow()
    }

    /// Whether callers and own threads do the reading and writing.
    pub(crate) fn is_blocking(&self) -> bool {
        self.is_blocking
    }

    /// The right to start a thread that reads, unless there are as many as may be. The shutdown
    /// waits for who holds it.
    pub(crate) fn thread_permit(&self) -> Option<ThreadPermit> {
        let count = self.thread_count.fetch_add(1, Ordering::Relaxed);
        let permit = ThreadPermit {
            thread_count: self.thread_count.clone(),
            _tracked: self.tracker.token(),
        };
        (count < self.settings.thread_limit).then_some(permit)
    }

    /// Where tasks of this communicator are spawned. Called inside the runtime, unless it is that of
    /// the blocking face.
    pub(crate) fn tasks(&self) -> Tasks {
        Tasks {
            tracker: self.tracker.clone(),
            runtime: self.runtime().unwrap_or_else(Handle::current),
        }
    }

    /// The runtime of the blocking face, or the one around; `None` if there is none.
    fn runtime(&self) -> Option<Handle> {
        if self.is_blocking {
            Some(background::handle().clone())
        } else {
            Handle::try_current().ok()
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
        self.follow(connection);
        if self.is_shut_down() {
            connection.close();
        }
    }

    /// A connection has other rules of liveness from now on.
    pub(crate) fn follow(self: &Arc<Self>, connection: &Connection) {
        let heartbeat = self.heartbeat.get_or_init(|| Heartbeat::start(self));
        heartbeat.follow(connection);
    }

    pub(crate) fn forget_adapter(&self, adapter: &Arc<AdapterCore>) {
        self.adapters().retain(|known| !Arc::ptr_eq(known, adapter));
    }

    pub(crate) fn batches(&self) -> &Batches {
        &self.batches
    }

    /// The adapter in which an object lives, if it is one of these.
    pub(crate) fn adapter_of(&self, reference: &Reference) -> Option<Arc<AdapterCore>> {
        if !self.has_adapters.load(Ordering::Relaxed) {
            return None;
        }
        let adapters = self.adapters();
        let mut homes = adapters.iter().filter(|a| a.is_home_of(reference));
        homes.next().cloned()
    }

    fn end_adapters(&self) {
        let adapters = std::mem::take(&mut *self.adapters());
        for adapter in adapters {
            adapter.end();
        }
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

/// The right to read with a thread of one's own.
pub(crate) struct ThreadPermit {
    thread_count: Arc<AtomicUsize>,
    _tracked: TaskTrackerToken,
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        self.thread_count.fetch_sub(1, Ordering::Relaxed);
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

    /// Lets this thread use the runtime's timers and sockets.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// The runtime.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}
