//! The test programs of the workspace, several at a time.
//!
//! `cargo test` runs one program after the other. That uses half of the time of two cores, because many tests wait for
//! the peers that they start. Here the programs share a queue. Each writes into a file of its own, which is printed when
//! the program has ended, so that the lines of two programs never mix.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::build;
use crate::command::{cargo, ended_within, output_of, succeeds_reading};
use crate::python_peers;
use crate::tally::Tally;
use crate::workspace;

/// Builds the test programs that `selection`, arguments to `cargo test`, selects, and runs them.
pub(crate) fn run(selection: &[&str]) -> Tally {
    let words = [
        "test",
        "--workspace",
        "--no-run",
        "--message-format",
        "json-render-diagnostics",
    ];
    let words = [&words[..], &build::FEATURES, selection].concat();
    let Some(messages) = output_of(&mut cargo(&words)) else {
        return failure();
    };
    let mut programs: Vec<_> = messages.lines().filter_map(TestProgram::read).collect();
    if programs.is_empty() {
        eprintln!(
            "error: expected Cargo to announce test programs in its messages, found none; has their form changed?"
        );
        return failure();
    }
    // The longest program is among those of the package of all interop tests, and should not be the last to begin.
    programs.sort_by_key(|program| !program.package.ends_with("tests"));
    run_all(programs)
}

/// Runs the tests in the documentation of the libraries, which only `cargo test` can run.
pub(crate) fn run_documented() -> Tally {
    let words = [
        &["test", "--workspace", "--doc", "--no-fail-fast"][..],
        &build::FEATURES,
    ]
    .concat();
    let mut tally = Tally::default();
    let succeeded = succeeds_reading(&mut cargo(&words), |line| tally.read(line));
    tally.settle(succeeded);
    tally
}

fn run_all(programs: Vec<TestProgram>) -> Tally {
    let environment = python_peers::environment();
    let queue = Mutex::new(VecDeque::from(programs));
    let total = Mutex::new(Tally::default());
    // One more than cores: while one program waits for a peer, the others keep the cores busy.
    let workers = thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no worker panics").pop_front();
                    let Some(program) = next else { break };
                    let begin = Instant::now();
                    let outcome = program.run(&environment);
                    let mut total = total.lock().expect("no worker panics");
                    total.add(program.report(outcome, begin.elapsed().as_secs()));
                }
            });
        }
    });
    total.into_inner().expect("no worker panics")
}

/// A program of tests that Cargo has built.
struct TestProgram {
    executable: PathBuf,
    /// The folder of its package, in which Cargo, too, runs it.
    package: PathBuf,
}

impl TestProgram {
    /// The test program that a message of Cargo announces, if it announces one.
    ///
    /// A message is a line of JSON. Two of its strings are all that is needed, so this takes them without a parser:
    /// `xtask` uses only the standard library. A path with an escaped character is refused when it is not found.
    fn read(message: &str) -> Option<Self> {
        // The profile's `test`, and not the target's, which says that the target can be tested.
        let is_test = message.contains(r#""test":true},"features""#);
        let executable = string(message, "executable").filter(|_| is_test)?;
        let manifest = Path::new(string(message, "manifest_path")?);
        Some(Self {
            executable: executable.into(),
            package: manifest.parent()?.to_owned(),
        })
    }

    /// Runs the program, for at most [`LIMIT`]; whether it succeeded, and what it wrote.
    fn run(&self, environment: &[(&str, PathBuf)]) -> io::Result<(bool, String)> {
        eprintln!("+ {}", self.executable.display());
        let folder = workspace::target_dir().join("test-output");
        fs::create_dir_all(&folder)?;
        let path = folder.join(self.name()).with_extension("log");
        let output = File::create(&path)?;
        let mut child = Command::new(&self.executable)
            .current_dir(&self.package)
            .env("CARGO_MANIFEST_DIR", &self.package)
            .env(build::DONE, "1")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        let status = ended_within(LIMIT, &mut child);
        let mut written = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        if status.is_none() {
            let limit = LIMIT.as_secs();
            written.push_str(&format!("\nerror: killed, because it ran for {limit} s\n"));
        }
        Ok((status.is_some_and(|status| status.success()), written))
    }

    /// Prints and counts what a run has given.
    fn report(&self, outcome: io::Result<(bool, String)>, seconds: u64) -> Tally {
        let (succeeded, written) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                eprintln!("error: cannot run {}: {error}", self.executable.display());
                return failure();
            }
        };
        let mut tally = Tally::default();
        written.lines().for_each(|line| tally.read(line));
        // A test may end the whole program, also with success.
        let has_result = written
            .lines()
            .any(|line| line.starts_with("test result: "));
        tally.settle(succeeded && has_result);
        println!("\n-- {}: {seconds} s\n{written}", self.name());
        if tally.failed > 0 {
            println!("error: {} failed, see above", self.executable.display());
        }
        tally
    }

    /// The name of its package's folder and of the program itself, such as `hub-capabilities-4c5e318b`.
    fn name(&self) -> String {
        let last = |path: &Path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        };
        let parts = [last(&self.package), last(&self.executable)];
        parts.into_iter().flatten().collect::<Vec<_>>().join("-")
    }
}

/// How long a program may run. The longest takes some five minutes, and longer on a busy machine.
const LIMIT: Duration = Duration::from_secs(1800);

/// The string that a message of Cargo gives for `key`, as it is written.
fn string<'m>(message: &'m str, key: &str) -> Option<&'m str> {
    let (_, value) = message.split_once(&format!(r#""{key}":""#))?;
    value.split_once('"').map(|(value, _)| value)
}

fn failure() -> Tally {
    let mut tally = Tally::default();
    tally.count(false);
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARTIFACT: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/hub#0.1.0","manifest_path":"/w/crates/hub/Cargo.toml","target":{"kind":["test"],"name":"capabilities","test":true},"profile":{"opt_level":"0","debuginfo":1,"test":true},"features":[],"filenames":["/w/target/debug/deps/capabilities-1"],"executable":"/w/target/debug/deps/capabilities-1","fresh":true}"#;

    #[test]
    fn a_test_program_is_read_with_the_folder_of_its_package() {
        let program = TestProgram::read(ARTIFACT).expect("it is one");
        assert_eq!(
            program.executable,
            Path::new("/w/target/debug/deps/capabilities-1")
        );
        assert_eq!(program.package, Path::new("/w/crates/hub"));
        assert_eq!(program.name(), "hub-capabilities-1");
    }

    #[test]
    fn a_program_that_is_not_for_tests_is_not_read() {
        let program = ARTIFACT.replace(
            r#""debuginfo":1,"test":true"#,
            r#""debuginfo":1,"test":false"#,
        );
        assert!(TestProgram::read(&program).is_none());
    }

    #[test]
    fn a_library_has_no_program() {
        let library = ARTIFACT.replace(
            r#""executable":"/w/target/debug/deps/capabilities-1""#,
            r#""executable":null"#,
        );
        assert!(TestProgram::read(&library).is_none());
    }

    #[test]
    fn a_program_that_ends_without_a_count_is_one_failure() {
        let program = TestProgram::read(ARTIFACT).expect("it is one");
        for succeeded in [false, true] {
            let written = "running 3 tests\ntest a ... ok\n".to_owned();
            let tally = program.report(Ok((succeeded, written)), 0);
            assert_eq!(tally.to_string(), "0 passed, 1 failed", "{succeeded}");
        }
    }
}
