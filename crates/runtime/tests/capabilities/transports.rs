//! Calls over every transport: one suite, run with each.

use std::sync::Arc;

use floe::tls::{Tls, TlsFile, TlsIdentity, TlsSettings};
use floe::{Communicator, Settings, TypedProxy};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::{Echo, NOTHING, Server, encapsulation, returned, soon};
use crate::raw::header;

macro_rules! over_each_transport {
    ($($transport:ident: $endpoint:expr;)+) => {$(
        mod $transport {
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn messages_of_all_sizes_travel_both_ways_at_once() {
                super::messages_of_all_sizes_travel_both_ways_at_once($endpoint).await;
            }

            #[tokio::test]
            async fn many_clients_call_at_once() {
                super::many_clients_call_at_once($endpoint).await;
            }

            #[tokio::test]
            async fn a_shutdown_finishes_what_was_begun_and_frees_the_address() {
                super::a_shutdown_finishes_what_was_begun_and_frees_the_address($endpoint).await;
            }

            #[tokio::test]
            async fn a_peer_that_vanishes_leaves_the_server_alone() {
                super::a_peer_that_vanishes_leaves_the_server_alone($endpoint).await;
            }
        }
    )+};
}

over_each_transport! {
    tcp: "tcp -h 127.0.0.1 -p 0";
    unix: &super::unix_endpoint();
    ssl: "ssl -h 127.0.0.1 -p 0";
    ws: "ws -h 127.0.0.1 -p 0 -r /echo";
    wss: "wss -h 127.0.0.1 -p 0";
}

/// Returns a unique path in the folder of temporary files.
pub(crate) fn unix_endpoint() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("floe-capability-{}-{count}.sock", std::process::id());
    format!("unix -f {}", std::env::temp_dir().join(name).display())
}

/// Settings of both sides: one certificate for loopback, and the CA that signed it.
pub(crate) fn settings() -> Settings {
    use std::sync::OnceLock;
    static TLS: OnceLock<Tls> = OnceLock::new();
    let tls = TLS.get_or_init(|| {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &ca).unwrap();
        let mut settings = TlsSettings::default();
        settings
            .ca_files
            .push(TlsFile::Bytes(ca.pem().into_bytes()));
        let identity = [certificate.pem(), key.serialize_pem()]
            .concat()
            .into_bytes();
        let file = TlsFile::Bytes(identity);
        settings.identity = Some(TlsIdentity::pem(file.clone(), file));
        Tls::load(settings).unwrap()
    });
    let mut settings = Settings::default();
    settings.tls = Some(tls.clone());
    settings
}

pub(crate) async fn start(endpoint: &str) -> Server {
    start_with(endpoint, settings()).await
}

pub(crate) async fn start_with(endpoint: &str, settings: Settings) -> Server {
    let communicator = Communicator::with_settings(settings);
    let adapter = communicator
        .adapter(endpoint)
        .await
        .expect("a free address");
    let echo = Arc::new(Echo::default());
    adapter.add("echo", echo.clone()).expect("a new identity");
    adapter.activate();
    Server {
        communicator,
        adapter,
        echo,
    }
}

async fn messages_of_all_sizes_travel_both_ways_at_once(endpoint: &str) {
    let server = start(endpoint).await;
    let client = Communicator::with_settings(settings());
    let proxy = server.proxy_of(&client, "echo");
    let calls: Vec<_> = [0, 1, 100, 16_384, 65_536, 1_000_000]
        .into_iter()
        .cycle()
        .take(60)
        .map(|len: usize| {
            let proxy = proxy.clone();
            let payload: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            tokio::spawn(async move {
                let parameters = encapsulation(&payload);
                assert!(returned(&proxy, "echo", &parameters).await.unwrap() == parameters);
            })
        })
        .collect();
    for call in calls {
        soon(call).await.unwrap();
    }
    soon(client.shutdown()).await;
}

async fn many_clients_call_at_once(endpoint: &str) {
    let server = start(endpoint).await;
    let calls: Vec<_> = (0..40)
        .map(|_| {
            let proxy = server.proxy_of(&Communicator::with_settings(settings()), "echo");
            tokio::spawn(async move { proxy.ice_ping().await })
        })
        .collect();
    for call in calls {
        soon(call).await.unwrap().unwrap();
    }
}

