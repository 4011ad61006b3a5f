//! Processes of contenders: starts them, reads their output, and makes sure that they end.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group, setrlimit,
    waitid,
};
use rustix::thread::CpuSet;

use crate::error::LabError;
use crate::placement::on_cores;
use crate::stop::Stop;

/// Lets this process, and all that it starts, open as many files as the system allows it: a service with 1,000 subscribers has as
/// many connections, and systems begin with a limit of 1,024.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If it is refused, the contender that lacks a file says so.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// A running process of a contender, and those that it starts. Dropping it ends them: its stdin ends, it is killed if it
/// does not follow soon, and so is what it has left behind.
#[derive(Debug)]
pub(crate) struct Process {
    contender: &'static str,
    role: &'static str,
    child: Child,
    /// The lines of its output, and at its end an empty one, or how it ended otherwise.
    lines: Receiver<std::io::Result<String>>,
    /// The text of its stderr, sent when that has ended.
    complaints: Receiver<String>,
    has_ended: bool,
    /// Ends the wait for a line.
    stop: Stop,
    /// Removed when the process has ended.
    _scratch: Scratch,
}

impl Process {
    /// Starts a process on these cores.
    ///
    /// # Errors
    /// [`LabError::Start`] if the system does not, [`LabError::System`] if it has no room for a folder.
    pub(crate) fn start(
        contender: &'static str,
        role: &'static str,
        mut command: Command,
        cores: Option<&CpuSet>,
        stop: &Stop,
    ) -> Result<Self, LabError> {
        let scratch = Scratch::new()
            .map_err(|source| LabError::system("create a folder for a contender", source))?;
        let shown = format!("{command:?}");
        command
            .env("TMPDIR", &scratch.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = on_cores(cores, || command.spawn()).map_err(|source| LabError::Start {
            command: shown,
            source,
        })?;
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
        let (sender, complaints) = mpsc::channel();
        // Nobody has to hear them.
        std::thread::spawn(move || sender.send(last_words(stderr)));
        Ok(Self {
            contender,
            role,
            child,
            lines,
            complaints,
            has_ended: false,
            stop: stop.clone(),
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
    /// [`LabError::Contender`] if there is none in time, with what the process said on its stderr; [`LabError::Stopped`].
    pub(crate) fn line(&mut self, limit: Duration) -> Result<String, LabError> {
        let deadline = Instant::now() + limit;
        let line = loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(rest.min(STOP_INTERVAL));
            if self.stop.is_set() {
                return Err(LabError::Stopped);
            }
            if !matches!(line, Err(RecvTimeoutError::Timeout)) || rest.is_zero() {
                break line;
            }
        };
        match line {
            Ok(Ok(line)) if !line.is_empty() => Ok(line),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
            Ok(Ok(_)) => Err(self.failed("it ended")),
            Err(_) => Err(self.failed(&format!("silence for {limit:?}"))),
        }
    }

    /// Ends it, and says what it said.
    pub(crate) fn failed(&mut self, what: &str) -> LabError {
        self.end();
        // They end with the process, but for what it has started and what has left its group.
        let complaints = self.complaints.recv_timeout(END_LIMIT);
        let complaints = complaints.unwrap_or_default();
        let colon = if complaints.is_empty() { "" } else { ": " };
        let role = self.role;
        LabError::contender(
            self.contender,
            format!("expected a line from its {role}, got: {what}{colon}{complaints}"),
        )
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        drop(self.child.stdin.take());
        let pid = Pid::from_child(&self.child);
        let deadline = Instant::now() + END_LIMIT;
        while is_running(pid) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Its number is its own until it has been waited for. Both can only fail if nobody is left.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns true if a child runs; one that has ended is still to be waited for.
fn is_running(pid: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(pid), look), Ok(None))
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

/// How often a wait looks whether it shall end. It wakes a thread of the lab, not those that are measured.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

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
        Process::start("shell", "server", command, None, &Stop::new()).unwrap()
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
    fn what_a_process_has_started_ends_with_it() {
        for script in ["sleep 1000 & echo $!; cat", "sleep 1000 & echo $!; exit 1"] {
            let mut process = shell(script);
            let pid = process.line(Duration::from_secs(10)).unwrap();
            // Its stderr is open as long as one of the two has it.
            let error = process.failed("test").to_string();
            assert!(error.ends_with("got: test"), "{error}");
            let ended = |stat: &str| stat.rsplit(") ").next().unwrap().starts_with('Z');
            let is_gone = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
                Ok(stat) => ended(&stat),
                Err(_) => true,
            };
            let deadline = Instant::now() + Duration::from_secs(30);
            while !is_gone() {
                assert!(Instant::now() < deadline, "{pid} still runs");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let command = Command::new("floe-lab-no-such-program");
        let error = Process::start("nobody", "server", command, None, &Stop::new()).unwrap_err();
        assert!(
            matches!(error, LabError::Start { .. })
                && error
                    .to_string()
                    .starts_with("cannot start \"floe-lab-no-such-program\": "),
            "{error}"
        );
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
    fn a_wait_ends_when_the_run_is_stopped() {
        let mut process = shell("echo $$; cat");
        let pid = process.line(Duration::from_secs(60)).unwrap();
        process.stop.set();
        let error = process.line(Duration::from_secs(600)).unwrap_err();
        assert!(matches!(error, LabError::Stopped), "{error}");
        drop(process);
        assert!(!std::path::Path::new("/proc").join(pid).exists());
    }

    #[test]
    fn a_silent_process_is_ended() {
        let mut process = shell("cat");
        let error = process.line(Duration::from_millis(10)).unwrap_err();
        assert!(error.to_string().contains("silence for 10ms"), "{error}");
        assert!(process.child.try_wait().unwrap().is_some());
    }
}
