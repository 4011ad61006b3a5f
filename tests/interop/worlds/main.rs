//! Contracts in the languages of other worlds, read by the compilers of those worlds: Cyclone DDS, omniORB, gSOAP and
//! zeep.
//!
//! A run takes some random contracts with hostile names, each from a seed of its own, and one contract that people could
//! have written. `FLOE_RANDOM_CONTRACTS` says how many, and `FLOE_RANDOM_SEED` from which seed on.

#[path = "../../generated/random_contracts/names.rs"]
mod names;
#[path = "../../generated/random_contracts/random.rs"]
mod random;
#[path = "../../generated/random_contracts/writer.rs"]
mod writer;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use floe_codegen::{Idl, generate_idl};
use floe_slice::diagnostic::Diagnostic;
use floe_slice::{Compilation, Model, check_source};
use floe_tests::skip;

#[test]
fn cyclone_dds_compiles_the_data_types_of_every_contract() {
    let Some(folder) = folder_or_skip("idlc", "-v", "Cyclone DDS") else {
        return;
    };
    every_contract(&folder, "idl", dds, |file, folder| {
        let mut idlc = Command::new("idlc");
        idlc.arg("-o").arg(folder).arg(file);
        run(idlc)
    });
}

#[test]
fn omniorb_compiles_the_interfaces_of_every_contract() {
    let Some(folder) = folder_or_skip("omniidl", "-V", "omniORB") else {
        return;
    };
    every_contract(&folder, "idl", corba, |file, folder| {
        let mut omniidl = Command::new("omniidl");
        omniidl.arg("-bcxx").arg("-C").arg(folder).arg(file);
        run(omniidl)?;
        let mut omniidl = Command::new("omniidl");
        omniidl.arg("-bpython").arg("-C").arg(folder).arg(file);
        run(omniidl)
    });
}

fn dds(model: &Model) -> Result<String, Vec<Diagnostic>> {
    generate_idl(model, Idl::Dds).map(|(text, _)| text)
}

fn corba(model: &Model) -> Result<String, Vec<Diagnostic>> {
    generate_idl(model, Idl::Corba).map(|(text, _)| text)
}

/// Writes each contract as `generate` says, and compiles it.
fn every_contract(
    folder: &Path,
    extension: &str,
    generate: fn(&Model) -> Result<String, Vec<Diagnostic>>,
    compile: impl Fn(&Path, &Path) -> Result<(), String>,
) {
    let mut failed = Vec::new();
    for (name, contract) in contracts() {
        let generated = compiled(&contract, generate);
        let result = generated.and_then(|text| {
            let file = folder.join(&name).with_extension(extension);
            fs::write(&file, text).expect("there is room");
            compile(&file, folder).map_err(|said| format!("{}: {said}", file.display()))
        });
        if let Err(said) = result {
            println!("{name} fails:\n{said}");
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "these fail, see above: {failed:?}");
}

/// Contracts by name: the written one, and random ones.
fn contracts() -> Vec<(String, String)> {
    let count = number("FLOE_RANDOM_CONTRACTS").unwrap_or(USUAL_COUNT);
    let first = number("FLOE_RANDOM_SEED").unwrap_or(USUAL_SEED);
    let random = (first..first + count).map(|seed| {
        let contract = writer::contract(seed, false);
        (format!("seed{seed}"), contract)
    });
    let written = ("written".to_owned(), WRITTEN.to_owned());
    std::iter::once(written).chain(random).collect()
}

fn compiled(
    contract: &str,
    generate: fn(&Model) -> Result<String, Vec<Diagnostic>>,
) -> Result<String, String> {
    let compilation = check_source(contract.as_bytes());
    if compilation.has_errors() {
        return Err(format!("{}\n{contract}", compilation.render()));
    }
    generate(&compilation.model).map_err(|findings| rendered(&findings, &compilation))
}

fn rendered(findings: &[Diagnostic], compilation: &Compilation) -> String {
    let findings = findings.iter();
    findings.map(|it| it.render(&compilation.sources)).collect()
}

/// Runs a compiler, which must succeed; a warning about extensibility is none.
fn run(mut compiler: Command) -> Result<(), String> {
    let output = compiler.output().expect("it is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(said.into_owned()),
    }
}

/// A folder for files of this compiler, or `None` after reporting a skip.
fn folder_or_skip(program: &str, version: &str, peer: &str) -> Option<PathBuf> {
    if let Err(error) = Command::new(program).arg(version).output() {
        skip::report(peer, &format!("`{program}` cannot run: {error}"));
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("worlds")
        .join(program);
    fs::create_dir_all(&folder).expect("there is room");
    Some(folder)
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("expected a number in {variable}, got `{text}`")))
}

/// As many as the gate has time for.
const USUAL_COUNT: u64 = 20;
const USUAL_SEED: u64 = 1;

/// Every kind of type, names that IDL folds, and text that is not ASCII.
const WRITTEN: &str = include_str!("Market.ice");
