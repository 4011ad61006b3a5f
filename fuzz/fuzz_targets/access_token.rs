//! Fuzz target; what it does is in `fuzz/src/access_token.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/access_token.rs"]
mod access_token;

libfuzzer_sys::fuzz_target!(|input: &[u8]| access_token::run(input));
