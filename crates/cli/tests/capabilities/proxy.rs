//! `floe proxy`.

use serde_json::json;

use crate::command::{Ran, run};
use crate::echo::Echo;
use crate::hub::Hub;

fn parse(text: &str, arguments: &[&str]) -> Ran {
    run(&[&["proxy", "parse", text], arguments].concat())
}

fn show(text: &str, arguments: &[&str]) -> Ran {
    run(&[&["proxy", "show", text], arguments].concat())
}

#[test]
fn every_part_of_a_proxy_is_told() {
    let text =
        r#""a b/c:d" -f "the facet" -O -s -p 1.2 -e 1.0:ssl -h "::1" -p 4062 -t infinite -z"#;
    let parsed = parse(text, &[]).ended(0).json();
    for (key, value) in [
        ("nil", json!(false)),
        ("name", json!("c:d")),
        ("category", json!("a b")),
        ("facet", json!("the facet")),
        ("mode", json!("batch oneway")),
        ("secure", json!(true)),
        ("protocol", json!("1.2")),
        ("encoding", json!("1.0")),
        ("target", json!("direct")),
    ] {
        assert_eq!(parsed[key], value, "{key} in {parsed}");
    }
    let endpoint = &parsed["endpoints"][0];
    for (key, value) in [
        ("transport", json!("ssl")),
        ("host", json!("::1")),
        ("port", json!(4062)),
        ("timeout_ms", json!("infinite")),
        ("compress", json!(true)),
    ] {
        assert_eq!(endpoint[key], value, "{key} in {parsed}");
    }
}

#[test]
fn every_kind_of_endpoint_is_told() {
    let text = "x:tcp -h a -p 1 --sourceAddress 10.0.0.1:ws -p 2 -r /r:wss -p 3:unix -f /s\
                :udp -h 239.1.1.1 -p 4 --interface eth0 --ttl 5:opaque -t 99 -e 1.1 -v AQID";
    let parsed = parse(text, &[]).ended(0).json();
    let endpoints = parsed["endpoints"].as_array().expect("a list").clone();
    let transports: Vec<_> = endpoints.iter().map(|it| it["transport"].clone()).collect();
    assert_eq!(transports, ["tcp", "ws", "wss", "unix", "udp", "opaque"]);
    assert_eq!(endpoints[0]["source_address"], "10.0.0.1");
    assert_eq!(endpoints[1]["resource"], "/r");
    assert_eq!(endpoints[3]["path"], "/s");
    assert_eq!(
        (&endpoints[4]["interface"], &endpoints[4]["ttl"]),
        (&json!("eth0"), &json!(5))
    );
    assert_eq!(
        (&endpoints[5]["type"], &endpoints[5]["bytes"]),
        (&json!(99), &json!("010203"))
    );
    let keys = |it: &serde_json::Value| {
        it.as_object()
            .map(|it| it.keys().cloned().collect::<Vec<_>>())
    };
    assert!(
        endpoints.iter().all(|it| keys(it) == keys(&endpoints[0])),
        "{endpoints:?}"
    );
}

#[test]
fn the_text_is_as_ice_writes_it() {
    let text = |proxy: &str| parse(proxy, &["-o", "raw"]).ended(0).stdout;
    assert_eq!(text("x:default -p 1"), "x -t -e 1.1:tcp -p 1 -t 60000\n");
    assert_eq!(text(" x   -o @ Adapter"), "x -o -e 1.1 @ Adapter\n");
    let parsed = parse("x -t -e 1.1:tcp -h h -p 1 -t 60000", &[])
        .ended(0)
        .json();
    assert_eq!(parsed["text_38"], "x:tcp -h h -p 1");
}

#[test]
fn proxies_without_endpoints_and_nil_are_told() {
    let indirect = parse("x@Adapter", &[]).ended(0).json();
    assert_eq!(
        (&indirect["target"], &indirect["adapter_id"]),
        (&json!("indirect"), &json!("Adapter"))
    );
    assert_eq!(parse("x", &[]).ended(0).json()["target"], "well-known");
    assert_eq!(parse("", &[]).ended(0).json()["nil"], true);
    let skipped = parse("x:carrier -n pigeon:tcp -p 1", &[]).ended(0).json();
    assert_eq!(skipped["skipped_endpoints"], json!(["carrier -n pigeon"]));
}

