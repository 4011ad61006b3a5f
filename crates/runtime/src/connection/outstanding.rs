//! The work that a graceful close waits for, in the words of the log.

use std::fmt;

/// The outstanding work of a connection that is being closed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outstanding {
    /// Requests of this side whose replies are due.
    pub(super) replies: usize,
    /// Requests of the peer whose replies are due.
    pub(super) dispatches: usize,
    /// Bytes that wait to be written.
    pub(super) unwritten_len: usize,
}

/// Says which side is late, and what to do.
impl fmt::Display for Outstanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dispatches > 0 {
            let requests = match self.dispatches {
                1 => "1 request of the peer is".to_owned(),
                count => format!("{count} requests of the peer are"),
            };
            write!(
                f,
                "{requests} still in dispatch here (let them end sooner, or set \
                 `Settings::close_timeout` higher)"
            )?;
        }
        match (self.replies, self.dispatches, self.unwritten_len) {
            (0, 0, 0) => f.write_str("the peer got CloseConnection and did not close its end"),
            (0, 0, len) => write!(f, "the peer does not read, and {len} bytes wait for it"),
            (0, ..) => Ok(()),
            (count, dispatches, _) => {
                let (and, s) = (
                    if dispatches > 0 { ", and " } else { "" },
                    if count == 1 { "y" } else { "ies" },
                );
                write!(f, "{and}the peer still owes {count} repl{s}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(replies: usize, dispatches: usize, unwritten_len: usize) -> String {
        let outstanding = Outstanding {
            replies,
            dispatches,
            unwritten_len,
        };
        outstanding.to_string()
    }

    #[test]
    fn the_side_that_is_late_is_named() {
        assert_eq!(text(1, 0, 7), "the peer still owes 1 reply");
        let own = "2 requests of the peer are still in dispatch here (let them end sooner, or set \
                   `Settings::close_timeout` higher)";
        assert_eq!(text(0, 2, 7), own);
        assert_eq!(
            text(3, 2, 0),
            format!("{own}, and the peer still owes 3 replies")
        );
        assert_eq!(
            text(0, 0, 7),
            "the peer does not read, and 7 bytes wait for it"
        );
        assert_eq!(
            text(0, 0, 0),
            "the peer got CloseConnection and did not close its end"
        );
    }
}
