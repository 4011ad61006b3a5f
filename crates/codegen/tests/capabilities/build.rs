//! The compiler as a build script sees it.

use std::path::{Path, PathBuf};

use floe_codegen::{Build, BuildError};

/// A directory of this test, empty at its start.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_contract_with_includes_becomes_one_file_named_like_it() {
    let dir = directory("one_file");
    std::fs::create_dir(dir.join("shared")).unwrap();
    let common = "module Common { struct Point { int x; } }";
    std::fs::write(dir.join("shared/Common.ice"), common).unwrap();
    let main = "#include <Common.ice>\n#include <Ice/Identity.ice>\n\
        module Demo { struct Line { Common::Point from; Ice::Identity id; } }";
    std::fs::write(dir.join("Demo.ice"), main).unwrap();
    Build::new()
        .file(dir.join("Demo.ice"))
        .include_dir(dir.join("shared"))
        .out_dir(dir.join("out"))
        .compile()
        .unwrap();
    let text = std::fs::read_to_string(dir.join("out/Demo.rs")).unwrap();
    assert!(text.contains("pub from: super::common::Point"));
    assert!(text.contains("pub id: Identity"));
}

#[test]
fn the_file_is_left_alone_if_nothing_changed() {
    let dir = directory("unchanged");
    std::fs::write(dir.join("A.ice"), "module A { const int b = 1; }").unwrap();
    let build = Build::new()
        .file(dir.join("A.ice"))
        .out_dir(&dir)
        .output("other");
    build.clone().compile().unwrap();
    let written = std::fs::metadata(dir.join("other.rs"))
        .unwrap()
        .modified()
        .unwrap();
    build.compile().unwrap();
    let again = std::fs::metadata(dir.join("other.rs"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(written, again);
}

#[test]
fn all_errors_of_a_contract_are_shown_with_their_places_and_nothing_is_written() {
    let dir = directory("errors");
    let contract = "module A {\n    struct S { Colour c; }\n    const byte b = 256;\n}\n";
    std::fs::write(dir.join("A.ice"), contract).unwrap();
    let build = Build::new().file(dir.join("A.ice")).out_dir(&dir);
    let error = build.compile().unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, BuildError::Contract { count: 2, .. }),
        "{text}"
    );
    assert!(text.contains("A.ice:2:"), "{text}");
    assert!(text.contains("A.ice:3:"), "{text}");
    assert!(text.ends_with("2 errors in the contracts"), "{text}");
    assert!(!dir.join("A.rs").exists());
}

#[test]
fn a_missing_contract_is_named() {
    let dir = directory("missing");
    let build = Build::new().file(dir.join("Nowhere.ice")).out_dir(&dir);
    let text = build.compile().unwrap_err().to_string();
    assert!(text.contains("Nowhere.ice"), "{text}");
}

#[test]
fn a_build_without_a_contract_says_what_to_do() {
    let text = Build::new()
        .out_dir("/nowhere")
        .compile()
        .unwrap_err()
        .to_string();
    assert!(text.contains("Build::file"), "{text}");
}
