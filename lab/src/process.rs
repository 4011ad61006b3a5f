//! Processes of contenders: started, heard, and surely ended.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::thread::CpuSet;

use crate::error::LabError;
use crate::placement::on_cores;

/// A running process of a contender. Dropping it ends it: its stdin ends, and if it does not follow
/// soon it is killed.
#[derive(Debug)]
pub(crate) struct Process {
    contender: &'static str,
    role: &'static str,
    child: Child,
    /// The lines of its output, and at its end an empty one, or how it ended otherwise.
    lines: Receiver<std::io::Result<String>>,
    complaints: Option<JoinHandle<String>>,
    /// Removed when the process has ended.
    _scratch: Scratch,
}

impl Process {
    /// Starts a process on these cores.
    ///
    /// # Errors
    /// [`LabError::System`] if the system does not.
    pub(crate) fn start(
        contender: &'static str,
        role: &'static str,
        mut command: Command,
        cores: Option<&CpuSet>,
    ) -> Result<Self, LabError> {
        let scratch = Scratch::new()
            .map_err(|source| LabError::system("create a folder for a contender", source))?;
        command
            .env("TMPDIR", &scratch.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = on_cores(cores, || command.spawn())
            .map_err(|source| LabError::system(format!("start {command:?}"), source))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let (sender, lines) = mpsc::channel();
        // The thread ends when the output does, at the latest with the process.
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = String::new();
                let read = stdout.read_line(&mut line);
                let is_over = !matches!(read, Ok(1..));
                let line = read.map(|_| line.trim_end().to_owned());
                if sender.send(line).is_err() || is_over {
                    return;
                }
            }
        });
        let complaints = std::thread::spawn(move || last_words(stderr));
        Ok(Self {
            contender,
            role,
            child,
            lines,
            complaints: Some(complaints),
            _scratch: scratch,
        })
    }

    /// Says a line to the process.
    ///
    /// # Errors
    /// [`LabError::Contender`] if it does not listen, with what it said on its stderr.
    pub(crate) fn say(&mut self, line: &str) -> Result<(), LabError> {
        let stdin = self.child.stdin.as_mut();
        let said = stdin.map(|stdin| writeln!(stdin, "{line}"));
        said.unwrap_or(Ok(()))
            .map_err(|error| self.failed(&error.to_string()))
    }

    /// Waits for the next line that the process prints.
    ///
    /// # Errors
    /// [`LabError::Contender`] if there is none in time, with what the process said on its stderr.
    pub(crate) fn line(&mut self, limit: Duration) -> Result<String, LabError> {
        match self.lines.recv_timeout(limit) {
            Ok(Ok(line)) if !line.is_empty() => Ok(line),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
            Ok(Ok(_)) => Err(self.failed("it ended")),
            Err(_) => Err(self.failed(&format!("silence for {limit:?}"))),
        }
    }

    /// Ends it, and says what it said.
    pub(crate) fn failed(&mut self, what: &str) -> LabError {
        self.end();
        let complaints = self.complaints.take().map(JoinHandle::join);
        let complaints = complaints.and_then(Result::ok).unwrap_or_default();
        let colon = if complaints.is_empty() { "" } else { ": " };
        let role = self.role;
        LabError::contender(
            self.contender,
            format!("expected a line from its {role}, got: {what}{colon}{complaints}"),
        )
    }

    fn end(&mut self) {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + END_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                // It can only fail if the process has ended by now.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// A folder for what a process leaves behind, as a Unix socket: its own idea of where temporary files go.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            // Short, since the path of a socket must be.
            let name = format!("floe-lab-{}-{count}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                // Left behind by a process that had this number and was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Self(path)),
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is small, and the system's to clean.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The last part of what a process says on its stderr.
fn last_words(mut stderr: impl Read) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        let excess = kept.len().saturating_sub(COMPLAINTS_LEN_MAX);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}

/// How long a process may take to end by itself.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Bytes of a process's stderr that are kept for a message.
const COMPLAINTS_LEN_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start("shell", "server", command, None).unwrap()
    }

    #[test]
    fn lines_are_heard_and_the_process_ends_with_its_stdin() {
        let mut process = shell("echo ready; cat");
        assert_eq!(process.line(Duration::from_secs(10)).unwrap(), "ready");
        process.say("go").unwrap();
        assert_eq!(process.line(Duration::from_secs(10)).unwrap(), "go");
        process.end();
        assert!(process.child.try_wait().unwrap().unwrap().success());
    }

    #[test]
    fn what_a_process_leaves_behind_goes_with_it() {
        let mut process = shell("touch $TMPDIR/socket; echo $TMPDIR; cat");
        let folder = PathBuf::from(process.line(Duration::from_secs(10)).unwrap());
        assert!(folder.join("socket").exists());
        drop(process);
        assert!(!folder.exists());
    }

    #[test]
    fn what_a_failed_process_said_is_in_the_error() {
        let error = shell("echo 'no such thing' >&2; exit 3").line(Duration::from_secs(10));
        let error = error.unwrap_err().to_string();
        assert_eq!(
            error,
            "contender shell failed: expected a line from its server, got: it ended: no such thing"
        );
    }

    #[test]
    fn a_silent_process_is_ended() {
        let mut process = shell("cat");
        let error = process.line(Duration::from_millis(10)).unwrap_err();
        assert!(error.to_string().contains("silence for 10ms"), "{error}");
        assert!(process.child.try_wait().unwrap().is_some());
    }
}
