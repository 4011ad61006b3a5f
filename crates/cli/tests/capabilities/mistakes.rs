//! Mistakes that users make in their first hour, and what the command says of each.
//!
//! Each of these mistakes has a test of its message, here or elsewhere:
//!
//! | mistake | test |
//! |---|---|
//! | a second subscriber with the identity of the first | `crates/hub/tests/capabilities/client.rs::subscribers_have_identities_of_their_own_unless_they_choose_one` |
//! | a subscriber that its hub cannot reach | `crates/hub/tests/capabilities/client.rs::a_subscriber_that_the_hub_cannot_reach_is_told_so` |
//! | a subscription that the hub has ended | `mistakes.rs::a_subscriber_is_told_why_its_hub_may_have_ended_the_subscription` |
//! | a servant without its dispatcher | `tests/generated/compiler_messages.rs::a_bare_servant_is_told_to_need_a_dispatcher` |
//! | an error that `main` returns | `crates/runtime/src/error/mod.rs::an_error_that_ends_main_reads_as_a_sentence_and_gives_its_cause` |
//! | a nil proxy where the contract excludes it | `tests/capabilities/nil.rs::a_servant_whose_contract_excludes_nil_is_not_called_with_it_and_its_caller_is_told` |
//! | a hub that other computers cannot reach | `mistakes.rs::a_hub_for_its_own_computer_says_so_and_another_computer_is_told_what_to_ask` |
//! | more connections than the limit | `mistakes.rs::connections_beyond_the_limit_are_logged_and_reported` |
//! | a host without a port | `mistakes.rs::a_proxy_with_a_host_alone_is_told_to_need_a_port` |
//! | an object under a wrong identity | `usage.rs::a_wrong_identity_at_a_hub_gets_the_one_that_was_meant` |
//! | too few arguments of a call | `mistakes.rs::an_array_of_arguments_may_end_before_the_optional_ones_and_not_sooner` |
//! | topics to remove that do not exist | `topic.rs::several_topics_are_all_tried` |
//! | alternatives of a contract that are checked together | `mistakes.rs::alternatives_of_one_contract_are_told_how_to_be_checked` |
//! | invalid settings while the hub runs | `config.rs::a_changed_file_is_noticed_and_one_that_makes_no_sense_changes_nothing` |
//! | `floe lab` in a build without the lab | `crates/cli/src/command/no_lab.rs::a_build_without_the_lab_says_how_to_get_it` |

use std::io::Read;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

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

#[test]
fn a_subscriber_is_told_why_its_hub_may_have_ended_the_subscription() {
    let hub = Hub::start();
    let file = slice_file(
        "mistakes-ended.ice",
        "module M { interface I { void f(); } }",
    );
    let subscriber = hub.running(&["sub", "t", "--create", "--slice", &file, "--no-reconnect"]);
    subscriber.talk("subscribed to topic `t`");
    let listed = hub
        .run(&["topic", "subscribers", "t", "-o", "json"])
        .ended(0);
    let listed = listed.json();
    let identity = listed[0]["identity"]
        .as_str()
        .expect("it has one")
        .to_owned();
    hub.run(&["topic", "unsubscribe", "t", &identity]).ended(0);
    subscriber.talk("the hub has ended this subscription");
    subscriber.talk(
        "either the hub could not deliver, or somebody unsubscribed; the log of the hub has the reason. If a \
         firewall is in between, --listen HOST:PORT names an open port",
    );
    subscriber.end().ended(1);
}

#[test]
fn connections_beyond_the_limit_are_logged_and_reported() {
    let settings = "listen = \"tcp -h 127.0.0.1 -p 0\"\n[connections]\nlimit = 2\n";
    let file = slice_file("mistakes-limit.toml", settings);
    let process = Running::start(&["serve", "--config", &file]);
    let line = process.line();
    let manager = line.strip_prefix("ready ").expect("it says ready first");
    let hub = Hub {
        manager: manager.to_owned(),
        process,
    };
    let port = manager
        .rsplit(' ')
        .next()
        .and_then(|word| word.parse().ok());
    let connect = || TcpStream::connect(("127.0.0.1", port.expect("its port is last")));
    // Each has the hub's first message: it is admitted.
    let held = [(), ()].map(|()| {
        let mut stream = connect().expect("the hub listens");
        stream.read_exact(&mut [0; 14]).expect("it is admitted");
        stream
    });
    let mut refused = connect().expect("the hub listens");
    assert!(!matches!(refused.read(&mut [0]), Ok(1)), "it is admitted");
    hub.process
        .talk("there are 2 connections already, as many as `Settings::connection_limit` allows");
    drop(held);
    // The hub may need a moment to notice.
    let deadline = Instant::now() + Duration::from_secs(60);
    let status = loop {
        let status = hub.run(&["status", "-o", "json"]);
        if status.code == Some(0) {
            break status.json();
        }
        assert!(Instant::now() < deadline, "{status:?}");
        thread::sleep(Duration::from_millis(10));
    };
    let problem = status["problems"][0].as_str().expect("a problem");
    assert!(
        problem.ends_with("refused because a limit was reached"),
        "{problem}"
    );
}
