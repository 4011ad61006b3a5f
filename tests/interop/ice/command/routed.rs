//! `call`, `ping`, `pub` and `sub` through a router: through a real Glacier2, and through a Floe gateway.

use std::fs;
use std::process::Command;

use floe_tests::gateway::Router;
use floe_tests::hub::Hub;
use floe_tests::ice::{self, Ice};
use floe_tests::peer::Peer;
use floe_tests::workspace;

use super::{assert_code, contract};

/// Starts the command, with this password in its environment.
fn floe(password: &str, arguments: &[&str]) -> Peer {
    let mut command = Command::new(workspace::program("floe"));
    let command = command.args(arguments).env("FLOE_PASSWORD", password);
    Peer::start("floe", command)
}

#[test]
fn the_command_goes_through_a_router() {
    let Some(ice) = Ice::or_skip() else { return };
    let starts: [&dyn Fn(&str) -> Router; 2] =
        [&|text| ice.start_glacier2(text), &Router::start_floe];
    for start in starts {
        let (_backend, service) = ice.start_routed();
        let (_, endpoint) = service.split_once(':').expect("it has an endpoint");
        let router = start(&format!(
            "Glacier2.Client.Endpoints=tcp -p 0\nGlacier2.PermissionsVerifier=verifier:{endpoint}\n\
             Glacier2.SessionTimeout=2\n"
        ));
        let router = ["--router", router.proxy(), "--user", "joe"];
        calls(&service, &router);
        events(&router);
    }
}

fn calls(service: &str, router: &[&str]) {
    let routed = ice::folder().join("gateway/Routed.ice");
    let routed = routed.to_str().expect("the path of the workspace is text");
    let call = ["call", service, "who", "--slice", routed, "-o", "raw"];
    let who = [&call, router].concat();
    let lines = floe("secret", &who).succeed();
    assert_eq!(lines, ["service /service '' Normal"]);
    let refused = floe("wrong", &who).end();
    assert_code(&refused, 5, "the router makes no session");
    let file = workspace::target_dir().join(format!("password-{}", std::process::id()));
    fs::write(&file, "secret\n").expect("the target folder can be written");
    let file_name = file.to_str().expect("the path of the workspace is text");
    let by_file = [&who[..], &["--password-file", file_name]].concat();
    assert_eq!(floe("wrong", &by_file).succeed(), lines);
    through_context(&call, router, file_name, &lines);
    fs::remove_file(&file).expect("it was written");
    let ping = [&["ping", service, "-n", "3", "--interval", "0"], router].concat();
    assert_eq!(floe("secret", &ping).succeed().len(), 1);
}

/// The router, its user and the password come from a context.
fn through_context(call: &[&str], router: &[&str], password_file: &str, lines: &[String]) {
    let home = workspace::target_dir().join(format!("contexts-{}", std::process::id()));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(workspace::program("floe"));
        command.args(arguments).env("XDG_CONFIG_HOME", &home);
        Peer::start("floe", &mut command)
    };
    let add = ["context", "add", "routed", "--password-file", password_file];
    run(&[&add[..], router].concat()).succeed();
    assert_eq!(run(call).succeed(), lines);
    fs::remove_dir_all(&home).expect("the context is in it");
}

fn events(router: &[&str]) {
    let hub = Hub::start(&[]);
    let (contract, manager) = (contract(), hub.manager());
    let common = ["--slice", &contract, "--hub", &manager];
    let common = [&common, router].concat();
    let sub = [&["sub", "news", "--create", "-n", "2"], &common[..]].concat();
    let subscriber = floe("secret", &sub);
    subscriber.errors_with("subscribed to topic");
    for value in ["true", "false"] {
        let json = format!(r#"["key", {value}]"#);
        let publish = [&["pub", "news", "flagged", &json], &common[..]].concat();
        floe("secret", &publish).succeed();
    }
    let event = |value: bool| {
        format!(r#"{{"operation":"flagged","parameters":{{"key":"key","value":{value}}}}}"#)
    };
    assert_eq!(subscriber.succeed(), [event(true), event(false)]);
}

#[test]
fn a_subscriber_whose_router_is_gone_ends_and_says_so() {
    let properties = "Glacier2.Client.Endpoints=tcp -p 0\n\
                      Glacier2.PermissionsVerifier=Glacier2/NullPermissionsVerifier\n";
    let hub = Hub::start(&[]);
    let mut router = Router::start_floe(properties);
    let proxy = router.proxy().to_owned();
    let (contract, manager) = (contract(), hub.manager());
    let sub = [
        "sub",
        "news",
        "--create",
        "--no-reconnect",
        "--slice",
        &contract,
    ];
    let through = ["--hub", &manager, "--router", &proxy, "--user", "joe"];
    let subscriber = floe("any", &[&sub[..], &through].concat());
    subscriber.errors_with("subscribed to topic");
    router.peer().kill();
    assert_code(&subscriber.end(), 5, "lost the router");
}

#[test]
fn without_a_password_nothing_is_sent() {
    // A session of its own has no terminal to ask.
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(workspace::program("floe"));
    let arguments = ["call", "a:tcp -h 127.0.0.1 -p 1", "ice_ping"];
    let router = ["--router", "127.0.0.1:1", "--user", "joe"];
    command
        .args(arguments)
        .args(router)
        .env("FLOE_PASSWORD", "");
    let ended = Peer::start("floe", &mut command).end();
    assert_code(&ended, 2, "FLOE_PASSWORD");
}
