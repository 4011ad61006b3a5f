//! Limits on connections: who comes last is refused, who is there stays, and the log says why.

use std::io::Read;
use std::net::TcpStream;
use std::thread;

use floe::settings::AdapterSettings;

use crate::child;
use crate::log::Log;
use crate::raw::{Came, Raw, request};
use crate::stage::{Face, PATIENCE, Server, ms, settings, until};

/// Connects, and waits for what the server does first; the own address.
fn attempt(port: u16) -> (String, Came) {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let name = stream.local_addr().unwrap().to_string();
    (name, Raw(stream).next(PATIENCE))
}

#[test]
fn an_adapter_that_is_full_refuses_and_keeps_what_it_has() {
    let log = Log::of_all();
    Face::each(|face| {
        let mut limits = AdapterSettings::default();
        limits.connection_limit = Some(2);
        let server = Server::start_with(face, settings(), limits, "tcp -h 127.0.0.1 -p 0");
        let mut first = Raw::connect(server.port());
        let second = Raw::connect(server.port());
        let (name, came) = attempt(server.port());
        assert_eq!(came, Came::End);
        assert_eq!(
            log.only_line_with(&format!("from {name}: there are")),
            format!(
                "refused a connection from {name}: there are 2 connections already, as many as \
                 `AdapterSettings::connection_limit` allows"
            )
        );
        assert_eq!(server.adapter.counts().refused, 1);
        // A Floe client is told what that may mean.
        let client = face.communicator(settings());
        let (text, _) = face.failure(&server.proxy(&client), "echo");
        assert!(text.contains("at its limit of connections"), "{text}");
        first.send(&request(1, "echo"));
        assert_eq!(first.next_but_heartbeats(), Came::Reply(1));

        drop(second);
        until("there is room again", || {
            server.adapter.counts().connections == 1
        });
        face.call(&server.proxy(&client), "echo").unwrap();
    });
}

#[test]
fn all_adapters_of_a_communicator_share_its_limit() {
    Face::each(|face| {
        let mut settings = settings();
        settings.connection_limit = 1;
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let other = face.run(async {
            let other = server.communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
            let other = other.unwrap();
            other.activate();
            other
        });
        let first = Raw::connect(server.port());
        let other_port = other.endpoints()[0].port().unwrap();
        assert_eq!(attempt(other_port).1, Came::End);
        assert_eq!((other.counts().refused, other.counts().connections), (1, 0));
        drop(first);
        until("there is room again", || {
            attempt(other_port).1 == Came::Heartbeat
        });
    });
}

#[test]
fn one_address_cannot_take_the_room_of_the_others() {
    Face::each(|face| {
        let mut limits = AdapterSettings::default();
        limits.connection_limit_per_address = Some(1);
        let server = Server::start_with(face, settings(), limits, "tcp -h 127.0.0.1 -p 0");
        let _first = Raw::connect(server.port());
        assert_eq!(attempt(server.port()).1, Came::End);
        let elsewhere = socket_from("127.0.0.2", server.port());
        assert_eq!(Raw(elsewhere).next(PATIENCE), Came::Heartbeat);
    });
}

#[test]
fn datagrams_need_no_connection_and_come_through_when_all_are_taken() {
    use floe::TypedProxy;
    Face::each(|face| {
        let mut limits = AdapterSettings::default();
        limits.connection_limit = Some(1);
        let endpoints = "tcp -h 127.0.0.1 -p 0:udp -h 127.0.0.1 -p 0";
        let server = Server::start_with(face, settings(), limits, endpoints);
        let _first = Raw::connect(server.port());
        let client = face.communicator(settings());
        let proxy: floe::Proxy = client
            .proxy(&format!("echo -d:{}", server.adapter.endpoints()[1]))
            .unwrap();
        face.run(proxy.ice_ping()).unwrap();
        server.echo.wait_until_begun(1);
        let counts = server.adapter.counts();
        assert_eq!((counts.connections, counts.refused), (1, 0));
    });
}

/// A connection from another address of loopback, as a Floe client makes one.
fn socket_from(source: &str, port: u16) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{source}:0").parse().unwrap()).unwrap();
        let target = format!("127.0.0.1:{port}").parse().unwrap();
        socket.connect(target).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream
}

#[test]
fn handshakes_that_never_end_do_not_keep_others_out() {
    Face::each(|face| {
        let mut settings = crate::certificates::with_tls(settings());
        settings.handshake_limit = 4;
        let server = Server::start(face, settings.clone(), "ssl -h 127.0.0.1 -p 0");
        let silent: Vec<_> = (0..12)
            .map(|_| TcpStream::connect(("127.0.0.1", server.port())).unwrap())
            .collect();
        let client = face.communicator(settings);
        face.call(&server.proxy(&client), "echo").unwrap();
        until("the oldest are given up", || {
            server.adapter.counts().handshakes_failed >= 8
        });
        // The first to come is among them.
        silent[0].set_read_timeout(Some(PATIENCE)).unwrap();
        let ended = (&silent[0]).read(&mut [0; 1]);
        assert!(
            matches!(ended, Ok(0))
                || ended.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset)
        );
    });
}

#[test]
fn a_server_without_descriptors_says_so_once_a_second_and_recovers() {
    let (server, proxy) = child::serve_after("ulimit -n 40; ");
    let port = proxy.rsplit("-p ").next().expect("a port");
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    let port: u16 = port.parse().expect("a port");
    let mut streams: Vec<_> = (0..60)
        .map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap())
        .collect();
    let begun = std::time::Instant::now();
    let errors = server.errors_with("could not accept a connection: Too many open files");
    assert!(
        errors.contains("raise the process's limit of open files (`ulimit -n`), or set"),
        "{errors}"
    );
    thread::sleep(ms(500));
    let line_count = server.errors().lines().count() as u64;
    assert!(
        line_count <= 2 + begun.elapsed().as_secs(),
        "{}",
        server.errors()
    );
    // Those that it has are served, and when they go the others are.
    let last = streams.pop().unwrap();
    drop(streams);
    assert_eq!(Raw(last).next(PATIENCE), Came::Heartbeat);
}
