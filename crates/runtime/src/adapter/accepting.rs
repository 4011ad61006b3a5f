//! Accepting connections: one task for each listening socket.
//!
//! After some transports accept a connection, they still have to open it: a TLS handshake, or the
//! opening request of a WebSocket. A slow peer can make that take any length of time. The number of
//! openings and the time of each are therefore limited, and a slow peer delays the others only
//! briefly.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::admission::{Admission, Admissions, add};
use crate::communicator::Communicator;
use crate::connection::{ConnectionCore, Purpose};
use crate::dispatch::AdapterCore;
use crate::settings::Settings;
use crate::transport::{Accepted, ConnectionInfo, Listener, Pending, Stream};

/// Every opening gets at least this long. If too many are under way after that, the oldest is
/// dropped.
const OPENING_TIME_MIN: Duration = Duration::from_millis(250);
/// How long to wait for descriptors to become free.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// A repeated failure is logged once in this interval.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Accepts connections until the adapter is deactivated, and none while it is held.
pub(super) async fn accept(
    listener: Box<dyn Listener>,
    adapter: Weak<AdapterCore>,
    settings: Arc<Settings>,
    mut is_held: watch::Receiver<bool>,
) {
    let mut opening = Opening {
        tasks: JoinSet::new(),
        oldest_first: VecDeque::new(),
        limit: settings.handshake_limit.max(1),
        open_timeout: settings.connect_timeout,
    };
    let mut failures = AcceptFailures::default();
    loop {
        let may_accept = !*is_held.borrow_and_update();
        tokio::select! {
            accepted = listener.accept(), if may_accept => match accepted {
                Ok(Accepted::Ready(stream)) => {
                    if start(stream, &adapter).is_none() {
                        return;
                    }
                }
                Ok(Accepted::Opening { peer, opening: pending }) => {
                    // Check the limits before the handshake, so that no handshake is wasted.
                    match admit_any(&peer, &adapter) {
                        None => return,
                        Some(false) => continue,
                        Some(true) => {}
                    }
                    opening.make_room(&adapter).await;
                    opening.begin(peer, pending, adapter.clone());
                }
                Err(error) => {
                    failures.note(&error, &adapter);
                    // The process is out of descriptors or memory. That must neither end the server
                    // nor make it spin.
                    if !is_peer_abort(&error) {
                        sleep(ACCEPT_RETRY_DELAY).await;
                    }
                }
            },
            Some(opened) = opening.tasks.join_next() => opening.end(opened.ok().flatten(), &adapter),
            changed = is_held.changed() => if changed.is_err() {
                return;
            },
        }
    }
}

/// Connections that are being opened. Dropping the value drops them.
struct Opening {
    tasks: JoinSet<Option<Stream>>,
    /// When each opening began.
    oldest_first: VecDeque<(Instant, AbortHandle)>,
    limit: usize,
    open_timeout: Duration,
}

impl Opening {
    /// If there are too many openings, waits briefly for one to end, and then drops the oldest.
    async fn make_room(&mut self, adapter: &Weak<AdapterCore>) {
        while self.tasks.len() >= self.limit {
            let oldest = self.oldest_first.front();
            let until = oldest.map_or_else(Instant::now, |(begun, _)| *begun + OPENING_TIME_MIN);
            tokio::select! {
                Some(opened) = self.tasks.join_next() => self.end(opened.ok().flatten(), adapter),
                () = sleep_until(until) => {
                    let limit = self.limit;
                    failed_handshake(adapter, || format!(
                        "dropped the oldest of {limit} connections in their handshake, because \
                         `Settings::handshake_limit` is reached"
                    ));
                    if let Some((_, oldest)) = self.oldest_first.pop_front() {
                        oldest.abort();
                        // The oldest may have ended meanwhile, so that another one is now in front.
                        let ended = self.tasks.join_next().await.and_then(Result::ok);
                        self.end(ended.flatten(), adapter);
                    }
                }
            }
        }
    }

    fn begin(
        &mut self,
        peer: String,
        opening: Pending<'static, Stream>,
        adapter: Weak<AdapterCore>,
    ) {
        let limit = self.open_timeout;
        let task = async move {
            let why = match timeout(limit, opening).await {
                Ok(Ok(stream)) => return Some(stream),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!(
                    "its TLS handshake or the opening of its WebSocket was not done within {limit:?} \
                     (`Settings::connect_timeout`)"
                ),
            };
            failed_handshake(&adapter, || {
                format!("refused a connection from {peer}: {why}")
            });
            None
        };
        let task = self.tasks.spawn(task);
        self.oldest_first.push_back((Instant::now(), task));
    }

