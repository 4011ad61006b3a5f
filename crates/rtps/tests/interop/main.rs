//! Our participant with Cyclone DDS, both ways, over the loopback interface; and what tshark says of it.
//!
//! Each test has a domain of its own, so that tests run at the same time.

mod capture;
mod cyclone;
mod driver;
mod telemetry;

use std::process::Command;
use std::time::{Duration, Instant};

use floe_rtps::endpoint::{ChangeKind, Sample};
use floe_rtps::guid::{EntityId, GuidPrefix};
use floe_rtps::participant::{EndpointOptions, Event};
use floe_rtps::qos::{History, Qos};
use floe_rtps::timestamp::Timestamp;
use floe_tests::{skip, workspace};

use cyclone::{Cyclone, Discovery, Language};
use driver::Driver;
use telemetry::{key_hash, line, line_of, payload};

const SAMPLES: i32 = 1000;
const BIG: usize = 200_000;

fn options(qos: Qos) -> EndpointOptions {
    let qos = qos.reliable().history(History::KeepAll);
    EndpointOptions::new("FloeTelemetry", "Telemetry::Sample", qos).keyed()
}

fn writer(driver: &mut Driver, qos: Qos) -> EntityId {
    let made = driver
        .participant
        .create_writer(options(qos), Instant::now());
    made.expect("it can be")
}

fn reader(driver: &mut Driver, qos: Qos) -> EntityId {
    let made = driver
        .participant
        .create_reader(options(qos), Instant::now());
    made.expect("it can be")
}

fn sample(k: i32, raw_len: usize) -> Sample {
    Sample {
        key_hash: Some(key_hash(k)),
        timestamp: Some(Timestamp::since_1970(Duration::from_secs(1_700_000_000))),
        ..Sample::written(payload(k, raw_len))
    }
}

/// Publishes samples of ours to a peer, which prints all of them in order.
fn publish_to(cyclone: &Cyclone, domain: u32, discovery: Discovery, count: i32, raw_len: usize) {
    let mut driver = Driver::new(domain, discovery == Discovery::Multicast);
    let writer = writer(&mut driver, Qos::of_writer());
    let mut peer = cyclone.start(discovery, domain, &format!("sub volatile 0 {count} 0"));
    peer.ready();
    driver.wait_for_matches(writer, 1);
    // The peer must know of us as well before a volatile sample is for it; that its reader has answered says so.
    driver.run_till("the peer to match", |_| {
        peer.line_within(Duration::ZERO).is_some()
    });
    for k in 0..count {
        driver.write(writer, &sample(k, raw_len));
    }
    driver.wait_for_acknowledgements(writer);
    for k in 0..count {
        assert_eq!(peer.line(), line(k, raw_len));
    }
    assert_eq!(driver.participant.counters().malformed, 0);
}

/// Reads samples of a peer.
fn read_from(cyclone: &Cyclone, domain: u32, discovery: Discovery, count: i32, raw_len: usize) {
    let mut driver = Driver::new(domain, discovery == Discovery::Multicast);
    let reader = reader(&mut driver, Qos::of_reader());
    let mut peer = cyclone.start(
        discovery,
        domain,
        &format!("pub volatile 0 {count} {raw_len}"),
    );
    let got = driver.read(reader, count as usize);
    let lines: Vec<_> = got
        .iter()
        .map(|received| line_of(&received.sample.payload))
        .collect();
    assert!(
        lines
            .iter()
            .eq(&(0..count).map(|k| line(k, raw_len)).collect::<Vec<_>>()),
        "{lines:?}"
    );
    assert!(
        got.iter()
            .all(|received| received.sample.timestamp.is_some())
    );
    driver.run_till("the peer to be satisfied", |_| {
        peer.line_within(Duration::ZERO).as_deref() == Some("written")
    });
    assert_eq!(driver.participant.counters().malformed, 0);
}

#[test]
fn cyclone_reads_a_thousand_samples_in_order_without_multicast() {
    if let Some(cyclone) = Cyclone::or_skip(Language::C) {
        publish_to(&cyclone, 40, Discovery::Peers, SAMPLES, 5);
    }
}

#[test]
fn cyclone_reads_a_thousand_samples_in_order_with_multicast() {
    if let Some(cyclone) = Cyclone::or_skip(Language::C) {
        publish_to(&cyclone, 41, Discovery::Multicast, SAMPLES, 5);
    }
}

#[test]
fn a_thousand_samples_of_cyclone_come_in_order_without_multicast() {
    if let Some(cyclone) = Cyclone::or_skip(Language::C) {
        read_from(&cyclone, 42, Discovery::Peers, SAMPLES, 5);
    }
}

#[test]
fn a_thousand_samples_of_cyclone_come_in_order_with_multicast() {
    if let Some(cyclone) = Cyclone::or_skip(Language::C) {
        read_from(&cyclone, 43, Discovery::Multicast, SAMPLES, 5);
    }
}

