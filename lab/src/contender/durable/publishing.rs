//! The work of a publisher of ours, whatever it publishes to: it warms up, and counts what was acknowledged meanwhile.

use std::time::Instant;

use crate::contender::Failure;
use crate::measure::Effort;

/// Events that are acknowledged in a second. `publish` publishes until that moment, at least once, awaits all answers, and gives
/// their number.
pub(super) fn rate(
    effort: Effort,
    mut publish: impl FnMut(Instant) -> Result<u64, Failure>,
) -> Result<f64, Failure> {
    publish(Instant::now() + effort.warm_up())?;
    let started = Instant::now();
    let count = publish(started + effort.round_time)?;
    Ok(rate_of(count, started))
}

/// Events in a second, if so many were acknowledged since then.
pub(super) fn rate_of(count: u64, started: Instant) -> f64 {
    count as f64 / started.elapsed().as_secs_f64()
}
