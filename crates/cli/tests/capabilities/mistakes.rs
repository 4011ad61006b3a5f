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
//! | parameters that do not fit, or none at all | `mistakes.rs::an_event_without_its_parameters_gets_an_example` |
//! | topics to remove that do not exist | `topic.rs::several_topics_are_all_tried` |
//! | alternatives of a contract that are checked together | `mistakes.rs::alternatives_of_one_contract_are_told_how_to_be_checked` |
//! | invalid settings while the hub runs | `config.rs::a_changed_file_is_noticed_and_one_that_makes_no_sense_changes_nothing` |
//! | texts without quotes in a floe.toml | `crates/server/src/settings/tests/rows.rs::a_text_without_quotes_is_shown_with_them` |
//! | several mistakes in access rules | `crates/access/src/settings/tests.rs::all_mistakes_of_a_file_are_told_in_one_go` |
//! | a time without its unit | `mistakes.rs::a_time_without_its_unit_is_told_how_to_say_seconds` |
//! | a hub at udp alone | `transports.rs::a_hub_that_could_answer_nothing_is_refused` |
//! | a port that another program has | `serve.rs::a_port_that_is_taken_is_said_so` |
//! | the same, in a program | `crates/runtime/tests/capabilities/dispatching.rs::an_endpoint_in_use_is_said` |
//! | an encrypted endpoint of a program without encryption | `crates/runtime/src/error/adapter.rs::an_encrypted_endpoint_of_a_build_without_encryption_names_the_feature` |
//! | an event that is too long for the hub | `mistakes.rs::an_event_that_is_too_long_is_told_with_its_length_here_and_with_the_setting_at_the_hub` |
//! | the same, in a program | `crates/runtime/tests/capabilities/failing.rs::a_request_that_is_too_long_for_its_peer_is_told_its_length` |
//! | a caller with another contract | `mistakes.rs::a_call_with_another_contract_is_told_how_to_compare_two` |
//! | an event of another contract | `crates/hub/tests/capabilities/client.rs::an_event_of_another_contract_is_refused_and_told` |
//! | a Slice file that is not there | `mistakes.rs::a_slice_file_that_is_not_there_is_told_where_it_was_searched` |
//! | a facet that an object does not have | `mistakes.rs::a_facet_that_is_not_there_leaves_the_object_itself` |
//! | a misspelt topic, in a program | `crates/hub/tests/capabilities/client.rs::an_existing_topic_is_found_and_a_misspelt_one_is_not_created` |
//! | a misspelt topic | `topic.rs::a_topic_with_a_similar_name_is_suggested` |
//! | a context without a hub, or with one that makes no sense | `contexts.rs::a_context_stands_for_something_that_makes_sense` |
//! | a hub that is lost under way | `reconnect.rs::without_reconnecting_a_lost_hub_is_the_end` |
//! | a subscriber behind a firewall of its own | `two_machines.rs::a_subscriber_may_say_where_it_listens` |
//! | a subscriber that the locator does not know | `crates/hub/tests/capabilities/located.rs::a_subscriber_that_the_locator_does_not_know_loses_its_subscription` |
//! | a timeout in a proxy that nobody set | `mistakes.rs::no_message_and_no_output_of_a_hub_has_the_default_timeout` |
//! | a topic manager under a wrong name | `mistakes.rs::the_state_of_a_hub_is_asked_of_the_topic_manager_that_was_named` |
//! | a port that is no number, or too large | `mistakes.rs::a_port_that_is_none_and_a_host_that_is_missing_are_told` |
//! | a proxy without quotes | `mistakes.rs::a_proxy_without_quotes_is_not_taken_for_a_request_for_help` |
//! | a contract without events | `mistakes.rs::a_contract_without_events_is_warned_of` |
//! | an HTTP server in place of an Ice server | `mistakes.rs::an_http_server_is_named_once` |
//! | a mistyped key of the quality of service | `mistakes.rs::a_key_of_the_quality_of_service_that_nobody_knows_is_warned_of` |
//! | a setting that is there twice | `crates/server/src/settings/tests/rows.rs::a_setting_that_is_there_twice_is_told_with_its_first_line` |
//! | `floe lab` in a build without the lab | `crates/cli/src/command/no_lab.rs::a_build_without_the_lab_says_how_to_get_it` |

use std::io::Read;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::command::{run, run_with_input, slice_file};
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
    run(&["ping", "192.0.2.1:10000"])
        .ended(2)
        .said("name the object before its address: `IDENTITY:192.0.2.1:10000`");
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

