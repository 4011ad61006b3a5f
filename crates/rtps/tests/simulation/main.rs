//! Participants over a bad network, in virtual time: every promise holds for each seed.
//!
//! A seed that fails is in the message. `FLOE_RTPS_SEEDS=10000` tries more.

mod network;

use std::env;
use std::time::Duration;

use floe_rtps::endpoint::{EndpointLimits, Sample, WriteError};
use floe_rtps::guid::EntityId;
use floe_rtps::participant::{EndpointOptions, Event, LossReason};
use floe_rtps::payload::Representation;
use floe_rtps::qos::{History, Policy, Qos};

use network::{Faults, Network};

fn seeds() -> u64 {
    env::var("FLOE_RTPS_SEEDS").map_or(30, |text| text.parse().expect("a number of seeds"))
}

fn keep_all(qos: Qos) -> Qos {
    qos.reliable().history(History::KeepAll)
}

fn options(qos: Qos) -> EndpointOptions {
    EndpointOptions::new("Numbers", "Test::Number", qos)
}

fn sample(number: u32, len: usize) -> Sample {
    let mut value = vec![0; len.max(4)];
    value[..4].copy_from_slice(&number.to_le_bytes());
    let last = value.len() - 1;
    value[last] = value[last].max(number as u8);
    Sample::written(Representation::CDR_LE.join(&value))
}

/// Takes all that has come, each with its length.
fn take(network: &mut Network, node: usize, reader: EntityId) -> Vec<(u32, usize)> {
    let now = network.now;
    let participant = &mut network.nodes[node].participant;
    std::iter::from_fn(|| participant.take(reader, now))
        .map(|received| {
            let payload = received.sample.payload;
            let number = u32::from_le_bytes(payload[4..8].try_into().expect("four bytes"));
            (number, payload.len())
        })
        .collect()
}

fn numbers(taken: Vec<(u32, usize)>) -> Vec<u32> {
    taken.into_iter().map(|(number, _)| number).collect()
}

#[test]
fn every_reliable_sample_arrives_once_and_in_order() {
    for seed in 0..seeds() {
        let mut network = Network::new(seed, Faults::BAD);
        let count = 2 + (seed % 3) as usize;
        for _ in 0..count {
            network.add_with(seed % 2 == 0, |_| {});
        }
        let now = network.now;
        let writer = network.nodes[0]
            .participant
            .create_writer(options(keep_all(Qos::of_writer())), now)
            .expect("it can be");
        let readers: Vec<_> = (1..count)
            .map(|node| {
                let reader = network.nodes[node]
                    .participant
                    .create_reader(options(keep_all(Qos::of_reader())), now);
                reader.expect("it can be")
            })
            .collect();
        network.run_till("matches", |network| {
            network.has_matches(0, writer, count - 1)
                && (1..count).all(|node| network.has_matches(node, readers[node - 1], 1))
        });
        let mut next = 0;
        let mut got = vec![Vec::new(); count];
        let total = 200;
        network.run_till(&format!("all samples, seed {seed}"), |network| {
            // Some samples have a datagram of their own, and some need several.
            let len = if next % 37 == 0 { 10_000 } else { 40 };
            if next < total
                && network.nodes[0]
                    .participant
                    .write(writer, sample(next, len))
                    .is_ok()
            {
                next += 1;
            }
            for node in 1..count {
                let taken = numbers(take(network, node, readers[node - 1]));
                got[node].extend(taken);
            }
            (1..count).all(|node| got[node].len() >= total as usize)
        });
        network.run(Duration::from_secs(3));
        for node in 1..count {
            let late = numbers(take(&mut network, node, readers[node - 1]));
            got[node].extend(late);
            assert_eq!(
                got[node],
                (0..total).collect::<Vec<_>>(),
                "seed {seed}, node {node}"
            );
            let lost = network.nodes[node]
                .events
                .iter()
                .any(|event| matches!(event, Event::Lost { .. }));
            assert!(!lost, "seed {seed}: nothing is lost");
        }
        let usage = network.nodes[0].participant.usage();
        assert_eq!(
            usage.samples, 1,
            "seed {seed}: only the announcement of the writer is kept, {usage:?}"
        );
    }
}

