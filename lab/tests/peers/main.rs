//! The peers that only the lab measures: each is built, answers, and is checked by its own client.
//!
//! The gate does not install them, so that `cargo test` leaves this out: `cargo xtask install --lab`, then
//! `cargo test -p floe-lab --test peers`.

use std::path::PathBuf;
use std::time::Duration;

use floe_lab::{LabError, RunOptions, run};

/// A case of each kind, of which a contender offers those that it knows.
const RPC: &[&str] = &[
    "twoway",
    "twoway-unix",
    "twoway-blocking",
    "ami",
    "ami-1000",
    "ami-1000-unix",
    "oneway",
    "oneway-unix",
    "echo-1",
    "echo-1000000",
    "echo-300-unix",
    "ack-bytes-1",
    "ack-bytes-65536-unix",
    "ack-nested-1",
    "ack-nested-1024-unix",
];

const CODEC: &[&str] = &[
    "bytes-1000",
    "doubles-1000",
    "nested",
    "text",
    "bibliography",
];

const EVENTS: &[&str] = &["latency-1-2", "twoway-2-2", "batched-2-2", "batched100-2-2"];

/// Runs the cases that the contender offers: a client fails if it is answered wrongly.
fn measure(scenario: &str, contender: &str, cases: &[&str], offered: usize) {
    let options = RunOptions {
        contenders: vec![contender.to_owned()],
        cases: cases.iter().map(|&name| name.to_owned()).collect(),
        rounds: 1,
        round_time: Duration::from_millis(20),
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
        ..RunOptions::default()
    };
    match run(scenario, &options, &mut |_| ()) {
        Ok(report) => {
            let measured: Vec<_> = report.results.iter().map(|result| &*result.case).collect();
            assert_eq!(measured.len(), offered, "{measured:?}");
            assert!(report.results.iter().all(|result| result.p50 > 0.0));
        }
        Err(LabError::Unavailable { contender, reason }) => {
            eprintln!("SKIPPED: {contender}: {reason}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn omniorb_answers_over_both_transports() {
    measure("rpc", "omniorb", RPC, 15);
}

#[test]
fn tonic_answers_over_both_transports() {
    measure("rpc", "tonic", RPC, 14);
}

#[test]
fn grpc_in_cpp_answers_over_both_transports() {
    measure("rpc", "grpc-cpp", RPC, 15);
}

#[test]
fn zeromq_answers_over_both_transports() {
    measure("rpc", "zeromq", RPC, 15);
}

#[test]
fn capnp_answers_over_both_transports() {
    measure("rpc", "capnp", RPC, 15);
}

#[test]
fn cyclonedds_answers_over_udp() {
    measure("rpc", "cyclonedds", RPC, 8);
}

#[test]
fn counted_and_paced_calls_are_made_by_all_that_make_calls() {
    const COUNTED: &[&str] = &["twoway-x1000", "ami-x1000", "oneway-x1000", "batch-x1000"];
    for (contender, offered) in [
        ("ice", 4),
        ("omniorb", 3),
        ("tonic", 3),
        ("grpc-cpp", 3),
        ("zeromq", 3),
        ("capnp", 3),
        ("cyclonedds", 2),
    ] {
        measure("latency", contender, COUNTED, offered);
        measure("rtt", contender, &["rtt-1000"], 1);
    }
}

#[test]
fn those_that_encode_decode_what_they_encoded() {
    for contender in [
        "omniorb",
        "fastcdr",
        "protobuf",
        "capnp",
        "cyclonedds",
        "gsoap",
    ] {
        measure("codec", contender, CODEC, 10);
    }
}

#[test]
fn events_reach_every_subscriber_through_every_service() {
    for (contender, offered) in [
        ("omnievents", 2),
        ("mosquitto", 4),
        ("nats", 4),
        ("zeromq", 3),
        ("redis", 4),
        ("nats-jetstream", 2),
        ("artemis", 4),
        ("qpid", 4),
        ("zenoh", 3),
    ] {
        measure("events", contender, EVENTS, offered);
    }
}

#[test]
fn events_reach_every_subscriber_where_there_is_no_service() {
    for (contender, offered) in [("cyclonedds", 4), ("fastdds", 4), ("iceoryx2", 3)] {
        measure("events", contender, EVENTS, offered);
    }
}

#[test]
fn messages_and_their_answers_go_through_topics_of_every_system() {
    for (contender, offered) in [
        ("omnievents", 3),
        ("mosquitto", 2),
        ("nats", 2),
        ("redis", 2),
        ("artemis", 2),
        ("qpid", 2),
        ("jacorb", 2),
        ("wsn", 2),
        ("cyclonedds", 3),
        ("fastdds", 3),
    ] {
        let cases = ["bytes-4", "bytes-16384", "nested-32"];
        measure("pubsub-rtt", contender, &cases, offered);
    }
}

#[test]
fn many_publishers_reach_many_subscribers_in_every_quality_that_is_offered() {
    const QOS: &[&str] = &[
        "oneway-throughput",
        "twoway-throughput",
        "ordered-latency",
        "keep-last-latency",
        "batched-throughput",
        "compressed-latency",
    ];
    for (contender, offered) in [
        ("icestorm", 5),
        ("mosquitto", 2),
        ("nats", 2),
        ("zeromq", 1),
        ("redis", 1),
    ] {
        measure("scale", contender, &["fan-3-2", "fan-1-200"], 2);
        measure("qos", contender, QOS, offered);
    }
}

#[test]
fn events_are_on_disk_before_they_are_acknowledged() {
    let cases = ["inflight-1", "inflight-100", "batch-1000"];
    for contender in ["redis", "nats-jetstream", "artemis"] {
        measure("durable", contender, &cases, cases.len());
    }
}

#[test]
fn stored_events_are_read_by_a_durable_subscriber_of_artemis() {
    measure("durable", "artemis", &["replay-2500"], 1);
}

#[test]
fn calls_go_through_a_glacier2_which_keeps_a_thousand_sessions() {
    let cases = ["twoway", "ami-1000", "oneway", "sessions-1000"];
    measure("gateway", "glacier2", &cases, cases.len());
}
