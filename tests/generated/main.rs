//! Generated code against the published vectors, both ways; and everything that is legal compiles.
//!
//! The contracts are the Slice texts that stand in the vectors (`build/vectors.rs`).

#![deny(warnings)]

mod build;
mod compiler;
mod compiler_messages;
mod exceptions;
#[path = "../../crates/wire/tests/vectors/file.rs"]
#[expect(
    dead_code,
    reason = "shared with the vectors of `floe-wire`, which need all of it"
)]
mod file;
mod guide;
#[path = "../../crates/wire/tests/vectors/json.rs"]
mod json;
mod random_contracts;
mod slicing;
mod values;

/// The definitions that the sender of the slicing vectors knows, and all other definitions of vectors.
mod contract {
    floe::include_contract!("Values");
    floe::include_contract!("Exceptions");
    floe::include_contract!("Slicing");
}

/// The definitions that the receiver of the slicing vectors knows.
mod receiver {
    floe::include_contract!("Receiver");
}

/// Names that are something else in Rust, wherever a name can stand.
mod names {
    floe::include_contract!("Names");
}

/// Contracts that include each file of Ice 3.7: that they compile here is the test.
mod includes {
    include!(concat!(env!("OUT_DIR"), "/includes.rs"));
}

/// Every contract of the corpus that is legal.
mod accepted {
    include!(concat!(env!("OUT_DIR"), "/accepted.rs"));
}

/// They are compiled with this test.
#[test]
fn every_legal_contract_of_the_corpus_compiles() {
    assert_eq!(accepted::REFUSED, [""; 0]);
    assert_eq!(accepted::COUNT, 88);
}
