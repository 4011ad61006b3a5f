//! The bridge to DDS with a participant of `floe-rtps` at the other end: samples written and read by hand.

// The participant on sockets of the tests of `floe-rtps`, and the file for tshark.
#[path = "../../../rtps/tests/interop/capture.rs"]
mod capture;
#[allow(dead_code)]
#[path = "../../../rtps/tests/interop/driver.rs"]
mod driver;
mod fixture;

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use floe_bridges::core::account::Reason;
use floe_rtps::endpoint::{Received, Sample};
use floe_rtps::guid::EntityId;
use floe_rtps::payload::Representation;
use floe_rtps::qos::{History, Qos, Reliability};
use floe_tests::mutation::Mutator;
use floe_tests::{skip, workspace};

use driver::Driver;
use fixture::{FreeDomain, Joined};

/// The sample of a number: `struct Tick { int number; string text; }`.
fn sample(number: i32, text: &str) -> Sample {
    let mut value = number.to_le_bytes().to_vec();
    value.extend((text.len() as u32 + 1).to_le_bytes());
    value.extend(text.as_bytes());
    value.push(0);
    Sample::written(Representation::CDR_LE.join(&value))
}

fn number(received: &Received) -> i32 {
    let (_, value) = Representation::split(&received.sample.payload).expect("it has a header");
    i32::from_le_bytes(value[..4].try_into().expect("it is whole"))
}

fn keep_all(qos: Qos) -> Qos {
    qos.history(History::KeepAll)
}

/// A writer of ours that the bridge reads, and that knows it.
fn writer(driver: &mut Driver, qos: Qos) -> EntityId {
    let made = driver
        .participant
        .create_writer(fixture::options(keep_all(qos)), Instant::now());
    let writer = made.expect("it can be");
    driver.wait_for_matches(writer, 1);
    writer
}

/// A reader of ours to which the bridge writes.
fn reader(driver: &mut Driver, joined: &Joined) -> EntityId {
    let qos = keep_all(Qos::of_reader().reliable());
    let made = driver
        .participant
        .create_reader(fixture::options(qos), Instant::now());
    let reader = made.expect("it can be");
    driver.run_till("the bridge to know the reader", |driver| {
        let peers = joined.bridge().state().peers;
        driver.participant.matches(reader).len() == 1
            && peers.iter().any(|it| it.contains(": reads ticks"))
    });
    reader
}

fn unacknowledged(driver: &Driver, writer: EntityId) -> u64 {
    let of_readers = driver.participant.unacknowledged(writer);
    of_readers.map(|(_, count)| count).sum()
}

/// The numbers of the next events of the hub, while the participant goes on.
fn heard(driver: &mut Driver, joined: &mut Joined, count: usize) -> Vec<i32> {
    let mut numbers = Vec::new();
    driver.run_till(&format!("{count} events"), |_| {
        numbers.extend(joined.try_events());
        numbers.len() >= count
    });
    numbers
}

#[test]
fn events_go_both_ways_and_do_not_return() {
    let domain = FreeDomain::new();
    let mut joined = Joined::start(domain.number());
    let mut driver = Driver::new(domain.number(), false);
    let reader = reader(&mut driver, &joined);
    let writer = writer(&mut driver, Qos::of_writer());
    for k in 0..100 {
        driver.write(writer, &sample(k, "größer"));
    }
    assert_eq!(
        heard(&mut driver, &mut joined, 100),
        (0..100).collect::<Vec<_>>()
    );
    driver.wait_for_acknowledgements(writer);
    for k in 100..200 {
        joined.publish(k, "größer");
    }
    let got = driver.read(reader, 100);
    assert!(got.iter().map(number).eq(100..200), "{got:?}");
    let representation = Representation::split(&got[0].sample.payload);
    assert_eq!(
        representation.expect("it has a header").0,
        Representation::CDR_LE
    );
    driver.run_till("its acknowledgement", |_| joined.counts().sent_out == 100);
    let counts = joined.counts();
    assert_eq!(counts.not_crossed, []);
    // One cannot tell `größer` from others by its number.
    assert_eq!(
        got[0].sample.payload[8..20],
        *b"\x09\0\0\0gr\xc3\xb6\xc3\x9fer"
    );
}

#[test]
fn a_writer_is_acknowledged_only_what_the_hub_has() {
    let domain = FreeDomain::new();
    let mut joined = Joined::start(domain.number());
    let mut driver = Driver::new(domain.number(), false);
    let writer = writer(&mut driver, Qos::of_writer());
    driver.write(writer, &sample(0, ""));
    assert_eq!(heard(&mut driver, &mut joined, 1), [0]);
    driver.wait_for_acknowledgements(writer);
    joined.stop_hub();
    for k in 1..=50 {
        driver.write(writer, &sample(k, ""));
    }
    driver.run_till("trouble", |_| {
        let trouble = joined.bridge().state().trouble;
        trouble.is_some_and(|it| it.contains("topic ticks: samples wait for the hub"))
    });
    driver.run(Duration::from_secs(1));
    assert_eq!(unacknowledged(&driver, writer), 50);
    joined.start_hub();
    let again = heard(&mut driver, &mut joined, 50);
    assert_eq!(again, (1..=50).collect::<Vec<_>>());
    driver.wait_for_acknowledgements(writer);
    assert_eq!(joined.bridge().state().trouble, None);
    assert_eq!(
        (joined.counts().taken_in, joined.counts().not_crossed),
        (51, vec![])
    );
}

