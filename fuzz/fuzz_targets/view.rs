//! Fuzz target; what it does is in `fuzz/src/view.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/view.rs"]
mod view;

libfuzzer_sys::fuzz_target!(|input: &[u8]| view::run(input));
