//! A peer: another program that a test starts, reads line by line, and ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A running program. Dropping it kills it.
///
/// Every wait ends after [`PATIENCE`] with a panic that shows what the program wrote, so a peer that hangs fails its
/// test and does not hang it.
#[derive(Debug)]
pub struct Peer {
    name: String,
    child: Child,
    lines: Receiver<String>,
    /// The program's output on standard error so far; shared with the thread that reads it.
    errors: Arc<Mutex<String>>,
    /// Hangs up when all of standard error has been read.
    errors_end: Receiver<()>,
}

/// The outcome of a program that ended.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// The lines of standard output that were not read before.
    pub lines: Vec<String>,
    /// Everything on standard error.
    pub errors: String,
}

/// How long a peer may take for anything; long, because machines that run tests are slow and loaded.
pub const PATIENCE: Duration = Duration::from_secs(60);

impl Peer {
    /// Starts a program; `name` is what messages call it.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(name: &str, command: &mut Command) -> Self {
        let piped = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|error| {
            panic!("expected {name} to start, got: {error}; the command was {command:?}")
        });
        let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
        let stderr = child.stderr.take().expect("stderr was asked to be a pipe");
        let errors = Arc::default();
        let errors_end = collect(stderr, Arc::clone(&errors));
        Self {
            name: name.to_owned(),
            child,
            lines: send_lines(stdout),
            errors,
            errors_end,
        }
    }

    /// The next line of standard output, without its end.
    ///
    /// # Panics
    /// If the program ends or [`PATIENCE`] is over before it comes.
    pub fn line(&mut self) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => self.fail("a line", "nothing in time"),
            Err(RecvTimeoutError::Disconnected) => self.fail("a line", "the end of its output"),
        }
    }

    /// The next line of standard output if there is one within `wait`.
    pub fn line_within(&mut self, wait: Duration) -> Option<String> {
        self.lines.recv_timeout(wait).ok()
    }

    /// Reads lines up to the first that starts with `prefix`; returns the rest of it, trimmed.
    ///
    /// # Panics
    /// As [`Peer::line`].
    pub fn line_after(&mut self, prefix: &str) -> String {
        loop {
            if let Some(rest) = self.line().strip_prefix(prefix) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits until the program says `ready`; returns what it says after that word, often a proxy.
    ///
    /// # Panics
    /// As [`Peer::line`].
    pub fn ready(&mut self) -> String {
        self.line_after("ready")
    }

    /// Returns the program's output on standard error so far.
    pub fn errors(&self) -> String {
        self.errors
            .lock()
            .expect("the reading thread does not panic")
            .clone()
    }

    /// Waits until standard error contains `text` and the end of its line; returns all that the program wrote there so
    /// far.
    ///
    /// # Panics
    /// If that does not happen within [`PATIENCE`].
    pub fn errors_with(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let errors = self.errors();
            // A pipe may be read in the middle of a line, whose rest the caller wants as well.
            if let Some((_, rest)) = errors.split_once(text)
                && (text.ends_with('\n') || rest.contains('\n'))
            {
                return errors;
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.fail(
            &format!("`{text}` on standard error"),
            "no such text in time",
        )
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Closes the program's standard input, which asks our peers to end.
    pub fn close_input(&mut self) {
        self.child.stdin = None;
    }

    /// Sends the program a signal, such as `TERM` or `INT`.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn signal(&self, name: &str) {
        // The shell has `kill` built in; as a program it is not on every machine.
        let kill = format!("kill -s {name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "expected to send {name} to {}",
            self.name
        );
    }

    /// Kills the program at once, as a crash would.
    pub fn kill(&mut self) {
        // It may have ended already, and then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for the program to end by itself.
    ///
    /// # Panics
    /// If it does not end within [`PATIENCE`].
    pub fn end(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => return self.ended(status),
                None if Instant::now() > deadline => self.fail("its end", "no end in time"),
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Waits for the program to end by itself with success; returns the lines that were not read before.
    ///
    /// # Panics
    /// If it does not end within [`PATIENCE`], or fails.
    pub fn succeed(self) -> Vec<String> {
        let name = self.name.clone();
        let ended = self.end();
        let (status, output, errors) = (ended.status, ended.lines.join("\n"), &ended.errors);
        assert!(
            status.success(),
            "expected {name} to succeed, got {status}\nits output:\n{output}\nits standard error:\n{errors}"
        );
        ended.lines
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        // Its pipes are closed now, so this reads to their ends; a grandchild that holds them open is cut short.
        let mut lines = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(2)) {
            lines.push(line);
        }
        let _ = self.errors_end.recv_timeout(Duration::from_secs(2));
        Ended {
            status,
            lines,
            errors: self.errors(),
        }
    }

    fn fail(&self, expected: &str, came: &str) -> ! {
        // What it says last may still be on its way.
        thread::sleep(Duration::from_millis(100));
        let (name, errors) = (&self.name, self.errors());
        panic!("expected {expected} from {name}, got {came}\nits standard error:\n{errors}")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Hands each line of `output` to the receiver, from a thread that ends with the output.
fn send_lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let text = String::from_utf8_lossy(&line)
                .trim_end_matches('\r')
                .to_owned();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    lines
}

/// Appends `output` to `text`, from a thread that ends with the output; the receiver hangs up then.
fn collect(output: impl Read + Send + 'static, text: Arc<Mutex<String>>) -> Receiver<()> {
    let (end, ended) = mpsc::channel();
    thread::spawn(move || {
        let _end = end;
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let mut text = text.lock().expect("no holder of this lock panics");
            text.push_str(&String::from_utf8_lossy(&line));
            text.push('\n');
        }
    });
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Peer {
        Peer::start("a shell", Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn what_stands_behind_ready_is_returned() {
        assert_eq!(
            shell("echo talk; echo ready a:tcp -p 1; cat").ready(),
            "a:tcp -p 1"
        );
    }

    #[test]
    fn a_peer_that_reads_its_input_ends_when_that_is_closed() {
        let mut peer = shell("echo ready; cat; echo done");
        peer.ready();
        peer.close_input();
        assert_eq!(peer.succeed(), ["done"]);
    }

    #[test]
    #[should_panic(expected = "its standard error:\nout of paper")]
    fn a_peer_that_fails_shows_its_standard_error() {
        shell("echo out of paper >&2; exit 3").succeed();
    }

    #[test]
    #[should_panic(expected = "the end of its output")]
    fn a_peer_that_ends_before_it_is_ready_is_noticed() {
        shell("echo not yet").ready();
    }

    #[test]
    fn text_on_standard_error_can_be_waited_for() {
        let peer = shell("sleep 0.1; echo one two >&2; cat");
        assert_eq!(peer.errors_with("two"), "one two\n");
    }

    #[test]
    fn a_signal_reaches_the_peer() {
        let mut peer = shell(
            "trap 'echo asked to end; exit 0' TERM; echo ready; while :; do sleep 0.01; done",
        );
        peer.ready();
        peer.signal("TERM");
        assert_eq!(peer.succeed(), ["asked to end"]);
    }

    #[test]
    fn a_dropped_peer_is_dead() {
        let peer = shell("sleep 1000");
        let status = format!("/proc/{}/status", peer.id());
        assert!(std::fs::exists(&status).is_ok_and(|there| there));
        drop(peer);
        assert!(std::fs::exists(&status).is_ok_and(|there| !there));
    }
}
