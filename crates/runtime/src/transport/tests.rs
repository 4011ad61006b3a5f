//! The promises of every transport, tested with each of them.

use std::future::poll_fn;
use std::io;
use std::time::Duration;

use floe_wire::reference::{Endpoint, parse_endpoints};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout};

use super::{Accepted, Listening, Setup, Stream, connect, listen};

/// Makes an endpoint to listen on, with a unique name.
type MakeEndpoint = fn() -> String;

macro_rules! conformance {
    ($($transport:ident: $endpoint:expr;)+) => {$(
        mod $transport {
            const ENDPOINT: super::MakeEndpoint = $endpoint;

            #[tokio::test]
            async fn bytes_arrive_in_order_in_both_directions() {
                super::bytes_arrive_in_order_in_both_directions(ENDPOINT).await;
            }

            #[tokio::test]
            async fn a_slow_reader_holds_the_writer_back_without_loss() {
                super::a_slow_reader_holds_the_writer_back_without_loss(ENDPOINT).await;
            }

            #[tokio::test]
            async fn a_stream_that_is_shut_down_ends_at_both_ends() {
                super::a_stream_that_is_shut_down_ends_at_both_ends(ENDPOINT).await;
            }

            #[tokio::test]
            async fn a_stream_ends_when_the_peer_drops_it() {
                super::a_stream_ends_when_the_peer_drops_it(ENDPOINT).await;
            }

            #[tokio::test]
            async fn connecting_without_a_listener_fails() {
                super::connecting_without_a_listener_fails(ENDPOINT).await;
            }

            #[tokio::test]
            async fn many_streams_are_accepted_concurrently() {
                super::many_streams_are_accepted_concurrently(ENDPOINT).await;
            }
        }
    )+};
}

conformance! {
    tcp: || "tcp -h 127.0.0.1 -p 0".into();
    tcp_v6: || "tcp -h \"::1\" -p 0".into();
    unix: super::unix_endpoint;
    ssl: || "ssl -h 127.0.0.1 -p 0".into();
    ws: || "ws -h 127.0.0.1 -p 0 -r /floe".into();
    wss: || "wss -h 127.0.0.1 -p 0".into();
}

/// Makes a path in the folder of temporary files.
fn unix_endpoint() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("floe-transport-{}-{count}.sock", std::process::id());
    format!("unix -f {}", std::env::temp_dir().join(name).display())
}

async fn bytes_arrive_in_order_in_both_directions(endpoint: MakeEndpoint) {
    let (mut client, mut server) = pair(&bind(&endpoint()).await).await;
    for len in [1, 14, 1000, 100_000] {
        for (from, to) in [
            (&client.writer, &mut server.reader),
            (&server.writer, &mut client.reader),
        ] {
            let bytes = pattern(len);
            let mut read = vec![0; len];
            let (written, arrived) = tokio::join!(
                write_all(&**from, &bytes),
                in_time(to.read_exact(&mut read))
            );
            written.unwrap();
            arrived.unwrap();
            assert!(read == bytes, "{len} bytes");
        }
    }
}

