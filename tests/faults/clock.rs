//! Clocks that jump: a process that stood still, such as on a machine that slept.

use std::thread;

use crate::child;
use crate::stage::{Face, Server, ms, settings};

#[test]
fn a_client_that_stood_still_does_not_blame_its_server() {
    Face::each(|face| {
        let mut settings = settings();
        settings.incoming.heartbeat_interval = ms(200);
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut caller = child::call(&server);
        server.echo.wait_until_begun(2);
        child::stop(&caller);
        // Longer than its idle timeout, and the heartbeats that came meanwhile are still to be read.
        thread::sleep(ms(2500));
        caller.signal("CONT");
        thread::sleep(ms(500));
        server.echo.let_go();
        assert_eq!(caller.line(), "answered");
    });
}

#[test]
fn no_wait_of_the_runtime_reads_the_clock_of_the_calendar() {
    let sources = floe_tests::workspace::root().join("crates/runtime/src");
    let mut folders = vec![sources];
    let mut file_count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            file_count += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(
                !text.contains("SystemTime::now"),
                "{} reads a clock that people set: take `Instant`",
                path.display()
            );
        }
    }
    assert!(file_count > 50);
}
