//! `floe ping` and `floe proxy show` of objects in unmodified Ice servers.

use std::process::Command;

use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;
use floe_tests::workspace;
use serde_json::Value as Json;

use super::{assert_code, run};

#[test]
fn any_ice_object_is_measured() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (_server, proxy) = ice.start_server(language);
        let measured = run(&["ping", &proxy, "-n", "20", "--interval", "0"]);
        assert_code(&measured, 0, "");
        let row: Json = serde_json::from_str(&measured.lines[0]).expect("JSON");
        assert_eq!(
            (&row["bytes"], &row["count"]),
            (&0.into(), &20.into()),
            "{row}"
        );
        let sized = run(&["ping", &proxy, "--sizes", "16"]);
        assert_code(&sized, 4, "contracts/Floe/Echo.ice");
        let other = proxy.replacen("everything", "nothing", 1);
        assert_code(&run(&["ping", &other]), 4, "object does not exist");
    }
}

#[test]
fn an_ice_object_with_the_contract_is_measured_with_every_size() {
    let Some(ice) = Ice::or_skip() else { return };
    let (_server, proxy) = start_echo(&ice);
    let sizes = [
        "--sizes",
        "16..8M",
        "-n",
        "2",
        "--interval",
        "0",
        "--warm-up",
        "0",
    ];
    let measured = run(&[&["ping", &proxy][..], &sizes].concat());
    assert_code(&measured, 0, "");
    assert_eq!(measured.lines.len(), 20, "{measured:?}");
    let last: Json = serde_json::from_str(&measured.lines[19]).expect("JSON");
    assert_eq!(last["bytes"], 8 << 20);
    let compressed = ["--sizes", "64k", "-n", "2", "--compress", "bzip2"];
    assert_code(&run(&[&["ping", &proxy][..], &compressed].concat()), 0, "");
}

#[test]
fn a_message_that_an_ice_server_does_not_take_is_explained() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (_server, proxy) = ice.start_server(language);
        // Its limit is that of Ice, 1 MiB, and it gives up before it looks for the operation.
        let measured = run(&["ping", &proxy, "--sizes", "2M", "--warm-up", "0"]);
        assert_code(&measured, 1, "Ice.MessageSizeMax of an Ice peer");
    }
}

#[test]
fn an_ice_object_tells_its_interfaces_and_facets() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (_server, proxy) = ice.start_server(language);
        let facets = ["--facet", "facet1", "--facet", "facet2"];
        let shown = run(&[&["proxy", "show", &proxy][..], &facets].concat());
        assert_code(&shown, 0, "");
        let shown: Json = serde_json::from_str(&shown.lines[0]).expect("JSON");
        assert_eq!(shown["type"], "::Interop::Everything");
        assert_eq!(shown["facets"], serde_json::json!(["", "facet1"]));
        assert_eq!(
            shown["proxy"],
            proxy.as_str(),
            "it is written as Ice writes it"
        );
    }
}

/// The server of the example, in Ice for Python.
fn start_echo(ice: &Ice) -> (Peer, String) {
    let mut command = Command::new(ice.python());
    command
        .arg(workspace::root().join("examples/echo/server.py"))
        .arg("tcp -h 127.0.0.1 -p 0");
    let mut server = Peer::start("the echo server", &mut command);
    let proxy = server.ready();
    (server, proxy)
}
