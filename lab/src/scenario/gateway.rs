//! What does a router between clients and back ends cost?
//!
//! Workload: a client calls an object behind a router, over loopback TCP, one call after another or many at a time, with and without
//! replies; or it makes 1,000 sessions, each over a connection of its own, with a call in each.
//!
//! What counts: the time of a call, or of a session; the time of the processor that the router needs for each; and the router's
//! memory. The floor is a relay of bare sockets, with as many bytes in both hops.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::gateway::{FLOE_GATEWAY, FLOOR, GLACIER2};
use crate::placement::Placement;

pub(super) const GATEWAY: ScenarioInfo = ScenarioInfo {
    name: "gateway",
    summary: "how long calls through a router take, and what a session costs in memory",
    contenders: &[&FLOOR, &FLOE_GATEWAY, &GLACIER2],
    groups: &[],
    processes: Processes::Gateway,
    cases: &[
        case("twoway", "an operation without parameters and results"),
        case("ami-1000", "1,000 such calls in flight at the same time"),
        case(
            "oneway",
            "10,000 without a reply, until the back end has received all",
        ),
        case(
            "sessions-1000",
            "a new connection, a session and its first call; 1,000 sessions stay",
        ),
    ],
    families: &[],
    variants: &[],
    unit: |_| Unit::Microseconds,
    placement: Placement::Free,
    knows: |_| false,
    ratios: &[("floe-gateway", "floor"), ("glacier2", "floe-gateway")],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::gateway::Case;

    #[test]
    fn every_case_is_one() {
        assert_eq!(GATEWAY.cases.len(), 4);
        for case in GATEWAY.cases {
            Case::parse(case.name).unwrap();
        }
    }
}
