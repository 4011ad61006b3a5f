//! Arguments that make no sense, and what can be asked of the command itself.

use std::process::Stdio;

use crate::command::{floe, run, run_with_input, slice_file};

#[test]
fn no_arguments_give_help_and_a_usage_error() {
    run(&[]).ended(2).said("Usage: floe");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let help = run(&["--help"]).ended(0).stdout;
    assert!(help.contains("Exit codes:"), "{help}");
    let version = run(&["--version"]).ended(0).stdout;
    assert_eq!(version, concat!("floe ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_mistyped_subcommand_is_recognized() {
    run(&["cal"])
        .ended(2)
        .said("floe: error: unrecognized subcommand 'cal'")
        .said("'call'");
}

#[test]
fn completions_know_the_subcommands() {
    for shell in ["bash", "zsh", "fish"] {
        let text = run(&["completions", shell]).ended(0).stdout;
        assert!(text.contains("slice"), "{shell}: {text}");
    }
}

#[test]
fn what_is_no_proxy_is_refused_with_the_place() {
    run(&["call", "x:tpc -p 1", "ice_ping"])
        .ended(2)
        .said("floe: error: `x:tpc -p 1` is no proxy: at byte 2")
        .said("help: a proxy is written");
}

#[test]
fn a_proxy_without_endpoints_cannot_be_called() {
    run(&["call", "x", "ice_ping"])
        .ended(2)
        .said("no usable endpoint");
}

#[test]
fn nobody_listens_where_the_proxy_says() {
    run(&["call", "x:tcp -h 127.0.0.1 -p 1", "ice_ping"])
        .ended(5)
        .said("cannot connect to \"tcp -h 127.0.0.1 -p 1")
        .said("is the server running");
}

#[test]
fn an_operation_without_slice_is_explained() {
    run(&["call", "x:tcp -p 1", "greet"])
        .ended(2)
        .said("add --slice FILE");
}

#[test]
fn all_that_is_wrong_with_parameters_is_named_with_its_path() {
    let file = slice_file(
        "order.ice",
        "module Shop { struct Item { string name; short count; } interface Till { void add(Item item); } }",
    );
    let call = ["call", "x:tcp -h 127.0.0.1 -p 1", "add", "--slice", &file];
    let json = r#"{"item": {"nmae": "tea", "count": 70000}}"#;
    run(&[&call[..], &[json]].concat())
        .ended(2)
        .said("params.item.nmae: expected a member of ::Shop::Item (name, count), got \"nmae\"; did you mean name")
        .said("params.item.name: expected a string, got nothing")
        .said("params.item.count: expected a short (-32768 to 32767), got the number 70000");
    run(&[&call[..], &["-5"]].concat())
        .ended(2)
        .said("params.item: expected");
    run_with_input(&[&call[..], &["-"]].concat(), "{")
        .ended(2)
        .said("standard input: ");
}

#[test]
fn a_slice_file_with_errors_is_shown() {
    let file = slice_file("broken.ice", "module M { struct S { strin x; } }");
    run(&["call", "x:tcp -p 1", "f", "--slice", &file])
        .ended(100)
        .said("error[undefined-name]")
        .said("1 error in the Slice files");
}

#[test]
fn what_is_not_yet_supported_is_refused_only_where_it_is_used() {
    let file = slice_file(
        "class.ice",
        "module M { class C { int i; } interface I { void plain(); void odd(C c); } }",
    );
    let call = |operation| {
        run(&[
            "call",
            "x:tcp -h 127.0.0.1 -p 1",
            operation,
            "--slice",
            &file,
        ])
    };
    call("odd").ended(2).said("not yet supported");
    call("plain").ended(5).said("cannot connect");
}

#[test]
fn a_reader_that_has_enough_ends_the_command_quietly() {
    let mut child = floe()
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built with this test");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("a child can be waited for");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
