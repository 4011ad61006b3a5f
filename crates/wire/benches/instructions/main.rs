//! How many instructions values take to become bytes and to come back: a figure that does not depend
//! on what else the machine does, so that a regression of a few per cent is seen.
//!
//! `cargo bench -p floe-wire --bench instructions` runs each case in callgrind (Debian package
//! `valgrind`) and compares with `counts.txt` beside this file; `UPDATE=1` writes that file instead,
//! as a new compiler asks for. The process runs itself with a case and a number of repetitions: the
//! difference of two numbers leaves out what a process does besides.

#[path = "../codec/values.rs"]
mod values;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use floe_wire::encoding::Packed;
use floe_wire::{Decode, Encode};

use values::{EntryView, OuterView, decode, decode_into, encode, encoded, view};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, case, repetitions] = arguments.as_slice()
        && let Ok(repetitions) = repetitions.parse()
    {
        play(case, repetitions);
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!(
            "skipped: expected valgrind in the path, found none; install the package valgrind"
        );
        return ExitCode::SUCCESS;
    }
    let counts: Vec<(String, u64)> = cases()
        .into_iter()
        .map(|case| (case.clone(), count(&case)))
        .collect();
    match std::env::var_os("UPDATE") {
        Some(_) => write(&counts),
        None => compare(&counts),
    }
}

fn cases() -> Vec<String> {
    let directions = ["encode", "decode", "decode_into", "view"];
    let values = ["bytes", "doubles", "nested", "text", "bibliography"];
    let cases = values.map(|value| directions.map(|direction| format!("{value}/{direction}")));
    cases.into_iter().flatten().collect()
}

/// Instructions of one repetition.
fn count(case: &str) -> u64 {
    const FEW: u64 = 10;
    const MANY: u64 = 60;
    (instructions(case, MANY) - instructions(case, FEW)) / (MANY - FEW)
}

/// Instructions of a process, as callgrind counts them.
fn instructions(case: &str, repetitions: u64) -> u64 {
    let itself = std::env::current_exe().expect("a running program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(itself)
        .args([case, &repetitions.to_string()])
        .output()
        .expect("valgrind runs");
    let talk = String::from_utf8_lossy(&output.stderr);
    let line = talk
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or_else(|| panic!("expected a count of instructions, got:\n{talk}"))
}

fn play(case: &str, repetitions: u64) {
    let (value, direction) = case.split_once('/').unwrap_or((case, ""));
    match value {
        "bytes" => repeat(direction, repetitions, &values::bytes(), |bytes| {
            black_box(view::<&[u8]>(bytes));
        }),
        "doubles" => repeat(direction, repetitions, &values::doubles(), |bytes| {
            black_box(view::<Packed<'_, f64>>(bytes));
        }),
        "nested" => repeat(direction, repetitions, &values::nested(), |bytes| {
            black_box(view::<Vec<OuterView<'_>>>(bytes));
        }),
        "text" => repeat(direction, repetitions, &values::text(), |bytes| {
            black_box(view::<Vec<&str>>(bytes));
        }),
        "bibliography" => repeat(direction, repetitions, &values::bibliography(), |bytes| {
            black_box(view::<Vec<EntryView<'_>>>(bytes));
        }),
        other => panic!("expected a case of this benchmark, got {other}"),
    }
}

fn repeat<T: Encode + Decode>(direction: &str, repetitions: u64, value: &T, view: impl Fn(&[u8])) {
    let bytes = encoded(value);
    let mut buffer = bytes.clone();
    let mut old: T = decode(&bytes);
    for _ in 0..repetitions {
        match direction {
            "encode" => encode(black_box(value), &mut buffer),
            "decode" => drop(black_box(decode::<T>(black_box(&bytes)))),
            "decode_into" => decode_into(&mut old, black_box(&bytes)),
            _ => view(black_box(&bytes)),
        }
        black_box((&buffer, &old));
    }
}

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
