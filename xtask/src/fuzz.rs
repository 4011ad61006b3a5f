//! `cargo xtask fuzz-smoke`: each fuzz target for a while, from the committed corpus.
//!
//! The committed corpora are also replayed by plain tests of the crates; this task is for finding new inputs.

use std::fs;
use std::path::Path;

use crate::command::succeeds;
use crate::tally::Tally;
use crate::tools::CARGO_FUZZ;
use crate::workspace;

/// How to run the targets.
pub(crate) struct Options {
    /// Time for each target, in seconds.
    seconds: u32,
}

impl Options {
    /// Reads `--seconds N`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        match words {
            [] => Ok(Self {
                seconds: DEFAULT_SECONDS,
            }),
            ["--seconds", text] => match text.parse() {
                Ok(seconds) if seconds > 0 => Ok(Self { seconds }),
                _ => Err(format!(
                    "--seconds takes a whole number above 0, got `{text}`"
                )),
            },
            _ => Err(format!(
                "fuzz-smoke takes --seconds N, got `{}`",
                words.join(" ")
            )),
        }
    }
}

/// Builds and runs every target; false if one crashed, hung, ate memory, or did not build.
pub(crate) fn smoke(options: &Options) -> bool {
    let mut tally = Tally::default();
    for target in targets() {
        eprintln!("\n== fuzz target {target}, {} s", options.seconds);
        tally.count(run(&target, options));
    }
    if tally == Tally::default() {
        eprintln!("error: no fuzz target found in fuzz/fuzz_targets");
        tally.count(false);
    }
    println!("{tally}");
    tally.failed == 0
}

/// Runs one target. New inputs go below the target folder, so that the committed corpus stays as it is.
///
/// Without a sanitizer it builds with the stable toolchain and runs faster; our crates forbid unsafe code, so what is
/// looked for is a panic, a hang, or memory.
fn run(target: &str, options: &Options) -> bool {
    let found = workspace::target_dir().join("fuzz-corpus").join(target);
    if let Err(error) = fs::create_dir_all(&found) {
        eprintln!("error: cannot create {}: {error}", found.display());
        return false;
    }
    let (found, committed) = (found.display().to_string(), format!("fuzz/corpus/{target}"));
    let time = format!("-max_total_time={}", options.seconds);
    let mut words = vec!["run", "--sanitizer", "none", target, &found];
    if workspace::root().join(&committed).is_dir() {
        words.push(&committed);
    }
    words.extend([
        "--",
        &time,
        "-timeout=10",
        "-rss_limit_mb=1024",
        "-verbosity=0",
        "-print_funcs=0",
        "-print_final_stats=1",
    ]);
    CARGO_FUZZ
        .command(&words)
        .is_some_and(|mut fuzz| succeeds(&mut fuzz))
}

/// The names of the files in `fuzz/fuzz_targets`, sorted.
fn targets() -> Vec<String> {
    let folder = workspace::root().join("fuzz/fuzz_targets");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| target_name(&entry.path()))
        .collect();
    names.sort();
    names
}

fn target_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    path.extension()
        .is_some_and(|extension| extension == "rs")
        .then(|| stem.to_owned())
}

/// Two minutes for each target.
const DEFAULT_SECONDS: u32 = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_default_to_two_minutes_and_must_be_a_number_above_zero() {
        assert_eq!(Options::parse(&[]).map(|o| o.seconds), Ok(120));
        assert_eq!(
            Options::parse(&["--seconds", "5"]).map(|o| o.seconds),
            Ok(5)
        );
        for wrong in ["0", "-1", "x"] {
            let error = Options::parse(&["--seconds", wrong]).err();
            assert!(error.is_some_and(|error| error.contains(wrong)));
        }
        assert!(Options::parse(&["--secs"]).is_err());
    }

    #[test]
    fn only_rust_files_are_targets() {
        assert_eq!(
            target_name(Path::new("a/message.rs")).as_deref(),
            Some("message")
        );
        assert_eq!(target_name(Path::new("a/notes.md")), None);
    }
}
