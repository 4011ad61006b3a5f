//! Deadlines: the end of a time limit. Some limits never end.

use std::time::Duration;

use tokio::time::Instant;

/// The end of a limit that begins now. A limit too long for a clock, such as [`Duration::MAX`],
/// ends a hundred years from now.
pub(crate) fn after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + FOR_EVER)
}

/// A hundred years, which every clock can represent.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_limit_is_over_later_than_any_other() {
        let year = Duration::from_secs(365 * 24 * 3600);
        assert!(after(Duration::MAX) > after(99 * year));
    }
}
