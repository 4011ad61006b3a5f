//! A log on standard error, for programs that want no other.

use std::io::{self, Write};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use tracing::Level;

use crate::line_queue::LineQueue;

/// Writes warnings and errors to standard error from now on, a line each.
///
/// Floe logs with the crate `tracing`. If the program has installed a subscriber of its own, the call does nothing.
///
/// A line is written before the program goes on. If standard error is a pipe that nobody reads, the program goes on without it
/// after 100 ms: up to 1 MiB of lines wait, and further ones are left out and counted in a line of their own.
pub fn log_to_stderr() {
    // It fails if the program has already installed a subscriber.
    let _ = tracing_subscriber::fmt()
        .with_writer(|| Stderr)
        .with_max_level(Level::WARN)
        .try_init();
}

/// Standard error, by the thread that writes it.
struct Stderr;

/// The lines of this process, and true if a thread writes them.
static LINES: LazyLock<(LineQueue, bool)> = LazyLock::new(|| {
    let writer = thread::Builder::new().name("floe-log".to_owned());
    let started = writer.spawn(|| {
        let (queue, _) = &*LINES;
        queue.write_all_to(io::stderr(), |count| {
            let text = "lines of the log were left out, because nobody read standard error";
            // Not as a line of the log, which would wait for this thread.
            queue.push(format!(" WARN floe: {count} {text}\n").as_bytes());
        });
    });
    (LineQueue::default(), started.is_ok())
});

/// How long a line may take to be written before the program goes on without it.
const WAIT_MAX: Duration = Duration::from_millis(100);

impl Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let (queue, has_thread) = &*LINES;
        if !has_thread {
            return io::stderr().write(line);
        }
        queue.push_and_wait(line, WAIT_MAX);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
