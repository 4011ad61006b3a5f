//! One process of a member.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process;

/// A process may take so long to become ready.
const READY_PATIENCE: Duration = Duration::from_secs(60);
/// And so long to end when it was asked to: its last calls end within their limits.
const END_PATIENCE: Duration = Duration::from_secs(60);

/// A running process. Dropping it kills it.
pub(crate) struct Member {
    child: Child,
    input: Option<ChildStdin>,
    /// Guards nothing: it lets a member be shared.
    lines: Mutex<Receiver<String>>,
    is_stopped: bool,
    /// Open descriptors when it was ready.
    pub(crate) descriptors: usize,
}

impl Member {
    /// Starts a process with its standard error in `log`; returns it with what it said after `ready`.
    ///
    /// # Errors
    /// It does not become ready.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<(Self, String), String> {
        let errors = File::create(log).map_err(|error| error.to_string())?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take().expect("stdout was asked to be a pipe");
        let (sender, lines) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            // Nobody reads any more what a member says that was dropped.
            lines.for_each(|line| drop(sender.send(line)));
        });
        let mut member = Self {
            input: child.stdin.take(),
            child,
            lines: Mutex::new(lines),
            is_stopped: false,
            descriptors: 0,
        };
        let line = member.line().unwrap_or_default();
        let ready = line.strip_prefix("ready").ok_or_else(|| {
            let log = fs::read(log).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            format!("expected `ready` from a member that starts, got `{line}`, and its log: {log}")
        })?;
        member.descriptors = process::descriptors(member.id()).unwrap_or_default();
        let proxy = ready.trim().to_owned();
        Ok((member, proxy))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Says a line to it, and waits for the answer; none if it does not come.
    pub(crate) fn ask(&mut self, line: &str) -> Option<String> {
        writeln!(self.input.as_mut()?, "{line}").ok()?;
        self.line()
    }

    fn line(&mut self) -> Option<String> {
        let lines = self.lines.get_mut().expect("nobody panics with it");
        lines.recv_timeout(READY_PATIENCE).ok()
    }

    /// Stops it until it is resumed.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = process::signal(self.id(), Signal::STOP).is_ok();
    }

    pub(crate) fn resume(&mut self) {
        if std::mem::take(&mut self.is_stopped) {
            // It has not been waited for, so it is there, if only as a zombie.
            let _ = process::signal(self.id(), Signal::CONT);
        }
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Asks it to end, and waits for nothing.
    pub(crate) fn ask_to_end(&mut self) {
        self.resume();
        self.input = None;
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It fails, or does not end in time.
    pub(crate) fn end(mut self) -> Result<(), String> {
        self.ask_to_end();
        let until = Instant::now() + END_PATIENCE;
        while Instant::now() < until {
            match self.ended() {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("expected it to end well, got {status}")),
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
        Err(format!(
            "expected it to end within {END_PATIENCE:?} when asked to"
        ))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
