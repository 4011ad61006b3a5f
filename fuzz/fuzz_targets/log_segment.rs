//! Fuzz target; what it does is in `fuzz/src/log_segment.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/log_segment.rs"]
mod log_segment;

libfuzzer_sys::fuzz_target!(|input: &[u8]| log_segment::run(input));
