//! A writer and readers that do not answer.

use core::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::discovery::EndpointData;
use crate::guid::{EntityId, Guid, GuidPrefix};
use crate::message::{AckNack, SequenceNumberSet};
use crate::qos::{History, Qos, Reliability};
use crate::sequence_number::SequenceNumber;

use super::{EndpointLimits, Outgoing, Sample, Writer, WriterEvent};

/// Seconds from the first sample until its reader, which answers only as often, is given up.
fn given_up_after(answers: i32) -> u64 {
    let start = Instant::now();
    let guid = Guid::new(GuidPrefix([1; 12]), EntityId::of_user(1, true, false));
    let reader = Guid::new(GuidPrefix([2; 12]), EntityId::of_user(1, false, false));
    let data = EndpointData {
        guid,
        topic: "t".to_owned(),
        type_name: "T".to_owned(),
        qos: Qos::of_writer().history(History::KeepAll),
        unicast: Vec::new(),
        multicast: Vec::new(),
        expects_inline_qos: false,
    };
    let outgoing = Outgoing {
        prefix: guid.prefix,
        len_max: 1452,
        fragment_len: 1344,
    };
    let mut writer = Writer::new(data, EndpointLimits::default());
    let to = SocketAddr::from(([127, 0, 0, 1], 7411));
    assert!(writer.add_reader(reader, to, Reliability::Reliable));
    for count in 0..answers {
        let nothing = AckNack {
            reader: reader.entity,
            writer: guid.entity,
            missing: SequenceNumberSet::new(SequenceNumber::FIRST),
            count,
            is_final: true,
        };
        writer.handle_acknack(reader, &nothing, start);
    }
    writer
        .write(Sample::written(vec![0; 8]))
        .expect("there is room");
    for second in 0..100 {
        let now = start + Duration::from_secs(second);
        let events = writer.handle_timeout(now);
        if events.contains(&WriterEvent::Unresponsive(reader)) {
            assert_eq!(writer.kept().0, 0, "nothing is kept for it");
            return second;
        }
        while writer.poll_datagram(outgoing, now).is_some() {}
    }
    panic!("it was never given up");
}

#[test]
fn a_reader_that_never_answers_is_given_up_sooner_than_one_that_has() {
    assert_eq!(given_up_after(0), 10);
    assert_eq!(given_up_after(1), 60);
}