#[test]
fn samples_that_are_no_events_are_counted_and_stop_nothing() {
    let domain = FreeDomain::new();
    let mut joined = Joined::start(domain.number());
    let mut driver = Driver::new(domain.number(), false);
    let best_effort = Qos {
        reliability: Reliability::BestEffort,
        ..Qos::of_writer()
    };
    let made = driver
        .participant
        .create_writer(fixture::options(keep_all(best_effort)), Instant::now());
    let unreliable = made.expect("it can be");
    let writer = writer(&mut driver, Qos::of_writer());
    driver.write(writer, &Sample::written(vec![0, 1, 0, 0, 1]));
    driver.write(writer, &Sample::written(vec![0, 3, 0, 0, 1, 0, 0, 0]));
    driver.write(writer, &sample(7, "x"));
    assert_eq!(heard(&mut driver, &mut joined, 1), [7]);
    driver.wait_for_acknowledgements(writer);
    assert_eq!(joined.counts().not_crossed, [(Reason::Malformed, 2)]);
    // A reader that asks for reliable samples is not matched with one that is not.
    assert_eq!(driver.participant.matches(unreliable), []);
}

#[test]
fn damaged_datagrams_amid_a_conversation_cost_nothing() {
    let domain = FreeDomain::new();
    let mut joined = Joined::start(domain.number());
    let mut driver = Driver::new(domain.number(), false);
    driver.sent = Some(Vec::new());
    let reader = reader(&mut driver, &joined);
    let writer = writer(&mut driver, Qos::of_writer());
    driver.write(writer, &sample(-1, "x"));
    assert_eq!(heard(&mut driver, &mut joined, 1), [-1]);
    // The bridge is at the first index of the domain, and the participant at the next.
    let sent = driver.sent.take().expect("it was set");
    let at =
        |ports: &[(SocketAddr, Vec<u8>)]| ports.iter().map(|(to, _)| *to).collect::<BTreeSet<_>>();
    let bridge: Vec<_> = at(&sent)
        .into_iter()
        .filter(|to| joined.ports().contains(&to.port()))
        .collect();
    assert_eq!(bridge.len(), 2, "{sent:?}");
    // Of a stranger on this host: who knows the name of a participant can speak for it, against which RTPS has nothing.
    let originals: Vec<_> = sent.into_iter().map(|(_, bytes)| stranger(bytes)).collect();
    let mut mutator = Mutator::new(&originals, 47);
    let hostile = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    for k in 0..200 {
        for turn in 0..50 {
            let damaged = mutator.next_input();
            let _ = hostile.send_to(damaged, bridge[turn % 2]);
        }
        driver.write(writer, &sample(k, "x"));
        joined.publish(1000 + k, "y");
        driver.run(Duration::from_millis(2));
    }
    // Damaged samples may be events as well, and come in between: those that were meant are all there, in their order.
    let mut numbers = Vec::new();
    driver.run_till("all events", |_| {
        numbers.extend(joined.try_events());
        is_within(0..200, &numbers)
    });
    let mut got = Vec::new();
    driver.run_till("all samples", |driver| {
        let now = Instant::now();
        got.extend(
            std::iter::from_fn(|| driver.participant.take(reader, now)).map(|it| number(&it)),
        );
        is_within(1000..1200, &got)
    });
}

/// The datagram as another participant would send it.
fn stranger(mut datagram: Vec<u8>) -> Vec<u8> {
    let (own, other) = (datagram[8..20].to_vec(), [9; 12]);
    for at in 8..datagram.len() - 12 {
        if datagram[at..at + 12] == own {
            datagram[at..at + 12].copy_from_slice(&other);
        }
    }
    datagram
}

/// True if all numbers are among others, in their order.
fn is_within(mut numbers: std::ops::Range<i32>, among: &[i32]) -> bool {
    let mut rest = among.iter();
    numbers.all(|number| rest.any(|it| *it == number))
}

#[test]
fn tshark_reads_all_that_the_bridge_sends() {
    let version = Command::new("tshark").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip::report(
            "tshark",
            "it does not start; cargo xtask install provides it",
        );
    }
    let domain = FreeDomain::new();
    let mut joined = Joined::start(domain.number());
    let mut driver = Driver::new(domain.number(), false);
    let reader = reader(&mut driver, &joined);
    let writer = writer(&mut driver, Qos::of_writer());
    driver.write(writer, &sample(1, "größer"));
    assert_eq!(heard(&mut driver, &mut joined, 1), [1]);
    driver.wait_for_acknowledgements(writer);
    joined.publish(2, "größer");
    // It goes in fragments.
    joined.publish(3, &"x".repeat(10_000));
    driver.read(reader, 2);
    let folder = workspace::target_dir().join("interop/bridges/dds");
    std::fs::create_dir_all(&folder).expect("there is room");
    let file = folder.join("bridge.pcap");
    driver.capture.write(&file);
    assert!(driver.capture.len() > 20);
    let tshark = |filter: &str| {
        let output = Command::new("tshark")
            .args(["-r", &file.to_string_lossy(), "-Y", filter])
            // A free port may be the one of another protocol.
            .args(["-o", "udp.try_heuristic_first:TRUE"])
            .output()
            .expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(
        tshark("_ws.malformed || _ws.expert.severity >= 0x00600000 || !rtps"),
        ""
    );
    // DATA, DATA_FRAG, ACKNACK and HEARTBEAT of the bridge.
    let [port, _] = joined.ports();
    for kind in ["0x15", "0x16", "0x06", "0x07"] {
        let filter = format!("rtps.sm.id == {kind} && udp.srcport == {port}");
        assert_ne!(tshark(&filter), "", "{kind} was sent");
    }
}
