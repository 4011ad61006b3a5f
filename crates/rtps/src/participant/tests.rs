//! A participant and what others say to it: other domains, others' names, and limits.

use core::net::SocketAddr;
use std::time::{Duration, Instant};

use super::*;
use crate::codec::ByteOrder;
use crate::discovery::{BuiltinEndpoints, ParticipantData};
use crate::guid::VendorId;
use crate::message::{Data, Header, InlineQos, PayloadKind, ProtocolVersion, Submessage};

fn at(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], port))
}

fn config() -> Config {
    Config::new(
        GuidPrefix([1; 12]),
        0,
        at(1, 7410),
        at(1, 7411),
        vec![at(2, 7410)],
    )
}

fn participant(config: Config) -> (Participant, Instant) {
    let now = Instant::now();
    (Participant::new(config, now).expect("it makes sense"), now)
}

fn announced(number: u16) -> ParticipantData {
    let mut prefix = [9; 12];
    prefix[..2].copy_from_slice(&number.to_be_bytes());
    ParticipantData {
        prefix: GuidPrefix(prefix),
        version: ProtocolVersion::OURS,
        vendor: VendorId::UNKNOWN,
        domain: Some(0),
        domain_tag: String::new(),
        name: String::new(),
        lease: Some(Duration::from_secs(10)),
        builtin: BuiltinEndpoints::OURS,
        metatraffic_unicast: vec![at(2, 7410)],
        metatraffic_multicast: Vec::new(),
        default_unicast: vec![at(2, 7411)],
        default_multicast: Vec::new(),
    }
}

fn datagram(source: GuidPrefix, data: &ParticipantData, ends: bool) -> Vec<u8> {
    let payload = data.encode();
    let mut bytes = Vec::new();
    Header::ours(source).encode(&mut bytes);
    let data = Data {
        reader: EntityId::UNKNOWN,
        writer: EntityId::SPDP_WRITER,
        number: SequenceNumber(1),
        inline_qos: InlineQos {
            is_disposed: ends,
            ..InlineQos::default()
        },
        kind: PayloadKind::Value,
        payload: &payload,
    };
    Submessage::Data(data).encode(&mut bytes, ByteOrder::Little);
    bytes
}

#[test]
fn participants_of_other_domains_are_counted_and_ignored() {
    let (mut ours, now) = participant(config());
    let mut other = announced(1);
    other.domain = Some(1);
    ours.handle_datagram(now, at(2, 7410), &datagram(other.prefix, &other, false));
    other.domain = None;
    other.domain_tag = "lab".into();
    ours.handle_datagram(now, at(2, 7410), &datagram(other.prefix, &other, false));
    assert_eq!(ours.counters().other_domain, 2);
    assert_eq!(ours.usage().participants, 0);
}

#[test]
fn nobody_speaks_in_the_name_of_another() {
    let (mut ours, now) = participant(config());
    let true_one = announced(1);
    ours.handle_datagram(
        now,
        at(2, 7410),
        &datagram(true_one.prefix, &true_one, false),
    );
    assert_eq!(ours.usage().participants, 1);
    // An announcement of another than its sender, its end from elsewhere, and another place for it from elsewhere.
    let other = announced(2);
    ours.handle_datagram(now, at(3, 7410), &datagram(other.prefix, &true_one, false));
    ours.handle_datagram(
        now,
        at(3, 7410),
        &datagram(true_one.prefix, &true_one, true),
    );
    let mut moved = true_one.clone();
    moved.metatraffic_unicast = vec![at(3, 7410)];
    for _ in 0..3 {
        ours.handle_datagram(now, at(3, 7410), &datagram(moved.prefix, &moved, false));
    }
    assert_eq!(ours.counters().other_source, 5);
    assert_eq!(ours.usage().participants, 1);
    // From its own place its end is believed.
    ours.handle_datagram(
        now,
        at(2, 7410),
        &datagram(true_one.prefix, &true_one, true),
    );
    assert_eq!(ours.usage().participants, 0);
}

#[test]
fn a_lease_for_ever_ends_at_the_limit() {
    let (mut ours, now) = participant(config());
    let mut other = announced(1);
    other.lease = None;
    ours.handle_datagram(now, at(2, 7410), &datagram(other.prefix, &other, false));
    ours.handle_timeout(now + Duration::from_secs(299));
    assert_eq!(ours.usage().participants, 1);
    ours.handle_timeout(now + Duration::from_secs(300));
    assert_eq!(ours.usage().participants, 0);
}

#[test]
fn participants_that_never_answer_give_way_to_others() {
    let mut config = config();
    config.limits.participants_max = 4;
    let (mut ours, now) = participant(config);
    for number in 0..100 {
        let other = announced(number);
        let later = now + Duration::from_millis(u64::from(number));
        ours.handle_datagram(later, at(2, 7410), &datagram(other.prefix, &other, false));
        assert!(ours.usage().participants <= 4);
        while ours.poll_event().is_some() {}
    }
    let kept: Vec<_> = ours.participants().collect();
    assert_eq!(
        kept,
        [96, 97, 98, 99].map(|number| announced(number).prefix)
    );
}

#[test]
fn datagrams_are_dropped_while_too_many_events_wait() {
    let (mut ours, now) = participant(config());
    for number in 0..2500 {
        let other = announced(number);
        ours.handle_datagram(now, at(2, 7410), &datagram(other.prefix, &other, false));
    }
    assert!(ours.usage().events <= 4096 + 2, "{:?}", ours.usage());
    assert!(ours.usage().transmits <= 1024, "{:?}", ours.usage());
    assert!(ours.counters().events_full > 0);
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let (mut ours, now) = participant(config());
    let options = |qos| EndpointOptions::new("T", "T", qos);
    let exclusive = Qos {
        ownership: Ownership::Exclusive,
        ..Qos::of_reader()
    };
    let error = ours
        .create_reader(options(exclusive), now)
        .expect_err("it is not there");
    assert_eq!(
        error.to_string(),
        "a reader with exclusive ownership is not supported by this release"
    );
    let persistent = Qos {
        durability: Durability::Persistent,
        ..Qos::of_writer()
    };
    assert!(ours.create_writer(options(persistent), now).is_err());
    let nameless = EndpointOptions::new("", "T", Qos::of_writer());
    assert_eq!(
        ours.create_writer(nameless, now),
        Err(EndpointError::Name(String::new()))
    );
    let mut wrong = config();
    wrong.fragment_len = 1400;
    let error = Participant::new(wrong, now).expect_err("there is no room");
    assert_eq!(error, ConfigError::Lengths(1452, 1400));
}
