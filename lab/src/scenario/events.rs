//! How long do events take, and how many come?

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::events::case::{Case, Work};
use crate::contender::events::{
    ARTEMIS, CYCLONEDDS, FASTDDS, FLOE, FLOE_RULES, FLOE_SERVANT, FLOE_TUNED, FLOOR, ICEORYX2,
    ICESTORM, MOSQUITTO, NATS, NATS_JETSTREAM, OMNIEVENTS, QPID, REDIS, ZENOH, ZEROMQ,
};
use crate::placement::Placement;

pub(super) const EVENTS: ScenarioInfo = ScenarioInfo {
    name: "events",
    summary: "how long events take through a service to its subscribers, and how many come in a second",
    contenders: &[
        &FLOOR,
        &FLOE,
        &FLOE_SERVANT,
        &FLOE_TUNED,
        &FLOE_RULES,
        &ICESTORM,
        &OMNIEVENTS,
        &MOSQUITTO,
        &NATS,
        &NATS_JETSTREAM,
        &ZEROMQ,
        &ZENOH,
        &REDIS,
        &ARTEMIS,
        &QPID,
        &CYCLONEDDS,
        &FASTDDS,
        &ICEORYX2,
    ],
    groups: &[],
    processes: Processes::Events,
    cases: &[
        case("latency-1-1", LATENCY),
        case("latency-1-2", LATENCY),
        case("latency-1-5", LATENCY),
        case("latency-1-10", LATENCY),
        case("latency-1-20", LATENCY),
        case("load-1-1", LOAD),
        case("load-1-10", LOAD),
        case("twoway-1-1", TWOWAY),
        case("twoway-1-10", TWOWAY),
        case("twoway-10-1", TWOWAY),
        case("twoway-5-5", TWOWAY),
        case("batched-1-1", BATCHED),
        case("batched-1-10", BATCHED),
        case("batched-10-1", BATCHED),
        case("batched-5-5", BATCHED),
        case("batched100-1-1", SMALL),
        case("batched100-1-10", SMALL),
        case("batched100-10-1", SMALL),
        case("batched100-5-5", SMALL),
    ],
    families: &[
        case("latency-1-N", "one publisher and N subscribers, up to 30"),
        case("load-P-S", "P publishers and S subscribers, up to 30"),
        case("twoway-P-S", "P publishers and S subscribers, up to 30"),
        case("batched-P-S", "P publishers and S subscribers, up to 30"),
        case("batched100-P-S", "P publishers and S subscribers, up to 30"),
    ],
    variants: &[],
    unit: |name| match Case::parse(name) {
        Ok(Case {
            work: Work::Twoway | Work::Batched,
            ..
        }) => Unit::EventsPerSecond,
        _ => Unit::Microseconds,
    },
    // Twenty processes on half of the cores, beside one on the other half, would measure the scheduler.
    placement: Placement::Free,
    knows: |name| Case::parse(name).is_ok(),
    ratios: &[
        ("floe", "floor"),
        ("floe-servant", "floe"),
        ("floe-tuned", "floe"),
        ("floe-rules", "floe"),
        ("icestorm", "floe"),
        ("omnievents", "floe"),
        // As the published tests compare them.
        ("omnievents", "icestorm"),
        ("mosquitto", "floe"),
        ("nats", "floe"),
        ("nats-jetstream", "floe"),
        ("zeromq", "floe"),
        ("zenoh", "floe"),
        ("redis", "floe"),
        ("artemis", "floe"),
        ("qpid", "floe"),
        ("cyclonedds", "floe"),
        ("fastdds", "floe"),
        ("iceoryx2", "floe"),
    ],
};

const LATENCY: &str = "from publication to receipt, an event every 2 ms, acknowledged at both ends";
const LOAD: &str = "from publication to receipt, published one after another at full speed, acknowledged at both ends";
const TWOWAY: &str = "events a second at each subscriber, each acknowledged at both ends";
const BATCHED: &str =
    "events a second at each subscriber, in batches of 1,000, without acknowledgements";
const SMALL: &str =
    "events a second at each subscriber, in batches of 100 as published, without acknowledgements";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_one() {
        for case in EVENTS.cases {
            Case::parse(case.name).unwrap();
        }
    }
}
