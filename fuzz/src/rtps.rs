//! Datagrams as anybody on the network sends them, given to a participant that has a matched peer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use floe_rtps::endpoint::Sample;
use floe_rtps::guid::GuidPrefix;
use floe_rtps::participant::{Config, EndpointOptions, Participant};
use floe_rtps::payload::Representation;
use floe_rtps::qos::{History, Qos};

/// Handles `input` as datagrams, each with its length in two bytes in front, and then lets time pass.
///
/// Whatever the bytes are, this must end, without a panic, and within the limits of memory.
pub(crate) fn run(input: &[u8]) {
    let mut now = Instant::now();
    let mut ours = participant(1, now);
    let mut peer = participant(2, now);
    let options = |qos: Qos| {
        let qos = qos.reliable().transient_local().history(History::KeepAll);
        EndpointOptions::new("Topic", "Type", qos)
    };
    let writer = ours
        .create_writer(options(Qos::of_writer()), now)
        .expect("it can be");
    let reader = ours
        .create_reader(options(Qos::of_reader()), now)
        .expect("it can be");
    let made = peer.create_writer(options(Qos::of_writer()), now);
    made.expect("it can be");
    let made = peer.create_reader(options(Qos::of_reader()), now);
    made.expect("it can be");
    for len in [10, 3000] {
        let sample = Sample::written(Representation::CDR_LE.join(&vec![7; len]));
        ours.write(writer, sample).expect("there is room");
    }
    // So that they match, and the peer has asked for the samples.
    for _ in 0..20 {
        exchange(&mut ours, &mut peer, &mut now);
    }
    let mut rest = input;
    while let Some((len, after)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes(*len)).min(after.len());
        let (datagram, after) = after.split_at(len);
        rest = after;
        now += Duration::from_millis(1);
        ours.handle_datagram(now, address(2), datagram);
        check(&mut ours, now);
    }
    while ours.take(reader, now).is_some() {}
    now += Duration::from_secs(400);
    ours.handle_timeout(now);
    check(&mut ours, now);
    assert_eq!(ours.usage().participants, 0, "nobody is kept for ever");
}

fn check(ours: &mut Participant, now: Instant) {
    ours.handle_timeout(now);
    let mut sent = 0;
    while ours.poll_transmit(now).is_some() {
        sent += 1;
        assert!(sent < 2000, "there is an end of what one datagram causes");
    }
    while ours.poll_event().is_some() {}
    let usage = ours.usage();
    assert!(usage.participants <= 256, "{usage:?}");
    assert!(usage.reorder_bytes <= 64 << 20, "{usage:?}");
    assert!(usage.discovery_bytes <= 32 << 20, "{usage:?}");
}

fn exchange(ours: &mut Participant, peer: &mut Participant, now: &mut Instant) {
    *now += Duration::from_millis(50);
    for from in [1, 2] {
        let (sender, receiver) = match from {
            1 => (&mut *ours, &mut *peer),
            _ => (&mut *peer, &mut *ours),
        };
        sender.handle_timeout(*now);
        while let Some(transmit) = sender.poll_transmit(*now) {
            receiver.handle_datagram(*now, address(from), &transmit.bytes);
        }
        while sender.poll_event().is_some() {}
    }
}

fn participant(host: u8, now: Instant) -> Participant {
    let other = 3 - host;
    let prefix = GuidPrefix([0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    let config = Config::new(
        prefix,
        0,
        address(host),
        address(host),
        vec![address(other)],
    );
    Participant::new(config, now).expect("it makes sense")
}

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, host], 7410))
}