#[test]
fn an_event_without_its_parameters_gets_an_example() {
    let hub = Hub::start();
    let text = "module M { struct Tick { string symbol; double price; } interface I { void tick(Tick tick); } }";
    let file = slice_file("mistakes-example.ice", text);
    let publish = ["pub", "t", "tick", "--create", "--slice", &file];
    for json in [&[][..], &["{}"], &["[]"]] {
        hub.run(&[&publish[..], json].concat())
            .ended(2)
            .said("the operation is `void tick(::M::Tick tick)`; parameters that fit are '{\"tick\":{\"symbol\":\"text\",\"price\":1.5}}'");
    }
    hub.run(&[&publish[..], &[r#"{"tick":{"symbol":"text","price":1.5}}"#]].concat())
        .ended(0);
}

#[test]
fn a_time_without_its_unit_is_told_how_to_say_seconds() {
    run(&["serve", "--transient", "--patience", "5"])
        .ended(2)
        .said("expected a time with its unit (us, ms, s, m or h), such as 500ms or 5s, got `5`; `5s` means seconds");
}

#[test]
fn an_event_that_is_too_long_is_told_with_its_length_here_and_with_the_setting_at_the_hub() {
    let hub = Hub::start();
    let text = "module M { interface I { void note(string text); } }";
    let file = slice_file("mistakes-long.ice", text);
    let publish = [
        "pub",
        "t",
        "note",
        "-",
        "--create",
        "--slice",
        &file,
        "--no-reconnect",
        "--hub",
        &hub.manager,
    ];
    let json = format!("[\"{}\"]", "x".repeat(2_000_000));
    run_with_input(&publish, &json)
        .ended(1)
        .said("this message of 20000")
        .said("connections.message-bytes");
    hub.process.talk(
        "if the message is legitimate, raise the limit on this side (connections.message-bytes in the floe.toml of `floe serve`",
    );
}

#[test]
fn a_call_with_another_contract_is_told_how_to_compare_two() {
    let hub = Hub::start();
    let text =
        "module IceStorm { interface TopicManager { void create(string name, string kind); } }";
    let file = slice_file("mistakes-contract.ice", text);
    run(&[
        "call",
        &hub.manager,
        "create",
        r#"["t", "x"]"#,
        "--slice",
        &file,
    ])
    .ended(1)
    .said("the parameters of operation \"create\" of object \"IceStorm/TopicManager\" do not match the server's contract")
    .said("2 bytes are left after the last value")
    .said("`floe slice breaking OLD NEW` compares two");
}

#[test]
fn a_slice_file_that_is_not_there_is_told_where_it_was_searched() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let here = std::env::current_dir().expect("there is one");
    run(&[
        "sub",
        "t",
        "--slice",
        "mistakes-nowhere.ice",
        "-I",
        "some/where",
    ])
    .ended(2)
    .said("there is no Slice file `mistakes-nowhere.ice`")
    .said(&format!(
        "searched in `{}`, `some/where`; -I DIR adds a directory",
        here.display()
    ));
    slice_file("mistakes-found.ice", "module M { };");
    run(&["slice", "check", "mistakes-found.ice", "-I", folder]).ended(0);
}

#[test]
fn a_facet_that_is_not_there_leaves_the_object_itself() {
    let hub = Hub::start();
    run(&["call", &hub.manager, "ice_ping", "--facet", "other"])
        .ended(4)
        .said("the object exists, and has no facet `other`: omit --facet for the object itself");
}

#[test]
fn the_state_of_a_hub_is_asked_of_the_topic_manager_that_was_named() {
    let hub = Hub::start();
    let wrong = hub.manager.replace("IceStorm/", "IceStrom/");
    run(&["status", "--hub", &wrong])
        .ended(4)
        .said("no topic manager")
        .said("did you mean `IceStorm/TopicManager`?");
    let other = hub
        .manager
        .replace("IceStorm/TopicManager", "Floe/HubAdmin");
    run(&["status", "--hub", &other])
        .ended(4)
        .said("`Floe/HubAdmin` is no topic manager")
        .said("give the whole proxy of the topic manager with --hub");
    run(&["status", "--hub", &hub.manager]).ended(0);
}

#[test]
fn a_port_that_is_none_and_a_host_that_is_missing_are_told() {
    let port = "expected a port from 1 to 65535 in `localhost:99999`, got `99999`";
    run(&["topic", "list", "--hub", "localhost:99999"])
        .ended(2)
        .said(port);
    run(&["call", "greeter:localhost:99999", "ice_ping"])
        .ended(2)
        .said(port);
    run(&["serve", "--listen", "localhost:99999"])
        .ended(2)
        .said(port);
    run(&["serve", "--listen", ":10777"])
        .ended(2)
        .said("got no host in `:10777`: write localhost:10777 for this computer")
        .said("*:10777");
}

#[test]
fn a_proxy_without_quotes_is_not_taken_for_a_request_for_help() {
    run(&[
        "call",
        "greeter:tcp",
        "-h",
        "localhost",
        "-p",
        "4061",
        "greet",
    ])
    .ended(2)
    .said("`greeter:tcp -h` are two arguments: -h asks for help")
    .said("put quotes around a proxy or endpoint: 'greeter:tcp -h localhost -p 4061'");
    run(&["call", "greeter:localhost:4061", "-h"]).ended(0);
}

#[test]
fn a_key_of_the_quality_of_service_that_nobody_knows_is_warned_of() {
    let hub = Hub::start();
    let file = slice_file("mistakes-qos.ice", "module M { interface I { void f(); } }");
    let line = ["sub", "t", "--create", "--slice", &file, "--timeout", "1ms"];
    let with = |entry: &'static str| hub.run(&[&line[..], &["--qos", entry]].concat());
    with("retrycount=3").said(
        "warning: --qos retrycount: Floe and IceStorm know no such key: did you mean `retryCount`?",
    );
    let known = with("floe.queueEvents=10");
    assert!(!known.stderr.contains("warning"), "{known:?}");
}

#[test]
fn a_contract_without_events_is_warned_of() {
    let hub = Hub::start();
    let line = ["sub", "t", "--create", "--timeout", "1ms", "--slice"];
    let warning = "warning: no operation of the Slice files can be an event";
    for (name, operations, is_warned) in [
        (
            "mistakes-no-event.ice",
            "int f(int a); void g(out int a);",
            true,
        ),
        (
            "mistakes-an-event.ice",
            "int f(int a); void g(int a);",
            false,
        ),
    ] {
        let file = slice_file(
            name,
            &format!("module M {{ interface I {{ {operations} }} }}"),
        );
        let ran = hub.run(&[&line[..], &[&file]].concat());
        assert_eq!(ran.stderr.contains(warning), is_warned, "{name}: {ran:?}");
    }
}

#[test]
fn an_http_server_is_named_once() {
    let hub = Hub::with(&["--metrics", "127.0.0.1:0"]);
    let address = hub.process.talked("metrics are at http://");
    let address = address
        .split_once("http://")
        .and_then(|(_, rest)| rest.split('/').next())
        .expect("an address");
    let ran = run(&["call", &format!("x:{address}"), "ice_ping"])
        .ended(1)
        .said("the peer does not speak the Ice protocol, but HTTP");
    assert_eq!(ran.stderr.matches("HTTP").count(), 1, "{ran:?}");
}

#[test]
fn only_what_takes_create_names_it() {
    let hub = Hub::start();
    let file = slice_file(
        "mistakes-create.ice",
        "module M { interface I { void f(); } }",
    );
    hub.run(&["sub", "t", "--slice", &file])
        .ended(4)
        .said("; with --create this command does");
    let removed = hub.run(&["topic", "remove", "t"]).ended(4);
    assert!(!removed.stderr.contains("--create"), "{removed:?}");
}

#[test]
fn an_address_that_a_hub_publishes_and_nobody_reaches_is_not_blamed_on_the_command_line() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = nobody.local_addr().expect("it is bound").port();
    drop(nobody);
    let listening = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let own = listening.local_addr().expect("it is bound").port();
    drop(listening);
    let hub = Running::start(&[
        "serve",
        "--transient",
        "--listen",
        &format!("tcp -h 127.0.0.1 -p {own}"),
        "--published-endpoints",
        &format!("tcp -h 127.0.0.1 -p {port}"),
    ]);
    assert!(hub.line().starts_with("ready "));
    let at = format!("127.0.0.1:{own}");
    run(&["topic", "create", "t", "--hub", &at]).ended(0);
    let slice = slice_file("published.ice", "module M { interface I { void n(); } }");
    for command in [
        &["pub", "t", "n", "--slice", &slice][..],
        &["sub", "t", "--slice", &slice, "--timeout", "5s"],
    ] {
        let failed = run(&[command, &["--hub", &at]].concat()).ended(5);
        let said = &failed.stderr;
        assert!(said.contains("--published-endpoints"), "{said}");
        assert!(said.contains(&format!("-p {port}")), "{said}");
        assert!(!said.contains("no hub"), "{said}");
    }
}

#[test]
fn a_router_of_another_name_is_named_with_the_one_that_there_is() {
    let config = slice_file(
        "other-router.toml",
        "hub = false\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p 0\"\nverifier = \"accept-all\"\n",
    );
    let gateway = Running::start(&["serve", "--config", &config]);
    let ready = gateway.line();
    let (_, endpoint) = ready.split_once(" -t -e 1.1:").expect("it says where");
    let password = slice_file("password", "secret\n");
    let router = format!("Other/router:{endpoint}");
    let login = [
        "--router",
        &router,
        "--user",
        "ann",
        "--password-file",
        &password,
    ];
    let call = ["call", "thing:tcp -h 127.0.0.1 -p 1", "ice_ping"];
    let failed = run(&[&call[..], &login].concat()).ended(4);
    let said = &failed.stderr;
    assert!(said.contains("there is no router `Other/router`"), "{said}");
    assert!(said.contains("`Glacier2/router`"), "{said}");
    assert!(!said.contains("may have been executed"), "{said}");
}
