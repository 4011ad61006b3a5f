//! Datagrams that were recorded from Cyclone DDS: replayed as they came, and damaged thousands of times. Whatever comes,
//! memory stays within limits, and the next conversation works.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use floe_rtps::endpoint::Sample;
use floe_rtps::guid::{EntityId, GuidPrefix};
use floe_rtps::participant::{Config, EndpointOptions, Event, LossReason, Participant, Usage};
use floe_rtps::payload::Representation;
use floe_rtps::qos::{History, Qos};
use floe_tests::mutation::Mutator;

const RECORDED: &str = include_str!("vectors/cyclone.txt");

fn recorded() -> Vec<(SocketAddr, Vec<u8>)> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let datagrams = lines.map(|line| {
        let (port, hex) = line.split_once(' ').expect("a port and bytes");
        let octets = (0..hex.len()).step_by(2);
        let bytes = octets
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"))
            .collect();
        let port = port.parse().expect("a port");
        (SocketAddr::from(([127, 0, 0, 1], port)), bytes)
    });
    datagrams.collect()
}

/// A participant as it was when the datagrams were recorded.
struct Victim {
    participant: Participant,
    writer: EntityId,
    reader: EntityId,
    now: Instant,
}

impl Victim {
    fn new() -> Self {
        let now = Instant::now();
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let prefix = GuidPrefix([0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let config = Config::new(prefix, 50, at(19910), at(19911), vec![at(19912)]);
        let mut participant = Participant::new(config, now).expect("it makes sense");
        let options = |qos: Qos| {
            let qos = qos.reliable().history(History::KeepAll);
            EndpointOptions::new("FloeTelemetry", "Telemetry::Sample", qos).keyed()
        };
        let writer = participant
            .create_writer(options(Qos::of_writer().transient_local()), now)
            .expect("it can be");
        let reader = participant
            .create_reader(options(Qos::of_reader()), now)
            .expect("it can be");
        let mut victim = Self {
            participant,
            writer,
            reader,
            now,
        };
        for len in [40, 40, 40, 10_000] {
            victim.write(len);
        }
        victim
    }

    fn write(&mut self, len: usize) {
        let sample = Sample::written(Representation::CDR_LE.join(&vec![7; len]));
        self.participant
            .write(self.writer, sample)
            .expect("there is room");
    }

    /// Handles a datagram a little later, and sends all there is to send; returns how many datagrams that were.
    fn handle(&mut self, from: SocketAddr, bytes: &[u8]) -> usize {
        self.now += Duration::from_millis(1);
        self.participant.handle_datagram(self.now, from, bytes);
        self.participant.handle_timeout(self.now);
        let mut sent = 0;
        while self.participant.poll_transmit(self.now).is_some() {
            sent += 1;
        }
        sent
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.participant.poll_event()).collect()
    }

    fn take_all(&mut self) -> usize {
        std::iter::from_fn(|| self.participant.take(self.reader, self.now)).count()
    }

    /// Lets so much time pass.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.participant.poll_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.participant.handle_timeout(self.now);
            while self.participant.poll_transmit(self.now).is_some() {}
            self.events();
        }
        self.now = end;
    }
}

#[test]
fn what_cyclone_sent_is_understood_as_it_was() {
    let mut victim = Victim::new();
    let mut events = Vec::new();
    let mut taken = 0;
    for (from, bytes) in recorded() {
        victim.handle(from, &bytes);
        events.extend(victim.events());
        taken += victim.take_all();
    }
    assert_eq!(taken, 5);
    let found = events
        .iter()
        .filter(|event| matches!(event, Event::ParticipantFound { .. }))
        .count();
    let matched = events
        .iter()
        .filter(|event| matches!(event, Event::Matched { .. }))
        .count();
    assert_eq!((found, matched), (2, 2), "{events:?}");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Lost { .. })),
        "{events:?}"
    );
    assert_eq!(victim.participant.counters().malformed, 0);
    let reason = LossReason::Ended;
    let ended = events
        .iter()
        .any(|event| matches!(event, Event::ParticipantLost { reason: why, .. } if *why == reason));
    assert!(ended, "{events:?}");
}

/// The limits of `Config::default`, and what a few endpoints of ours may hold.
fn assert_within_limits(usage: Usage) {
    assert!(usage.participants <= 256, "{usage:?}");
    assert!(usage.discovery_bytes <= 32 << 20, "{usage:?}");
    assert!(usage.reorder_bytes <= 32 << 20, "{usage:?}");
    assert!(usage.sample_bytes <= 32 << 20, "{usage:?}");
    assert!(usage.events <= 4096 + 2048, "{usage:?}");
    assert!(usage.transmits <= 1024, "{usage:?}");
}

#[test]
fn ten_thousand_damaged_datagrams_cost_little_and_the_next_conversation_works() {
    let recorded = recorded();
    let originals: Vec<_> = recorded.iter().map(|(_, bytes)| bytes.clone()).collect();
    let from = recorded[0].0;
    let seeds = std::env::var("FLOE_RTPS_SEEDS");
    let seeds = seeds.map_or(3, |text| text.parse().expect("a number of seeds"));
    for seed in 0..seeds {
        let mut victim = Victim::new();
        let mut mutator = Mutator::new(&originals, seed);
        let mut most = 0;
        // The damaged ones come amid the conversation, and after it.
        for (from, bytes) in &recorded {
            victim.handle(*from, bytes);
            for _ in 0..50 {
                let damaged = mutator.next_input().to_vec();
                most = most.max(victim.handle(*from, &damaged));
            }
            victim.events();
        }
        for _ in 0..10_000 {
            let damaged = mutator.next_input().to_vec();
            most = most.max(victim.handle(from, &damaged));
            assert_within_limits(victim.participant.usage());
            victim.events();
        }
        // An answer is at most a set of numbers, or the fragments of the one long sample.
        assert!(most <= 600, "{most} datagrams were sent for one");
        victim.take_all();
        // All that pretends to live is given up in time, and a newcomer is served.
        victim.wait(Duration::from_secs(301));
        assert_eq!(victim.participant.usage().participants, 0, "seed {seed}");
        let mut taken = 0;
        let mut matched = 0;
        for (from, bytes) in &recorded {
            victim.handle(*from, bytes);
            taken += victim.take_all();
            let events = victim.events();
            matched += events
                .iter()
                .filter(|event| matches!(event, Event::Matched { .. }))
                .count();
        }
        assert_eq!(
            (matched, taken),
            (2, 5),
            "seed {seed}: {:?}",
            victim.participant.counters()
        );
    }
}

/// The datagram that ends other implementations: an INFO_REPLY with one locator.
#[test]
fn an_info_reply_is_skipped() {
    let mut victim = Victim::new();
    let mut bytes = b"RTPS\x02\x02\x01\x10".to_vec();
    bytes.extend([9; 12]);
    bytes.extend([0x0f, 1, 0x1c, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0xf3, 0x1c, 0, 0]);
    bytes.extend([0; 12]);
    bytes.extend([127, 0, 0, 1]);
    while victim.participant.poll_transmit(victim.now).is_some() {}
    assert_eq!(
        victim.handle(SocketAddr::from(([127, 0, 0, 1], 7)), &bytes),
        0
    );
    assert_eq!(victim.participant.counters().malformed, 0);
}
