//! Fuzz target; what it does is in `fuzz/src/message.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/message.rs"]
mod message;

libfuzzer_sys::fuzz_target!(|input: &[u8]| message::run(input));
