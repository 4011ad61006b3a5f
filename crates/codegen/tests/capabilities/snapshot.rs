//! The text itself: what a reviewer of a change to the generator looks at.

use floe_codegen::{RustOptions, generate_rust};
use floe_slice::check_source;

use crate::{assert_committed, everything};

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
        let rest = line.strip_prefix("    pub struct S")?;
        rest.strip_suffix(" {")?.parse::<usize>().ok()
    });
    assert_eq!(lines.collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
}