#[test]
fn a_writer_keeps_what_the_caller_of_its_reader_has_not_acknowledged() {
    for seed in 0..seeds() {
        let mut network = Network::new(seed, Faults::BAD);
        network.add_with(false, |_| {});
        network.add_with(false, |_| {});
        let now = network.now;
        let [one, other] = [0, 1];
        let writer = network.nodes[one]
            .participant
            .create_writer(options(keep_all(Qos::of_writer())), now)
            .expect("it can be");
        let reader = network.nodes[other]
            .participant
            .create_reader(
                options(keep_all(Qos::of_reader())).acknowledged_by_call(),
                now,
            )
            .expect("it can be");
        network.run_till("matches", |network| {
            network.has_matches(one, writer, 1) && network.has_matches(other, reader, 1)
        });
        let total = 200;
        for number in 0..total {
            let written = network.nodes[one]
                .participant
                .write(writer, sample(number, 40));
            written.expect("there is room");
        }
        let mut taken = Vec::new();
        network.run_till(&format!("all samples, seed {seed}"), |network| {
            let now = network.now;
            let participant = &mut network.nodes[other].participant;
            taken.extend(std::iter::from_fn(|| participant.take(reader, now)));
            taken.len() == total as usize
        });
        let unacknowledged = |network: &Network| {
            let of = network.nodes[one].participant.unacknowledged(writer);
            of.map(|(_, count)| count).collect::<Vec<_>>()
        };
        network.run(Duration::from_secs(5));
        assert_eq!(unacknowledged(&network), [u64::from(total)], "seed {seed}");
        for (done, left) in [(100, 100), (199, 1), (200, 0)] {
            let now = network.now;
            let last = &taken[done - 1];
            network.nodes[other]
                .participant
                .acknowledge(reader, last.writer, last.number, now);
            network.run_till(
                &format!("{left} samples that wait, seed {seed}"),
                |network| unacknowledged(network) == [left],
            );
            network.run(Duration::from_secs(2));
            assert_eq!(unacknowledged(&network), [left], "seed {seed}");
        }
    }
}

#[test]
fn damaged_copies_of_all_datagrams_end_no_conversation() {
    for seed in 0..seeds() {
        let mut network = Network::new(seed, Faults::NONE);
        network.add();
        network.add();
        let now = network.now;
        let writer = network.nodes[0]
            .participant
            .create_writer(options(keep_all(Qos::of_writer())), now);
        let writer = writer.expect("it can be");
        let reader = network.nodes[1]
            .participant
            .create_reader(options(keep_all(Qos::of_reader())), now);
        let reader = reader.expect("it can be");
        network.run_till("matches", |network| {
            network.has_matches(0, writer, 1) && network.has_matches(1, reader, 1)
        });
        network.faults.damaged = 5;
        for number in 0..200 {
            // It may be full while there are many readers that are none.
            let _ = network.nodes[0]
                .participant
                .write(writer, sample(number, 40));
            network.run(Duration::from_millis(20));
            take(&mut network, 1, reader);
        }
        network.faults.damaged = 0;
        // Announcements and heartbeats mend what was damaged; nobody has to be forgotten for that.
        network.run(Duration::from_secs(15));
        take(&mut network, 1, reader);
        let mut next = 1000;
        let mut got = Vec::new();
        network.run_till(&format!("the conversation, seed {seed}"), |network| {
            let participant = &mut network.nodes[0].participant;
            if next < 1300 && participant.write(writer, sample(next, 40)).is_ok() {
                next += 1;
            }
            let is_acknowledged = participant
                .unacknowledged(writer)
                .all(|(_, count)| count == 0);
            got.extend(numbers(take(network, 1, reader)));
            next == 1300 && is_acknowledged
        });
        got.retain(|number| (1000..1300).contains(number));
        assert!(got.is_sorted_by(|a, b| a < b), "seed {seed}: {got:?}");
        // A damaged number of a sample may be that of one that is still to come, which it replaces: without a checksum
        // nobody can tell.
        assert!(got.len() >= 290, "seed {seed}: {got:?}");
    }
}

