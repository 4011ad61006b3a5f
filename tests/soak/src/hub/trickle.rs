//! A subscriber that reads a byte a second: a raw socket, so that nothing reads ahead for it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The first message of a server: a message of the type "validate connection", with no body.
const VALIDATE: &[u8; 14] = b"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00";
/// Between two bytes, while it is slow; it looks as often whether it still is.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks in a pause.
const LOOKS: u32 = 20;

/// A listening socket, whose connections are read slowly or as fast as they can be. It takes what comes, and
/// answers nothing: it is for oneway subscribers.
pub(super) struct Trickle {
    port: u16,
    is_slow: Arc<AtomicBool>,
}

impl Trickle {
    /// Begins to listen; its threads end with the process.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("a bound socket").port();
        let is_slow = Arc::new(AtomicBool::new(false));
        let slow = is_slow.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let slow = slow.clone();
                thread::spawn(move || read(stream, &slow));
            }
        });
        Self { port, is_slow }
    }

    /// The proxy of an object there.
    pub(super) fn proxy(&self, name: &str) -> String {
        format!("{name} -o:tcp -h 127.0.0.1 -p {}", self.port)
    }

    /// Reads a byte a second from now on, or as fast as it can.
    pub(super) fn set_slow(&self, is_slow: bool) {
        self.is_slow.store(is_slow, Ordering::Relaxed);
    }
}

fn read(mut stream: TcpStream, is_slow: &AtomicBool) {
    let mut buffer = vec![0; 64 * 1024];
    let mut result = stream.write_all(VALIDATE).map(|()| 1);
    while result.as_ref().is_ok_and(|count| *count > 0) {
        let len = match is_slow.load(Ordering::Relaxed) {
            true => 1,
            false => buffer.len(),
        };
        result = stream.read(&mut buffer[..len]);
        if len == 1 {
            pause_while(is_slow);
        }
    }
}

fn pause_while(is_slow: &AtomicBool) {
    for _ in 0..LOOKS {
        if !is_slow.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(PAUSE / LOOKS);
    }
}
