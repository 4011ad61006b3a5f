//! Arguments that make no sense, and what can be asked of the command itself.

use std::net::TcpListener;
use std::process::Stdio;

use crate::command::{Ran, floe, run, run_with_input, slice_file};
use crate::hub::Hub;

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
        for name in ["slice", "ping", "echo", "proxy", "warm-up", "zstd-stream"] {
            assert!(text.contains(name), "{shell} and {name}: {text}");
        }
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
        .said("`x` has no usable endpoint")
        .said("help: write `x:tcp -h HOST -p PORT`");
}

#[test]
fn an_endpoint_without_a_port_is_refused() {
    run(&["call", "x:tcp -h localhost", "ice_ping"])
        .ended(2)
        .said("help: add -p PORT");
}

#[test]
fn nobody_listens_where_the_proxy_says() {
    run(&["call", "x:tcp -h 127.0.0.1 -p 1", "ice_ping"])
        .ended(5)
        .said("cannot connect to \"tcp -h 127.0.0.1 -p 1")
        .said("is the server running");
}

/// Somebody who takes connections and never says a word.
pub(crate) fn silent_listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let port = listener.local_addr().expect("it listens").port();
    (listener, format!("x:tcp -h 127.0.0.1 -p {port}"))
}

#[test]
fn a_call_without_a_connection_in_time_says_so_and_nothing_of_a_reply() {
    let (_listener, proxy) = silent_listener();
    let call = ["call", &proxy, "ice_ping", "--timeout", "100ms"];
    let ran = run(&call)
        .ended(3)
        .said("nothing answers there: is the server's adapter activated");
    assert!(!ran.stderr.contains("no reply"), "{ran:?}");
    assert!(!ran.stderr.contains("WARN"), "{ran:?}");
    let list = ["topic", "list", "--timeout", "100ms", "--hub", &proxy];
    run(&list).ended(3).said("the hub did not answer");
}

#[test]
fn a_call_whose_time_is_over_does_not_wait_for_its_connection_to_close() {
    let hub = Hub::start();
    let file = slice_file("slow_clock.ice", "module M { interface I { void f(); } }");
    let publish = ["pub", "t", "f", "--create", "--slice", &file];
    let limits = ["--rate", "50", "-n", "100000", "--timeout", "500ms"];
    let publisher = hub.running(&[&publish[..], &limits].concat());
    while hub.run(&["topic", "info", "t"]).code != Some(0) {}
    hub.process.stop();
    let ran = publisher.end().ended(3).said("no reply to operation \"f\"");
    assert!(!ran.stderr.contains("did not close"), "{ran:?}");
    hub.process.signal("CONT");
}

#[test]
fn an_empty_variable_is_none_and_a_wrong_one_is_blamed() {
    let with = |name: &str, value: &str, arguments: &[&str]| {
        let output = floe().args(arguments).env(name, value).output();
        Ran::from(output.expect("the command was built with this test"))
    };
    let list = ["topic", "list", "--timeout", "1s"];
    let unset = with("FLOE_HUB", "", &list);
    assert!(!unset.stderr.contains("FLOE_HUB"), "{unset:?}");
    assert_ne!(unset.code, Some(2), "{unset:?}");
    with("FLOE_HUB", "tcp -q", &list)
        .ended(2)
        .said("error: FLOE_HUB: ");
    with("FLOE_LOG", "garbage", &["slice", "check", "none.ice"]).said("ignored FLOE_LOG=`garbage`");
}

#[test]
fn a_hub_on_an_unknown_host_comes_with_help() {
    let hub = "tcp -h no-such-host.invalid -p 10000";
    run(&["topic", "list", "--hub", hub])
        .ended(1)
        .said("cannot connect")
        .said("is the host spelt right");
}

#[test]
fn what_is_no_json_is_shown() {
    run(&["call", "x:tcp -p 1", "ice_ping", "not json"])
        .ended(2)
        .said("expected JSON, got `not json`");
}