#[test]
fn a_late_reader_gets_the_history_and_then_the_rest() {
    for seed in 0..seeds() {
        let mut network = Network::new(seed, Faults::BAD);
        network.add();
        let now = network.now;
        let qos = keep_all(Qos::of_writer()).transient_local();
        let writer = network.nodes[0]
            .participant
            .create_writer(options(qos), now)
            .expect("it can be");
        for number in 0..50 {
            let written = network.nodes[0]
                .participant
                .write(writer, sample(number, 3000));
            written.expect("there is room");
        }
        network.run(Duration::from_millis(300));
        network.add();
        let now = network.now;
        let qos = keep_all(Qos::of_reader());
        let late = network.nodes[1]
            .participant
            .create_reader(options(qos.clone().transient_local()), now);
        let late = late.expect("it can be");
        let volatile = network.nodes[1]
            .participant
            .create_reader(options(qos), now)
            .expect("it can be");
        network.run_till("both match", |network| network.has_matches(0, writer, 2));
        for number in 50..60 {
            let written = network.nodes[0]
                .participant
                .write(writer, sample(number, 3000));
            written.expect("there is room");
        }
        let (mut got, mut new) = (Vec::new(), Vec::new());
        network.run_till(&format!("the history, seed {seed}"), |network| {
            got.extend(numbers(take(network, 1, late)));
            new.extend(numbers(take(network, 1, volatile)));
            got.len() >= 60 && new.len() >= 10
        });
        assert_eq!(got, (0..60).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(new, (50..60).collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn a_megabyte_arrives_in_fragments_over_a_bad_network() {
    for seed in 0..seeds().div_ceil(10) {
        let mut network = Network::new(seed, Faults::BAD);
        network.add();
        network.add();
        let now = network.now;
        let writer = network.nodes[0]
            .participant
            .create_writer(options(keep_all(Qos::of_writer())), now);
        let writer = writer.expect("it can be");
        let reader = network.nodes[1]
            .participant
            .create_reader(options(keep_all(Qos::of_reader())), now);
        let reader = reader.expect("it can be");
        network.run_till("a match", |network| network.has_matches(0, writer, 1));
        for number in 0..3 {
            let written = network.nodes[0]
                .participant
                .write(writer, sample(number, 1 << 20));
            written.expect("there is room");
        }
        let mut got = Vec::new();
        network.run_till(&format!("three megabytes, seed {seed}"), |network| {
            got.extend(take(network, 1, reader));
            got.len() == 3
        });
        let len = (1 << 20) + 4;
        assert_eq!(got, [(0, len), (1, len), (2, len)], "seed {seed}");
        assert_eq!(network.nodes[1].participant.usage().reorder_bytes, 0);
    }
}

#[test]
fn a_slow_reader_stops_a_writer_that_keeps_all_and_nothing_is_lost() {
    let mut network = Network::new(1, Faults::BAD);
    network.add();
    network.add();
    let now = network.now;
    let few = EndpointLimits {
        samples_max: 16,
        ..EndpointLimits::default()
    };
    let mut offer = options(keep_all(Qos::of_writer()));
    offer.limits = few;
    let mut request = options(keep_all(Qos::of_reader()));
    request.limits = few;
    let writer = network.nodes[0]
        .participant
        .create_writer(offer, now)
        .expect("it can be");
    let reader = network.nodes[1]
        .participant
        .create_reader(request, now)
        .expect("it can be");
    network.run_till("a match", |network| network.has_matches(0, writer, 1));
    let mut next = 0;
    for _ in 0..200 {
        match network.nodes[0].participant.write(writer, sample(next, 8)) {
            Ok(_) => next += 1,
            Err(error) => assert!(
                matches!(error, WriteError::Full { samples: 16, .. }),
                "{error}"
            ),
        }
        network.run(Duration::from_millis(20));
    }
    assert_eq!(next, 32, "what both keep, and no more");
    let told = |network: &Network| network.nodes[0].events.contains(&Event::Writable(writer));
    assert!(!told(&network));
    let mut got = Vec::new();
    network.run_till("room", |network| {
        got.extend(numbers(take(network, 1, reader)));
        told(network) && got.len() == 32
    });
    assert_eq!(got, (0..32).collect::<Vec<_>>());
}

#[test]
fn a_participant_that_dies_is_given_up_and_comes_back_under_another_name() {
    let mut network = Network::new(2, Faults::BAD);
    network.add();
    network.add();
    let now = network.now;
    let qos = keep_all(Qos::of_writer());
    let writer = network.nodes[0]
        .participant
        .create_writer(options(qos), now)
        .expect("it can be");
    let qos = keep_all(Qos::of_reader());
    let reader = network.nodes[1]
        .participant
        .create_reader(options(qos.clone()), now);
    reader.expect("it can be");
    network.run_till("a match", |network| network.has_matches(0, writer, 1));
    let prefix = network.nodes[1].participant.prefix();
    network.kill(1);
    network.run(Duration::from_secs(25));
    let reason = LossReason::LeaseExpired;
    assert!(
        network.nodes[0]
            .events
            .contains(&Event::ParticipantLost { prefix, reason })
    );
    assert!(network.has_matches(0, writer, 0));
    network.add();
    let now = network.now;
    let reader = network.nodes[1]
        .participant
        .create_reader(options(qos), now)
        .expect("it can be");
    network.run_till("another match", |network| {
        network.has_matches(0, writer, 1) && network.has_matches(1, reader, 1)
    });
    network.nodes[0]
        .participant
        .write(writer, sample(7, 8))
        .expect("there is room");
    let mut got = Vec::new();
    network.run_till("a sample", |network| {
        got.extend(numbers(take(network, 1, reader)));
        !got.is_empty()
    });
    assert_eq!(got, [7]);
}

#[test]
fn a_participant_that_closes_is_given_up_at_once() {
    let mut network = Network::new(3, Faults::NONE);
    network.add();
    network.add();
    network.run_till("a meeting", |network| {
        network.nodes[0].participant.participants().count() == 1
    });
    let prefix = network.nodes[1].participant.prefix();
    network.nodes[1].participant.close();
    network.run(Duration::from_millis(10));
    let reason = LossReason::Ended;
    assert!(
        network.nodes[0]
            .events
            .contains(&Event::ParticipantLost { prefix, reason })
    );
}

#[test]
fn endpoints_that_do_not_fit_are_told_with_the_policy() {
    let mut network = Network::new(4, Faults::NONE);
    network.add();
    network.add();
    let now = network.now;
    let best_effort = Qos {
        reliability: floe_rtps::qos::Reliability::BestEffort,
        ..Qos::of_writer()
    };
    let writer = network.nodes[0]
        .participant
        .create_writer(options(best_effort), now)
        .expect("it can be");
    let reader = network.nodes[1]
        .participant
        .create_reader(options(Qos::of_reader().reliable()), now);
    let reader = reader.expect("it can be");
    let mut other = options(Qos::of_reader());
    other.type_name = "Test::Other".into();
    network.nodes[1]
        .participant
        .create_reader(other, now)
        .expect("it can be");
    network.run(Duration::from_secs(1));
    let policy = Policy::Reliability;
    for (node, local) in [(0, writer), (1, reader)] {
        let told = network.nodes[node].events.iter().any(|event| {
            matches!(event, Event::Incompatible { local: of, policy: why, .. } if *of == local && *why == policy)
        });
        assert!(told, "{:?}", network.nodes[node].events);
    }
    let type_name = network.nodes[0]
        .events
        .iter()
        .find_map(|event| match event {
            Event::OtherType { type_name, .. } => Some(type_name.as_str()),
            _ => None,
        });
    assert_eq!(type_name, Some("Test::Other"));
    assert!(network.has_matches(0, writer, 0) && network.has_matches(1, reader, 0));
}

#[test]
fn a_deleted_endpoint_is_unmatched_and_its_successor_is_found() {
    let mut network = Network::new(5, Faults::BAD);
    network.add();
    network.add();
    let now = network.now;
    let writer = network.nodes[0]
        .participant
        .create_writer(options(keep_all(Qos::of_writer())), now);
    let writer = writer.expect("it can be");
    for _ in 0..5 {
        let now = network.now;
        let reader = network.nodes[1]
            .participant
            .create_reader(options(keep_all(Qos::of_reader())), now);
        let reader = reader.expect("it can be");
        network.run_till("a match", |network| network.has_matches(0, writer, 1));
        assert!(network.nodes[1].participant.delete_endpoint(reader));
        network.run_till("its end", |network| network.has_matches(0, writer, 0));
    }
    network.run(Duration::from_secs(5));
    assert_eq!(network.nodes[0].participant.usage().endpoints, 0);
}

#[test]
fn best_effort_samples_come_in_order_and_losses_are_told() {
    let mut network = Network::new(
        6,
        Faults {
            lost: 0,
            ..Faults::BAD
        },
    );
    network.add();
    network.add();
    let now = network.now;
    let best_effort = Qos {
        reliability: floe_rtps::qos::Reliability::BestEffort,
        ..Qos::of_writer()
    };
    let writer = network.nodes[0]
        .participant
        .create_writer(options(best_effort.history(History::KeepAll)), now)
        .expect("it can be");
    let reader = network.nodes[1]
        .participant
        .create_reader(options(Qos::of_reader().history(History::KeepAll)), now)
        .expect("it can be");
    network.run_till("matches", |network| {
        network.has_matches(0, writer, 1) && network.has_matches(1, reader, 1)
    });
    network.faults.lost = 300;
    let mut got = Vec::new();
    for number in 0..200 {
        network.nodes[0]
            .participant
            .write(writer, sample(number, 8))
            .expect("there is room");
        network.run(Duration::from_millis(30));
        got.extend(numbers(take(&mut network, 1, reader)));
    }
    assert!(got.is_sorted_by(|a, b| a < b), "{got:?}");
    assert!((100..190).contains(&got.len()), "{}", got.len());
    let lost: u64 = network.nodes[1]
        .events
        .iter()
        .map(|event| match event {
            Event::Lost { count, .. } => *count,
            _ => 0,
        })
        .sum();
    let (first, last) = (
        u64::from(got[0]),
        u64::from(*got.last().expect("some came")),
    );
    assert_eq!(lost, last - first + 1 - got.len() as u64);
}

#[test]
fn automatic_liveliness_holds_while_the_participant_lives_and_is_told_when_it_does_not() {
    let mut network = Network::new(7, Faults::NONE);
    network.add();
    network.add();
    let now = network.now;
    let with_lease = |qos: Qos| Qos {
        liveliness: floe_rtps::qos::Liveliness {
            kind: floe_rtps::qos::LivelinessKind::Automatic,
            lease: Some(Duration::from_secs(1)),
        },
        ..qos
    };
    network.nodes[0]
        .participant
        .create_writer(options(with_lease(Qos::of_writer())), now)
        .expect("it can be");
    let reader = network.nodes[1]
        .participant
        .create_reader(options(with_lease(Qos::of_reader())), now);
    let reader = reader.expect("it can be");
    network.run(Duration::from_secs(15));
    let died = |network: &Network, node: usize| {
        network.nodes[node].events.iter().any(|event| matches!(event, Event::Liveliness { local, is_alive: false, .. } if *local == reader))
    };
    assert!(network.has_matches(1, reader, 1) && !died(&network, 1));
    network.kill(0);
    network.run(Duration::from_secs(3));
    assert!(died(&network, 0), "{:?}", network.nodes[0].events);
}

/// The datagrams that a writer sends for one answer of a reader that asks for all of a long history.
#[test]
fn a_request_for_everything_does_not_cause_everything() {
    use floe_rtps::codec::ByteOrder;
    use floe_rtps::message::{AckNack, Header, SequenceNumberSet, Submessage};
    use floe_rtps::sequence_number::SequenceNumber;

    let mut network = Network::new(8, Faults::NONE);
    network.add();
    network.add();
    let now = network.now;
    let qos = keep_all(Qos::of_writer()).transient_local();
    let writer = network.nodes[0]
        .participant
        .create_writer(options(qos), now)
        .expect("it can be");
    let reader = network.nodes[1]
        .participant
        .create_reader(options(keep_all(Qos::of_reader())), now)
        .expect("it can be");
    for number in 0..10 {
        let written = network.nodes[0]
            .participant
            .write(writer, sample(number, 1 << 20));
        written.expect("there is room");
    }
    network.run_till("matches", |network| network.has_matches(0, writer, 1));
    for number in 10..14 {
        let written = network.nodes[0]
            .participant
            .write(writer, sample(number, 1 << 20));
        written.expect("there is room");
        network.run(Duration::from_secs(1));
    }
    let prefix = network.nodes[1].participant.prefix();
    let first = SequenceNumber(11);
    let mut bytes = Vec::new();
    Header::ours(prefix).encode(&mut bytes);
    let request = AckNack {
        reader,
        writer,
        missing: SequenceNumberSet::of(first, (11..15).map(SequenceNumber)),
        count: 1_000_000,
        is_final: true,
    };
    Submessage::AckNack(request).encode(&mut bytes, ByteOrder::Little);
    let now = network.now;
    let from = std::net::SocketAddr::from(([10, 0, 0, 2], 7411));
    let participant = &mut network.nodes[0].participant;
    participant.handle_datagram(now, from, &bytes);
    let sent: usize = std::iter::from_fn(|| participant.poll_transmit(now))
        .map(|transmit| transmit.bytes.len())
        .sum();
    assert!(
        (100_000..150_000).contains(&sent),
        "{sent} bytes of four megabytes"
    );
}
