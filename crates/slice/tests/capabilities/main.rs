//! The capabilities of the front-end, a file for each.

mod breaking;
mod contracts;
mod corpus;
mod diagnostics;
mod docs;
mod files;
mod format;
mod hostile;
mod model;
mod places;
mod preprocessor;

use floe_slice::{Code, Compilation, MemoryLoader, Model, Options, compile};

/// The model of a text that has nothing wrong.
fn model(text: &str) -> Model {
    let compilation = compile_text(text);
    assert!(
        compilation.diagnostics.is_empty(),
        "{}",
        compilation.render()
    );
    compilation.model
}

fn compile_text(text: &str) -> Compilation {
    let files = MemoryLoader::new().with("main.ice", text);
    compile(&Options::default(), &files, &["main.ice".into()])
}

/// The codes of all diagnostics, in order.
fn codes(compilation: &Compilation) -> Vec<Code> {
    compilation.diagnostics.iter().map(|one| one.code).collect()
}
