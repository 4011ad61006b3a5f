//! Fuzz target; what it does is in `fuzz/src/store_record.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/store_record.rs"]
mod store_record;

libfuzzer_sys::fuzz_target!(|input: &[u8]| store_record::run(input));
