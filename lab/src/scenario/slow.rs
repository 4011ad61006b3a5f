//! How many bytes, and how much time, does it take over a slow line?
//!
//! Source: "Choosing Middleware: Why Performance and Scalability do (and do not) Matter", "Documents over Slow Connections".
//!
//! Workload: a server and a client in network namespaces of their own, with a line of 56 kbit/s between them, or of 1 Mbit/s with
//! 100 ms of delay and 1 % of loss in each direction. A text and a bibliography are sent in a twoway call: in the first message of
//! a connection, then again, and with one entry changed. A back end sends 1,000 events to a client behind a router.
//!
//! What counts: the time of each call, or of all events; the bytes of both directions in messages, without TCP's headers,
//! and at the network device.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::slow::{
    FLOE, FLOE_BROTLI, FLOE_BZIP2, FLOE_GATEWAY, FLOE_GATEWAY_PLAIN, FLOE_STREAM, FLOE_ZSTD,
    GLACIER2, GLACIER2_PLAIN, GRPC_CPP, GRPC_CPP_GZIP, ICE, ICE_BZIP2, OMNIORB,
};
use crate::placement::Placement;

/// Each case over both lines.
macro_rules! two_lines {
    ($($name:literal: $summary:literal),* $(,)?) => {
        &[
            $(case(concat!($name, "/56k"), concat!($summary, ", over 56 kbit/s")),)*
            $(case(
                concat!($name, "/1m"),
                concat!($summary, ", over 1 Mbit/s with 100 ms delay and 1 % loss"),
            ),)*
        ]
    };
}

pub(super) const SLOW: ScenarioInfo = ScenarioInfo {
    name: "slow",
    summary: "how many bytes and how long documents and events take over a slow line",
    contenders: &[
        &FLOE,
        &FLOE_BZIP2,
        &FLOE_ZSTD,
        &FLOE_BROTLI,
        &FLOE_STREAM,
        &ICE,
        &ICE_BZIP2,
        &OMNIORB,
        &GRPC_CPP,
        &GRPC_CPP_GZIP,
        &FLOE_GATEWAY,
        &FLOE_GATEWAY_PLAIN,
        &GLACIER2,
        &GLACIER2_PLAIN,
    ],
    groups: &[("grpc", &["grpc-cpp", "grpc-cpp-gzip"])],
    processes: Processes::OverSlowLine,
    cases: two_lines! {
        "text": "116 lines of text as a sequence of strings, in the first message of a connection",
        "text-again": "the same text again on the same connection",
        "bibliography": "75 works with their authors, in the first message of a connection",
        "bibliography-again": "the same works again on the same connection",
        "bibliography-edited": "the same with one work changed",
        "ticks": "1,000 events from a back end to a client of a router",
    },
    families: &[],
    variants: &["/56k", "/1m"],
    unit: |_| Unit::Microseconds,
    placement: Placement::Free,
    knows: |_| false,
    ratios: &[
        ("ice", "floe"),
        ("ice-bzip2", "floe-bzip2"),
        ("ice-bzip2", "floe-zstd"),
        ("ice-bzip2", "floe-stream"),
        ("omniorb", "floe"),
        ("omniorb", "ice"),
        ("omniorb", "ice-bzip2"),
        ("grpc-cpp", "floe"),
        ("grpc-cpp-gzip", "floe-zstd"),
        ("glacier2", "floe-gateway"),
        ("glacier2-plain", "floe-gateway-plain"),
        ("floe-gateway-plain", "floe-gateway"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::slow::case::Case;

    #[test]
    fn every_case_is_one() {
        assert_eq!(SLOW.cases.len(), 12);
        for case in SLOW.cases {
            Case::parse(case.name).unwrap();
        }
    }
}
