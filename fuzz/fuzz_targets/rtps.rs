//! Fuzz target; what it does is in `fuzz/src/rtps.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/rtps.rs"]
mod rtps;

libfuzzer_sys::fuzz_target!(|input: &[u8]| rtps::run(input));
