//! Diagnostics as people see them: each `diagnostics/*.ice` with the expected text beside it.
//!
//! To accept a change, run with `FLOE_BLESS=1` and read the difference as someone who sees Slice for
//! the first time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use floe_slice::{Code, Compilation, Language, MemoryLoader, Options, check_source, compile};

#[test]
fn diagnostics_read_as_expected() {
    let mut changed = Vec::new();
    for path in inputs() {
        let rendered = compile_file(&path).render();
        let expected = path.with_extension("txt");
        if std::env::var_os("FLOE_BLESS").is_some() {
            std::fs::write(&expected, &rendered).expect("the expectation can be written");
        }
        let before = std::fs::read_to_string(&expected).unwrap_or_default();
        if before != rendered {
            changed.push(format!("{}\n{rendered}", expected.display()));
        }
    }
    assert!(
        changed.is_empty(),
        "differs from what is expected:\n{}",
        changed.join("\n")
    );
}

#[test]
fn every_code_is_shown_by_some_input() {
    let mut shown: BTreeSet<Code> = inputs()
        .iter()
        .flat_map(|path| compile_file(path).diagnostics)
        .map(|diagnostic| diagnostic.code)
        .collect();
    let others = [
        check_source(b"module Demo { struct S { int \xff; } }"),
        check_source("module A { ".repeat(100).as_bytes()),
        check_source(format!("module A {{ {} }}", "[] struct S { }".repeat(501)).as_bytes()),
        compile(
            &Options::default(),
            &MemoryLoader::new(),
            &["missing.ice".into()],
        ),
    ];
    for compilation in others {
        shown.extend(compilation.diagnostics.iter().map(|one| one.code));
    }
    let missing: Vec<_> = Code::ALL
        .iter()
        .filter(|code| !OF_GENERATORS.contains(code) && !shown.contains(code))
        .collect();
    assert!(missing.is_empty(), "never shown: {missing:?}");
}

/// Codes that only a code generator reports.
const OF_GENERATORS: &[Code] = &[
    Code::MappedNameClash,
    Code::MappedNameChanged,
    Code::NoForeignForm,
    Code::LeftOut,
];

#[test]
fn messages_follow_the_house_style() {
    for path in inputs() {
        for diagnostic in compile_file(&path).diagnostics {
            let first = diagnostic.message.chars().next().expect("a message");
            assert!(!first.is_uppercase() || first == 'I', "{diagnostic:?}");
            assert!(!diagnostic.message.ends_with('.'), "{diagnostic:?}");
        }
    }
}

fn compile_file(path: &Path) -> Compilation {
    let name = path.file_name().expect("a file name");
    let text = std::fs::read_to_string(path).expect("the input exists");
    let language = match text.lines().next() {
        Some("// language: 3.7") => Language::V37,
        Some("// language: 3.8") => Language::V38,
        _ => Language::Any,
    };
    let part = std::fs::read(directory().join("included/part.ice")).expect("the included file");
    let files = MemoryLoader::new()
        .with(name, text)
        .with("included/part.ice", part);
    let options = Options {
        language,
        ..Options::default()
    };
    compile(&options, &files, &[name.into()])
}

fn inputs() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory()).expect("the directory of inputs");
    let mut inputs: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ice"))
        .collect();
    inputs.sort();
    assert!(inputs.len() >= 10, "inputs are missing: {inputs:?}");
    inputs
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}