async fn a_slow_reader_holds_the_writer_back_without_loss(endpoint: MakeEndpoint) {
    const LEN: usize = 64 << 20;
    let (client, mut server) = pair(&bind(&endpoint()).await).await;
    let bytes = pattern(LEN);
    let mut taken = 0;
    let refused = loop {
        match client.writer.try_write(&bytes[taken..]) {
            Ok(count) => taken += count,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    assert!(taken < LEN / 2, "{taken} bytes are held somewhere");
    let rest = &bytes[taken..];
    let mut read = vec![0; LEN];
    let (written, arrived) = tokio::join!(
        write_all(&*client.writer, rest),
        in_time(server.reader.read_exact(&mut read))
    );
    written.unwrap();
    arrived.unwrap();
    assert!(read == bytes);
}

async fn a_stream_that_is_shut_down_ends_at_both_ends(endpoint: MakeEndpoint) {
    let (mut client, mut server) = pair(&bind(&endpoint()).await).await;
    write_all(&*client.writer, b"last words").await.unwrap();
    client.writer.shutdown();
    let mut read = Vec::new();
    in_time(server.reader.read_to_end(&mut read)).await.unwrap();
    assert_eq!(read, b"last words");
    read_to_end_of(&mut client).await;
    assert!(client.writer.try_write(b"more").is_err());
}

async fn a_stream_ends_when_the_peer_drops_it(endpoint: MakeEndpoint) {
    let (client, mut server) = pair(&bind(&endpoint()).await).await;
    drop(client);
    read_to_end_of(&mut server).await;
}

async fn connecting_without_a_listener_fails(endpoint: MakeEndpoint) {
    let listening = bind(&endpoint()).await;
    let published = listening.published[0].clone();
    drop(listening);
    let error = connect_to(&published)
        .await
        .err()
        .expect("there is no listener");
    let kinds = [io::ErrorKind::ConnectionRefused, io::ErrorKind::NotFound];
    assert!(kinds.contains(&error.kind()), "{error}");
    bind(&published.to_string()).await;
}

async fn many_streams_are_accepted_concurrently(endpoint: MakeEndpoint) {
    let listening = bind(&endpoint()).await;
    let published = &listening.published[0];
    let clients: Vec<_> = (0..50_u8)
        .map(|number| {
            let published = published.clone();
            tokio::spawn(async move {
                let stream = connect_to(&published).await.unwrap();
                write_all(&*stream.writer, &[number]).await.unwrap();
                stream
            })
        })
        .collect();
    let mut numbers = Vec::new();
    for _ in 0..50 {
        let mut server = accept(&listening).await;
        numbers.push(in_time(server.reader.read_u8()).await.unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    for client in clients {
        client.await.unwrap();
    }
}

#[tokio::test]
async fn a_socket_file_goes_with_its_listener_and_a_stale_one_is_replaced() {
    let endpoint = unix_endpoint();
    let path = endpoint.strip_prefix("unix -f ").unwrap();
    let listening = bind(&endpoint).await;
    let again = listen_with(&endpoint, &Setup::default()).await;
    let error = again.err().expect("it is in use");
    assert!(
        error.to_string().contains("another server listens"),
        "{error}"
    );
    drop(listening);
    assert!(!std::fs::exists(path).unwrap());

    drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    assert!(
        std::fs::exists(path).unwrap(),
        "left behind, as by a server that was killed"
    );
    let _listening = bind(&endpoint).await;

    let file = format!("{path}.txt");
    std::fs::write(&file, "precious").unwrap();
    let error = listen_with(&format!("unix -f {file}"), &Setup::default()).await;
    let error = error.err().expect("it is a file");
    assert!(error.to_string().contains("is not a socket"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn a_socket_of_another_host_is_skipped() {
    let listening = bind(&unix_endpoint()).await;
    let here = &listening.published[0];
    assert!(super::can_connect(here), "{here}");
    let elsewhere: Endpoint = "unix -f /tmp/s -h elsewhere".parse().unwrap();
    assert!(!super::can_connect(&elsewhere));
}

#[test]
fn a_missing_address_is_skipped_if_there_is_another() {
    let addresses = ["127.0.0.1:0", "192.0.2.1:0"].map(|text| text.parse().unwrap());
    let bind = |address| std::net::TcpListener::bind::<std::net::SocketAddr>(address);
    let local = std::net::TcpListener::local_addr;
    for order in [[addresses[0], addresses[1]], [addresses[1], addresses[0]]] {
        let (sockets, _) = super::address::bind_each(&order, bind, local).unwrap();
        assert_eq!(sockets.len(), 1);
    }
    let error = super::address::bind_each(&addresses[1..], bind, local)
        .err()
        .unwrap();
    assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
}

#[tokio::test]
async fn a_wildcard_is_reached_in_both_versions_and_published_as_addresses() {
    let listening = bind("tcp -h * -p 0").await;
    let port = listening.published[0].port().unwrap();
    for endpoint in &listening.published {
        let host = endpoint.host().unwrap();
        assert!(host.parse::<std::net::IpAddr>().is_ok(), "{host}");
    }
    for host in ["127.0.0.1", "\"::1\""] {
        let endpoint = format!("tcp -h {host} -p {port}").parse().unwrap();
        connect_to(&endpoint).await.unwrap();
        accept(&listening).await;
    }
}

#[tokio::test]
async fn a_connection_leaves_from_the_source_address() {
    let listening = bind("tcp -h 127.0.0.1 -p 0").await;
    let text = format!("{} --sourceAddress 127.0.0.9", listening.published[0]);
    let _client = connect_to(&text.parse().unwrap()).await.unwrap();
    let server = accept(&listening).await;
    assert!(server.peer.starts_with("127.0.0.9:"), "{}", server.peer);
    let text = format!("{} --sourceAddress \"::1\"", listening.published[0]);
    let error = connect_to(&text.parse().unwrap()).await.err().unwrap();
    assert!(error.to_string().contains("same version"), "{error}");
}

async fn bind(endpoint: &str) -> Listening {
    listen_with(endpoint, setup()).await.unwrap()
}

async fn connect_to(endpoint: &Endpoint) -> io::Result<Stream> {
    connect_with(endpoint, setup()).await
}

async fn accept(listening: &Listening) -> Stream {
    accept_result(listening).await.unwrap()
}

pub(super) async fn listen_with(endpoint: &str, setup: &Setup) -> io::Result<Listening> {
    let endpoints = parse_endpoints(endpoint).unwrap();
    in_time(listen(&endpoints[0], setup)).await
}

pub(super) async fn connect_with(endpoint: &Endpoint, setup: &Setup) -> io::Result<Stream> {
    let deadline = Instant::now() + Duration::from_secs(10);
    in_time(connect(endpoint, setup, deadline)).await
}

pub(super) async fn accept_result(listening: &Listening) -> io::Result<Stream> {
    match in_time(listening.listeners[0].accept()).await? {
        Accepted::Ready(stream) => Ok(stream),
        Accepted::Opening { opening, .. } => in_time(opening).await,
    }
}

/// Returns a setup with certificates for loopback, made once.
fn setup() -> &'static Setup {
    use std::sync::OnceLock;
    static SETUP: OnceLock<Setup> = OnceLock::new();
    SETUP.get_or_init(|| {
        let authority = super::tls::tests::Authority::new("CA");
        let tls = super::tls::Tls::load(authority.settings("127.0.0.1")).unwrap();
        Setup {
            tls: Some(tls),
            ..Setup::default()
        }
    })
}

/// Returns both ends of a stream.
async fn pair(listening: &Listening) -> (Stream, Stream) {
    let (client, server) = tokio::join!(connect_to(&listening.published[0]), accept(listening));
    (client.unwrap(), server)
}

/// Writes as a connection does.
async fn write_all(writer: &dyn super::StreamWriter, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match writer.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                in_time(poll_fn(|context| writer.poll_write_ready(context))).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads to the end. The end may be an error if bytes were in flight.
async fn read_to_end_of(stream: &mut Stream) {
    let mut rest = Vec::new();
    let _ = in_time(stream.reader.read_to_end(&mut rest)).await;
    assert!(rest.is_empty());
}

/// Returns bytes of which no two neighbours are equal, without a period that a buffer might have.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

pub(super) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), future)
        .await
        .expect("done within 30 s")
}

/// The sizes of the buffers in the system, as the system reports them.
#[cfg(unix)]
fn buffers(stream: &Stream) -> (usize, usize) {
    let socket = stream.writer.plain_socket().expect("a TCP socket");
    let socket = socket2::SockRef::from(&socket);
    let sizes = (socket.recv_buffer_size(), socket.send_buffer_size());
    (sizes.0.expect("a socket"), sizes.1.expect("a socket"))
}

#[cfg(unix)]
#[tokio::test]
async fn the_buffers_of_tcp_sockets_have_the_sizes_of_the_settings_on_both_sides() {
    let settings = crate::settings::Settings {
        tcp_receive_buffer: Some(50_000),
        tcp_send_buffer: Some(30_000),
        ..Default::default()
    };
    let setup = settings.transport_setup();
    let listening = listen_with("tcp -h 127.0.0.1 -p 0", &setup).await;
    let listening = listening.expect("loopback");
    let client = connect_with(&listening.published[0], &setup).await;
    let Accepted::Ready(server) = listening.listeners[0].accept().await.expect("a client") else {
        panic!("TCP has no handshake of its own");
    };
    let expected = match cfg!(target_os = "linux") {
        true => (100_000, 60_000),
        false => (50_000, 30_000),
    };
    assert_eq!(buffers(&client.expect("it listens")), expected);
    assert_eq!(buffers(&server), expected);
}
