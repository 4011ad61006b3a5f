//! A client that calls every 20 ms and connects twice a second, on a thread of its own, and notes how long it waits.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::message::request;
use super::target::{Entry, REPLY};

const CALL_INTERVAL: Duration = Duration::from_millis(20);
/// Connections are made after this many calls.
const CALLS_PER_CONNECTION: u32 = 25;
/// A canary that waits longer gives up, and has waited so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The longest waits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waits {
    /// For the reply to a call.
    pub(super) call: Duration,
    /// For a connection to be ready.
    pub(super) connect: Duration,
    /// How many calls were made.
    pub(super) calls: u64,
    /// How many calls and connections failed.
    pub(super) failures: u64,
}

impl Waits {
    pub(super) fn worst(&self) -> Duration {
        self.call.max(self.connect)
    }
}

/// A running canary.
pub(super) struct Canary {
    noted: Arc<Mutex<Noted>>,
    is_stopped: Arc<AtomicBool>,
}

struct Noted {
    waits: Waits,
    /// When the wait began that has not ended.
    waiting_since: Option<Instant>,
}

impl Canary {
    /// Starts a canary of the server at this port.
    pub(super) fn start(port: u16, entry: Entry) -> Self {
        let noted = Arc::new(Mutex::new(Noted {
            waits: Waits::default(),
            waiting_since: None,
        }));
        let own = noted.clone();
        let is_stopped: Arc<AtomicBool> = Arc::default();
        let stopped = is_stopped.clone();
        thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if let Err(error) = sing(port, &entry, &own, &stopped)
                    && !stopped.load(Ordering::Relaxed)
                {
                    eprintln!("the canary: {error}");
                    lock(&own).waits.failures += 1;
                    thread::sleep(CALL_INTERVAL);
                }
            }
        });
        Self { noted, is_stopped }
    }

    /// Ends it soon, because its server ends.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// The waits since the last look, with the one that has not ended.
    pub(super) fn take(&self, now: Instant) -> Waits {
        let mut noted = lock(&self.noted);
        let mut waits = std::mem::take(&mut noted.waits);
        if let Some(since) = noted.waiting_since {
            waits.call = waits.call.max(now - since);
        }
        waits
    }
}

/// Calls over one connection, and makes others.
fn sing(port: u16, entry: &Entry, noted: &Mutex<Noted>, is_stopped: &AtomicBool) -> io::Result<()> {
    let connect = || connect(port, entry);
    let mut stream = wait(noted, |waits| &mut waits.connect, connect)?;
    let ping = request(1, entry.object, "ice_ping", &[]);
    for count in 1_u32.. {
        thread::sleep(CALL_INTERVAL);
        if is_stopped.load(Ordering::Relaxed) {
            break;
        }
        let call = || call(&mut stream, &ping);
        wait(noted, |waits| &mut waits.call, call)?;
        lock(noted).waits.calls += 1;
        if count.is_multiple_of(CALLS_PER_CONNECTION) {
            wait(noted, |waits| &mut waits.connect, connect)?;
        }
    }
    Ok(())
}

/// Notes how long something takes.
fn wait<T>(
    noted: &Mutex<Noted>,
    kind: fn(&mut Waits) -> &mut Duration,
    act: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let begun = Instant::now();
    lock(noted).waiting_since = Some(begun);
    let result = act();
    let mut noted = lock(noted);
    noted.waiting_since = None;
    let longest = kind(&mut noted.waits);
    *longest = begun.elapsed().max(*longest);
    result
}

/// Connects, and waits until calls can be made.
fn connect(port: u16, entry: &Entry) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read_exact(&mut [0; 14])?;
    for request in &entry.opening {
        call(&mut stream, request)?;
    }
    Ok(stream)
}

fn call(stream: &mut TcpStream, request: &[u8]) -> io::Result<()> {
    stream.write_all(request)?;
    loop {
        let mut header = [0; 14];
        stream.read_exact(&mut header)?;
        let len = i32::from_le_bytes([header[10], header[11], header[12], header[13]]);
        let mut body = vec![0; usize::try_from(len - 14).unwrap_or_default()];
        stream.read_exact(&mut body)?;
        // Anything else is a heartbeat.
        if header[8] == REPLY {
            return match body.get(4) {
                Some(0) => Ok(()),
                _ => Err(io::Error::other(format!(
                    "expected results, got {:?}",
                    String::from_utf8_lossy(&body)
                ))),
            };
        }
    }
}

fn lock(noted: &Mutex<Noted>) -> MutexGuard<'_, Noted> {
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}
