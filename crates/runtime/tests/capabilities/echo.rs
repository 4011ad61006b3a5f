//! A server and a client for the other files: an untyped echo.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::message::Outcome;
use floe::{
    Adapter, Communicator, Dispatcher, InvokeError, OperationMode, Proxy, Settings, SystemException,
};

/// The type ids of [`Echo`].
pub(crate) const TYPE_IDS: [&str; 2] = ["::Ice::Object", "::Test::Echo"];

/// An empty encapsulation.
pub(crate) const NOTHING: [u8; 6] = [6, 0, 0, 0, 1, 1];

/// The time that `slow` takes.
const SLOW: Duration = Duration::from_millis(50);
/// The time that `late` takes. Callers that must give up earlier do so even on a loaded machine.
const LATE: Duration = Duration::from_secs(1);

/// Answers `echo` with its parameters, `slow` after a while and `late` after one that no test is held
/// up for, `context` with the context's entry
/// `answer`, `count` with the number of `echo`s so far, `peer` with the caller's address; panics on
/// `panic`.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) echo_count: AtomicUsize,
    /// How many of `slow` and `late` were begun.
    pub(crate) slow_count: AtomicUsize,
}

impl Dispatcher for Echo {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Echo {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            match request.operation() {
                "echo" => {
                    self.echo_count.fetch_add(1, Ordering::SeqCst);
                    let parameters = request.parameters();
                    request.respond(&Outcome::Returned(parameters))
                }
                operation @ ("slow" | "late") => {
                    let duration = if operation == "late" { LATE } else { SLOW };
                    self.slow_count.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(duration).await;
                    let parameters = request.parameters();
                    request.respond(&Outcome::Returned(parameters))
                }
                "context" => {
                    let context = request.current().context();
                    let answer = context.get("answer").cloned().unwrap_or_default();
                    request.returned(|encoder| encoder.string(&answer))
                }
                "count" => {
                    let count = self.echo_count.load(Ordering::SeqCst) as i32;
                    request.returned(|encoder| encoder.put(&count))
                }
                "peer" => {
                    let peer = request.current().peer().to_owned();
                    request.returned(|encoder| encoder.string(&peer))
                }
                "panic" => panic!("as asked"),
                "refuse" => Err(SystemException::UnknownException("no".into())),
                _ => request.builtin("::Test::Echo", &TYPE_IDS),
            }
        })
    }
}

/// A running server with an echo under the identity `echo`.
pub(crate) struct Server {
    pub(crate) communicator: Communicator,
    pub(crate) adapter: Adapter,
    pub(crate) echo: Arc<Echo>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with_settings(Settings::default()).await
    }

    pub(crate) async fn with_settings(settings: Settings) -> Self {
        let communicator = Communicator::with_settings(settings);
        let adapter = communicator
            .adapter("tcp -h 127.0.0.1 -p 0")
            .await
            .expect("loopback");
        let echo = Arc::new(Echo::default());
        adapter.add("echo", echo.clone()).expect("a new identity");
        adapter.activate();
        Self {
            communicator,
            adapter,
            echo,
        }
    }

    /// A proxy of another communicator to this object.
    pub(crate) fn proxy(&self, identity: &str) -> Proxy {
        self.proxy_of(&Communicator::new(), identity)
    }

    /// Waits until so many of `slow` and `late` were begun.
    pub(crate) async fn has_begun(&self, count: usize) {
        soon(async {
            while self.echo.slow_count.load(Ordering::SeqCst) < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }

    pub(crate) fn proxy_of(&self, client: &Communicator, identity: &str) -> Proxy {
        client
            .proxy(&format!("{identity}:{}", self.adapter.endpoints()[0]))
            .expect("a proxy")
    }
}

/// An encapsulation with these bytes as payload.
pub(crate) fn encapsulation(payload: &[u8]) -> Vec<u8> {
    let mut bytes = ((payload.len() + 6) as i32).to_le_bytes().to_vec();
    bytes.extend([1, 1]);
    bytes.extend(payload);
    bytes
}

/// Invokes and gives the bytes that were returned.
pub(crate) async fn returned(
    proxy: &Proxy,
    operation: &str,
    parameters: &[u8],
) -> Result<Vec<u8>, InvokeError> {
    match proxy
        .invoke(operation, OperationMode::Normal, parameters)
        .await?
    {
        Some(Outcome::Returned(bytes)) => Ok(bytes.to_vec()),
        other => panic!("expected results, got {other:?}"),
    }
}

/// Ends a test that hangs.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("done within 30 s")
}
