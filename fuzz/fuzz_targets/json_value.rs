//! Fuzz target; what it does is in `fuzz/src/json_value.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/json_value.rs"]
mod json_value;

libfuzzer_sys::fuzz_target!(|input: &[u8]| json_value::run(input));
