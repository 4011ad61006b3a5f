//! `floe call` and `floe ping` over every transport, with and without compression.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[cfg(feature = "tls")]
use crate::certificates::Certificates;
use crate::command::{run, slice_file};
use crate::echo::{CONTRACT, Echo};
use crate::hub::Hub;

/// Calls the object, measures it, and asks how it was reached.
#[track_caller]
fn check(echo: &Echo, transport: &str, tls: &[&str]) {
    let call = [
        "call",
        &echo.proxy,
        "doubles",
        "[[1.5, -2]]",
        "--slice",
        CONTRACT,
    ];
    let called = run(&[&call[..], tls].concat()).ended(0);
    assert_eq!(called.stdout, "{\"returnValue\":[1.5,-2.0]}\n");
    let oneway = ["call", &echo.proxy, "ice_ping", "--oneway"];
    run(&[&oneway[..], tls].concat()).ended(0);
    let ping = [
        "ping",
        &echo.proxy,
        "--sizes",
        "16,128k",
        "-n",
        "2",
        "--interval",
        "0",
    ];
    let measured = run(&[&ping[..], tls].concat()).ended(0);
    assert_eq!(measured.stdout.lines().count(), 2, "{measured:?}");
    let show = ["proxy", "show", &echo.proxy];
    let shown = run(&[&show[..], tls].concat()).ended(0).json();
    let endpoint = &shown["endpoints"][0];
    assert_eq!(endpoint["outcome"], "answers", "{shown}");
    assert_eq!(endpoint["transport"], transport, "{shown}");
    assert_eq!(endpoint["cipher"].is_string(), !tls.is_empty(), "{shown}");
}

#[test]
fn tcp_ws_and_unix_carry_calls() {
    let socket = std::env::temp_dir().join(format!("floe-cli-{}.sock", std::process::id()));
    let unix = format!("unix -f {}", socket.display());
    for (transport, endpoint) in [
        ("tcp", "tcp -h 127.0.0.1 -p 0"),
        ("ws", "ws -h 127.0.0.1 -p 0 -r /objects"),
        ("unix", &unix),
    ] {
        check(&Echo::on(endpoint, &[]), transport, &[]);
    }
    // Its server was killed and not ended.
    let _ = std::fs::remove_file(socket);
}

#[cfg(feature = "tls")]
#[test]
fn ssl_and_wss_carry_calls_of_clients_with_and_without_a_certificate() {
    let certificates = Certificates::make();
    for transport in ["ssl", "wss"] {
        let endpoint = format!("{transport} -h 127.0.0.1 -p 0");
        let strict = Echo::on(&endpoint, &certificates.mutual());
        check(&strict, transport, &certificates.mutual());
        let ca_alone = certificates.ca_alone();
        let call = ["call", &strict.proxy, "ice_ping"];
        run(&[&call[..], &ca_alone].concat())
            .ended(1)
            .said("it requires a certificate from us");
        let open = Echo::on(&endpoint, &certificates.server_alone());
        check(&open, transport, &ca_alone);
        run(&["call", &open.proxy, "ice_ping"])
            .ended(2)
            .said("it needs certificates")
            .said("--tls-ca FILE names the CAs to trust");
    }
}

#[cfg(feature = "tls")]
#[test]
fn the_certificate_of_a_server_is_shown() {
    let certificates = Certificates::make();
    let echo = Echo::on("ssl -h 127.0.0.1 -p 0", &certificates.server_alone());
    let show = ["proxy", "show", &echo.proxy];
    let shown = run(&[&show[..], &certificates.ca_alone()].concat());
    let shown = shown.ended(0).json();
    let certificate = &shown["endpoints"][0]["certificates"][0];
    assert_eq!(certificate["subject"], "CN=floe test", "{shown}");
    assert_eq!(
        certificate["names"],
        serde_json::json!(["127.0.0.1"]),
        "{shown}"
    );
}

#[test]
fn a_hub_that_could_answer_nothing_is_refused() {
    let udp = ["serve", "--transient", "--listen", "udp -h 127.0.0.1 -p 0"];
    run(&udp)
        .ended(2)
        .said("expected an endpoint of tcp, ssl, ws, wss or unix among those of the hub, got only \"udp -h 127.0.0.1 -p ")
        .said("over udp a hub takes events and answers nothing");
}

#[test]
fn udp_carries_a_oneway_call_and_no_other() {
    let hub = Hub::with(&["--transient", "--listen", "udp -h 127.0.0.1 -p 0"]);
    hub.run(&["topic", "create", "news"]).ended(0);
    let slice = slice_file(
        "datagram.ice",
        "module M { interface I { void told(int n); int asked(); } }",
    );
    let subscriber = hub.running(&["sub", "news", "-n", "1", "--slice", &slice]);
    subscriber.talk("subscribed to topic");
    let udp = hub.manager.split(':').find(|it| it.starts_with("udp "));
    let publisher = format!("IceStorm/news.publish:{}", udp.expect("it listens on udp"));
    let told = [
        "call",
        &publisher,
        "told",
        "[7]",
        "--slice",
        &slice,
        "--datagram",
    ];
    run(&told).ended(0);
    let event = r#"{"operation":"told","parameters":{"n":7}}"#;
    assert_eq!(subscriber.line(), event);
    let asked = ["call", &publisher, "asked", "--slice", &slice];
    run(&[&asked[..], &["--datagram"]].concat())
        .ended(2)
        .said("omit --oneway or --datagram");
    run(&asked).ended(2).said("expected tcp, ");
}

#[test]
fn bzip2_makes_both_messages_of_a_call_short() {
    let echo = Echo::start(&[]);
    let relay = Relay::start(echo.port());
    let zeros = serde_json::json!([vec![0.0; 10_000]]).to_string();
    let proxy = format!("Floe/Echo:tcp -h 127.0.0.1 -p {}", relay.port);
    let count = |arguments: &[&str]| {
        let before = relay.count.load(Ordering::Relaxed);
        let call = ["call", &proxy, "doubles", &zeros, "--slice", CONTRACT];
        run(&[&call[..], arguments].concat()).ended(0);
        relay.count.load(Ordering::Relaxed) - before
    };
    assert!(count(&[]) > 160_000);
    assert!(count(&["--compress", "bzip2"]) < 2_000);
    // It was not offered at this endpoint.
    #[cfg(feature = "zstd")]
    assert!(count(&["--compress", "zstd"]) < 2_000);
    assert!(count(&["--compress", "none"]) > 160_000);
}

/// Hands bytes on in both directions, and counts them.
struct Relay {
    port: u16,
    count: Arc<AtomicUsize>,
}

impl Relay {
    fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
        let port = listener.local_addr().expect("it is bound").port();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else {
                    return;
                };
                hand_on(&client, &server, &counted);
                hand_on(&server, &client, &counted);
            }
        });
        Self { port, count }
    }
}

fn hand_on(from: &TcpStream, to: &TcpStream, count: &Arc<AtomicUsize>) {
    let clone = |stream: &TcpStream| stream.try_clone().expect("there are descriptors");
    let (mut from, mut to, count) = (clone(from), clone(to), count.clone());
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            // Before it is handed on: whoever gets it may look at the count.
            count.fetch_add(len, Ordering::Relaxed);
            if to.write_all(&buffer[..len]).is_err() {
                return;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
}
