//! Both faces, a server to call, and ways to wait.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use floe::blocking::Wait;
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::settings::AdapterSettings;
use floe::{Adapter, Communicator, Dispatcher, InvokeError, OperationMode, Proxy, Settings};
use tokio::sync::watch;

/// An empty encapsulation.
pub(crate) const NOTHING: [u8; 6] = [6, 0, 0, 0, 1, 1];
/// How long anything may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A face of the runtime.
pub(crate) enum Face {
    Async(tokio::runtime::Runtime),
    Blocking,
}

impl Face {
    /// Both of them.
    pub(crate) fn both() -> [Self; 2] {
        [Self::new_async(), Self::Blocking]
    }

    /// Does the same with both of them at once.
    pub(crate) fn each(test: impl Fn(&Self) + Sync) {
        thread::scope(|scope| {
            for face in Self::both() {
                let (name, test) = (face.name(), &test);
                let run = move || test(&face);
                let thread = thread::Builder::new().name(name.to_owned());
                thread.spawn_scoped(scope, run).expect("a thread");
            }
        });
    }

    pub(crate) fn new_async() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build();
        Self::Async(runtime.expect("a runtime"))
    }

    pub(crate) fn communicator(&self, settings: Settings) -> Communicator {
        match self {
            Self::Async(_) => Communicator::with_settings(settings),
            Self::Blocking => floe::blocking::Communicator::with_settings(settings)
                .as_async()
                .clone(),
        }
    }

    /// Waits as a program with this face does.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        match self {
            Self::Async(runtime) => runtime.block_on(async {
                let done = tokio::time::timeout(2 * PATIENCE, future).await;
                done.expect("it ends")
            }),
            Self::Blocking => future.wait(),
        }
    }

    /// Invokes an operation without parameters.
    pub(crate) fn call(&self, proxy: &Proxy, operation: &str) -> Result<(), InvokeError> {
        self.call_with(proxy, operation, &NOTHING).map(drop)
    }

    /// Invokes an operation with these parameters, and gives what it returned.
    pub(crate) fn call_with(
        &self,
        proxy: &Proxy,
        operation: &str,
        parameters: &[u8],
    ) -> Result<Vec<u8>, InvokeError> {
        let outcome = self.run(proxy.invoke(operation, OperationMode::Normal, parameters))?;
        match outcome {
            Some(Outcome::Returned(bytes)) => Ok(bytes.to_vec()),
            other => panic!("expected results, got {other:?}"),
        }
    }

    /// The text of the failure of a call; how long it took.
    pub(crate) fn failure(&self, proxy: &Proxy, operation: &str) -> (String, Duration) {
        let begun = Instant::now();
        let error = self.call(proxy, operation).expect_err("it fails");
        (error.to_string(), begun.elapsed())
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Async(_) => "async",
            Self::Blocking => "blocking",
        }
    }
}

/// Settings that try once, so that texts are those of one attempt.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.retry_intervals = Vec::new();
    settings
}

/// Answers `echo` with its parameters, and `wait` when it is let go.
pub(crate) struct Echo {
    gate: watch::Sender<bool>,
    pub(crate) begun: AtomicUsize,
    pub(crate) ended: AtomicUsize,
}

impl Echo {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            gate: watch::Sender::new(false),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        })
    }

    /// Lets all waiting dispatches end.
    pub(crate) fn let_go(&self) {
        self.gate.send_replace(true);
    }

    /// Waits until so many dispatches have begun.
    pub(crate) fn wait_until_begun(&self, count: usize) {
        until("dispatches begin", || {
            self.begun.load(Ordering::SeqCst) >= count
        });
    }
}

impl Dispatcher for Echo {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Echo {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            self.begun.fetch_add(1, Ordering::SeqCst);
            if request.operation() == "wait" {
                let mut gate = self.gate.subscribe();
                let _ = gate.wait_for(|is_open| *is_open).await;
            }
            self.ended.fetch_add(1, Ordering::SeqCst);
            match request.operation() {
                "echo" | "wait" => {
                    let parameters = request.parameters();
                    request.respond(&Outcome::Returned(parameters))
                }
                _ => request.builtin("::Test::Echo", &["::Ice::Object", "::Test::Echo"]),
            }
        })
    }
}

/// A server with an echo under the identity `echo`.
pub(crate) struct Server {
    pub(crate) communicator: Communicator,
    pub(crate) adapter: Adapter,
    pub(crate) echo: Arc<Echo>,
}

impl Server {
    pub(crate) fn start(face: &Face, settings: Settings, endpoint: &str) -> Self {
        Self::start_with(face, settings, AdapterSettings::default(), endpoint)
    }

    pub(crate) fn start_with(
        face: &Face,
        settings: Settings,
        limits: AdapterSettings,
        endpoint: &str,
    ) -> Self {
        let communicator = face.communicator(settings);
        let echo = Echo::new();
        let adapter = face.run(async {
            let adapter = communicator.adapter_with(endpoint, limits).await;
            let adapter = adapter.expect("loopback");
            adapter.add("echo", echo.clone()).expect("a new identity");
            adapter.activate();
            adapter
        });
        Self {
            communicator,
            adapter,
            echo,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.adapter.endpoints()[0].port().expect("it has a port")
    }

    /// A proxy of another communicator to the echo.
    pub(crate) fn proxy(&self, client: &Communicator) -> Proxy {
        let text = format!("echo:{}", self.adapter.endpoints()[0]);
        client.proxy(&text).expect("a proxy")
    }
}

/// Waits for a condition.
pub(crate) fn until(what: &str, is_met: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_met() {
        assert!(Instant::now() < deadline, "expected that {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Descriptors that this process has open.
pub(crate) fn descriptor_count() -> usize {
    fs::read_dir("/proc/self/fd").expect("Linux").count()
}

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
