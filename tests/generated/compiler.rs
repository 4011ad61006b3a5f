//! Compiles Rust against the runtime that this test is linked with, as cargo compiled that.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a library, and returns whether that worked, and what the compiler said.
pub(crate) fn compile(folder: &str, name: &str, source: &str) -> (bool, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).expect("a writable folder");
    let file = folder.join(name).with_extension("rs");
    fs::write(&file, source).expect("a writable folder");
    let deps = env::current_exe().expect("a running test has a path");
    let deps = deps.parent().expect("a program lies in a folder");
    let mut runtime = OsString::from("floe=");
    runtime.push(newest_runtime(deps));
    let mut dependencies = OsString::from("dependency=");
    dependencies.push(deps);
    let mut compiler = Command::new(compiler());
    compiler.args([
        "--edition",
        "2024",
        "--crate-type",
        "lib",
        "--emit",
        "metadata",
    ]);
    compiler.arg("--extern").arg(runtime);
    compiler.arg("-L").arg(dependencies);
    compiler.arg("--out-dir").arg(&folder).arg(&file);
    let output = compiler.output().expect("the compiler starts");
    let said = String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said.into_owned())
}

/// The library that cargo has built last: it is as new as the source, because this test needs one.
fn newest_runtime(deps: &Path) -> PathBuf {
    let entries = fs::read_dir(deps).expect("a readable folder").flatten();
    let libraries = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libfloe-") && name.ends_with(".rlib")
    });
    let newest = libraries.max_by_key(|entry| entry.metadata().and_then(|it| it.modified()).ok());
    let newest = newest.expect("this test is linked with the runtime");
    newest.path()
}

/// The compiler of the cargo that runs this test.
fn compiler() -> PathBuf {
    let beside = env::var_os("CARGO").map(|cargo| Path::new(&cargo).with_file_name("rustc"));
    let found = beside.filter(|path| path.is_file());
    found.unwrap_or_else(|| "rustc".into())
}
