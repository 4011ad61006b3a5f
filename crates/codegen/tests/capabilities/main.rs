//! The capabilities of code generation.

mod accepted;
mod build;
mod clashes;
mod committed;
mod events;
mod html;
mod metadata;
mod packaging;
mod snapshot;
mod worlds;

use std::path::PathBuf;

use floe_codegen::{RustOptions, compile_files, generate_rust};
use floe_slice::{Compilation, Options, check_source};

/// A file of the repository.
fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Files as a model; it must have no findings.
fn compiled(files: &[PathBuf]) -> Compilation {
    let compilation = compile_files(&Options::default(), files);
    assert_eq!(compilation.render(), "");
    compilation
}

/// The contract that uses everything.
fn everything() -> Compilation {
    compiled(&[repository("tests/contracts/Everything.ice")])
}

/// The diagnostics of generating from a legal contract, as text.
fn findings(contract: &str) -> String {
    let compilation = check_source(contract.as_bytes());
    let Err(findings) = generate_rust(&compilation.model, &RustOptions::new()) else {
        panic!("expected findings, got Rust for {contract}");
    };
    let rendered = findings.iter().map(|it| it.render(&compilation.sources));
    rendered.collect()
}

/// Compares a text with a committed file; `UPDATE=1` writes the file instead.
fn assert_committed(path: &str, text: &str) {
    let path = repository(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = committed
        .lines()
        .zip(text.lines())
        .position(|(old, new)| old != new);
    assert!(
        committed == text,
        "{} differs from what is generated, first in line {:?}; run with UPDATE=1 and review",
        path.display(),
        difference.map(|index| index + 1)
    );
}
