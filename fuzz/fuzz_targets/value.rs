//! Fuzz target; what it does is in `fuzz/src/value.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/value.rs"]
mod value;

libfuzzer_sys::fuzz_target!(|input: &[u8]| value::run(input));
