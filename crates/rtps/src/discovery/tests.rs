//! Announcements: what is written is read again, and hostile ones stay small.

use core::net::SocketAddr;
use std::time::Duration;

use super::*;
use crate::guid::{EntityId, Guid, GuidPrefix, VendorId};
use crate::message::{ParameterId, ParameterWriter, ProtocolVersion};
use crate::qos::{
    AccessScope, DestinationOrder, Durability, History, Liveliness, LivelinessKind, Ownership,
    Presentation, Qos, Reliability, representation,
};

const PREFIX: GuidPrefix = GuidPrefix([7; 12]);

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 1, 2, 3], port))
}

#[test]
fn a_participant_comes_back() {
    let data = ParticipantData {
        prefix: PREFIX,
        version: ProtocolVersion::OURS,
        vendor: VendorId::UNKNOWN,
        domain: Some(3),
        domain_tag: "lab".into(),
        name: "Größe".into(),
        lease: Some(Duration::from_millis(12_500)),
        builtin: BuiltinEndpoints::OURS,
        metatraffic_unicast: vec![address(1), address(2)],
        metatraffic_multicast: vec![address(3)],
        default_unicast: vec![address(4), "[fe80::1]:5".parse().expect("it is one")],
        default_multicast: vec![address(6)],
    };
    assert_eq!(ParticipantData::decode(&data.encode()), Ok(data));
    assert_eq!(
        ParticipantData::decode_key(&ParticipantData::encode_key(PREFIX)),
        Ok(PREFIX)
    );
}

fn endpoint() -> EndpointData {
    EndpointData {
        guid: Guid::new(PREFIX, EntityId([0, 0, 1, 2])),
        topic: "rt/Größe".into(),
        type_name: "a::b".into(),
        qos: Qos {
            reliability: Reliability::BestEffort,
            durability: Durability::Persistent,
            deadline: Some(Duration::from_millis(250)),
            latency_budget: Duration::from_millis(125),
            ownership: Ownership::Exclusive,
            ownership_strength: -4,
            liveliness: Liveliness {
                kind: LivelinessKind::ManualByTopic,
                lease: Some(Duration::from_secs(2)),
            },
            history: History::KeepLast(7),
            presentation: Presentation {
                scope: AccessScope::Group,
                is_coherent: true,
                is_ordered: true,
            },
            destination_order: DestinationOrder::BySource,
            partitions: vec!["one".into(), "t*o".into()],
            representations: vec![representation::XCDR2, representation::XCDR1],
        },
        unicast: vec![address(9)],
        multicast: vec![address(10)],
        expects_inline_qos: false,
    }
}

#[test]
fn an_endpoint_comes_back() {
    let data = endpoint();
    assert_eq!(EndpointData::decode(&data.encode()), Ok(data.clone()));
    assert_eq!(
        EndpointData::decode_key(&EndpointData::encode_key(data.guid)),
        Ok(data.guid)
    );
}

#[test]
fn a_cut_announcement_is_refused_wherever_it_is_cut() {
    let payload = endpoint().encode();
    for len in 0..payload.len() {
        assert!(EndpointData::decode(&payload[..len]).is_err(), "{len}");
    }
}

#[test]
fn more_locators_than_the_limit_are_not_kept() {
    let mut payload = PARAMETERS_LE.to_vec();
    let mut list = ParameterWriter::new(&mut payload, ByteOrder::Little);
    list.parameter(ParameterId::PARTICIPANT_GUID, |into| into.bytes(&[7; 16]));
    for port in 1..1000 {
        list.parameter(ParameterId::DEFAULT_UNICAST_LOCATOR, |into| {
            crate::locator::Locator::from(address(port)).encode(into);
        });
    }
    list.end();
    let data = ParticipantData::decode(&payload).expect("it is one");
    assert_eq!(data.default_unicast.len(), LOCATORS_MAX);
}

#[test]
fn a_name_above_the_limit_is_refused() {
    let data = EndpointData {
        topic: "x".repeat(NAME_LEN_MAX + 1),
        ..endpoint()
    };
    let error = EndpointData::decode(&data.encode()).expect_err("it is too long");
    assert!(
        error.to_string().contains("expected at most 1024"),
        "{error}"
    );
}

#[test]
fn a_sign_of_life_comes_back() {
    let payload = LivelinessData::encode_automatic(PREFIX);
    let sign = LivelinessData {
        prefix: PREFIX,
        kind: Some(LivelinessKind::Automatic),
    };
    assert_eq!(LivelinessData::decode(&payload), Ok(sign));
}
