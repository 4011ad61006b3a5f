//! Building the C++ peers: once for each change of a source, however many tests ask at the same time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder;
use crate::workspace;

/// The path of the peer `name`, built from `tests/interop/ice/<name>.cpp` and the contract if it is not up to date.
///
/// # Panics
/// If it does not compile.
pub(super) fn program(name: &str) -> PathBuf {
    let output = workspace::target_dir().join("interop/ice");
    fs::create_dir_all(&output).expect("the target folder can be written");
    let _lock = lock(&output);
    let contract = build(
        &output,
        "Interop.o",
        &[&folder().join("Interop.ice")],
        compile_contract,
    );
    let source = folder().join(name).with_extension("cpp");
    build(
        &output,
        name,
        &[&source, &folder().join("Interop.ice")],
        |output, program| {
            let mut compile = compiler(output);
            compile
                .arg(&source)
                .arg(&contract)
                .args(["-lIceStorm++11", "-lIce++11", "-o"])
                .arg(program);
            vec![compile]
        },
    )
}

/// Keeps other threads and processes from building into `output` until it is dropped.
fn lock(output: &Path) -> File {
    let file = File::create(output.join("lock")).expect("the target folder can be written");
    file.lock()
        .expect("files of the target folder can be locked");
    file
}

/// Makes `output/name` by running `commands`, unless it was made from the same text by the same commands.
fn build(
    output: &Path,
    name: &str,
    sources: &[&Path],
    commands: impl Fn(&Path, &Path) -> Vec<Command>,
) -> PathBuf {
    let product = output.join(name);
    let commands = commands(output, &product);
    let made_from = describe(sources, &commands);
    let stamp = output.join(format!("{name}.made-from"));
    let was_made_from = fs::read_to_string(&stamp).unwrap_or_default();
    if !product.is_file() || was_made_from != made_from {
        commands.into_iter().for_each(run);
        fs::write(&stamp, made_from).expect("the target folder can be written");
    }
    product
}

/// Everything that a product depends on, as text.
fn describe(sources: &[&Path], commands: &[Command]) -> String {
    let text = |path: &&Path| {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let sources: Vec<String> = sources.iter().map(text).collect();
    format!("{commands:?}\n{}", sources.join("\n"))
}

fn compile_contract(output: &Path, object: &Path) -> Vec<Command> {
    let mut translate = Command::new("slice2cpp");
    translate
        .arg("--output-dir")
        .arg(output)
        .arg(folder().join("Interop.ice"));
    let mut compile = compiler(output);
    compile
        .arg("-c")
        .arg(output.join("Interop.cpp"))
        .arg("-o")
        .arg(object);
    vec![translate, compile]
}

fn compiler(output: &Path) -> Command {
    let mut command = Command::new("g++");
    command
        .args(["-std=c++17", "-DICE_CPP11_MAPPING", "-pthread", "-I"])
        .arg(output);
    command
}

fn run(mut command: Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "expected {command:?} to succeed, got:\n{errors}"
    );
}
