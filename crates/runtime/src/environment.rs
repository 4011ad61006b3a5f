//! The environment that all parts of a communicator share without knowing the communicator: settings, tasks, limits.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{EnterGuard, Handle};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::address_turn::AddressTurns;
use crate::admission::Admissions;
use floe_wire::compression::StreamLimit;

use crate::background;
use crate::byte_account::ByteAccount;
use crate::log_limiter::LogLimiter;
use crate::settings::Settings;

/// The communicator as its own parts hold it: they keep it alive and hand it on, but cannot name its type.
pub(crate) type Owner = dyn Any + Send + Sync;

/// State that all parts of one communicator share.
pub(crate) struct Environment {
    settings: Arc<Settings>,
    is_blocking: bool,
    /// The number of threads that read connections now.
    thread_count: Arc<AtomicUsize>,
    tracker: TaskTracker,
    is_shut_down: watch::Sender<bool>,
    /// The number of incoming connections, and its limits.
    admissions: Arc<Admissions>,
    log_limiter: LogLimiter,
    input_memory: Arc<ByteAccount>,
    address_turns: AddressTurns,
    reply_memory: Arc<ByteAccount>,
    compression_streams: Arc<StreamLimit>,
}

impl Environment {
    pub(crate) fn new(settings: Settings, is_blocking: bool) -> Self {
        Self {
            admissions: Arc::new(Admissions::of(&settings)),
            log_limiter: LogLimiter::default(),
            input_memory: Arc::default(),
            address_turns: AddressTurns::default(),
            reply_memory: Arc::default(),
            compression_streams: Arc::new(StreamLimit::new(settings.compression_streams_max)),
            settings: Arc::new(settings),
            is_blocking,
            thread_count: Arc::default(),
            tracker: TaskTracker::new(),
            is_shut_down: watch::Sender::new(false),
        }
    }

    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The number of incoming connections, and its limits.
    pub(crate) fn admissions(&self) -> &Arc<Admissions> {
        &self.admissions
    }

    /// Logs a warning that peers can provoke at will. With a runtime, the number of suppressed lines is logged later.
    pub(crate) fn warn_limited(&self, runtime: Option<&Handle>, line: impl FnOnce() -> String) {
        let runtime = runtime.cloned().or_else(|| self.runtime());
        self.log_limiter.warn(runtime, line);
    }

    /// The turns that the connections of each address share.
    pub(crate) fn address_turns(&self) -> &AddressTurns {
        &self.address_turns
    }

    /// Returns the count of bytes that the unfinished messages of all connections hold.
    pub(crate) fn input_memory(&self) -> &Arc<ByteAccount> {
        &self.input_memory
    }

    /// Returns the count of bytes in replies that peers do not read.
    pub(crate) fn reply_memory(&self) -> &Arc<ByteAccount> {
        &self.reply_memory
    }

    /// The compressed streams of all connections, and their limit.
    pub(crate) fn compression_streams(&self) -> &Arc<StreamLimit> {
        &self.compression_streams
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        *self.is_shut_down.borrow()
    }

    /// Marks the communicator as shut down. Returns whether it was already.
    pub(crate) fn mark_shut_down(&self) -> bool {
        self.is_shut_down.send_replace(true)
    }

    /// Waits until the shutdown has begun.
    pub(crate) async fn shut_down(&self) {
        let mut is_shut_down = self.is_shut_down.subscribe();
        // The sender lives as long as `self`.
        let _ = is_shut_down.wait_for(|is_shut_down| *is_shut_down).await;
    }

    /// Returns true if callers and dedicated threads do the reading and writing.
    pub(crate) fn is_blocking(&self) -> bool {
        self.is_blocking
    }

    /// A permit to start a thread that reads a connection; `None` if the limit is reached.
    pub(crate) fn thread_permit(&self) -> Option<ThreadPermit> {
        let count = self.thread_count.fetch_add(1, Ordering::Relaxed);
        let permit = ThreadPermit {
            thread_count: self.thread_count.clone(),
            _tracked: self.tracker.token(),
        };
        (count < self.settings.thread_limit).then_some(permit)
    }

    /// Starts tasks that the shutdown waits for.
    ///
    /// # Panics
    /// Outside of a tokio runtime, unless it is that of a blocking communicator.
    pub(crate) fn tasks(&self) -> Tasks {
        let runtime = self.runtime().expect(
            "no tokio runtime here: call this in a program with #[tokio::main] or after Handle::enter, or use floe::blocking, \
             which needs none",
        );
        Tasks {
            tracker: self.tracker.clone(),
            runtime,
        }
    }

    /// Tracks all tasks and threads that were started.
    pub(crate) fn tracker(&self) -> &TaskTracker {
        &self.tracker
    }

    /// The runtime of blocking communicators, or the current one; `None` if there is none.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        if self.is_blocking {
            Some(background::handle().clone())
        } else {
            Handle::try_current().ok()
        }
    }
}

/// A permit for one thread to read a connection. The shutdown waits for the thread.
pub(crate) struct ThreadPermit {
    thread_count: Arc<AtomicUsize>,
    _tracked: TaskTrackerToken,
}

impl Drop for ThreadPermit {
    fn drop(&mut self) {
        self.thread_count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts tasks that the shutdown waits for.
#[derive(Clone)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    runtime: Handle,
}

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn_on(task, &self.runtime);
    }

    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}
