//! What do many subscribers and many publishers cost?
//!
//! Source: "Evaluating the Performance of Publish/Subscribe Platforms for Information Management in Distributed Real-time and
//! Embedded Systems", which leaves it as future work; no figures are published.
//!
//! Workload: one process has all publishers and all subscribers, each with a connection of its own to the service. In a wave each
//! publisher publishes an event of 16 bytes and its number, without acknowledgements. The next wave follows when every subscriber
//! has got every event, so that no queue grows and no event is lost.
//!
//! What counts: the time of a wave, from the first publication to the last receipt; the time of the processor that the service
//! needs for each delivery; and the memory that each subscriber adds to the service before the first wave.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::fanout::case::Case;
use crate::contender::fanout::{FLOE, FLOE_SERVANT, ICESTORM, MOSQUITTO, NATS, REDIS, ZEROMQ};
use crate::placement::Placement;

pub(super) const SCALE: ScenarioInfo = ScenarioInfo {
    name: "scale",
    summary: "how long an event of each of P publishers takes to S subscribers, and what a subscriber costs in memory",
    contenders: &[
        &FLOE,
        &FLOE_SERVANT,
        &ICESTORM,
        &MOSQUITTO,
        &NATS,
        &ZEROMQ,
        &REDIS,
    ],
    groups: &[],
    processes: Processes::Fanout,
    cases: &[
        case("fan-1-1", "a publisher and a subscriber"),
        case("fan-1-10", "a publisher and 10 subscribers"),
        case("fan-1-100", "a publisher and 100 subscribers"),
        case("fan-1-1000", "a publisher and 1,000 subscribers"),
        case("fan-10-1", "10 publishers and a subscriber"),
        case("fan-100-1", "100 publishers and a subscriber"),
        case("fan-10-10", "10 publishers and 10 subscribers"),
        case("fan-100-100", "100 publishers and 100 subscribers"),
    ],
    families: &[case(
        "fan-P-S",
        "P publishers, up to 100, and S subscribers, up to 1,000",
    )],
    variants: &[],
    unit: |_| Unit::Microseconds,
    placement: Placement::Apart,
    knows: |name| Case::parse_scale(name).is_ok(),
    ratios: &[
        ("floe-servant", "floe"),
        ("icestorm", "floe"),
        ("mosquitto", "floe"),
        ("nats", "floe"),
        ("zeromq", "floe"),
        ("redis", "floe"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_one() {
        for case in SCALE.cases {
            Case::parse_scale(case.name).unwrap();
        }
    }
}
