//! How long does an object take there and back, if one is sent now and then?
//!
//! Source: "Performance of Orca Components", round trip time: a pinger sends an object of one integer and a sequence of doubles
//! to a replier, which sends it back; 100 times, every 0.25 s.
//!
//! Workload: a sequence of doubles goes there and back every 0.25 s, from 16 bytes to 8 MB. Between two of them both sides
//! sleep, so that each finds caches, connections and processors as they are after a rest. A round has 7 of them, so the 15
//! rounds of a run have 105.
//!
//! What counts: the time from the call to the reply with all doubles decoded, with its mean, minimum and maximum. The floor is
//! the published ping: a bare socket that sends as many bytes there and back.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::calls::case::{Case, Extent};
use crate::contender::calls::{
    CAPNP, CYCLONEDDS, FLOE, FLOOR, GRPC_CPP, ICE, OMNIORB, TONIC, ZEROMQ,
};
use crate::placement::Placement;

pub(super) const RTT: ScenarioInfo = ScenarioInfo {
    name: "rtt",
    summary: "how long doubles take there and back, one object every 0.25 s, as published for Orca",
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
        case("rtt-2", "2 doubles: 16 bytes"),
        case("rtt-10", "10 doubles: 80 bytes"),
        case("rtt-100", "100 doubles: 800 bytes"),
        case("rtt-1000", "1,000 doubles: 8 kB"),
        case("rtt-10000", "10,000 doubles: 80 kB"),
        case("rtt-100000", "100,000 doubles: 800 kB"),
        case("rtt-1000000", "1,000,000 doubles: 8 MB"),
    ],
    families: &[case("rtt-N", "N doubles: 1 to 1,000,000")],
    variants: &[],
    unit: |_| Unit::Microseconds,
    placement: Placement::Apart,
    knows: |name| Case::has_extent(name, |extent| extent == Extent::Paced),
    ratios: &[
        ("floe", "floor"),
        ("ice", "floe"),
        ("omniorb", "floe"),
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
        for case in RTT.cases {
            assert!((RTT.knows)(case.name), "{}", case.name);
        }
        assert!(!(RTT.knows)("echo-2"));
    }
}
