//! Fuzz target; what it does is in `fuzz/src/access_rules.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/access_rules.rs"]
mod access_rules;

libfuzzer_sys::fuzz_target!(|input: &[u8]| access_rules::run(input));
