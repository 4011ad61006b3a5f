//! Fuzz target; what it does is in `fuzz/src/websocket.rs`, which `tests/fuzz_corpora.rs` uses too.
#![no_main]

#[path = "../src/websocket.rs"]
mod websocket;

libfuzzer_sys::fuzz_target!(|input: &[u8]| websocket::run(input));
