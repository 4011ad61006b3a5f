//! Reporting that a peer is not installed, so that a test that did not run is never taken for one that passed.

use std::io::{self, Write};

/// Prints `SKIPPED: <peer>: <reason>`, which `cargo xtask test` counts, and which fails it where `CI=true`.
///
/// A test calls this once and returns. The line goes around the capture of the test harness, which hides what passing
/// tests print.
pub fn report(peer: &str, reason: &str) {
    // Without a standard output nobody can be told.
    let _ = writeln!(
        io::stdout().lock(),
        "\nSKIPPED: {peer}: {}",
        one_line(reason)
    );
}

fn one_line(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_many_lines_is_reported_as_one() {
        assert_eq!(one_line("no\n  Ice "), "no Ice");
    }
}
