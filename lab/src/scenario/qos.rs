//! What do reliability, history, priority, batching and compression cost?
//!
//! Source: "Evaluating the Performance of Publish/Subscribe Platforms for Information Management in Distributed Real-time and
//! Embedded Systems", which leaves it as future work; no figures are published.
//!
//! Workload: a publisher and a subscriber in one process, each with a connection of its own to the service, and events of 1,000
//! bytes, in which every 256 bytes are nearly those before. A case of `-latency` has one event under way. A case of
//! `-throughput` publishes 100 events, and the next 100 when all of them have come, so that no event is lost. In batches of 100
//! they are 10,000: a service that collects events before it sends them is not measured by how long it waits for more.
//!
//! What counts: the time of an event, of which each of a wave has its share; `deviation` and `p99` tell the jitter. A quality that a
//! contender has no notion of is left out with the reason.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::fanout::case::Case;
use crate::contender::fanout::{FLOE, FLOE_SERVANT, ICESTORM, MOSQUITTO, NATS, REDIS, ZEROMQ};
use crate::placement::Placement;

pub(super) const QOS: ScenarioInfo = ScenarioInfo {
    name: "qos",
    summary: "what reliability, history, priority, batching and compression do to latency, jitter and throughput",
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
        case("oneway-latency", "nothing is acknowledged"),
        case(
            "oneway-throughput",
            "nothing is acknowledged, 100 at a time",
        ),
        case("twoway-latency", "acknowledged at both ends"),
        case(
            "twoway-throughput",
            "acknowledged at both ends, 100 one after the other",
        ),
        case(
            "ordered-latency",
            "acknowledged, and delivered one at a time",
        ),
        case(
            "ordered-throughput",
            "acknowledged, and delivered one at a time, 100 one after the other",
        ),
        case(
            "keep-last-latency",
            "the last event is kept for a subscriber that is behind",
        ),
        case("priority-latency", "with a priority"),
        case("batched-throughput", "in batches of 100"),
        case("compressed-latency", "compressed on both ways"),
        case(
            "compressed-throughput",
            "compressed on both ways, 100 at a time",
        ),
    ],
    families: &[],
    variants: &["-latency", "-throughput"],
    unit: |_| Unit::Microseconds,
    placement: Placement::Apart,
    knows: |name| Case::parse_qos(name).is_ok(),
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
        for case in QOS.cases {
            Case::parse_qos(case.name).unwrap();
        }
    }
}
