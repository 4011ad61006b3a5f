//! Peers that send many frames and little payload.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use super::*;

/// A masked ping without payload.
const PING: [u8; 6] = [0x89, 0x80, 0, 0, 0, 0];
/// A masked frame with one byte of payload.
const DATA: [u8; 7] = [0x82, 0x81, 0, 0, 0, 0, 7];

/// A stream that brings a frame again and again, and never waits.
struct Endless {
    frame: &'static [u8],
    read: Arc<AtomicUsize>,
}

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = out.remaining() / self.frame.len() * self.frame.len();
        assert!(
            self.read.fetch_add(count, Ordering::Relaxed) < 1_000_000,
            "it gives way before"
        );
        out.put_slice(&self.frame.repeat(count / self.frame.len()));
        Poll::Ready(Ok(()))
    }
}

/// Counts writes.
struct Writes(Arc<AtomicUsize>);

impl StreamWriter for Writes {
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn poll_write_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn shutdown(&self) {}
}

/// Reads such frames until the reader waits. Returns how many bytes were read, and how many writes that took.
fn read_until_it_waits(frame: &'static [u8]) -> (usize, usize) {
    let [read, writes] = [(); 2].map(|()| Arc::<AtomicUsize>::default());
    let stream = Stream {
        reader: Box::new(Endless {
            frame,
            read: read.clone(),
        }),
        writer: Box::new(Writes(writes.clone())),
        peer: String::new(),
    };
    let mut stream = framed(stream, Side::Server, BytesMut::new());
    let mut buffer = [0; 8 * 1024];
    let mut context = Context::from_waker(Waker::noop());
    loop {
        let reading = pin!(stream.reader.read(&mut buffer));
        if std::future::Future::poll(reading, &mut context).is_pending() {
            return (read.load(Ordering::Relaxed), writes.load(Ordering::Relaxed));
        }
    }
}

#[test]
fn control_frames_without_end_give_way() {
    let (read, _) = read_until_it_waits(&PING);
    assert!(read <= 2 * Overhead::LEN_MAX, "{read}");
}

#[test]
fn frames_of_one_byte_give_way() {
    let (read, _) = read_until_it_waits(&DATA);
    assert!(read <= 3 * Overhead::LEN_MAX, "{read}");
}

#[test]
fn many_pings_in_one_read_are_answered_once() {
    let (read, writes) = read_until_it_waits(&PING);
    assert!(read > 1000 * PING.len(), "{read}");
    assert!(writes <= 2, "{writes}");
}
