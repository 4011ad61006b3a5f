//! A figure and its bound.

use std::fmt;

/// Something that was measured, and how high it may be.
#[derive(Debug)]
pub(super) struct Figure {
    name: String,
    value: u64,
    limit: u64,
    unit: &'static str,
}

impl Figure {
    pub(super) fn bytes(name: &str, value: u64, limit: u64) -> Self {
        Self::new(name, value, limit, " B")
    }

    pub(super) fn count(name: &str, value: u64, limit: u64) -> Self {
        Self::new(name, value, limit, "")
    }

    fn new(name: &str, value: u64, limit: u64, unit: &'static str) -> Self {
        let name = name.to_owned();
        Self {
            name,
            value,
            limit,
            unit,
        }
    }

    /// Returns true if it is within its bound.
    pub(super) fn holds(&self) -> bool {
        self.value <= self.limit
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            value,
            limit,
            unit,
        } = self;
        let verdict = if self.holds() { "ok" } else { "TOO HIGH" };
        write!(
            f,
            "{name:<52} {value:>10}{unit} of at most {limit}{unit}: {verdict}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Figure;

    #[test]
    fn a_figure_above_its_bound_does_not_hold() {
        assert!(Figure::bytes("room", 10, 10).holds());
        let figure = Figure::bytes("room", 11, 10);
        assert!(!figure.holds());
        assert!(figure.to_string().ends_with("at most 10 B: TOO HIGH"));
    }
}