#[test]
fn long_samples_go_both_ways_in_fragments() {
    if let Some(cyclone) = Cyclone::or_skip(Language::C) {
        publish_to(&cyclone, 44, Discovery::Peers, 3, BIG);
        read_from(&cyclone, 44, Discovery::Peers, 3, BIG);
    }
}

#[test]
fn cyclone_for_python_exchanges_samples_both_ways() {
    if let Some(cyclone) = Cyclone::or_skip(Language::Python) {
        publish_to(&cyclone, 45, Discovery::Peers, SAMPLES, 5);
        read_from(&cyclone, 45, Discovery::Peers, SAMPLES, 5);
        publish_to(&cyclone, 45, Discovery::Multicast, 1, BIG);
        read_from(&cyclone, 45, Discovery::Multicast, 1, BIG);
    }
}

#[test]
fn late_readers_get_the_history_both_ways() {
    let Some(cyclone) = Cyclone::or_skip(Language::C) else {
        return;
    };
    let domain = 46;
    let mut driver = Driver::new(domain, false);
    let writer = writer(&mut driver, Qos::of_writer().transient_local());
    for k in 0..100 {
        driver.write(writer, &sample(k, 5));
    }
    let mut peer = cyclone.start(Discovery::Peers, domain, "sub transient 0 100 0");
    peer.ready();
    driver.wait_for_matches(writer, 1);
    let mut lines = Vec::new();
    driver.run_till("the history", |_| {
        lines.extend(
            peer.line_within(Duration::ZERO)
                .filter(|line| line != "matched"),
        );
        lines.len() == 100
    });
    assert_eq!(lines, (0..100).map(|k| line(k, 5)).collect::<Vec<_>>());
    drop(peer);
    driver.participant.delete_endpoint(writer);
    let mut peer = cyclone.start(Discovery::Peers, domain, "pub transient 0 100 5");
    peer.ready();
    let first = reader(&mut driver, Qos::of_reader().transient_local());
    driver.read(first, 100);
    let late = reader(&mut driver, Qos::of_reader().transient_local());
    let got = driver.read(late, 100);
    let lines: Vec<_> = got
        .iter()
        .map(|received| line_of(&received.sample.payload))
        .collect();
    assert_eq!(lines, (0..100).map(|k| line(k, 5)).collect::<Vec<_>>());
    // A volatile reader gets nothing of it.
    let volatile = reader(&mut driver, Qos::of_reader());
    driver.wait_for_matches(volatile, 1);
    driver.run(Duration::from_millis(500));
    assert_eq!(driver.participant.take(volatile, Instant::now()), None);
}

#[test]
fn each_side_is_killed_and_comes_back() {
    let Some(cyclone) = Cyclone::or_skip(Language::C) else {
        return;
    };
    let domain = 47;
    let mut driver = Driver::new(domain, false);
    let ours = writer(&mut driver, Qos::of_writer().transient_local());
    let mut peer = cyclone.start(Discovery::Peers, domain, "sub transient 0 1000 0");
    peer.ready();
    driver.wait_for_matches(ours, 1);
    driver.write(ours, &sample(1, 5));
    driver.wait_for_acknowledgements(ours);
    assert_eq!(peer.line_after("matched"), "");
    assert_eq!(peer.line(), line(1, 5));
    peer.signal("KILL");
    drop(peer);
    let mut peer = cyclone.start(Discovery::Peers, domain, "sub transient 0 1000 0");
    peer.ready();
    let mut got = Vec::new();
    driver.run_till("the history after the peer was killed", |_| {
        got.extend(
            peer.line_within(Duration::ZERO)
                .filter(|line| line != "matched"),
        );
        !got.is_empty()
    });
    assert_eq!(got, [line(1, 5)]);
    // Ours goes without a word, and another one comes to the same ports.
    drop(driver);
    std::thread::sleep(Duration::from_millis(500));
    let mut driver = Driver::new(domain, false);
    let ours = writer(&mut driver, Qos::of_writer().transient_local());
    driver.wait_for_matches(ours, 1);
    driver.write(ours, &sample(2, 5));
    driver.wait_for_acknowledgements(ours);
    assert_eq!(peer.line(), line(2, 5));
    // The participant that was killed is given up when its lease is over.
    let lost = |driver: &mut Driver| {
        driver
            .events
            .iter()
            .any(|event| matches!(event, Event::ParticipantLost { .. }))
    };
    peer.close_input();
    driver.run_till("the end of the peer", lost);
}

