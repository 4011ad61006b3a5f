//! A process that is told what to do, line by line, and answers each with a line.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::process;

/// A role of this program, or the server, in a process of its own. Dropping it kills it.
pub(super) struct Talker {
    role: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    first_line: String,
}

impl Talker {
    /// Starts a role, and waits for the line that says it is ready.
    ///
    /// # Panics
    /// If it does not become ready.
    pub(super) fn start(role: &'static str, arguments: &[&str]) -> Self {
        let mut command = Command::new(own_program());
        command.arg(role).args(arguments);
        Self::run(role, command)
    }

    /// Starts the server that is measured.
    ///
    /// # Panics
    /// If it does not become ready.
    pub(super) fn server() -> Self {
        Self::run("idle server", Command::new(server_program()))
    }

    fn run(role: &'static str, mut command: Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("this program starts again");
        let input = child.stdin.take().expect("stdin was asked to be a pipe");
        let output = child.stdout.take().expect("stdout was asked to be a pipe");
        let mut talker = Self {
            role,
            child,
            input,
            output: BufReader::new(output),
            first_line: String::new(),
        };
        talker.first_line = talker.line();
        talker
    }

    /// Returns its line when it was ready.
    pub(super) fn first_line(&self) -> &str {
        &self.first_line
    }

    /// Tells it something, and waits for the answer.
    ///
    /// # Panics
    /// If it ends instead.
    pub(super) fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").expect("it reads as long as it runs");
        self.line()
    }

    /// Its resident memory, in bytes.
    ///
    /// # Panics
    /// If it has ended.
    pub(super) fn resident(&self) -> u64 {
        process::resident(self.child.id()).expect("it runs, and the system has /proc")
    }

    /// The resident part of the memory that it wrote, in bytes; see [`process::written`].
    ///
    /// # Panics
    /// If it has ended.
    pub(super) fn written(&self) -> u64 {
        process::written(self.child.id()).expect("it runs, and the system has /proc")
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        assert!(
            read.is_ok_and(|count| count > 0),
            "expected a line from `{}`, got the end of its output",
            self.role
        );
        line.trim().to_owned()
    }
}

/// The server that is measured, a program of this package beside this one.
pub(super) fn server_program() -> PathBuf {
    own_program().with_file_name("floe-idle-server")
}

fn own_program() -> PathBuf {
    std::env::current_exe().expect("a running program has a path")
}

impl Drop for Talker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
