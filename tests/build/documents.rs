//! The documents whose Rust is compiled, and the modules that it becomes: `snippets.rs` says how.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use floe_codegen::Build;

use crate::snippets::{Use, snippets};
use crate::vectors::out_dir;

/// Makes the contracts that the documents speak of, and `snippets.rs` with a module for each block.
pub(crate) fn compile_all() {
    for contract in [
        "contracts/Arm.ice",
        "contracts/Pages.ice",
        "../examples/durable/Orders.ice",
        "../examples/greeter/Greeter.ice",
    ] {
        super::compile(Build::new().file(contract));
    }
    let folder = out_dir().join("snippets");
    fs::create_dir_all(&folder).expect("a writable directory");
    let mut modules = String::new();
    let mut not_compiled = String::new();
    for path in pages() {
        println!("cargo:rerun-if-changed={}", path.display());
        let page = fs::read_to_string(&path).expect("a page");
        let stem = path.file_stem().expect("a page has a name").display();
        let stem = stem.to_string().to_lowercase().replace(['-', '.'], "_");
        let shown = path.strip_prefix("..").unwrap_or(&path).display();
        for snippet in snippets(&page) {
            let place = format!("{shown}:{}", snippet.line);
            let end = snippet.file.unwrap_or_else(|| snippet.line.to_string());
            let name = format!("page_{stem}_{end}");
            let _ = match snippet.r#use {
                Use::From(_) => Ok(()),
                Use::NotCompiled(reason) => {
                    writeln!(not_compiled, "({:?}, {reason:?}),", shown.to_string())
                }
                Use::Wrong(why) => {
                    writeln!(modules, "compile_error!({:?});", format!("{place}: {why}"))
                }
                Use::Module(text) => {
                    let file = folder.join(format!("{name}.rs"));
                    fs::write(&file, text).expect("a writable directory");
                    writeln!(modules, "#[path = {file:?}] mod {name};")
                }
            };
        }
    }
    let list = format!("const NOT_COMPILED: &[(&str, &str)] = &[{not_compiled}];\n");
    fs::write(out_dir().join("snippets.rs"), modules + &list).expect("a writable directory");
}

/// All pages below the root and in `docs` and `examples`, without those whose Rust is compiled elsewhere.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    add_pages(Path::new(".."), false, &mut pages);
    add_pages(Path::new("../docs"), true, &mut pages);
    add_pages(Path::new("../examples"), true, &mut pages);
    pages.retain(|page| !ELSEWHERE.iter().any(|path| page.ends_with(path)));
    pages.sort();
    pages
}

fn add_pages(folder: &Path, is_deep: bool, pages: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).expect("a folder of pages") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        } else if is_deep && path.is_dir() {
            add_pages(&path, true, pages);
        }
    }
}

/// The README shows parts of examples (`tidy/shown.rs`), and what the guide to metadata shows is also run (`generated/guide.rs`).
const ELSEWHERE: [&str; 2] = ["../README.md", "guides/metadata.md"];
