//! Fuzz target; what it does is in `fuzz/src/proxy_text.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/proxy_text.rs"]
mod proxy_text;

libfuzzer_sys::fuzz_target!(|input: &[u8]| proxy_text::run(input));
