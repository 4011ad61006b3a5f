//! Recorded sessions of real clients, damaged. A program of its own, because it counts allocations.

#[path = "interop/broker.rs"]
mod broker;
#[path = "recordings/mod.rs"]
mod recordings;

use std::alloc::System;
use std::time::Instant;

use broker::Broker;
use recordings::recordings;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_damaged_session_neither_panics_nor_takes_memory_nor_harms_the_next_connection() {
    let recordings = recordings();
    let mut broker = Broker::default();
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut id = 0;
    let clean = &recordings
        .iter()
        .find(|(name, _)| name == "qpid_jms_text_with_properties")
        .expect("it is recorded")
        .1;
    let mut errors = std::collections::BTreeSet::new();
    for round in 0..ROUNDS {
        // Durable subscriptions of damaged names stay, as they should, and would collect messages for ever.
        if round % 200 == 0 {
            broker = Broker::default();
        }
        let (name, recording) = &recordings[numbers.below(recordings.len())];
        let mut damaged = recording.clone();
        let chunk = numbers.below(damaged.len());
        numbers.damage(&mut damaged[chunk]);
        let region = Region::new(ALLOCATOR);
        id += 1;
        play(&mut broker, id, &damaged);
        let taken = region.change().bytes_allocated;
        assert!(
            taken < MEMORY_MAX,
            "round {round}, {name}, chunk {chunk}: {taken} bytes"
        );
        errors.extend(std::mem::take(&mut broker.seen.errors));
        if round % 50 == 0 {
            let before = broker.seen.accepted_count;
            id += 1;
            play(&mut broker, id, clean);
            assert_eq!(
                broker.seen.accepted_count,
                before + 1,
                "after round {round}"
            );
        }
    }
    assert!(errors.len() > 50, "damage has many kinds, got {errors:#?}");
}

/// A damaged session may name a durable subscription, which stays; all else must go with the connection.
fn play(broker: &mut Broker, id: u64, chunks: &[Vec<u8>]) {
    let now = Instant::now();
    broker.connect(id, now);
    for chunk in chunks {
        broker.handle_bytes(id, now, chunk);
        broker.poll_transmits(now);
    }
    broker.handle_end(id);
    assert_eq!(broker.peer_count(), 0);
}

const ROUNDS: usize = 10_000;

/// Far more than a recording takes, and far less than a length that a peer invents.
const MEMORY_MAX: usize = 8 << 20;

/// Numbers that are alike in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % limit as u64) as usize
    }

    fn damage(&mut self, chunk: &mut Vec<u8>) {
        let at = self.below(chunk.len());
        match self.below(6) {
            0 => chunk[at] = self.below(256) as u8,
            1 => chunk[at] ^= 1 << self.below(8),
            2 => {
                let words = [0, 1, 0x7FFF_FFFF, 0x8000_0000, u32::MAX];
                let word = words[self.below(words.len())].to_be_bytes();
                for (place, byte) in chunk[at..].iter_mut().zip(word) {
                    *place = byte;
                }
            }
            3 => {
                let len = self.below(8) + 1;
                chunk.drain(at..(at + len).min(chunk.len()));
            }
            4 => {
                let byte = self.below(256) as u8;
                chunk.splice(at..at, vec![byte; self.below(8) + 1]);
            }
            _ => chunk.truncate(at),
        }
    }
}
