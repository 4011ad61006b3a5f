//! The code of guides: the examples of `docs/guides/metadata.md`, with Slice as one contract and Rust as a test for each, and
//! the contract of `docs/guides/events.md`.

use floe_codegen::Build;

use crate::vectors::out_dir;

/// Makes `Guide` and `guide.rs`.
pub(crate) fn compile_examples() {
    let path = "../docs/guides/metadata.md";
    println!("cargo:rerun-if-changed={path}");
    let page = std::fs::read_to_string(path).expect("the guide");
    let contract = out_dir().join("Guide.ice");
    std::fs::write(&contract, blocks(&page, "slice").join("\n")).expect("a writable directory");
    super::compile(Build::new().file(&contract));

    let tests = blocks(&page, "rust").into_iter().enumerate();
    let tests = tests.map(|(index, text)| format!("#[test]\nfn example_{index}() {{\n{text}}}\n"));
    let tests: String = tests.collect();
    std::fs::write(out_dir().join("guide.rs"), tests).expect("a writable directory");
}

/// Makes `Ticker`.
pub(crate) fn compile_project() {
    let path = "../docs/guides/events.md";
    println!("cargo:rerun-if-changed={path}");
    let page = std::fs::read_to_string(path).expect("the guide");
    let contracts = blocks(&page, "slice");
    let [contract] = &contracts[..] else {
        panic!("{path}: expected one contract");
    };
    let file = out_dir().join("Ticker.ice");
    std::fs::write(&file, contract).expect("a writable directory");
    super::compile(Build::new().file(&file));
}

/// The fenced blocks of a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let blocks = page.split(&opening).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or(rest).to_owned());
    blocks.collect()
}
