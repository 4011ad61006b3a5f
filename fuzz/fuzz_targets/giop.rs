//! Fuzz target; what it does is in `fuzz/src/giop.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/giop.rs"]
mod giop;

libfuzzer_sys::fuzz_target!(|input: &[u8]| giop::run(input));
