//! Lines that a thread of their own writes: standard error may be a pipe that nobody reads, and a program must not wait for its
//! log.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Lines that wait to be written.
#[derive(Debug, Default)]
pub struct LineQueue {
    /// Held for a few moves, and never across a write.
    state: Mutex<QueuedLines>,
    /// Notified when lines come, and when they are written.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueuedLines {
    lines: VecDeque<Vec<u8>>,
    /// The bytes of all of them.
    bytes: usize,
    /// Lines that were left out since the last were written.
    left_out: u64,
    is_writing: bool,
    /// True if somebody has waited for lines in vain, and none was written since.
    is_stuck: bool,
}

/// Bytes that may wait: thousands of lines, and little beside the memory of a server.
const BYTES_MAX: usize = 1 << 20;

impl LineQueue {
    /// Takes a line, or counts it as left out if too much waits.
    pub fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.bytes + line.len() > BYTES_MAX {
            state.left_out += 1;
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line.to_owned());
        drop(state);
        self.changed.notify_all();
    }

    /// Takes a line, and waits until it is written, but not longer than `limit`. After a wait in vain, nobody waits until lines
    /// are written again.
    pub fn push_and_wait(&self, line: &[u8], limit: Duration) {
        self.push(line);
        if !self.lock().is_stuck && !self.finish(limit) {
            self.lock().is_stuck = true;
        }
    }

    /// Writes lines for ever. `left_out` is told how many were left out since the last time.
    pub fn write_all_to(&self, mut to: impl Write, left_out: impl Fn(u64)) {
        loop {
            let (lines, count) = self.next_lines();
            for line in lines {
                // Whoever closed standard error does not want to know.
                let _ = to.write_all(&line);
            }
            let _ = to.flush();
            if count > 0 {
                left_out(count);
            }
        }
    }

    /// Waits for lines, and takes all of them.
    fn next_lines(&self) -> (VecDeque<Vec<u8>>, u64) {
        let mut state = self.lock();
        if state.is_writing {
            (state.is_writing, state.is_stuck) = (false, false);
        }
        self.changed.notify_all();
        while state.lines.is_empty() {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.is_writing = true;
        state.bytes = 0;
        let lines = std::mem::take(&mut state.lines);
        (lines, std::mem::take(&mut state.left_out))
    }

    /// Waits until all lines are written, but not longer than `limit`. Returns false if some still wait.
    pub fn finish(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut state = self.lock();
        while state.is_writing || !state.lines.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, QueuedLines> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use super::*;

    /// A pipe whose reader takes a write only when it is told to.
    struct Pipe {
        read: Receiver<()>,
        written: Sender<Vec<u8>>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.read.recv().is_err() {
                loop {
                    thread::park();
                }
            }
            let _ = self.written.send(bytes.to_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_nobody_reads_hold_nobody_up_and_are_counted() {
        let queue = Arc::<LineQueue>::default();
        let (reads, read) = channel();
        let (written, writes) = channel();
        let (count_sender, counts) = channel();
        let of_thread = queue.clone();
        thread::spawn(move || {
            let pipe = Pipe { read, written };
            of_thread.write_all_to(pipe, |count| count_sender.send(count).unwrap());
        });
        let line = [b'x'; 1000];
        let total = 3 * BYTES_MAX / line.len();
        for _ in 0..total {
            // Only the first one waits.
            queue.push_and_wait(&line, Duration::from_millis(100));
        }
        // It does not wait for ever either.
        assert!(!queue.finish(Duration::from_millis(10)));
        for _ in 0..total {
            reads.send(()).unwrap();
        }
        // The lines behind those that were left out are written after their count.
        let start = Instant::now();
        let (mut written, mut left_out) = (0, 0);
        while written + left_out < total {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{written}, {left_out}"
            );
            thread::sleep(Duration::from_millis(1));
            written += writes.try_iter().count();
            left_out += counts.try_iter().map(|count| count as usize).sum::<usize>();
        }
        assert_eq!(written + left_out, total);
        assert!(left_out > total / 3, "{left_out}");
        assert_eq!(queue.lock().left_out, 0);
    }
}