async fn a_shutdown_finishes_what_was_begun_and_frees_the_address(endpoint: &str) {
    let server = start(endpoint).await;
    let client = Communicator::with_settings(settings());
    let proxy = server.proxy_of(&client, "echo");
    soon(proxy.ice_ping()).await.unwrap();
    let slow = {
        let proxy = proxy.clone();
        tokio::spawn(async move { returned(&proxy, "slow", &NOTHING).await })
    };
    server.has_begun(1).await;
    let started = std::time::Instant::now();
    soon(server.communicator.shutdown()).await;
    assert_eq!(slow.await.unwrap().unwrap(), NOTHING);
    assert!(started.elapsed().as_secs() < 5, "nobody had to be dropped");
    let again = start(&server.adapter.endpoints()[0].to_string()).await;
    soon(proxy.ice_ping()).await.unwrap();
    drop(again);
}

async fn a_peer_that_vanishes_leaves_the_server_alone(endpoint: &str) {
    let server = start(endpoint).await;
    let other = server.proxy_of(&Communicator::with_settings(settings()), "echo");
    soon(other.ice_ping()).await.unwrap();
    for _ in 0..3 {
        let settings = settings();
        let text = format!("echo:{}", server.adapter.endpoints()[0]);
        // A program that ends in the middle of a call.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let proxy: floe::Proxy =
                    Communicator::with_settings(settings).proxy(&text).unwrap();
                let call = returned(&proxy, "slow", &NOTHING);
                let _ = tokio::time::timeout(std::time::Duration::from_millis(20), call).await;
            });
        })
        .join()
        .unwrap();
        soon(other.ice_ping()).await.unwrap();
    }
    assert_eq!(
        soon(returned(&other, "slow", &NOTHING)).await.unwrap(),
        NOTHING
    );
}

#[tokio::test]
async fn handshakes_that_dawdle_hold_up_nobody_and_are_given_up() {
    let mut settings = settings();
    settings.connect_timeout = std::time::Duration::from_millis(300);
    let communicator = Communicator::with_settings(settings);
    for endpoint in [
        "ssl -h 127.0.0.1 -p 0",
        "ws -h 127.0.0.1 -p 0",
        "wss -h 127.0.0.1 -p 0",
    ] {
        let adapter = communicator.adapter(endpoint).await.unwrap();
        adapter.add("echo", Echo::default()).unwrap();
        adapter.activate();
        let port = adapter.endpoints()[0].port().unwrap();
        let mut dawdlers = Vec::new();
        for _ in 0..300 {
            let mut dawdler = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            dawdler.write_all(&[22, 3][..1]).await.unwrap();
            dawdlers.push(dawdler);
        }
        let client = Communicator::with_settings(self::settings());
        let proxy: floe::Proxy = client
            .proxy(&format!("echo:{}", adapter.endpoints()[0]))
            .unwrap();
        soon(proxy.ice_ping()).await.unwrap();
        for dawdler in &mut dawdlers {
            let mut rest = Vec::new();
            let _ = soon(dawdler.read_to_end(&mut rest)).await;
            assert!(rest.len() < 100, "at most an alert");
        }
        soon(proxy.ice_ping()).await.unwrap();
    }
}

