//! Standard error of a server, written by a thread of its own.

use std::io::Write;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use floe::line_queue::LineQueue;

/// The lines of this process that wait for standard error.
static STDERR: OnceLock<LineQueue> = OnceLock::new();

/// How long the end of a process waits for its last lines.
const LAST_LINES_MAX: Duration = Duration::from_secs(1);

/// Lets a thread write standard error from now on. Without a thread, everything is written at once, as before.
pub(crate) fn start() {
    let started = thread::Builder::new().name("stderr".to_owned()).spawn(|| {
        let queue = STDERR.get_or_init(LineQueue::default);
        queue.write_all_to(std::io::stderr(), |count| {
            tracing::warn!(
                "{count} lines of the log were left out, because nobody read standard error"
            );
        });
    });
    if started.is_ok() {
        STDERR.get_or_init(LineQueue::default);
    }
}

/// Waits until the last lines are written, but not for long.
pub(crate) fn finish() {
    if let Some(queue) = STDERR.get() {
        let _ = queue.finish(LAST_LINES_MAX);
    }
}

/// Writes to standard error, or lets the thread do it.
///
/// # Errors
/// Standard error cannot be written.
pub(crate) fn write(line: &[u8]) -> std::io::Result<()> {
    match STDERR.get() {
        Some(queue) => {
            queue.push(line);
            Ok(())
        }
        None => std::io::stderr().lock().write_all(line),
    }
}