#[test]
fn a_wrong_option_or_value_is_answered_with_one_that_helps() {
    run(&["slice", "rust", "x.ice", "--out", "d"])
        .ended(2)
        .said("similar argument exists: '--output-dir'");
    let ran = run(&["call", "x:tcp -p 1", "ice_ping", "--encoding", "2.0"]).ended(2);
    assert!(!ran.stderr.contains("similar"), "{ran:?}");
    run(&["pub", "t", "f", "-n", "0"]).ended(2).said("--count");
}

#[test]
fn what_an_address_a_cost_and_a_size_must_be_is_said_with_what_came() {
    for (arguments, expected) in [
        (
            &["serve", "--metrics", "localhost:9464"][..],
            "expected an IP address and a port, such as 127.0.0.1:9464 or [::]:9464, got `localhost:9464`; write \
             the address of a host instead of its name",
        ),
        (
            &["serve", "--metrics", "9464"],
            "expected an IP address and a port, such as 127.0.0.1:9464 or [::]:9464, got `9464`",
        ),
        (
            &["serve", "--listen", " "],
            "expected an endpoint, such as 'tcp -h 127.0.0.1 -p 10000', got nothing",
        ),
        (
            &["serve", "--publish-listen", ""],
            "expected an endpoint, such as 'tcp -h 127.0.0.1 -p 10000', got nothing",
        ),
        (
            &["serve", "--queue-bytes", "64 parsecs"],
            "expected a size such as 16, 64k or 8M, got `64 parsecs`; write a whole number, and B, k, M or G \
             behind it",
        ),
        (
            &["serve", "--queue-bytes", "0"],
            "expected a size of at least 1 byte, got `0`",
        ),
        (
            &["echo", "--max-size", "3G"],
            "expected a size below 2G, for no message is longer, got `3G`",
        ),
        (
            &["topic", "link", "a", "b", "cheap"],
            "expected a whole number from -2147483648 to 2147483647, got `cheap`; write 0 to let every event pass",
        ),
        (
            &["topic", "link", "a", "b", "2147483648"],
            "expected a whole number from -2147483648 to 2147483647, got `2147483648`",
        ),
        (&["topic", "create", ""], "'<NAMES>...'"),
        (
            &["serve", "--threads", "0"],
            "expected a whole number from 1 to 64, got `0`",
        ),
        (
            &["serve", "--queue-events", "many"],
            "expected a whole number of at least 1, got `many`",
        ),
        (
            &["serve", "--polling", "1s"],
            "expected at most 100us, got `1s`",
        ),
        (
            &["ping", "x:tcp -p 1", "-n", "ten"],
            "expected a whole number from 1 to 1000000, got `ten`",
        ),
        (
            &["ping", "x:tcp -p 1", "--warm-up", "-"],
            "expected a whole number, got `-`",
        ),
        (
            &["demo", "--seconds", "0"],
            "expected a whole number of at least 1, got `0`",
        ),
        #[cfg(feature = "lab")]
        (
            &["lab", "run", "rpc", "--rounds", "x"],
            "expected a whole number of at least 1, got `x`",
        ),
        (
            &["serve", "--publish-listen", "over there"],
            "`over there` is no endpoint",
        ),
        (
            &["serve", "--listen", "opaque -t 99 -e 1.0 -v abch"],
            "expected a transport that this build has",
        ),
    ] {
        run(arguments).ended(2).said(expected);
    }
}

#[test]
fn an_address_of_another_machine_is_nothing_to_listen_on() {
    // Of the addresses that are for documents.
    run(&["serve", "--listen", "tcp -h 192.0.2.1 -p 0"])
        .ended(1)
        .said("listen on an address or a name of this machine");
}

#[test]
fn the_endpoint_of_a_file_that_makes_no_sense_is_told() {
    let file = slice_file(
        "admin.config",
        "S.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 0\nIce.Admin.Endpoints=over there\n",
    );
    run(&["serve", "--transient", "--config", &file])
        .ended(2)
        .said("`over there` is no endpoint");
}

