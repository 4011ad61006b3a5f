//! Contracts in the languages of other worlds, read by the compilers of those worlds: Cyclone DDS, omniORB, gSOAP and
//! zeep.
//!
//! A run takes some random contracts with hostile names, each from a seed of its own, and one contract that people could
//! have written. `cargo xtask test` and `cargo xtask interop-zeep` provide zeep. `FLOE_RANDOM_CONTRACTS` says how many, and `FLOE_RANDOM_SEED` from which seed on.

#[path = "../../generated/random_contracts/names.rs"]
mod names;
#[path = "../../generated/random_contracts/random.rs"]
mod random;
#[path = "../../generated/random_contracts/writer.rs"]
mod writer;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use floe_codegen::{Idl, WsdlOptions, generate_idl, generate_wsdl};
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
        run(idlc.arg("-o").arg(folder).arg(file))
    });
    // Names that are keywords of C stay keywords there, so the random contracts are left at that.
    let mut compiler = Command::new("cc");
    let compiler = compiler.arg("-fsyntax-only").arg(folder.join("written.c"));
    run(compiler).expect("the C of the written contract compiles");
}

#[test]
fn omniorb_compiles_the_interfaces_of_every_contract() {
    let Some(folder) = folder_or_skip("omniidl", "-V", "omniORB") else {
        return;
    };
    every_contract(&folder, "idl", corba, |file, folder| {
        let mut omniidl = Command::new("omniidl");
        run(omniidl.arg("-bcxx").arg("-C").arg(folder).arg(file))
    });
}

#[test]
fn gsoap_compiles_the_services_of_every_contract() {
    let Some(folder) = folder_or_skip("wsdl2h", "-V", "gSOAP") else {
        return;
    };
    every_contract(&folder, "wsdl", wsdl, |file, folder| {
        let header = file.with_extension("h");
        let mut wsdl2h = Command::new("wsdl2h");
        run(wsdl2h.arg("-o").arg(&header).arg(file))?;
        let mut soapcpp2 = Command::new("soapcpp2");
        run(soapcpp2.arg("-x").arg("-d").arg(folder).arg(&header))
    });
}

#[test]
fn zeep_loads_the_services_of_every_contract_and_builds_messages() {
    let Some(python) = python_or_skip() else {
        return;
    };
    let folder = folder("zeep");
    let mut files = Vec::new();
    for (name, contract) in contracts() {
        let text = compiled(&contract, wsdl).unwrap_or_else(|said| panic!("{name}: {said}"));
        let file = folder.join(&name).with_extension("wsdl");
        fs::write(&file, text).expect("there is room");
        files.push(file);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/worlds/load.py");
    let mut zeep = Command::new(python);
    let said = output(zeep.arg(script).args(&files)).expect("zeep takes every file");
    for expected in [
        "<ns0:currency>Größe €</ns0:currency>",
        "<ns0:cents>1099511627776</ns0:cents>",
        "<ns0:isFinal>true</ns0:isFinal>",
        "<ns0:raw>AP8B</ns0:raw>",
        "<ns0:value>0.1</ns0:value>",
        "<ns0:side>sell</ns0:side>",
        "<ns0:key>börse</ns0:key>",
    ] {
        assert!(said.contains(expected), "expected `{expected}` in {said}");
    }
    let loaded = said
        .lines()
        .filter(|line| line.starts_with("loaded "))
        .count();
    assert_eq!(loaded, files.len(), "{said}");
}

fn dds(model: &Model) -> Result<String, Vec<Diagnostic>> {
    generate_idl(model, Idl::Dds).map(|(text, _)| text)
}

fn corba(model: &Model) -> Result<String, Vec<Diagnostic>> {
    generate_idl(model, Idl::Corba).map(|(text, _)| text)
}

fn wsdl(model: &Model) -> Result<String, Vec<Diagnostic>> {
    let options = WsdlOptions::new().address("http://localhost:8080");
    generate_wsdl(model, &options)
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

/// Runs a compiler, which must succeed.
fn run(compiler: &mut Command) -> Result<(), String> {
    output(compiler).map(|_| ())
}

/// Runs a program, which must succeed, and returns what it writes.
fn output(program: &mut Command) -> Result<String, String> {
    let output = program.output().expect("it is installed");
    let written = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(written),
        false => Err(format!("{written}{said}")),
    }
}

/// The Python that can import zeep. The gate says by an empty name that PyPI is out of reach, which fails nothing.
fn python_or_skip() -> Option<OsString> {
    let python = env::var_os("FLOE_ZEEP_PYTHON");
    if python.is_none() {
        skip::report(
            "zeep",
            "FLOE_ZEEP_PYTHON names no Python: cargo xtask interop-zeep provides one",
        );
    }
    python.filter(|python| !python.is_empty())
}

/// A folder for files of this compiler, or `None` after reporting a skip.
fn folder_or_skip(program: &str, version: &str, peer: &str) -> Option<PathBuf> {
    if let Err(error) = Command::new(program).arg(version).output() {
        skip::report(peer, &format!("`{program}` cannot run: {error}"));
        return None;
    }
    Some(folder(program))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("worlds")
        .join(name);
    fs::create_dir_all(&folder).expect("there is room");
    folder
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("expected a number in {variable}, got `{text}`")))
}

/// As many as the gate has time for.
const USUAL_COUNT: u64 = 10;
const USUAL_SEED: u64 = 1;

/// Every kind of type, names that IDL folds, and text that is not ASCII.
const WRITTEN: &str = include_str!("Market.ice");
