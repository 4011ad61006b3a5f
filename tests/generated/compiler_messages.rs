//! The compiler's messages about mistakes of the runtime's users: programs that must not compile, against the
//! runtime that this test is linked with.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn a_bare_servant_is_told_to_need_a_dispatcher() {
    let said = refused(
        "bare-servant",
        r#"
        struct Weather;
        pub fn add(adapter: &floe::Adapter) {
            let _ = adapter.add("station", Weather);
        }
        "#,
    );
    expect(&said, "error[E0277]: `Weather` is not a dispatcher");
    expect(
        &said,
        "expected a dispatcher, such as `StationDispatcher::new(servant)`",
    );
    expect(
        &said,
        "wrap a servant in the dispatcher of its interface: `StationDispatcher::new(servant)` if it implements `Station`",
    );
}

#[test]
fn a_bare_subscriber_is_told_to_need_a_dispatcher() {
    let said = refused(
        "bare-subscriber",
        r"
        struct Weather;
        pub fn subscribe(topic: &floe::hub::Topic) {
            let _ = topic.subscribe_servant(Weather);
        }
        ",
    );
    expect(
        &said,
        "error[E0277]: `Weather` is not a generated dispatcher",
    );
    expect(
        &said,
        "wrap a servant in the dispatcher of its interface: `StationDispatcher::new(servant)` if it implements `Station`",
    );
}

#[test]
fn a_subscription_of_what_is_no_enum_of_events_is_told_which_is_one() {
    let said = refused(
        "no-events",
        r"
        struct Weather;
        pub fn subscribe(topic: &floe::hub::Topic) {
            let _ = topic.subscribe::<Weather>();
        }
        ",
    );
    expect(&said, "error[E0277]: `Weather` is not an enum of events");
    expect(
        &said,
        "expected the events of an interface, such as `TickerEvent`",
    );
}

#[test]
fn a_program_without_a_mistake_compiles() {
    let (compiles, said) = compile(
        "no-mistake",
        "pub fn end(adapter: &floe::Adapter) { adapter.activate(); }",
    );
    assert!(compiles, "{said}");
}

/// Returns the compiler's messages about a library that it must refuse.
#[track_caller]
fn refused(name: &str, source: &str) -> String {
    let (compiles, said) = compile(name, source);
    assert!(!compiles, "{name} compiles");
    said
}

fn compile(name: &str, source: &str) -> (bool, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiler-messages");
    fs::create_dir_all(&folder).expect("a writable folder");
    let file = folder.join(name).with_extension("rs");
    fs::write(&file, source).expect("a writable folder");
    let deps = env::current_exe().expect("a running test has a path");
    let deps = deps.parent().expect("a program lies in a folder");
    let mut runtime = std::ffi::OsString::from("floe=");
    runtime.push(newest_runtime(deps));
    let mut dependencies = std::ffi::OsString::from("dependency=");
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

#[track_caller]
fn expect(said: &str, text: &str) {
    // The compiler breaks no line of a message.
    assert!(said.contains(text), "expected `{text}` in\n{said}");
}
