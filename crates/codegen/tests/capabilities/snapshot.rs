//! The text itself: what a reviewer of a change to the generator looks at.

use std::path::Path;

use floe_codegen::{RustOptions, generate_rust};
use floe_slice::check_source;

use crate::{assert_committed, everything, repository};

#[test]
fn everything_becomes_the_committed_text() {
    let compilation = everything();
    let text = generate_rust(&compilation.model, &RustOptions::new()).unwrap();
    assert_committed("crates/codegen/tests/expected/everything.rs", &text);
}

#[test]
fn the_same_model_always_gives_the_same_text() {
    let text = || {
        let compilation = everything();
        generate_rust(&compilation.model, &RustOptions::new()).unwrap()
    };
    assert_eq!(text(), text());
}

#[test]
fn an_external_definition_is_referred_to_and_not_generated() {
    let compilation = everything();
    let options = RustOptions::new()
        .external("::Everything::Inner", "::shared::inner")
        .external("::Everything::Key", "::shared::Key");
    let text = generate_rust(&compilation.model, &options).unwrap();
    assert!(!text.contains("pub mod inner"));
    assert!(!text.contains("pub struct Key"));
    assert!(text.contains("pub pair: ::shared::inner::Pair"));
    assert!(text.contains("pub worker: ::std::option::Option<::shared::inner::WorkerProxy>"));
    assert!(text.contains("pub key: ::shared::Key"));
}

#[test]
fn definitions_that_are_laid_out_at_a_time_stand_in_the_order_of_the_contract() {
    let count = 500;
    let structs: String = (0..count)
        .map(|index| format!("struct S{index} {{ int i; }} "))
        .collect();
    let contract = format!("module M {{ {structs} }}");
    let compilation = check_source(contract.as_bytes());
    let text = generate_rust(&compilation.model, &RustOptions::new()).unwrap();
    let lines = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub struct S")?;
        rest.split(' ').next()?.parse::<usize>().ok()
    });
    assert_eq!(lines.collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
}

/// Committed contracts are no longer than hand-written ones, because they are reviewed like these.
#[test]
fn committed_rust_has_at_most_four_lines_for_a_line_of_slice() {
    let committed: [(&str, &[&str]); 6] = [
        (
            "crates/codegen/tests/expected/everything.rs",
            &["tests/contracts/Everything.ice"],
        ),
        ("crates/runtime/src/contracts/ice.rs", &["contracts/Ice"]),
        (
            "crates/runtime/src/contracts/ice_storm.rs",
            &["contracts/IceStorm"],
        ),
        (
            "crates/runtime/src/contracts/glacier2.rs",
            &["contracts/Glacier2"],
        ),
        (
            "crates/hub/src/contracts/floe.rs",
            &["contracts/Floe/Hub.ice"],
        ),
        (
            "crates/metrics/src/contracts/ice_mx.rs",
            &[
                "contracts/Ice/Metrics.ice",
                "contracts/IceStorm/Metrics.ice",
                "contracts/Glacier2/Metrics.ice",
            ],
        ),
    ];
    for (path, contracts) in committed {
        let rust = line_count(&repository(path));
        let contracts = contracts.iter().map(|path| line_count(&repository(path)));
        let slice: usize = contracts.sum();
        let allowed = 4 * slice;
        assert!(rust <= allowed, "{path}: {rust} lines for {slice} of Slice");
    }
}

/// The lines of a file, or of all files in a folder.
fn line_count(path: &Path) -> usize {
    if path.is_dir() {
        let files = std::fs::read_dir(path).expect("a folder of contracts");
        let files = files.map(|file| file.expect("a contract").path());
        return files.map(|file| line_count(&file)).sum();
    }
    let text = std::fs::read_to_string(path).expect("a committed file");
    text.lines().count()
}

/// Text costs the compiler time. A thousand interfaces like these once became 27 MB, and 6 MB now.
#[test]
fn a_hundred_interfaces_become_less_than_a_quarter_of_what_they_once_did() {
    let compilation = check_source(large(100).as_bytes());
    assert!(!compilation.has_errors(), "{}", compilation.render());
    let text = generate_rust(&compilation.model, &RustOptions::new()).unwrap();
    assert!(text.len() <= 2_690_000 / 4, "{} bytes", text.len());
}

/// A contract with so many interfaces, and as many structures, sequences and exceptions.
fn large(count: usize) -> String {
    let part = |index: usize| {
        format!(
            "struct S{index} {{ int id; string name; double value; }}
             sequence<S{index}> Q{index};
             exception X{index} {{ string reason; S{index} at; }}
             /** Keeps things. */
             interface I{index} {{
                 /** Finds one. */
                 idempotent S{index} find(string name) throws X{index};
                 void add(S{index} one, int count) throws X{index};
                 Q{index} all(bool sorted, out int count);
                 void remove(string name, I{index}* successor) throws X{index};
                 idempotent string about();
             }}\n"
        )
    };
    let parts: String = (0..count).map(part).collect();
    format!("module Large {{ {parts} }}")
}