#[test]
fn the_end_of_an_instance_goes_both_ways() {
    let Some(cyclone) = Cyclone::or_skip(Language::C) else {
        return;
    };
    let domain = 48;
    let mut driver = Driver::new(domain, false);
    let writer = writer(&mut driver, Qos::of_writer());
    let mut peer = cyclone.start(Discovery::Peers, domain, "sub volatile 0 2 0");
    peer.ready();
    driver.wait_for_matches(writer, 1);
    driver.run_till("the peer to match", |_| {
        peer.line_within(Duration::ZERO).is_some()
    });
    driver.write(writer, &sample(7, 5));
    driver.wait_for_acknowledgements(writer);
    assert_eq!(peer.line(), line(7, 5));
    let key = [&[0, 1, 0, 0][..], &7_i32.to_le_bytes()].concat();
    let end = Sample::ended(ChangeKind::Disposed, Some(key_hash(7)), key);
    driver.write(writer, &end);
    driver.wait_for_acknowledgements(writer);
    assert_eq!(peer.line(), "disposed");
    drop(peer);
    let reader = reader(&mut driver, Qos::of_reader());
    let mut peer = cyclone.start(Discovery::Peers, domain, "pub volatile 7 1 5");
    driver.read(reader, 1);
    // The peer disposes of a lone instance when it is asked to end.
    peer.close_input();
    let got = driver.read(reader, 1);
    let end = &got[0].sample;
    assert_eq!(end.kind, ChangeKind::Disposed);
    assert_eq!(end.payload[4..8], 7_i32.to_le_bytes());
}

#[test]
fn tshark_finds_nothing_malformed_in_a_conversation() {
    let Some(cyclone) = Cyclone::or_skip(Language::C) else {
        return;
    };
    let version = Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip::report(
            "tshark",
            "it does not start; cargo xtask install provides it",
        );
    }
    let domain = 49;
    let mut driver = Driver::new(domain, false);
    let ours = writer(&mut driver, Qos::of_writer().transient_local());
    driver.write(ours, &sample(1, 5));
    driver.write(ours, &sample(2, 10_000));
    let end = Sample::ended(
        ChangeKind::DisposedAndUnregistered,
        Some(key_hash(1)),
        Vec::new(),
    );
    driver.write(ours, &end);
    let mut peer = cyclone.start(Discovery::Peers, domain, "sub transient 0 2 0");
    peer.ready();
    driver.wait_for_matches(ours, 1);
    driver.wait_for_acknowledgements(ours);
    let theirs = reader(&mut driver, Qos::of_reader());
    let _publisher = cyclone.start(Discovery::Peers, domain, "pub volatile 0 3 10000");
    driver.read(theirs, 3);
    let folder = workspace::target_dir().join("interop/dds");
    let file = folder.join("conversation.pcap");
    driver.capture.write(&file);
    assert!(driver.capture.len() > 50);
    let tshark = |filter: &str| {
        let output = Command::new("tshark")
            .args(["-r", &file.to_string_lossy(), "-Y", filter])
            // A free port may be the one of another protocol.
            .args(["-o", "udp.try_heuristic_first:TRUE"])
            .output()
            .expect("it starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(
        tshark("_ws.malformed || _ws.expert.severity >= 0x00600000 || !rtps"),
        ""
    );
    for kind in ["0x15", "0x16", "0x06", "0x07", "0x08", "0x09", "0x0e"] {
        assert_ne!(
            tshark(&format!("rtps.sm.id == {kind}")),
            "",
            "{kind} was tried"
        );
    }
}

/// With `UPDATE=1` it writes the vectors anew.
#[test]
fn a_conversation_as_that_of_the_vectors_is_had() {
    let Some(cyclone) = Cyclone::or_skip(Language::C) else {
        return;
    };
    let domain = 50;
    let prefix = GuidPrefix([0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let mut driver = Driver::with(domain, false, |config| config.prefix = prefix);
    driver.record = Some(Vec::new());
    let ours = writer(&mut driver, Qos::of_writer().transient_local());
    let theirs = reader(&mut driver, Qos::of_reader());
    for k in 0..3 {
        driver.write(ours, &sample(k, 5));
    }
    driver.write(ours, &sample(3, 10_000));
    let mut subscriber = cyclone.start(Discovery::Peers, domain, "sub transient 0 4 0");
    subscriber.ready();
    driver.wait_for_matches(ours, 1);
    driver.wait_for_acknowledgements(ours);
    let mut publisher = cyclone.start(Discovery::Peers, domain, "pub volatile 0 5 4000");
    driver.read(theirs, 5);
    publisher.close_input();
    driver.run(Duration::from_secs(2));
    let record = driver.record.take().expect("it was set");
    assert!((40..200).contains(&record.len()), "{}", record.len());
    if std::env::var_os("UPDATE").is_none() {
        return;
    }
    let mut text = String::from(
        "# Datagrams that came to a participant of ours: the port that they came from, and their bytes.\n\
         # Source: observed: Cyclone DDS 0.10.2 of Debian 12. A subscriber reads four samples of ours, and a publisher\n\
         # writes five that are cut into fragments. Written by tests/interop/main.rs with UPDATE=1.\n",
    );
    for (from, bytes) in record {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&format!("{} {hex}\n", from.port()));
    }
    let folder = workspace::root().join("crates/rtps/tests/vectors");
    std::fs::create_dir_all(&folder).expect("there is room");
    std::fs::write(folder.join("cyclone.txt"), text).expect("there is room");
}
