//! The text itself: what a reviewer of a change to the generator looks at.

use floe_codegen::{RustOptions, generate_rust};

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