#[test]
fn what_is_wrong_is_said_before_what_is_missing() {
    run(&["pub", "t", "--file", "/nowhere.jsonl"])
        .ended(2)
        .said("--file: cannot read /nowhere.jsonl");
    run(&["pub", "t", "f", "{", "--template"])
        .ended(2)
        .said("expected JSON, got `{`");
    let file = slice_file("one.jsonl", "{}");
    run(&["pub", "t", "--file", &file])
        .ended(2)
        .said("add --slice FILE");
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
        .said("params.item.nmae: expected a member of ::Shop::Item (name, count), got \"nmae\"; did you mean `name`?")
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
fn a_class_as_parameter_is_taken_and_a_wrong_one_refused_before_anybody_is_asked() {
    let file = slice_file(
        "class.ice",
        "module M { class C { int i; } interface I { void odd(C c); } }",
    );
    let call = |json| {
        let proxy = "x:tcp -h 127.0.0.1 -p 1";
        run(&["call", proxy, "odd", json, "--slice", &file])
    };
    call(r#"{"c": {"i": 1}}"#).ended(5).said("cannot connect");
    call(r#"{"c": {"$class": "::M::D"}}"#)
        .ended(2)
        .said("params.c: expected a class of the Slice files (::M::C), got \"::M::D\"");
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

#[cfg(feature = "tls")]
#[test]
fn an_encrypted_endpoint_without_certificates_says_where_they_are_named() {
    run(&["serve", "--transient", "--listen", "ssl -h 127.0.0.1 -p 0"])
        .ended(2)
        .said("ssl and wss endpoints need --tls-cert, --tls-key and --tls-ca, or cert, key and ca in the [tls]");
}

#[cfg(not(feature = "tls"))]
#[test]
fn a_build_without_encryption_says_how_to_get_it() {
    let how = "`cargo install floe-cli --features full` includes it";
    run(&["serve", "--transient", "--listen", "ssl -h 127.0.0.1 -p 0"])
        .ended(2)
        .said("this build has no encryption")
        .said(how);
    run(&["call", "a:ssl -h 127.0.0.1 -p 1", "ice_ping"])
        .ended(2)
        .said("this build has no ssl and wss");
    run(&["topic", "list", "--tls-ca", "/nowhere.pem"])
        .ended(2)
        .said("this build has no encryption")
        .said(how);
    for arguments in [
        &["cert", "ca", "--days", "1"][..],
        &["token", "sign", "ann"],
    ] {
        run(arguments)
            .ended(2)
            .said("this build has no encryption and no tokens")
            .said(how);
    }
}

#[cfg(not(feature = "zstd"))]
#[test]
fn a_build_without_a_compression_says_how_to_get_it() {
    for (command, option) in [("echo", "--offer"), ("ping", "--compress")] {
        run(&[command, option, "zstd"])
            .ended(2)
            .said("this build has no zstd; `cargo install floe-cli --features full` includes it");
    }
}

#[cfg(not(feature = "recordings"))]
#[test]
fn a_build_without_recordings_says_how_to_get_them() {
    for arguments in [
        &["record", "t", "--file", "t.mcap"][..],
        &["replay", "t.mcap", "--loop"],
    ] {
        run(arguments)
            .ended(2)
            .said("this build has no recordings")
            .said("`cargo install floe-cli --features full` includes it");
    }
}

#[cfg(not(feature = "lab"))]
#[test]
fn a_build_without_the_lab_says_how_to_get_it() {
    run(&["lab", "run", "rpc", "--quick"])
        .ended(2)
        .said("this build has no lab")
        .said("cargo run --release --features lab -- lab run rpc --quick");
}

#[test]
fn a_wrong_identity_at_a_hub_gets_the_one_that_was_meant() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "telemetry"]).ended(0);
    let at = hub
        .manager
        .replace("IceStorm/TopicManager", "IceStorm/topic.telemtry");
    run(&["call", &at, "ice_ping"])
        .ended(4)
        .said("did you mean `IceStorm/topic.telemetry`?");
    let at = hub.manager.replace("TopicManager", "topicmanager");
    run(&["ping", &at, "-n", "1"])
        .ended(4)
        .said("did you mean `IceStorm/TopicManager`?");
    let at = hub.manager.replace("IceStorm/TopicManager", "elsewhere");
    run(&["call", &at, "ice_ping"])
        .ended(4)
        .said("is this the identity of the object, in the same case, and the right server?");
}
