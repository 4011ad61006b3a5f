//! Fuzz target; what it does is in `fuzz/src/amqp.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/amqp.rs"]
mod amqp;

libfuzzer_sys::fuzz_target!(|input: &[u8]| amqp::run(input));
