//! A network between two peers, with faults: it forwards bytes until it is told to stop, cut or dawdle.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::stage::until;

/// Forwards from its port to another one of loopback.
pub(crate) struct Relay {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    is_stalled: AtomicBool,
    /// Bytes that go through before a stall takes hold.
    allowance: AtomicUsize,
    cut_count: AtomicUsize,
    streams: Mutex<Vec<TcpStream>>,
}

impl Relay {
    pub(crate) fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::<Shared>::default();
        let own = shared.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else {
                    continue;
                };
                let clone = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
                let mut streams = own.streams.lock().expect("nobody panics");
                streams.extend([clone(&near), clone(&far)]);
                drop(streams);
                own.clone().forward(clone(&near), clone(&far));
                own.clone().forward(far, near);
            }
        });
        Self { port, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on only so many bytes go through, in both directions together: then the network is
    /// silent, and nobody is told.
    pub(crate) fn stall_after(&self, byte_count: usize) {
        self.shared.allowance.store(byte_count, Ordering::SeqCst);
        self.shared.is_stalled.store(true, Ordering::SeqCst);
    }

    /// Waits until the bytes that were allowed are through.
    pub(crate) fn wait_until_stalled(&self) {
        until("the allowed bytes go through", || {
            self.shared.allowance.load(Ordering::SeqCst) == 0
        });
    }

    /// Ends all connections, as if the machines had gone; later ones are forwarded again.
    pub(crate) fn cut(&self) {
        self.shared.is_stalled.store(false, Ordering::SeqCst);
        self.shared.cut_count.fetch_add(1, Ordering::SeqCst);
        for stream in self.shared.streams.lock().expect("nobody panics").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Shared {
    fn forward(self: Arc<Self>, mut from: TcpStream, mut to: TcpStream) {
        thread::spawn(move || {
            let mut bytes = [0; 64 * 1024];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                let allowed = self.allowed(count);
                if to.write_all(&bytes[..allowed]).is_err() {
                    break;
                }
                if allowed < count {
                    let cuts = self.cut_count.load(Ordering::SeqCst);
                    while self.cut_count.load(Ordering::SeqCst) == cuts {
                        thread::sleep(Duration::from_millis(5));
                    }
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }

    fn allowed(&self, count: usize) -> usize {
        if !self.is_stalled.load(Ordering::SeqCst) {
            return count;
        }
        let take = |left: usize| Some(left.saturating_sub(count));
        let left = self
            .allowance
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take);
        left.unwrap_or(0).min(count)
    }
}
