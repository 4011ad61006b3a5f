//! A hub as its users start it, and programs that keep running beside it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{Ran, floe, run};

/// How long anything may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running `floe`; dropping it kills it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Standard output, while nobody reads it.
    unread: Option<ChildStdout>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = floe();
        command.args(arguments);
        Self::run(command)
    }

    /// Starts a command that may be another one.
    pub(crate) fn run(command: Command) -> Self {
        let mut running = Self::spawn(command);
        let stdout = running.unread.take().expect("nobody has taken it yet");
        running.stdout = lines(stdout);
        running
    }

    /// Starts a command whose standard input is a pipe.
    pub(crate) fn with_input(command: Command) -> (Self, ChildStdin) {
        let mut running = Self::run(command);
        let input = running.child.stdin.take();
        (running, input.expect("it was asked to be a pipe"))
    }

    /// Starts it without reading its standard output, which fills up.
    pub(crate) fn unread(arguments: &[&str]) -> Self {
        let mut command = floe();
        command.args(arguments);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command is there");
        let stderr = lines(child.stderr.take().expect("it was asked to be a pipe"));
        Self {
            unread: child.stdout.take(),
            child,
            stdout: mpsc::channel().1,
            stderr,
        }
    }

    /// The next line of its standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        let line = self.stdout.recv_timeout(PATIENCE);
        line.unwrap_or_else(|error| panic!("expected a line, got {error}: {:?}", self.errors()))
    }

    /// Waits for a line on standard error that contains this.
    #[track_caller]
    pub(crate) fn talk(&self, text: &str) {
        self.talked(text);
    }

    /// The same; the line.
    #[track_caller]
    pub(crate) fn talked(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut others = Vec::new();
        while let Ok(line) = self.stderr.recv_timeout(deadline - Instant::now()) {
            if line.contains(text) {
                return line;
            }
            others.push(line);
        }
        panic!("expected `{text}` on standard error, got {others:?}");
    }

    /// Sends it a signal: `INT` or `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let script = format!("kill -s {name} {id}");
        let status = Command::new("sh").args(["-c", &script]).status();
        assert!(status.expect("there is a shell").success());
    }

    /// Stops it, and waits until all its threads have stopped.
    pub(crate) fn stop(&self) {
        self.signal("STOP");
        let threads = format!("/proc/{}/task", self.child.id());
        let is_running = |thread: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(thread.expect("an entry").path().join("stat"));
            // The state stands behind the name, which is in parentheses.
            !stat.is_ok_and(|stat| {
                stat.rsplit(')')
                    .next()
                    .is_some_and(|rest| rest.starts_with(" T"))
            })
        };
        let deadline = Instant::now() + PATIENCE;
        while std::fs::read_dir(&threads)
            .expect("it runs")
            .any(is_running)
        {
            assert!(Instant::now() < deadline, "it does not stop");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until its main thread has waited so many times.
    pub(crate) fn wait_for_switches(&self, count: u64) {
        let status = format!("/proc/{}/status", self.child.id());
        let switches = || {
            let text = std::fs::read_to_string(&status).expect("it runs");
            let line = text
                .lines()
                .find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
            line.and_then(|it| it.trim().parse::<u64>().ok())
        };
        let deadline = Instant::now() + PATIENCE;
        while switches().is_none_or(|it| it < count) {
            assert!(Instant::now() < deadline, "it does nothing");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ran {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return Ran {
                    code: status.code(),
                    stdout: self.stdout.iter().collect::<Vec<_>>().join("\n"),
                    // Both to their ends: what was written last may not have been read yet.
                    stderr: self.stderr.iter().collect::<Vec<_>>().join("\n"),
                };
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("expected an end, got none: {:?}", self.errors());
    }

    fn errors(&self) -> Vec<String> {
        self.stderr.try_iter().collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// A transient hub on a free port.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) process: Running,
    /// The proxy of its topic manager.
    pub(crate) manager: String,
}

impl Hub {
    pub(crate) fn start() -> Self {
        Self::with(&["--transient"])
    }

    /// One with another name of its instance.
    pub(crate) fn named(instance: &str) -> Self {
        Self::with(&["--transient", "--instance-name", instance])
    }

    pub(crate) fn with(arguments: &[&str]) -> Self {
        let serve = ["serve", "--listen", "tcp -h 127.0.0.1 -p 0"];
        let process = Running::start(&[&serve, arguments].concat());
        let line = process.line();
        let manager = line.strip_prefix("ready ").expect("it says ready first");
        let manager = manager.to_owned();
        Self { process, manager }
    }

    /// Runs a command against it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        run(&[arguments, &["--hub", &self.manager]].concat())
    }

    /// Starts a command against it.
    pub(crate) fn running(&self, arguments: &[&str]) -> Running {
        Running::start(&[arguments, &["--hub", &self.manager]].concat())
    }

    /// Starts a command against it, and reads nothing of what that writes.
    pub(crate) fn unread(&self, arguments: &[&str]) -> Running {
        Running::unread(&[arguments, &["--hub", &self.manager]].concat())
    }
}
