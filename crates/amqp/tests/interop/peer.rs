//! A peer as a program that a test starts.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Long, because machines that run tests are slow and loaded.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running program, which is killed when it is dropped.
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

impl Program {
    pub(crate) fn start(name: &'static str, command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it was tried before");
        let output = child.stdout.take().expect("it is a pipe");
        let mut errors = child.stderr.take().expect("it is a pipe");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let errors = thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        Self {
            name,
            child,
            lines,
            errors: Some(errors),
        }
    }

    /// The next line of its output.
    pub(crate) fn line(&mut self) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(_) => self.fail("a line, got none", &[]),
        }
    }

    /// Waits until it has ended with success; its lines.
    pub(crate) fn succeed(mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let end = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(end - Instant::now().min(end)) {
                Ok(line) => lines.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => self.fail("its end in time", &lines),
            }
        }
        let status = self.child.wait().expect("it can be waited for");
        if !status.success() {
            self.fail(&format!("success, got {status}"), &lines);
        }
        lines
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn fail(&mut self, expected: &str, lines: &[String]) -> ! {
        self.kill();
        let errors = self.errors.take().map(|errors| errors.join());
        let errors = errors.and_then(Result::ok).unwrap_or_default();
        panic!(
            "{}: expected {expected}\nits output:\n{}\nits errors:\n{errors}",
            self.name,
            lines.join("\n")
        );
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until `holds`.
pub(crate) fn eventually(expected: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "expected {expected}");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn is_there(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    let command = command.args(arguments).stdin(Stdio::null());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A source beside this one.
pub(crate) fn source(name: &str) -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.join("tests/interop").join(name)
}

/// Prints that a peer is not there, as `cargo xtask test` counts it, around the capture of the test harness.
pub(crate) fn skip(peer: &str, reason: &str) {
    let _ = writeln!(io::stdout().lock(), "\nSKIPPED: {peer}: {reason}");
}
