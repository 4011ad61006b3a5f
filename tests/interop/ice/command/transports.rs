//! Calls of the command over every transport that Ice has, with and without compression.

use std::time::{Duration, Instant};

use floe_tests::certificates::Certificates;
use floe_tests::ice::{Ice, Language, was_traced};
use floe_tests::peer::Peer;
use serde_json::Value as Json;

use super::{assert_code, call, run};

/// An Ice server that listens there; its proxy.
fn start_server(
    ice: &Ice,
    language: Language,
    endpoint: &str,
    options: &[String],
) -> (Peer, String) {
    let mut server = ice.peer("server", language);
    server
        .arg(format!("--Server.Endpoints={endpoint}"))
        .args(options);
    let mut server = Peer::start("the Ice server", &mut server);
    let proxy = server.ready();
    (server, proxy)
}

/// Calls with a result, with an exception and without an answer, and asks for the connection.
#[track_caller]
fn check(proxy: &str, transport: &str, tls: &[&str]) {
    let value = r#"{"value":"ünï"}"#;
    let echoed = call(proxy, "echoString", &[&[value], tls].concat());
    assert_eq!(
        echoed.lines,
        [r#"{"returnValue":"ünï","copy":"ünï"}"#],
        "{echoed:?}"
    );
    let failed = call(proxy, "fail", &[&["1"], tls].concat());
    assert_code(&failed, 1, "the operation threw ::Interop::E1");
    assert_eq!(
        failed.lines,
        [r#"{"$exception":"::Interop::E1","code":11}"#]
    );
    let sent = call(proxy, "tick", &[&["--oneway"], tls].concat());
    assert_code(&sent, 0, "");
    wait_for_ticks(proxy, "1", tls);
    let shown = run(&[&["proxy", "show", proxy], tls].concat());
    assert_code(&shown, 0, "");
    let shown: Json = serde_json::from_str(&shown.lines[0]).expect("JSON");
    let endpoint = &shown["endpoints"][0];
    assert_eq!(endpoint["outcome"], "answers", "{shown}");
    assert_eq!(endpoint["transport"], transport, "{shown}");
    let certificates = endpoint["certificates"].as_array().expect("a list");
    assert_eq!(certificates.is_empty(), tls.is_empty(), "{shown}");
}

#[track_caller]
fn wait_for_ticks(proxy: &str, count: &str, tls: &[&str]) {
    let ticks = || call(proxy, "ticks", &[&["-o", "raw"], tls].concat()).lines;
    let deadline = Instant::now() + Duration::from_secs(30);
    while ticks() != [count] && Instant::now() < deadline {}
    assert_eq!(ticks(), [count]);
}

#[test]
fn calls_reach_ice_servers_over_tcp_and_websockets() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        for (transport, endpoint) in [
            ("tcp", "tcp -h 127.0.0.1 -p 0"),
            ("ws", "ws -h 127.0.0.1 -p 0 -r /objects"),
        ] {
            let (_server, proxy) = start_server(&ice, language, endpoint, &[]);
            check(&proxy, transport, &[]);
        }
    }
}

#[test]
fn calls_reach_ice_servers_over_ssl_and_wss_with_and_without_a_client_certificate() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let file = |name| certificates.path(name).display().to_string();
    let (ca, own, key) = (file("ca.pem"), file("client.pem"), file("client.key"));
    let ca_alone = ["--tls-ca", &ca];
    let mutual = ["--tls-ca", &ca, "--tls-cert", &own, "--tls-key", &key];
    for language in Language::ALL {
        for transport in ["ssl", "wss"] {
            let endpoint = format!("{transport} -h 127.0.0.1 -p 0");
            let (_strict, proxy) =
                start_server(&ice, language, &endpoint, &ice_ssl(&certificates, 2));
            check(&proxy, transport, &mutual);
            let refused = call(&proxy, "nothing", &ca_alone);
            assert_code(&refused, 1, "certificate");
            let (_open, proxy) =
                start_server(&ice, language, &endpoint, &ice_ssl(&certificates, 0));
            check(&proxy, transport, &ca_alone);
        }
    }
}

#[test]
fn datagrams_reach_ice_servers() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let endpoints = "tcp -h 127.0.0.1 -p 0:udp -h 127.0.0.1 -p 0";
        let (_server, proxy) = start_server(&ice, language, endpoints, &[]);
        assert_code(&call(&proxy, "tick", &["--datagram"]), 0, "");
        wait_for_ticks(&proxy, "1", &[]);
        assert_code(
            &call(&proxy, "ticks", &["--datagram"]),
            2,
            "omit --oneway or --datagram",
        );
    }
}

#[test]
fn requests_and_replies_are_compressed_as_ice_does_it() {
    let Some(ice) = Ice::or_skip() else { return };
    let text = format!("{{\"value\":\"{}\"}}", "tea ".repeat(500));
    for language in Language::ALL {
        let trace = ["--Ice.Trace.Protocol=1".to_owned()];
        for name in ["none", "zstd"] {
            let (server, proxy) = start_server(&ice, language, "tcp -h 127.0.0.1 -p 0", &trace);
            let echoed = call(&proxy, "echoString", &[&text, "--compress", name]);
            assert_code(&echoed, 0, "");
            assert!(echoed.lines[0].contains("tea tea tea"));
            // What was not offered is bzip2, which every Ice understands.
            let is_compressed = name != "none";
            let trace = server.errors_with("received close connection");
            assert_eq!(
                was_traced(&trace, "received request", 2),
                is_compressed,
                "{trace}"
            );
            assert_eq!(
                was_traced(&trace, "sending reply", 2),
                is_compressed,
                "{trace}"
            );
        }
    }
}

/// The options that give an Ice server its identity. Clients are asked for theirs as `IceSSL.VerifyPeer` says.
fn ice_ssl(certificates: &Certificates, verify_peer: u8) -> [String; 6] {
    [
        "--Ice.Plugin.IceSSL=IceSSL:createIceSSL".to_owned(),
        format!("--IceSSL.DefaultDir={}", certificates.folder().display()),
        "--IceSSL.CAs=ca.pem".to_owned(),
        "--IceSSL.CertFile=server.pem".to_owned(),
        "--IceSSL.KeyFile=server.key".to_owned(),
        format!("--IceSSL.VerifyPeer={verify_peer}"),
    ]
}
