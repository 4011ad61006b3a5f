//! Converts counts to the types of the contracts.

use crate::contracts::floe::Losses;
use crate::core;

pub(super) fn losses(lost: core::Losses) -> Losses {
    Losses {
        overflow: number(lost.overflow),
        offline: number(lost.offline),
        failed: number(lost.failed),
        removed: number(lost.removed),
        looped: number(lost.looped),
        expired: number(lost.expired),
        retention: number(lost.retention),
    }
}

/// Slice has no unsigned integers.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
