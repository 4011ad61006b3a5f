//! Fuzz target; what it does is in `fuzz/src/access_users.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/access_users.rs"]
mod access_users;

libfuzzer_sys::fuzz_target!(|input: &[u8]| access_users::run(input));
