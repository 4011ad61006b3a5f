//! A client that calls every 20 ms and connects twice a second, on a thread of its own, and notes how long it waits.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::message::{MANAGER, request};

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
}

impl Waits {
    pub(super) fn worst(&self) -> Duration {
        self.call.max(self.connect)
    }
}

/// A running canary.
pub(super) struct Canary(Arc<Mutex<Noted>>);

struct Noted {
    waits: Waits,
    /// When the wait began that has not ended.
    waiting_since: Option<Instant>,
}

impl Canary {
    /// Starts a canary of the hub at this port.
    pub(super) fn start(port: u16) -> Self {
        let noted = Arc::new(Mutex::new(Noted {
            waits: Waits::default(),
            waiting_since: None,
        }));
        let own = noted.clone();
        thread::spawn(move || {
            loop {
                if let Err(error) = sing(port, &own) {
                    eprintln!("the canary: {error}");
                    thread::sleep(CALL_INTERVAL);
                }
            }
        });
        Self(noted)
    }

    /// The waits since the last look, with the one that has not ended.
    pub(super) fn take(&self, now: Instant) -> Waits {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waits = std::mem::take(&mut noted.waits);
        if let Some(since) = noted.waiting_since {
            waits.call = waits.call.max(now - since);
        }
        waits
    }
}

/// Calls over one connection, and makes others.
fn sing(port: u16, noted: &Mutex<Noted>) -> io::Result<()> {
    let mut stream = wait(noted, |waits| &mut waits.connect, || connect(port))?;
    for count in 1_u32.. {
        thread::sleep(CALL_INTERVAL);
        let call = || call(&mut stream);
        wait(noted, |waits| &mut waits.call, call)?;
        noted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .waits
            .calls += 1;
        if count.is_multiple_of(CALLS_PER_CONNECTION) {
            wait(noted, |waits| &mut waits.connect, || connect(port))?;
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
    let lock = || noted.lock().unwrap_or_else(PoisonError::into_inner);
    let begun = Instant::now();
    lock().waiting_since = Some(begun);
    let result = act();
    let mut noted = lock();
    noted.waiting_since = None;
    let longest = kind(&mut noted.waits);
    *longest = begun.elapsed().max(*longest);
    result
}

/// Connects, and waits until the hub says that it is ready.
fn connect(port: u16) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.read_exact(&mut [0; 14])?;
    Ok(stream)
}

fn call(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(&request(1, MANAGER, "ice_ping", &[]))?;
    loop {
        let mut header = [0; 14];
        stream.read_exact(&mut header)?;
        let len = i32::from_le_bytes([header[10], header[11], header[12], header[13]]);
        let mut body = vec![0; usize::try_from(len - 14).unwrap_or_default()];
        stream.read_exact(&mut body)?;
        // Anything else is a heartbeat.
        if header[8] == 2 {
            return Ok(());
        }
    }
}
