//! The Slice texts that stand in the published vectors, as contracts.

use std::path::{Path, PathBuf};

use floe_codegen::{Build, RustOptions, compile_files, generate_rust};
use serde_json::Value;

/// Makes `Values`, `Exceptions`, `Slicing` (what the sender knows), `Receiver` (what the receiver
/// of the slicing vectors knows) and `accepted.rs`.
pub(crate) fn compile_all() {
    let values = [
        "primitives",
        "sequences",
        "structs",
        "dictionaries",
        "enums",
    ];
    let values = values.iter().chain(&["optionals", "classes", "proxies"]);
    let all: Vec<String> = values.flat_map(|name| texts(name)).collect();
    compile("Values", &merged(&all));
    compile("Exceptions", &merged(&texts("exceptions")));
    let slicing = merged(&texts("slicing"));
    compile("Slicing", &slicing);
    compile("Receiver", &without(&slicing, "Unknown|Compact"));
    accepted();
}

/// The Slice texts of a file, each once.
fn texts(file: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for vector in read(file, "vectors") {
        let text = vector["slice"].as_str().unwrap_or_default().to_owned();
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn read(file: &str, list: &str) -> Vec<Value> {
    let path = Path::new("vectors").join(file).with_extension("json");
    println!("cargo:rerun-if-changed={}", path.display());
    let text = std::fs::read_to_string(&path).expect("a vector file");
    let file: Value = serde_json::from_str(&text).expect("a vector file is JSON");
    file[list].as_array().expect("a list of vectors").clone()
}

/// One module with every definition of texts of one module each, once.
fn merged(texts: &[String]) -> String {
    let mut module = "";
    let mut definitions: Vec<&str> = Vec::new();
    for text in texts {
        let (head, rest) = text.split_once('{').expect("a module");
        let (body, _) = rest.rsplit_once('}').expect("a module");
        module = head;
        for definition in split(body) {
            if !definitions.contains(&definition) {
                definitions.push(definition);
            }
        }
    }
    format!(
        "[[\"suppress-warning:all\"]]\n{module}{{\n{}\n}}\n",
        definitions.join("\n")
    )
}

/// The definitions of a module, each with the semicolon that ends it.
fn split(body: &str) -> Vec<&str> {
    let mut definitions = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (index, character) in body.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => {
                definitions.push(body[start..=index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    definitions
}

/// A merged text without the classes whose names have one of these words in them.
fn without(text: &str, words: &str) -> String {
    let is_kept = |line: &&str| {
        let name = line.split('{').next().unwrap_or(line);
        !line.contains("class") || !words.split('|').any(|word| name.contains(word))
    };
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    kept.join("\n")
}

fn compile(name: &str, text: &str) {
    let path = out_dir().join(name).with_extension("ice");
    std::fs::write(&path, text).expect("a writable directory");
    super::compile(Build::new().file(&path));
}

/// Every contract of the corpus that is legal and stands alone, in a module of its own.
fn accepted() {
    let folder = out_dir().join("accepted");
    std::fs::create_dir_all(&folder).expect("a writable directory");
    let mut modules = String::new();
    let (mut count, mut refused) = (0, Vec::new());
    for case in read("slice-accept", "cases") {
        let field = |name: &str| case[name].as_str().expect("a text").to_owned();
        let path = folder.join(field("name")).with_extension("ice");
        std::fs::write(&path, field("source")).expect("a writable directory");
        let compilation = compile_files(&Default::default(), &[path]);
        if compilation.has_errors() {
            continue;
        }
        match generate_rust(&compilation.model, &RustOptions::new()) {
            Ok(text) => {
                count += 1;
                modules.push_str(&format!("mod r#{} {{\n{text}\n}}\n", field("name")));
            }
            Err(_) => refused.push(field("name")),
        }
    }
    modules.push_str(&format!("pub(super) const COUNT: usize = {count};\n"));
    modules.push_str(&format!(
        "pub(super) const REFUSED: &[&str] = &{refused:?};\n"
    ));
    let path = out_dir().join("accepted.rs");
    std::fs::write(path, modules).expect("a writable directory");
}

pub(crate) fn out_dir() -> PathBuf {
    std::env::var_os("OUT_DIR").expect("Cargo sets it").into()
}
