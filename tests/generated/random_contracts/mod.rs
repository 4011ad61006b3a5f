//! Random contracts, with names that are long and hostile: each becomes Rust that compiles without a warning.
//!
//! A run takes some, each from a seed of its own, and compiles them together: of a batch that fails, each contract is
//! compiled alone, and the message has its seed. `FLOE_RANDOM_CONTRACTS` says how many (`cargo xtask soak contracts`), and
//! `FLOE_RANDOM_SEED` from which seed on.

mod names;
mod random;
mod writer;

use std::env;

use floe_codegen::{RustOptions, generate_rust};
use floe_slice::check_source;

use crate::compiler;

#[test]
fn every_random_contract_becomes_rust_that_compiles_without_a_warning() {
    let count = number("FLOE_RANDOM_CONTRACTS").unwrap_or(USUAL_COUNT);
    let first = number("FLOE_RANDOM_SEED").unwrap_or(USUAL_SEED);
    let mut failed = Vec::new();
    let seeds: Vec<u64> = (first..first + count).collect();
    for batch in seeds.chunks(BATCH) {
        if compiles(batch).is_ok() {
            continue;
        }
        for seed in batch {
            if let Err(said) = compiles(&[*seed]) {
                println!("FLOE_RANDOM_SEED={seed} FLOE_RANDOM_CONTRACTS=1 fails:\n{said}");
                failed.push(*seed);
            }
        }
    }
    assert!(
        failed.is_empty(),
        "contracts of these seeds fail, see above: {failed:?}"
    );
}

/// Compiles the contracts of these seeds in one crate.
fn compiles(seeds: &[u64]) -> Result<(), String> {
    let mut crate_text = "#![deny(warnings)]\n".to_owned();
    for seed in seeds {
        let module = rust(*seed)?;
        crate_text += &format!("pub mod seed{seed} {{\n{module}}}\n");
    }
    let name = format!("seed{}-{}", seeds[0], seeds.len());
    match compiler::compile("random-contracts", &name, &crate_text) {
        (true, _) => Ok(()),
        (false, said) => {
            let contract = writer::contract(seeds[0], true);
            Err(format!("{}\n{contract}", shortened(&said)))
        }
    }
}

/// The Rust of a contract, in one of the forms that options give it.
fn rust(seed: u64) -> Result<String, String> {
    let contract = writer::contract(seed, true);
    let compilation = check_source(contract.as_bytes());
    if compilation.has_errors() {
        return Err(format!("{}\n{contract}", compilation.render()));
    }
    let options = match seed % 2 {
        0 => RustOptions::new(),
        _ => RustOptions::new().blocking(),
    };
    let generated = generate_rust(&compilation.model, &options);
    generated.map_err(|findings| {
        let findings = findings.iter();
        let findings: String = findings.map(|it| it.render(&compilation.sources)).collect();
        format!("{findings}\n{contract}")
    })
}

/// The beginning of what the compiler said.
fn shortened(said: &str) -> &str {
    let end = said.char_indices().nth(SAID_MAX);
    end.map_or(said, |(end, _)| &said[..end])
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("expected a number in {variable}, got `{text}`")),
    )
}

/// As many as the gate has time for.
const USUAL_COUNT: u64 = 20;
const USUAL_SEED: u64 = 1;

/// Contracts in one crate: the compiler needs a moment to start, and says less about a crate with few.
const BATCH: usize = 20;

/// Characters of what the compiler said about a contract.
const SAID_MAX: usize = 3000;
