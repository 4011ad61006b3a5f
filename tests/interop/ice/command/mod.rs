//! The `floe` command against unmodified Ice 3.7.8: `call`, `topic`, `pub` and `sub` from the contract alone, `ping` and
//! `proxy show`; `routed.rs`: through a router.

mod migrate;
mod ping;
mod routed;
mod transports;

use std::process::Command;
use std::time::Duration;

use floe_tests::hub::Hub;
use floe_tests::ice::{self, Ice, Language, event_lines};
use floe_tests::peer::{Ended, Peer};
use floe_tests::workspace;

/// Events of one publisher in one test.
const COUNT: usize = 20;

#[test]
fn every_kind_of_value_is_called_there_and_back() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (_server, proxy) = ice.start_server(language);
        for (operation, value) in VALUES {
            let parameters = format!(r#"{{"value":{value}}}"#);
            for encoding in ["1.0", "1.1"] {
                let lines = call(&proxy, operation, &[&parameters, "--encoding", encoding]).lines;
                let expected = format!(r#"{{"returnValue":{value},"copy":{value}}}"#);
                assert_eq!(
                    lines,
                    [expected],
                    "{operation} of {language:?} in {encoding}"
                );
            }
        }
    }
}

#[test]
fn results_exceptions_and_contexts_come_back() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (_server, proxy) = ice.start_server(language);
        let divided = call(&proxy, "divide", &[r#"{"dividend": 7, "divisor": 2}"#]);
        assert_eq!(
            divided.lines,
            [r#"{"returnValue":3,"remainder":1,"exact":3.5}"#]
        );
        let context = call(
            &proxy,
            "context",
            &["--request-context", "a=b", "--request-context", "c=d e"],
        );
        assert_eq!(context.lines, [r#"{"returnValue":{"a":"b","c":"d e"}}"#]);
        for encoding in ["1.0", "1.1"] {
            let failed = call(&proxy, "fail", &["3", "--encoding", encoding]);
            assert_eq!(failed.status.code(), Some(1), "{language:?}");
            let thrown = r#"{"$exception":"::Interop::E3","code":33,"reason":"three","place":{"x":3,"y":-3}}"#;
            assert_eq!(failed.lines, [thrown], "{language:?} in {encoding}");
        }
        let types = call(&proxy, "ice_ids", &[]);
        assert!(
            types.lines[0].contains("::Interop::Everything"),
            "{types:?}"
        );
    }
}

#[test]
fn what_does_not_exist_is_told_apart_from_what_fails() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (_server, proxy) = ice.start_server(language);
        let elsewhere = proxy.replacen("everything", "nothing", 1);
        assert_code(
            &call(&elsewhere, "nothing", &[]),
            4,
            "object does not exist",
        );
        let facet = call(&proxy, "nothing", &["--facet", "other"]);
        assert_code(&facet, 4, "facet does not exist");
        assert_code(&call(&proxy, "value", &[]), 4, "operation does not exist");
        assert_code(&call(&proxy, "failUnknown", &[]), 1, "the servant failed");
        let slow = call(&proxy, "sleep", &["2000", "--timeout", "100ms"]);
        assert_code(&slow, 3, "no reply to operation \"sleep\" within 100ms");
        let arrived = call(&proxy, "name", &["--facet", "facet1", "-o", "raw"]);
        assert_eq!(arrived.lines, ["facet1"]);
    }
}

#[test]
fn oneway_calls_arrive() {
    let Some(ice) = Ice::or_skip() else { return };
    let (_server, proxy) = ice.start_server(Language::Python);
    for _ in 0..3 {
        assert_eq!(call(&proxy, "tick", &["--oneway"]).status.code(), Some(0));
    }
    let ticks = || call(&proxy, "ticks", &["-o", "raw"]).lines;
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while ticks() != ["3"] && std::time::Instant::now() < deadline {}
    assert_eq!(ticks(), ["3"]);
}

#[test]
fn a_servant_of_several_interfaces_tells_which_operation_is_meant() {
    let Some(ice) = Ice::or_skip() else { return };
    let (_server, proxy) = ice.start_server(Language::Python);
    let rival = workspace::target_dir().join("interop/Rival.ice");
    let text = "module Rival { interface Named { string name(); } }";
    std::fs::create_dir_all(workspace::target_dir().join("interop")).expect("it can be made");
    std::fs::write(&rival, text).expect("the target folder can be written");
    let named = call(
        &proxy,
        "name",
        &["--slice", rival.to_str().expect("it is text")],
    );
    assert_eq!(named.lines, [r#"{"returnValue":"everything"}"#]);
}

#[test]
fn events_of_ice_publishers_are_shown() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut storm = ice.start_storm();
    let hub = Hub::start(&[]);
    let managers = [hub.manager(), storm.manager().to_owned()];
    for (manager, service) in managers.iter().zip(["hub", "IceStorm"]) {
        for mode in ["twoway", "ordered", "oneway", "batch"] {
            let subscriber = subscribe(manager, mode);
            let publisher = ice.start_publisher(Language::Python, manager, mode, "twoway", COUNT);
            publisher.succeed();
            assert_eq!(subscriber.succeed(), json_lines(), "{mode} from {service}");
        }
    }
    storm.peer().kill();
}

#[test]
fn ice_subscribers_get_events_of_the_command() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let hub = Hub::start(&[]);
    let managers = [hub.manager(), storm.manager().to_owned()];
    for (manager, service) in managers.iter().zip(["hub", "IceStorm"]) {
        for language in Language::ALL {
            let topic = format!("{language:?}");
            let subscriber = ice.start_subscriber(language, manager, &topic, "ordered", 2);
            let sample = r#"{"item": {"number": 0, "label": "event 0", "values": [0, 0]}}"#;
            publish(manager, &topic, "sampled", sample);
            publish(manager, &topic, "flagged", r#"["last", true]"#);
            let mut lines = subscriber.succeed();
            assert_eq!(lines.pop().as_deref(), Some("received 2"));
            assert_eq!(lines, event_lines(2), "{language:?} from {service}");
        }
    }
}

#[test]
fn topics_of_an_ice_storm_are_managed() {
    let Some(ice) = Ice::or_skip() else { return };
    let storm = ice.start_storm();
    let topic =
        |arguments: &[&str]| run(&[&["topic"], arguments, &["--hub", storm.manager()]].concat());
    assert_code(&topic(&["create", "news"]), 0, "");
    assert_code(&topic(&["create", "news"]), 5, "exists already");
    assert_code(&topic(&["info", "none"]), 4, "no topic `none`");
    let subscriber = ice.start_subscriber(Language::Python, storm.manager(), "news", "twoway", 1);
    assert_eq!(
        topic(&["list"]).lines,
        [r#"{"name":"news","subscribers":1}"#]
    );
    let info = topic(&["info", "news"]);
    assert_code(&info, 0, "this is no Floe hub");
    assert!(info.lines[0].contains(r#""published":null"#), "{info:?}");
    assert!(info.lines[0].contains(r#""state":null"#), "{info:?}");
    drop(subscriber);
    assert_code(&topic(&["remove", "news"]), 0, "removed topic `news`");
    assert_eq!(topic(&["list"]).lines, [""; 0]);
}

/// Operations of `Interop::Echo`, and a value for each as the command writes it.
const VALUES: [(&str, &str); 18] = [
    ("echoBool", "true"),
    ("echoByte", "255"),
    ("echoShort", "-32768"),
    ("echoInt", "2147483647"),
    ("echoLong", "-9223372036854775808"),
    ("echoFloat", "0.1"),
    ("echoDouble", "-1.5e+300"),
    ("echoString", r#""ünï \" code""#),
    ("echoColour", r#""green""#),
    ("echoPoint", r#"{"x":1,"y":-2}"#),
    ("echoByteSeq", "[0,255]"),
    ("echoStringSeq", r#"["","a"]"#),
    ("echoIntSeqSeq", "[[],[1,2]]"),
    ("echoStringIntDict", r#"{"a":1,"b":2}"#),
    ("echoColourPointDict", r#"{"green":{"x":1,"y":2}}"#),
    ("echoLongDictDict", r#"{"1":{"-2":3}}"#),
    ("echoObject", "null"),
    (
        "echoObject",
        r#""a/b -f facet -o -e 1.0:tcp -h 127.0.0.1 -p 1 -t 5""#,
    ),
];

/// The output of the command for the events of one Ice publisher.
fn json_lines() -> Vec<String> {
    let sampled = |number: usize| {
        let half = number as f64 / 2.0;
        format!(
            r#"{{"operation":"sampled","parameters":{{"item":{{"number":{number},"label":"event {number}","values":[{number}.0,{half:?}]}}}}}}"#
        )
    };
    let last = r#"{"operation":"flagged","parameters":{"key":"last","value":true}}"#;
    (0..COUNT - 1)
        .map(sampled)
        .chain([last.to_owned()])
        .collect()
}

fn contract() -> String {
    let path = ice::folder().join("Interop.ice");
    path.to_str()
        .expect("the path of the workspace is text")
        .to_owned()
}

fn floe(arguments: &[&str]) -> Peer {
    let mut command = Command::new(workspace::program("floe"));
    Peer::start("floe", command.args(arguments))
}

fn run(arguments: &[&str]) -> Ended {
    floe(arguments).end()
}

fn call(proxy: &str, operation: &str, arguments: &[&str]) -> Ended {
    let contract = contract();
    let call = ["call", proxy, operation, "--slice", &contract];
    run(&[&call, arguments].concat())
}

fn publish(manager: &str, topic: &str, operation: &str, json: &str) {
    let contract = contract();
    let publish = [
        "pub", topic, operation, json, "--slice", &contract, "--hub", manager,
    ];
    floe(&publish).succeed();
}

/// Subscribes to the topic that is called like the mode, for the events of one publisher.
fn subscribe(manager: &str, mode: &str) -> Peer {
    let (contract, count) = (contract(), COUNT.to_string());
    let subscribe = [
        "sub", mode, "--create", "--slice", &contract, "--hub", manager,
    ];
    let subscriber = floe(&[&subscribe[..], &["--mode", mode, "-n", &count]].concat());
    subscriber.errors_with("subscribed to topic");
    subscriber
}

#[track_caller]
fn assert_code(ended: &Ended, code: i32, text: &str) {
    assert_eq!(ended.status.code(), Some(code), "{ended:?}");
    assert!(
        ended.errors.contains(text),
        "expected `{text}` in {ended:?}"
    );
}
