//! Fuzz target; what it does is in `fuzz/src/slice_source.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/slice_source.rs"]
mod slice_source;

libfuzzer_sys::fuzz_target!(|input: &[u8]| slice_source::run(input));
