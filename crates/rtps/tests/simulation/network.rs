//! A network that loses, duplicates, reorders and delays datagrams by a seed, in virtual time.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use floe_rtps::guid::{EntityId, GuidPrefix};
use floe_rtps::locator::SPDP_GROUP;
use floe_rtps::participant::{Config, Event, Participant, Transmit};

/// How bad the network is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    /// Datagrams in a thousand that are lost.
    pub(crate) lost: u64,
    /// Datagrams in a thousand that come twice.
    pub(crate) twice: u64,
    /// Damaged copies that come with each datagram.
    pub(crate) damaged: u64,
    /// The longest way of a datagram, in microseconds; every one takes between a tenth of it and all of it.
    pub(crate) delay_max: u64,
}

impl Faults {
    pub(crate) const NONE: Self = Self {
        lost: 0,
        twice: 0,
        damaged: 0,
        delay_max: 100,
    };
    pub(crate) const BAD: Self = Self {
        lost: 200,
        twice: 100,
        damaged: 0,
        delay_max: 20_000,
    };
}

/// Participants, and the datagrams between them.
pub(crate) struct Network {
    state: u64,
    pub(crate) now: Instant,
    pub(crate) faults: Faults,
    pub(crate) nodes: Vec<Node>,
    under_way: BTreeMap<(Instant, u64), (SocketAddr, Transmit)>,
    sent: u64,
    made: u8,
}

/// A participant, and what it has told.
pub(crate) struct Node {
    pub(crate) participant: Participant,
    pub(crate) events: Vec<Event>,
    discovery: SocketAddr,
    samples: SocketAddr,
    hears_group: bool,
}

impl Network {
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        Self {
            state: (seed ^ 0x9E37_79B9_7F4A_7C15)
                .wrapping_mul(0xBF58_476D_1CE4_E5B9)
                .max(1),
            now: Instant::now(),
            faults,
            nodes: Vec::new(),
            under_way: BTreeMap::new(),
            sent: 0,
            made: 0,
        }
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % limit
    }

    /// Adds a participant that is found by multicast.
    pub(crate) fn add(&mut self) -> usize {
        self.add_with(true, |_| {})
    }

    /// Adds a participant, found by multicast or by the addresses of the others.
    pub(crate) fn add_with(
        &mut self,
        hears_group: bool,
        change: impl FnOnce(&mut Config),
    ) -> usize {
        self.made += 1;
        let host = self.made;
        let discovery = SocketAddr::from(([10, 0, 0, host], 7410));
        let samples = SocketAddr::from(([10, 0, 0, host], 7411));
        let group = SocketAddr::from((SPDP_GROUP, 7400));
        let announce_to = match hears_group {
            true => vec![group],
            false => self.nodes.iter().map(|node| node.discovery).collect(),
        };
        let prefix = GuidPrefix([0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        let mut config = Config::new(prefix, 0, discovery, samples, announce_to);
        change(&mut config);
        let participant = Participant::new(config, self.now).expect("it makes sense");
        self.nodes.push(Node {
            participant,
            events: Vec::new(),
            discovery,
            samples,
            hears_group,
        });
        self.nodes.len() - 1
    }

    /// Takes a node away, without a word.
    pub(crate) fn kill(&mut self, node: usize) {
        self.nodes.remove(node);
    }

    /// Goes on for a time.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        self.run_until(end, |_| false);
    }

    /// Goes on until something holds; panics if it does not within two virtual minutes.
    pub(crate) fn run_till(&mut self, what: &str, holds: impl FnMut(&mut Self) -> bool) {
        let end = self.now + Duration::from_secs(120);
        assert!(
            self.run_until(end, holds),
            "expected {what} within two minutes"
        );
    }

    fn run_until(&mut self, end: Instant, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            self.collect();
            if holds(self) {
                return true;
            }
            // What was done may have given something to send.
            self.collect();
            let timeouts = self
                .nodes
                .iter()
                .filter_map(|node| node.participant.poll_timeout());
            let arrival = self.under_way.keys().next().map(|(time, _)| *time);
            let next = timeouts.chain(arrival).min().unwrap_or(end);
            if next > end {
                self.now = end;
                return false;
            }
            self.now = self.now.max(next);
            self.deliver();
            for node in &mut self.nodes {
                if node
                    .participant
                    .poll_timeout()
                    .is_some_and(|time| time <= self.now)
                {
                    node.participant.handle_timeout(self.now);
                }
            }
        }
    }

    fn collect(&mut self) {
        for at in 0..self.nodes.len() {
            let mut sent = 0;
            while let Some(transmit) = self.nodes[at].participant.poll_transmit(self.now) {
                sent += 1;
                assert!(sent < 100_000, "expected an end of what is to be sent");
                let from = self.nodes[at].discovery;
                self.send(from, transmit);
            }
            while let Some(event) = self.nodes[at].participant.poll_event() {
                self.nodes[at].events.push(event);
            }
        }
    }

    fn send(&mut self, from: SocketAddr, transmit: Transmit) {
        for _ in 0..self.faults.damaged {
            let bytes = self.damaged(transmit.bytes.clone());
            let to = transmit.to;
            // After the true one: nobody can tell which of two is true if there is no checksum.
            self.put(from, Transmit { to, bytes }, DAMAGED_LATER);
        }
        self.put(from, transmit, Duration::ZERO);
    }

    /// Damages a datagram in one or two places.
    fn damaged(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        for _ in 0..=self.below(2) {
            if bytes.is_empty() {
                break;
            }
            let at = self.below(bytes.len() as u64) as usize;
            match self.below(10) {
                0 => bytes.truncate(at),
                1..5 => bytes[at] = self.below(256) as u8,
                5..8 => {
                    let words = [0_u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
                    let word = words[self.below(5) as usize].to_le_bytes();
                    let start = at / 4 * 4;
                    let end = (start + 4).min(bytes.len());
                    bytes[start..end].copy_from_slice(&word[..end - start]);
                }
                8 => {
                    let end = (at + 1 + self.below(8) as usize).min(bytes.len());
                    bytes.drain(at..end);
                }
                _ => {
                    let count = 1 + self.below(8) as usize;
                    bytes.splice(at..at, std::iter::repeat_n(0, count));
                }
            }
        }
        bytes
    }

    fn put(&mut self, from: SocketAddr, transmit: Transmit, later: Duration) {
        let times = 1 + u64::from(self.below(1000) < self.faults.twice);
        for _ in 0..times {
            if self.below(1000) < self.faults.lost {
                continue;
            }
            let least = self.faults.delay_max / 10;
            let delay = least + self.below(self.faults.delay_max - least + 1);
            self.sent += 1;
            let arrival = self.now + Duration::from_micros(delay) + later;
            self.under_way
                .insert((arrival, self.sent), (from, transmit.clone()));
        }
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.under_way.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let (from, transmit) = entry.remove();
            for node in &mut self.nodes {
                let is_group = transmit.to.ip() == SPDP_GROUP && node.hears_group;
                if is_group || [node.discovery, node.samples].contains(&transmit.to) {
                    node.participant
                        .handle_datagram(self.now, from, &transmit.bytes);
                }
            }
        }
    }

    /// Returns true if an endpoint of a node has so many matches.
    pub(crate) fn has_matches(&self, node: usize, endpoint: EntityId, count: usize) -> bool {
        self.nodes[node].participant.matches(endpoint).len() == count
    }
}

/// How long after a datagram its damaged copies come.
const DAMAGED_LATER: Duration = Duration::from_millis(5);
