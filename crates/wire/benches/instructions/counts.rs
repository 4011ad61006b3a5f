//! Counts the instructions of a benchmark's cases with callgrind (Debian package `valgrind`), and compares them with
//! `counts.txt` beside the benchmark.
//!
//! Several crates include this file. Their benchmarks stand in `benches/instructions/`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// How often the process under callgrind repeats a case. Its instructions are those of the difference, so that the
/// beginning and the end of the process do not count.
pub(crate) struct Repetitions {
    pub(crate) few: u64,
    pub(crate) many: u64,
    /// The difference is taken this many times, and the median counts. One is enough for a process without threads.
    pub(crate) rounds: usize,
}

impl Repetitions {
    /// Counts each case, and shows it beside the committed count; with `UPDATE` in the environment, commits it instead.
    /// A case is its name, and the arguments with which this program plays it. The number of repetitions is appended to
    /// them. Fails if a count is more than 5 per cent above the committed one.
    pub(crate) fn count(&self, cases: Vec<(String, Vec<String>)>) -> ExitCode {
        if Command::new("valgrind").arg("--version").output().is_err() {
            println!(
                "skipped: expected valgrind in the path, found none; install the package valgrind"
            );
            return ExitCode::SUCCESS;
        }
        let counts: Vec<(String, u64)> = cases
            .into_iter()
            .map(|(case, arguments)| (case, self.instructions_of_one(&arguments)))
            .collect();
        match std::env::var_os("UPDATE") {
            Some(_) => write(&counts),
            None => compare(&counts),
        }
    }

    fn instructions_of_one(&self, arguments: &[String]) -> u64 {
        let difference =
            |_| instructions(arguments, self.many).abs_diff(instructions(arguments, self.few));
        let mut differences: Vec<u64> = (0..self.rounds).map(difference).collect();
        differences.sort_unstable();
        differences[self.rounds / 2] / (self.many - self.few)
    }
}

/// Instructions of this program with these arguments and so many repetitions. Callgrind does not count its children.
fn instructions(arguments: &[String], repetitions: u64) -> u64 {
    let itself = std::env::current_exe().expect("a running program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(itself)
        .args(arguments)
        .arg(repetitions.to_string())
        .output()
        .expect("valgrind runs");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "a case failed:\n{talk}");
    let line = talk
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or_else(|| panic!("expected a count of instructions, got:\n{talk}"))
}

/// The path of the committed counts, in the crate that includes this file.
fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions/counts.txt")
}

fn write(counts: &[(String, u64)]) -> ExitCode {
    let mut text = String::new();
    for (case, count) in counts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{case} {count}");
    }
    match std::fs::write(file(), text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: cannot write {}: {error}", file().display());
            ExitCode::FAILURE
        }
    }
}

/// Shows each count beside the committed one; fails if one is more than 5 per cent above it.
fn compare(counts: &[(String, u64)]) -> ExitCode {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let parsed = text.lines().filter_map(|line| line.split_once(' '));
    let committed: BTreeMap<&str, u64> = parsed
        .filter_map(|(case, count)| Some((case, count.parse().ok()?)))
        .collect();
    let mut is_worse = false;
    for (case, count) in counts {
        let before = committed.get(case.as_str()).copied().unwrap_or_default();
        let change = *count as f64 * 100.0 / (before.max(1) as f64) - 100.0;
        let verdict = if change > 5.0 { "  worse" } else { "" };
        is_worse |= change > 5.0;
        println!("{case:24} {count:>10} before {before:>10} {change:>+7.1} %{verdict}");
    }
    match is_worse {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
