//! Fuzz target; what it does is in `fuzz/src/recording.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/recording.rs"]
mod recording;

libfuzzer_sys::fuzz_target!(|input: &[u8]| recording::run(input));