    fn end(&mut self, opened: Option<Stream>, adapter: &Weak<AdapterCore>) {
        self.oldest_first.retain(|(_, task)| !task.is_finished());
        if let Some(stream) = opened {
            // If the adapter is gone, the next connection notices that, too.
            start(stream, adapter);
        }
    }
}

fn failed_handshake(adapter: &Weak<AdapterCore>, line: impl FnOnce() -> String) {
    if let Some(core) = adapter.upgrade() {
        add(&core.counters.handshakes_failed);
        warn_limited(&core, line);
    }
}

/// Starts a connection, if it is admitted; `None` if the adapter or its communicator is gone.
fn start(stream: Stream, adapter: &Weak<AdapterCore>) -> Option<()> {
    let core = adapter.upgrade()?;
    let communicator = Communicator::from_owner(core.owner()?)?;
    let admission = match admit(&stream, &core) {
        Ok(admission) => admission,
        Err(why) => {
            refuse(&core, &stream.peer, &why);
            return Some(());
        }
    };
    tracing::debug!("accepted a connection from {}", stream.peer);
    let purpose = Purpose::incoming(adapter.clone(), core.settings.clone(), admission);
    let connection = ConnectionCore::start(stream, purpose, communicator.core().connections());
    // Another thread has deactivated the adapter meanwhile, and did not know this connection.
    if core.is_deactivated() {
        connection.close();
    }
    Some(())
}

/// A share of the limits. A socket of a `udp` endpoint exists as long as its adapter, and needs no
/// share.
fn admit(stream: &Stream, core: &AdapterCore) -> Result<Option<Admission>, String> {
    if stream.writer.is_datagram() {
        return Ok(None);
    }
    let both = both_limits(core);
    let address = address_of(stream, &both);
    Admission::of(both, address).map(Some)
}

/// Returns whether the limits admit a connection from any address; `None` if the adapter is gone.
fn admit_any(peer: &str, adapter: &Weak<AdapterCore>) -> Option<bool> {
    let core = adapter.upgrade()?;
    for limit in both_limits(&core) {
        if let Err(why) = limit.check_count() {
            refuse(&core, peer, &why);
            return Some(false);
        }
    }
    Some(true)
}

fn both_limits(core: &AdapterCore) -> [Arc<Admissions>; 2] {
    let all = core.environment.admissions().clone();
    [core.admissions.clone(), all]
}

/// The peer's address or network, if there is a limit for each address.
fn address_of(stream: &Stream, limits: &[Arc<Admissions>]) -> Option<IpAddr> {
    if !limits.iter().any(|limit| limit.is_by_address()) {
        return None;
    }
    let mut info = ConnectionInfo::default();
    stream.writer.describe(&mut info);
    info.remote_network()
}

fn refuse(core: &AdapterCore, peer: &str, why: &str) {
    add(&core.counters.refused);
    warn_limited(core, || format!("refused a connection from {peer}: {why}"));
}

fn warn_limited(core: &AdapterCore, line: impl FnOnce() -> String) {
    core.environment.warn_limited(None, line);
}

/// Counts failures to accept, which can occur thousands of times a second.
#[derive(Default)]
struct AcceptFailures {
    logged: Option<Instant>,
    unlogged_count: u64,
}

impl AcceptFailures {
    fn note(&mut self, error: &io::Error, adapter: &Weak<AdapterCore>) {
        if let Some(core) = adapter.upgrade() {
            add(&core.counters.accepts_failed);
        }
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
        let what_to_do = match error.raw_os_error() {
            Some(EMFILE) => {
                ": raise the process's limit of open files (`ulimit -n`), or set \
                 `Settings::connection_limit` below it"
            }
            _ => "",
        };
        tracing::warn!("could not accept a connection: {error}{more}{what_to_do}");
    }
}

/// `EMFILE`: the process has reached its limit of descriptors. All Unixes use the same number.
const EMFILE: i32 = 24;

/// Returns whether a peer aborted before its connection was accepted. Such a failure says nothing
/// about the next connection.
fn is_peer_abort(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