#[tokio::test]
async fn more_handshakes_that_dawdle_than_may_hold_up_nobody_for_their_whole_time() {
    let server = start("ws -h 127.0.0.1 -p 0").await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let mut dawdlers = Vec::new();
    for _ in 0..300 {
        dawdlers.push(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    }
    let begun = std::time::Instant::now();
    soon(server.proxy("echo").ice_ping()).await.unwrap();
    assert!(begun.elapsed().as_secs() < 4, "after {:?}", begun.elapsed());
}

/// A frame of a client, with a mask that changes nothing.
fn frame(start: u8, payload: &[u8]) -> Vec<u8> {
    let len = 0x80 | u8::try_from(payload.len()).expect("a short one");
    [&[start, len, 0, 0, 0, 0], payload].concat()
}

/// The request with which a client opens a WebSocket.
const OPENING: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\
                         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                         Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n";

/// As servers of Ice do it (observed: 3.7.8, 3.8.3).
#[tokio::test]
async fn what_came_before_the_end_of_a_websocket_is_answered() {
    let server = start("ws -h 127.0.0.1 -p 0").await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let ping = b"IceP\x01\x00\x01\x00\x00\x00\x2a\x00\x00\x00\x01\x00\x00\x00\x04echo\x00\x00\
                 \x08ice_ping\x02\x00\x06\x00\x00\x00\x01\x01";
    let close = frame(0x88, &1000_u16.to_be_bytes());
    let text = frame(0x81, b"hello");
    for (end, answer) in [(close, 1000_u16), (text, 1002)] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(OPENING).await.unwrap();
        stream
            .write_all(&[frame(0x82, ping), end].concat())
            .await
            .unwrap();
        let mut all = Vec::new();
        soon(stream.read_to_end(&mut all)).await.unwrap();
        let reply = b"IceP\x01\x00\x01\x00\x02\x00\x19\x00\x00\x00\x01\x00\x00\x00\x00";
        let has_reply = all.windows(reply.len()).any(|window| window == reply);
        assert!(has_reply, "{:?}", String::from_utf8_lossy(&all));
        let last = [&[0x88, 2][..], &answer.to_be_bytes()].concat();
        assert!(all.ends_with(&last), "{:?}", &all[all.len() - 4..]);
    }
}

#[tokio::test]
async fn a_websocket_with_a_broken_message_is_closed_with_a_code_that_says_so() {
    let server = start("ws -h 127.0.0.1 -p 0").await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    for (message, code) in [
        (b"garbage".repeat(3), 1002_u16),
        (header(9, 14), 1002),
        (header(0, i32::MAX), 1009),
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(OPENING).await.unwrap();
        stream.write_all(&frame(0x82, &message)).await.unwrap();
        let mut all = Vec::new();
        soon(stream.read_to_end(&mut all)).await.unwrap();
        let last = [&[0x88, 2][..], &code.to_be_bytes()].concat();
        assert!(all.ends_with(&last), "{:?}", &all[all.len() - 4..]);
    }
}

#[tokio::test]
async fn a_browser_at_a_websocket_port_is_told_what_is_expected() {
    let server = start("ws -h 127.0.0.1 -p 0").await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let mut browser = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    browser
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    soon(browser.read_to_string(&mut answer)).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
        "{answer}"
    );
    assert!(
        answer.contains("expected the header `Upgrade: websocket`"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_plain_client_of_an_encrypted_port_hears_what_it_may_have_met() {
    let server = start("ssl -h 127.0.0.1 -p 0").await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let proxy: floe::Proxy = Communicator::new()
        .proxy(&format!("echo:tcp -h 127.0.0.1 -p {port} -t 200"))
        .unwrap();
    let error = soon(proxy.ice_ping()).await.unwrap_err().to_string();
    assert!(error.contains("ssl"), "{error}");
}

#[tokio::test]
async fn an_encrypted_client_of_a_plain_port_hears_what_it_met() {
    let server = start("tcp -h 127.0.0.1 -p 0").await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    for (protocol, expected) in [
        ("ssl", "is its endpoint `tcp` and not `ssl`"),
        ("ws", "is its endpoint `tcp` and not `ws`"),
    ] {
        let client = Communicator::with_settings(settings());
        let text = format!("echo:{protocol} -h 127.0.0.1 -p {port}");
        let proxy: floe::Proxy = client.proxy(&text).unwrap();
        let error = soon(proxy.ice_ping()).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_of_a_unix_socket_has_the_mode_that_was_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let endpoint = unix_endpoint();
    let path = endpoint.strip_prefix("unix -f ").unwrap();
    for mode in [0o600, 0o660, 0o666] {
        let mut settings = Settings::default();
        settings.unix_socket_mode = Some(mode);
        let server = Communicator::with_settings(settings);
        let adapter = server.adapter(&endpoint).await.unwrap();
        adapter.add("echo", Echo::default()).unwrap();
        adapter.activate();
        let metadata = std::fs::metadata(path).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, mode);
        let proxy: floe::Proxy = Communicator::new()
            .proxy(&format!("echo:{}", adapter.endpoints()[0]))
            .unwrap();
        soon(proxy.ice_ping()).await.unwrap();
        soon(server.shutdown()).await;
    }
}