#[test]
fn people_get_a_table_with_the_columns_that_say_something() {
    let ran = parse("x:tcp -h localhost -p 1:ws -p 2", &["-o", "table"]).ended(0);
    assert!(
        ran.stdout.contains("mode               twoway\n"),
        "{ran:?}"
    );
    let heading = "TRANSPORT  TYPE  HOST       PORT  RESOURCE  TIMEOUT MS\n";
    assert!(ran.stdout.contains(heading), "{ran:?}");
}

#[test]
fn what_is_no_proxy_is_refused_with_the_place() {
    parse("x:tpc -p 1", &[])
        .ended(2)
        .said("at byte 2")
        .said("help: a proxy is written");
    show("x:tpc -p 1", &[]).ended(2).said("at byte 2");
}

#[test]
fn an_object_tells_its_interfaces_over_each_endpoint() {
    let echo = Echo::on(
        "tcp -h 127.0.0.1 -p 0",
        &[
            "--listen",
            "ws -h 127.0.0.1 -p 0",
            "--listen",
            "udp -h 127.0.0.1 -p 0",
        ],
    );
    let proxy = format!(
        "{}:tcp -h 127.0.0.1 -p 1:opaque -t 99 -e 1.1 -v AQID",
        echo.proxy
    );
    let shown = show(&proxy, &[]).ended(0).json();
    assert_eq!(shown["type"], "::Floe::Echo");
    assert_eq!(shown["ids"], json!(["::Floe::Echo", "::Ice::Object"]));
    let endpoints = shown["endpoints"].as_array().expect("a list");
    let outcome = |index: usize| endpoints[index]["outcome"].as_str().expect("text");
    assert_eq!((outcome(0), outcome(1)), ("answers", "answers"));
    assert_eq!(outcome(2), "not tried: datagrams get no answer");
    assert!(outcome(3).starts_with("cannot connect to"), "{shown}");
    assert_eq!(outcome(4), "not tried: its transport is not known here");
    let remote = format!("127.0.0.1:{}", echo.port());
    assert_eq!(endpoints[0]["remote_address"], remote);
    assert!(
        endpoints[0]["connected_ms"]
            .as_f64()
            .is_some_and(|ms| ms > 0.0)
    );
    let table = show(&proxy, &["-o", "table"]).ended(0).stdout;
    for text in [
        "type    ::Floe::Echo\n",
        "facets  (default)\n",
        "outcome         answers\n",
    ] {
        assert!(table.contains(text), "expected {text} in {table}");
    }
}

#[test]
fn facets_are_looked_for_by_name() {
    let hub = Hub::start();
    let shown = show(&hub.manager, &["--facet", "other"]).ended(0).json();
    assert_eq!(shown["facets"], json!([""]));
    let other = hub.manager.replacen(" -t", " -f other -t", 1);
    let ran = show(&other, &[]).ended(4).said("facet does not exist");
    assert_eq!(ran.json()["facets"], json!([]));
}

#[test]
fn why_an_object_is_not_there_is_told_for_each_endpoint() {
    let echo = Echo::start(&[]);
    let own = echo.proxy.split_once(':').expect("it has an endpoint").1;
    let ran = show(&format!("nobody:{own}:tcp -h 127.0.0.1 -p 1"), &[]);
    let shown = ran.ended(4).said("object does not exist").json();
    assert_eq!(shown["type"], json!(null));
    let outcome = shown["endpoints"][0]["outcome"].as_str().expect("text");
    assert!(outcome.starts_with("object does not exist"), "{shown}");
    show("x:tcp -h 127.0.0.1 -p 1", &[])
        .ended(5)
        .said("is the server running");
    show(&format!("x -s:{own}"), &[])
        .ended(2)
        .said("no endpoint");
    show("x@Adapter", &[]).ended(2).said("--locator PROXY");
    let nobody = ["--locator", "IceGrid/Locator:tcp -h 127.0.0.1 -p 1"];
    show("x@Adapter", &nobody)
        .ended(5)
        .said("cannot ask the locator");
    // It is no locator, but it can be asked.
    let at_echo = format!("IceGrid/Locator:{own}");
    show("x@Adapter", &["--locator", &at_echo])
        .ended(4)
        .said("cannot ask the locator");
}
