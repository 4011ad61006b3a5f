//! Mistakes of a first hour that no other file has, and what the command says of each.

use crate::command::{run, slice_file};
use crate::hub::{Hub, Running};
use crate::two_machines::{Network, SERVER};

#[test]
fn a_hub_for_its_own_computer_says_so_and_another_computer_is_told_what_to_ask() {
    let Some(network) = Network::make() else {
        return;
    };
    let hub = network.on_server(&["serve", "--transient"]);
    hub.talk("listening on this computer only; --listen '*' lets other computers connect");
    assert!(hub.line().starts_with("ready "));
    network
        .run(&["topic", "list", "--hub", SERVER])
        .ended(5)
        .said("no hub: cannot connect")
        .said("was it started with --listen '*'?");
    let doctor = network.run(&["doctor", "--hub", SERVER]).ended(100);
    assert!(doctor.stdout.contains(SERVER), "{doctor:?}");
}

#[test]
fn a_proxy_with_a_host_alone_is_told_to_need_a_port() {
    for host in ["localhost", "192.0.2.1", "[::1]"] {
        run(&["call", &format!("greeter:{host}"), "ice_ping"])
            .ended(2)
            .said(&format!(
                "add the port of the server: `greeter:{host}:PORT`"
            ));
    }
    run(&["call", "greeter:tpc -p 1", "ice_ping"])
        .ended(2)
        .said("a proxy is written");
}

#[test]
fn no_message_and_no_output_of_a_hub_has_the_default_timeout() {
    let hub = Hub::start();
    let file = slice_file("mistakes.ice", "module M { interface I { void f(); } }");
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file]);
    let said = subscriber.talked("subscribed to topic `t`");
    assert!(!said.contains("-t 60000"), "{said}");
    for arguments in [
        &["topic", "info", "t", "-o", "json"][..],
        &["topic", "subscribers", "t", "-o", "json"],
        &["topic", "create", "t", "--exist-ok", "-o", "json"],
        &["topic", "list", "-o", "json"],
        &["status", "-o", "json"],
        &["doctor", "-o", "table"],
    ] {
        let ran = hub.run(arguments).ended(0);
        let all = ran.stdout + &ran.stderr;
        assert!(!all.is_empty() && !all.contains("-t 60000"), "{all}");
    }
    let refused = ["topic", "list", "--hub", "127.0.0.1:1"];
    let refused = run(&refused).ended(5).said("\"tcp -h 127.0.0.1 -p 1\"");
    assert!(!refused.stderr.contains("-t 60000"), "{refused:?}");
    for format in ["table", "json", "raw"] {
        let listen = ["--listen", "127.0.0.1:0", "-o", format];
        let serve = [&["serve", "--transient"][..], &listen].concat();
        for arguments in [serve, [&["echo"][..], &listen].concat()] {
            let line = Running::start(&arguments).line();
            assert!(!line.contains("-t 60000"), "{arguments:?}: {line}");
        }
    }
}

#[test]
fn an_array_of_arguments_may_end_before_the_optional_ones_and_not_sooner() {
    let text = "module M { interface I { void f(int a, string b, optional(1) int c); } }";
    let file = slice_file("mistakes-arguments.ice", text);
    let call = |json| run(&["call", "x:127.0.0.1:1", "f", json, "--slice", &file]);
    call("[1]")
        .ended(2)
        .said("params: expected an array of 2 to 3 (a, b, c), got an array of 1")
        .said("the operation is `void f(int a, string b, optional(1) int c)`");
    // It is sent: nothing is wrong with it.
    call(r#"[1, "b"]"#).ended(5).said("cannot connect");
}

#[test]
fn alternatives_of_one_contract_are_told_how_to_be_checked() {
    let contract = |name, of: &str| {
        let text = format!("module M {{ interface I {{ void f({of} number); }} }}");
        slice_file(name, &text)
    };
    let old = contract("mistakes-old.ice", "int");
    let new = contract("mistakes-new.ice", "long");
    run(&["slice", "check", &old, &new])
        .ended(100)
        .said(
            "define the same names. If they are alternatives of one contract, check each by itself",
        )
        .said(&format!("`floe slice breaking {old} {new}` compares them"));
    run(&["slice", "check", &old]).ended(0);
    run(&["slice", "breaking", &old, &new]).ended(100);
}
