//! From where on something of a hub is a problem, as arguments of `floe status`.

use std::time::Duration;

use clap::Args;
pub(crate) use floe_server::findings::{problems, reasons};

use crate::count;
use crate::peer::parse_time;

/// From where on something is a problem.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Thresholds {
    /// Lost events and refused connections of this time until now are a problem
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_time)]
    pub(crate) since: Duration,

    /// More events that a durable subscription has not acknowledged are a problem
    #[arg(long, value_name = "COUNT", default_value_t = 5_000, value_parser = count::any::<i64>)]
    lag_events: i64,

    /// An event that has waited longer for its subscriber, or for a durable subscription, is a problem
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    lag_age: Duration,
}

impl From<Thresholds> for floe_server::findings::Thresholds {
    fn from(thresholds: Thresholds) -> Self {
        Self {
            since: thresholds.since,
            lag_events: thresholds.lag_events,
            lag_age: thresholds.lag_age,
        }
    }
}
