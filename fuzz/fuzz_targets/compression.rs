//! Fuzz target; what it does is in `fuzz/src/compression.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/compression.rs"]
mod compression;

libfuzzer_sys::fuzz_target!(|input: &[u8]| compression::run(input));
