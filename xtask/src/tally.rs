//! Counting: what `cargo test` printed becomes one line.
//!
//! A test that cannot run because a peer is missing passes for `cargo test` and prints `SKIPPED: <peer>: <reason>`.
//! Here it is taken out of the passed ones, so that a skip is always seen.

use std::fmt;

/// How many tests and steps passed, failed, and were skipped.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests and steps that passed, without those that skipped themselves.
    pub(crate) passed: usize,
    /// Tests and steps that failed.
    pub(crate) failed: usize,
    /// Tests marked `#[ignore]`.
    pub(crate) ignored: usize,
    /// The text after `SKIPPED: ` of each test that skipped itself: `<peer>: <reason>`.
    pub(crate) skips: Vec<String>,
}

impl Tally {
    /// Counts one step.
    pub(crate) fn count(&mut self, passed: bool) {
        match passed {
            true => self.passed += 1,
            false => self.failed += 1,
        }
    }

    /// Takes what one line of `cargo test`'s output says.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some((_, skip)) = line.split_once("SKIPPED: ") {
            self.skips.push(skip.trim().to_owned());
        } else if let Some(counts) = line.trim_start().strip_prefix("test result: ") {
            self.passed += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
            self.ignored += number_before(counts, " ignored");
        }
    }

    /// Settles a run of `cargo test` that ended with or without success.
    ///
    /// A run that fails without a failed test did not compile, or crashed: that is one failure.
    pub(crate) fn settle(&mut self, succeeded: bool) {
        self.passed = self.passed.saturating_sub(self.skips.len());
        if !succeeded && self.failed == 0 {
            self.failed = 1;
        }
    }

    /// Makes every skip a failure, as a machine that must have all peers wants it.
    pub(crate) fn refuse_skips(&mut self) {
        self.failed += self.skips.len();
        self.skips.clear();
    }

    /// Adds another tally to this one.
    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skips.extend(other.skips);
    }
}

/// `N passed, N failed`, and `, N skipped` if there are any.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skips.len() + self.ignored {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

/// The number that stands before `word` in `5 passed; 0 failed; …`, or 0.
fn number_before(counts: &str, word: &str) -> usize {
    let Some((before, _)) = counts.split_once(word) else {
        return 0;
    };
    before
        .rsplit([' ', ';'])
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s";

    fn tally_of(lines: &[&str], succeeded: bool) -> Tally {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        tally.settle(succeeded);
        tally
    }

    #[test]
    fn results_of_several_binaries_add_up() {
        let failed =
            "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out";
        let tally = tally_of(&[RESULT, "test a ... ok", failed], false);
        assert_eq!(tally.to_string(), "14 passed, 3 failed, 1 skipped");
    }

    #[test]
    fn a_skipped_peer_is_not_a_passed_test() {
        let tally = tally_of(
            &["SKIPPED: ice: python3-zeroc-ice is missing", RESULT],
            true,
        );
        assert_eq!(tally.to_string(), "11 passed, 0 failed, 2 skipped");
        assert_eq!(tally.skips, ["ice: python3-zeroc-ice is missing"]);
    }

    #[test]
    fn a_skip_is_found_behind_the_name_that_a_single_threaded_run_prints_first() {
        let tally = tally_of(
            &["test calls ... SKIPPED: ice: not installed", RESULT],
            true,
        );
        assert_eq!(tally.skips, ["ice: not installed"]);
    }

    #[test]
    fn a_refused_skip_is_a_failure() {
        let mut tally = tally_of(&["SKIPPED: ice: missing", RESULT], true);
        tally.refuse_skips();
        assert_eq!(tally.to_string(), "11 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn a_run_that_does_not_compile_is_one_failure() {
        assert_eq!(tally_of(&[], false).to_string(), "0 passed, 1 failed");
    }

    #[test]
    fn a_run_without_tests_passes_nothing() {
        assert_eq!(tally_of(&["running 0 tests"], true), Tally::default());
    }
}
