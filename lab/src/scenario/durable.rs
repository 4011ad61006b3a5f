//! How many events can a service store in a second, each of them safe from a loss of power before it is acknowledged? And how many can
//! a subscriber read that comes much later?
//!
//! Workload: one publisher and no subscriber. Events have 100 bytes of parameters. `inflight-N` keeps N events unanswered: the
//! answer to one makes room for the next. `batch-N` sends N events together, and then awaits all their answers. In `replay-N`, one
//! durable subscriber reads N events, and acknowledges each. They were stored before, and their files are not in the memory of the
//! system any more.
//!
//! What counts: events that are acknowledged in the time of a round. The last answers are awaited, and their time counts. In
//! `replay-N`, all events count, and the time from the subscription to the last event.
//!
//! The floor writes the bytes of as many records as Floe's log writes, N at a time, and calls `fdatasync` after each write, on the
//! file system on which all others store. In `replay-N`, it reads as many bytes from a file, and relays each event over a bare socket to
//! another process, which answers it.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::durable::case::Case;
use crate::contender::durable::{ARTEMIS, FLOE, FLOE_SERVANT, FLOOR, NATS_JETSTREAM, REDIS};
use crate::placement::Placement;

pub(super) const DURABLE: ScenarioInfo = ScenarioInfo {
    name: "durable",
    summary: "how many events a service stores in a second, each on disk before it is acknowledged",
    contenders: &[
        &FLOOR,
        &FLOE,
        &FLOE_SERVANT,
        &REDIS,
        &NATS_JETSTREAM,
        &ARTEMIS,
    ],
    groups: &[],
    processes: Processes::Durable,
    cases: &[
        case("inflight-1", "one event at a time"),
        case("inflight-100", "100 events without an answer"),
        case("batch-1000", "1,000 events together, then their answers"),
        case(
            "replay-500000",
            "500,000 stored events, read from the disk by a subscriber",
        ),
    ],
    families: &[
        case("inflight-N", "N events without an answer: 1 to 10,000"),
        case("batch-N", "N events together: 1 to 10,000"),
        case(
            "replay-N",
            "N events read from the disk: 1,000 to 100,000,000",
        ),
    ],
    variants: &[],
    unit: |_| Unit::EventsPerSecond,
    // The publisher and the service take turns, and the disk has threads of the system.
    placement: Placement::Free,
    knows: |name| Case::parse(name).is_ok(),
    ratios: &[
        ("floe", "floor"),
        ("floe-servant", "floe"),
        ("floe", "redis"),
        ("floe", "nats-jetstream"),
        ("floe", "artemis"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_one() {
        for case in DURABLE.cases {
            Case::parse(case.name).unwrap();
        }
    }
}
