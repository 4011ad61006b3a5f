//! Accepting connections: one task for each listening socket.
//!
//! A connection of some transports has to be opened after it was accepted (a TLS handshake, a
//! WebSocket's opening request), which takes as long as the peer likes. That is bounded in number
//! and in time, and a peer that dawdles makes no other wait for long.

use std::collections::VecDeque;
use std::io;
use std::sync::Weak;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::AdapterCore;
use crate::connection::{Connection, Purpose};
use crate::transport::{Accepted, Listener, Pending, Stream};

/// Connections of one socket that may be opening at the same time.
const OPENING_MAX: usize = 256;
/// How long each may take in any case; when that many are opening, the oldest is given up then.
const OPENING_PATIENCE: Duration = Duration::from_millis(250);
/// How long to wait for descriptors to become free.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// What repeats is logged once in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Accepts connections until the adapter is deactivated.
pub(super) async fn accept(
    listener: Box<dyn Listener>,
    adapter: Weak<AdapterCore>,
    open_timeout: Duration,
) {
    let mut opening = Opening {
        tasks: JoinSet::new(),
        oldest_first: VecDeque::new(),
        open_timeout,
    };
    let mut failures = Failures::default();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(Accepted::Ready(stream)) => {
                    if start(stream, &adapter).is_none() {
                        return;
                    }
                }
                Ok(Accepted::Opening { peer, opening: pending }) => {
                    opening.make_room(&adapter).await;
                    opening.begin(peer, pending);
                }
                Err(error) => {
                    failures.note(&error);
                    // Out of descriptors or memory: neither ends the server, nor may it spin.
                    if !is_of_the_peer(&error) {
                        sleep(ACCEPT_RETRY_DELAY).await;
                    }
                }
            },
            Some(opened) = opening.tasks.join_next() => opening.end(opened.ok().flatten(), &adapter),
        }
    }
}

/// Connections that are being opened. Dropping it drops them.
struct Opening {
    tasks: JoinSet<Option<Stream>>,
    /// When each began.
    oldest_first: VecDeque<(Instant, AbortHandle)>,
    open_timeout: Duration,
}

impl Opening {
    /// Waits a little for one of too many to be done, and then gives up the oldest.
    async fn make_room(&mut self, adapter: &Weak<AdapterCore>) {
        while self.tasks.len() >= OPENING_MAX {
            let oldest = self.oldest_first.front();
            let until = oldest.map_or_else(Instant::now, |(begun, _)| *begun + OPENING_PATIENCE);
            tokio::select! {
                Some(opened) = self.tasks.join_next() => self.end(opened.ok().flatten(), adapter),
                () = sleep_until(until) => {
                    tracing::warn!(
                        "{OPENING_MAX} connections are being opened: gave up the oldest of them"
                    );
                    if let Some((_, oldest)) = self.oldest_first.pop_front() {
                        oldest.abort();
                        // It may be another one that is done by now.
                        let ended = self.tasks.join_next().await.and_then(Result::ok);
                        self.end(ended.flatten(), adapter);
                    }
                }
            }
        }
    }

    fn begin(&mut self, peer: String, opening: Pending<'static, Stream>) {
        let limit = self.open_timeout;
        let task = async move {
            match timeout(limit, opening).await {
                Ok(Ok(stream)) => Some(stream),
                Ok(Err(error)) => {
                    tracing::warn!("refused a connection from {peer}: {error}");
                    None
                }
                Err(_) => {
                    tracing::warn!(
                        "refused a connection from {peer}: it was not opened within {limit:?}"
                    );
                    None
                }
            }
        };
        let task = self.tasks.spawn(task);
        self.oldest_first.push_back((Instant::now(), task));
    }

    fn end(&mut self, opened: Option<Stream>, adapter: &Weak<AdapterCore>) {
        self.oldest_first.retain(|(_, task)| !task.is_finished());
        if let Some(stream) = opened {
            // If the adapter is gone, the next connection finds out, too.
            start(stream, adapter);
        }
    }
}

/// Starts a connection; `None` if the adapter or its communicator is gone.
fn start(stream: Stream, adapter: &Weak<AdapterCore>) -> Option<()> {
    let core = adapter.upgrade()?;
    let communicator = core.communicator()?;
    tracing::debug!("accepted a connection from {}", stream.peer);
    let purpose = Purpose::Incoming(adapter.clone());
    let connection = Connection::start(stream, purpose, &communicator);
    // Deactivated meanwhile on another thread, which did not know of this one.
    if core.is_deactivated() {
        connection.close();
    }
    Some(())
}

/// Failures to accept, of which there may be thousands a second.
#[derive(Default)]
struct Failures {
    logged: Option<Instant>,
    unlogged_count: u64,
}

impl Failures {
    fn note(&mut self, error: &io::Error) {
        let now = Instant::now();
        if self
            .logged
            .is_some_and(|logged| now - logged < LOG_INTERVAL)
        {
            self.unlogged_count += 1;
            return;
        }
        let more = match std::mem::take(&mut self.unlogged_count) {
            0 => String::new(),
            count => format!(" (and {count} times before)"),
        };
        self.logged = Some(now);
        tracing::warn!("could not accept a connection: {error}{more}");
    }
}

/// Whether a peer gave up before it was accepted, which says nothing of the next.
fn is_of_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
