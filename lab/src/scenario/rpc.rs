//! How long does a call take?

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::calls::case::{Case, Extent};
use crate::contender::calls::{
    CAPNP, CYCLONEDDS, FLOE, FLOE_TUNED, FLOOR, GRPC_CPP, ICE, OMNIORB, TONIC, ZEROMQ,
};
use crate::placement::Placement;

/// Each case in all its variants: over what, and whether both sides poll.
macro_rules! four_ways {
    ($($name:literal: $summary:literal),* $(,)?) => {
        &[$(
            case($name, concat!($summary, ", over loopback TCP")),
            case(concat!($name, "-unix"), concat!($summary, ", over a Unix socket")),
            case(
                concat!($name, "-poll"),
                concat!($summary, ", over loopback TCP, both sides polling"),
            ),
            case(
                concat!($name, "-unix-poll"),
                concat!($summary, ", over a Unix socket, both sides polling"),
            ),
        )*]
    };
}

pub(super) const RPC: ScenarioInfo = ScenarioInfo {
    name: "rpc",
    summary: "how long calls take between two processes of one computer",
    contenders: &[
        &FLOOR,
        &FLOE,
        &FLOE_TUNED,
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
    cases: four_ways! {
        "twoway": "an operation without parameters and results",
        "twoway-blocking": "the same from a thread that blocks",
        "ami": "the same through the asynchronous face",
        "ami-1000": "1,000 such calls in flight at the same time",
        "oneway": "10,000 without a reply, until the server has received all",
        "batch": "100 batches of 1,000 without a reply, until the server has received all",
        "echo-1": "a double, returned",
        "echo-1000": "1,000 doubles, returned",
        "echo-100000": "100,000 doubles, returned",
        "echo-1000000": "1,000,000 doubles, returned",
        "ack-bytes-4": "4 bytes, acknowledged",
        "ack-bytes-1024": "1,024 bytes, acknowledged",
        "ack-bytes-65536": "65,536 bytes, acknowledged",
        "ack-nested-1": "a record of 4 records, acknowledged",
        "ack-nested-32": "32 records of 4 records each, acknowledged",
        "ack-nested-1024": "1,024 records of 4 records each, acknowledged",
    },
    families: &[
        case("echo-N", "N doubles, returned: 1 to 1,000,000"),
        case("ack-bytes-N", "N bytes, acknowledged: 1 to 1,000,000"),
        case(
            "ack-nested-N",
            "N records of 4 records each, acknowledged: 1 to 1,024",
        ),
    ],
    variants: &["-unix", "-poll", "-unix-poll"],
    unit: |_| Unit::Microseconds,
    placement: Placement::Apart,
    knows: |name| Case::has_extent(name, |extent| extent == Extent::Round),
    ratios: &[
        ("floe", "floor"),
        ("floe-tuned", "floe"),
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
        assert_eq!(RPC.cases.len(), 64);
        for case in RPC.cases {
            Case::parse(case.name).unwrap();
        }
    }
}
