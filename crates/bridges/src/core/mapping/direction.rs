//! Which way the events of a topic go.

use std::fmt;

use serde::Deserialize;

/// Which way the events of a topic go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the other world to the hub.
    In,
    /// From the hub to the other world.
    Out,
    /// Both ways. The default.
    #[default]
    Both,
}

impl Direction {
    /// True if programs of the other world may publish.
    pub fn is_in(self) -> bool {
        self != Self::Out
    }

    /// True if programs of the other world may subscribe.
    pub fn is_out(self) -> bool {
        self != Self::In
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Both => "both",
        })
    }
}
