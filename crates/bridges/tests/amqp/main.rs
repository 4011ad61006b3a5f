//! The broker of a bridge, against a client that says exactly what a test wants. Real programs are in `tests/interop/bridges`.

mod broker;
mod client;

mod attacks;
mod consumers;
mod logins;
mod producers;

use std::time::{Duration, Instant};

/// Waits until `holds`. Long, because machines that run tests are slow and loaded.
fn eventually(expected: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "expected {expected}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
