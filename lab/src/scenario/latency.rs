//! How long do calls take, measured as the published test of Ice and TAO measured it?
//!
//! Source: "Choosing Middleware: Why Performance and Scalability do (and do not) Matter", the tables of latency.
//!
//! Workload: one call establishes the connection and is not timed. Then 100,000 calls follow one another, as fast as they can:
//! twoway, asynchronous, oneway with one twoway call at the end, and 1,000 batches of 100 oneway calls with one at the end.
//!
//! What counts: the time of the whole, divided by 100,000. Twoway and asynchronous calls are timed one by one, so that their
//! percentiles are known, too. `rpc` asks the same in short rounds, and in more ways.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::calls::case::{Case, Extent};
use crate::contender::calls::{
    CAPNP, CYCLONEDDS, FLOE, FLOOR, GRPC_CPP, ICE, OMNIORB, TONIC, ZEROMQ,
};
use crate::placement::Placement;

pub(super) const LATENCY: ScenarioInfo = ScenarioInfo {
    name: "latency",
    summary: "how long a call takes, on the mean of 100,000, as published for Ice and TAO",
    contenders: &[
        &FLOOR,
        &FLOE,
        &ICE,
        &OMNIORB,
        &TONIC,
        &GRPC_CPP,
        &ZEROMQ,
        &CAPNP,
        &CYCLONEDDS,
    ],
    groups: &[("grpc", &["tonic", "grpc-cpp"])],
    processes: Processes::ServerAndClient,
    cases: &[
        case(
            "twoway-x100000",
            "100,000 calls, each of which awaits its reply",
        ),
        case("ami-x100000", "the same through the asynchronous face"),
        case(
            "oneway-x100000",
            "100,000 calls without a reply, then one with a reply",
        ),
        case(
            "batch-x100000",
            "1,000 batches of 100 calls without a reply, then one with a reply",
        ),
    ],
    families: &[
        case("twoway-xN", "N calls: 1 to 1,000,000"),
        case("ami-xN", "N calls: 1 to 1,000,000"),
        case("oneway-xN", "N calls: 1 to 1,000,000"),
        case("batch-xN", "N calls in batches of 100: 100 to 1,000,000"),
    ],
    variants: &[],
    unit: |_| Unit::Microseconds,
    placement: Placement::Apart,
    knows: |name| Case::has_extent(name, |extent| matches!(extent, Extent::Calls(_))),
    ratios: &[
        ("floe", "floor"),
        ("ice", "floe"),
        ("omniorb", "floe"),
        // As the published tests compare them.
        ("omniorb", "ice"),
        ("tonic", "floe"),
        ("grpc-cpp", "floe"),
        ("zeromq", "floe"),
        ("capnp", "floe"),
        ("cyclonedds", "floe"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_one() {
        for case in LATENCY.cases {
            assert!((LATENCY.knows)(case.name), "{}", case.name);
        }
        assert!(!(LATENCY.knows)("twoway"));
    }
}
