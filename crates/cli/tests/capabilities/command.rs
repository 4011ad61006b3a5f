//! Running the command: what it printed, and how it ended.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The command, without what the environment of the tests might say to it.
pub(crate) fn floe() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floe"));
    for name in [
        "FLOE_HUB",
        "FLOE_TOKEN",
        "FLOE_CONTEXT",
        "FLOE_LOG",
        "RUST_LOG",
    ] {
        command.env_remove(name);
    }
    command.env(
        "XDG_CONFIG_HOME",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/nobody"),
    );
    command.stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str]) -> Ran {
    let output = floe().args(arguments).output();
    Ran::from(output.expect("the command was built with this test"))
}

/// Runs it to its end with this on its standard input.
pub(crate) fn run_with_input(arguments: &[&str], input: &str) -> Ran {
    let mut child = floe()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built with this test");
    let mut stdin = child.stdin.take().expect("it was asked to be a pipe");
    // A command that does not read its input may have ended already.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    Ran::from(child.wait_with_output().expect("a child can be waited for"))
}

impl Ran {
    /// The same, checked to have ended with this code.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// The same, checked to have said this on standard error.
    #[track_caller]
    pub(crate) fn said(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "expected `{text}` in {self:?}");
        self
    }

    /// Its standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        let json = serde_json::from_str(&self.stdout);
        json.unwrap_or_else(|error| panic!("expected one JSON value, got {error} in {self:?}"))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A Slice file with this text; its name must be its own in all tests.
pub(crate) fn slice_file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    // An earlier run may have left something else in its place, such as a named pipe, which a write would wait for.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, text).expect("the target folder can be written");
    path.to_str().expect("its path is text").to_owned()
}
