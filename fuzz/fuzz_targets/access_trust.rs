//! Fuzz target; what it does is in `fuzz/src/access_trust.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/access_trust.rs"]
mod access_trust;

libfuzzer_sys::fuzz_target!(|input: &[u8]| access_trust::run(input));
