//! How long does a message take through a topic to a program, and its answer through another one back?
//!
//! Source: "Evaluating the Performance of Publish/Subscribe Platforms for Information Management in Distributed Real-time and
//! Embedded Systems": a client publishes a message and a sequence number, the server answers with 4 bytes, for DDS, JMS,
//! a notification service and SOAP.
//!
//! Workload: a pinger publishes a message on the topic `ping`; a replier, which has subscribed to it, publishes the number of the
//! message on the topic `ack`. The next message follows when the answer has come. Messages hold bytes, from 4 to 16,384, or
//! records of records, from 1 to 1,024, in powers of two. 100 primers are not measured. A round measures 700 messages, so the 15
//! rounds of a run have the 10,000 of the published test.
//!
//! What counts: the time from before the message is published until its answer has come, with mean, deviation, minimum,
//! maximum, p50 and p99. Nothing is acknowledged but by the answer. The replier checks what it gets.

use super::{Processes, ScenarioInfo, Unit, case};
use crate::contender::topics::case::Case;
use crate::contender::topics::{
    ARTEMIS, CYCLONEDDS, FASTDDS, FLOE, FLOE_SERVANT, FLOOR, ICESTORM, JACORB, MOSQUITTO, NATS,
    OMNIEVENTS, QPID, REDIS, WSN, ZEROMQ,
};
use crate::placement::Placement;

pub(super) const PUBSUB_RTT: ScenarioInfo = ScenarioInfo {
    name: "pubsub-rtt",
    summary: "how long a message takes through a topic, and its answer through another, as published for DDS",
    contenders: &[
        &FLOOR,
        &FLOE,
        &FLOE_SERVANT,
        &ICESTORM,
        &OMNIEVENTS,
        &JACORB,
        &MOSQUITTO,
        &NATS,
        &ZEROMQ,
        &REDIS,
        &ARTEMIS,
        &QPID,
        &WSN,
        &CYCLONEDDS,
        &FASTDDS,
    ],
    groups: &[],
    processes: Processes::Topics,
    cases: &[
        case("bytes-4", "4 bytes"),
        case("bytes-8", "8 bytes"),
        case("bytes-16", "16 bytes"),
        case("bytes-32", "32 bytes"),
        case("bytes-64", "64 bytes"),
        case("bytes-128", "128 bytes"),
        case("bytes-256", "256 bytes"),
        case("bytes-512", "512 bytes"),
        case("bytes-1024", "1,024 bytes"),
        case("bytes-2048", "2,048 bytes"),
        case("bytes-4096", "4,096 bytes"),
        case("bytes-8192", "8,192 bytes"),
        case("bytes-16384", "16,384 bytes"),
        case("nested-1", "a record of 4 records"),
        case("nested-2", "2 records of 4 records each"),
        case("nested-4", "4 records of 4 records each"),
        case("nested-8", "8 records of 4 records each"),
        case("nested-16", "16 records of 4 records each"),
        case("nested-32", "32 records of 4 records each"),
        case("nested-64", "64 records of 4 records each"),
        case("nested-128", "128 records of 4 records each"),
        case("nested-256", "256 records of 4 records each"),
        case("nested-512", "512 records of 4 records each"),
        case("nested-1024", "1,024 records of 4 records each"),
    ],
    families: &[
        case("bytes-N", "N bytes: 1 to 65,536"),
        case("nested-N", "N records of 4 records each: 1 to 1,024"),
    ],
    variants: &[],
    unit: |_| Unit::Microseconds,
    // Three processes on two halves of the cores would measure which two share one.
    placement: Placement::Free,
    knows: |name| Case::parse(name).is_ok(),
    ratios: &[
        ("floe-servant", "floe"),
        ("floe", "floor"),
        ("icestorm", "floe"),
        ("omnievents", "floe"),
        ("jacorb", "floe"),
        ("mosquitto", "floe"),
        ("nats", "floe"),
        ("zeromq", "floe"),
        ("redis", "floe"),
        ("artemis", "floe"),
        ("qpid", "floe"),
        ("wsn", "floe"),
        ("cyclonedds", "floe"),
        ("fastdds", "floe"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_one() {
        for case in PUBSUB_RTT.cases {
            Case::parse(case.name).unwrap();
        }
    }
}
