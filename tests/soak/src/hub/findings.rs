//! Findings: things that must not happen.

use std::sync::Mutex;

/// Findings that are shown; all are counted.
const SHOWN_MAX: usize = 20;

/// Findings of a run, which tasks share.
#[derive(Debug, Default)]
pub(super) struct Findings(Mutex<(usize, Vec<String>)>);

impl Findings {
    /// Something that must not be.
    pub(super) fn add(&self, finding: impl Into<String>) {
        let mut findings = self.0.lock().expect("nobody panics with it");
        findings.0 += 1;
        if findings.1.len() < SHOWN_MAX {
            findings.1.push(finding.into());
        }
    }

    /// Something that must not be, if it is.
    pub(super) fn expect<T: PartialEq + std::fmt::Debug>(&self, what: &str, expected: T, came: T) {
        if expected != came {
            self.add(format!("{what}: expected {expected:?}, got {came:?}"));
        }
    }

    /// Those to show, and how many there are.
    pub(super) fn all(&self) -> (Vec<String>, usize) {
        let findings = self.0.lock().expect("nobody panics with it");
        (findings.1.clone(), findings.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_a_finding_and_all_are_counted() {
        let findings = Findings::default();
        findings.expect("a sum", 1, 1);
        assert_eq!(findings.all().1, 0);
        for came in 0..50 {
            findings.expect("a sum", 100, came);
        }
        let (shown, count) = findings.all();
        assert_eq!((shown.len(), count), (SHOWN_MAX, 50));
        assert_eq!(shown[3], "a sum: expected 100, got 3");
    }
}
