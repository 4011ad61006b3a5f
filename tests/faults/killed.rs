//! The peer is killed: while it owes a reply, in the middle of a message, before it is ready.

use std::io::Write;
use std::net::Shutdown;
use std::thread;

use floe::InvokeError;

use crate::child;
use crate::log::Log;
use crate::raw::{Came, Raw, RawServer, reply, request};
use crate::relay::Relay;
use crate::stage::{Face, Server, ms, settings, until};

#[test]
fn a_caller_whose_server_process_is_killed_is_told_so() {
    Face::each(|face| {
        let (mut peer, proxy) = child::serve();
        let client = face.communicator(settings());
        let proxy: floe::Proxy = client.proxy(&proxy).unwrap();
        face.call(&proxy, "echo").unwrap();
        let failure = thread::scope(|scope| {
            let call = scope.spawn(|| face.call(&proxy, "wait"));
            thread::sleep(ms(50));
            peer.kill();
            call.join().unwrap().unwrap_err()
        });
        assert!(
            matches!(failure, InvokeError::PerhapsDispatched(_)),
            "{failure}"
        );
        let text = failure.to_string();
        assert!(
            text.starts_with("lost the connection to 127.0.0.1:")
                && text.contains("the peer ended the stream without closing the connection")
                && text.ends_with("the operation may have been executed"),
            "{}: {text}",
            face.name()
        );
        // And then nobody is there any more.
        let (text, _) = face.failure(&proxy, "echo");
        assert!(text.starts_with("cannot connect to \"tcp"), "{text}");
        assert!(text.contains("Connection refused"), "{text}");
    });
}

#[test]
fn a_reply_that_is_cut_off_in_its_middle_says_how_much_came() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        let text = thread::scope(|scope| {
            let call = scope.spawn(|| face.failure(&proxy, "echo").0);
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            raw.send(&reply(1)[..20]);
            raw.0.shutdown(Shutdown::Both).unwrap();
            call.join().unwrap()
        });
        let expected = "the peer ended the stream in the middle of a message, after 20 of 25 bytes; the \
                        operation may have been executed";
        assert!(text.ends_with(expected), "{}: {text}", face.name());
    });
}

#[test]
fn a_client_killed_in_the_middle_of_a_request_costs_one_line_and_nobody_else_anything() {
    let log = Log::of_all();
    Face::each(|face| {
        let server = Server::start(face, settings(), "tcp -h 127.0.0.1 -p 0");
        let mut bystander = Raw::connect(server.port());
        let mut raw = Raw::connect(server.port());
        let name = raw.name();
        raw.send(&request(1, "echo")[..30]);
        drop(raw);
        let line = log.only_line_with(&format!("to {name}: the peer ended"));
        assert_eq!(
            line,
            format!(
                "closed the connection to {name}: the peer ended the stream in the middle of a \
                 message, after 30 of 38 bytes"
            )
        );
        bystander.send(&request(1, "echo"));
        assert_eq!(bystander.next_but_heartbeats(), Came::Reply(1));
        until("its connection is forgotten", || {
            server.adapter.counts().connections == 1
        });
        assert_eq!(
            server.echo.begun.load(std::sync::atomic::Ordering::SeqCst),
            1
        );
    });
}

#[test]
fn over_every_transport_a_cut_in_the_middle_of_a_message_ends_its_call_alone() {
    Face::each(|face| {
        for transport in ["tcp", "ssl", "ws", "wss"] {
            let settings = crate::certificates::with_tls(settings());
            let endpoint = format!("{transport} -h 127.0.0.1 -p 0");
            let server = Server::start(face, settings.clone(), &endpoint);
            let relay = Relay::start(server.port());
            let client = face.communicator(settings);
            let text = format!("echo:{transport} -h 127.0.0.1 -p {}", relay.port());
            let proxy: floe::Proxy = client.proxy(&text).unwrap();
            let direct = server.proxy(&client);
            face.call(&proxy, "echo").unwrap();
            face.call(&direct, "echo").unwrap();
            let failure = thread::scope(|scope| {
                relay.stall_after(10_000);
                let mut big = 500_006_i32.to_le_bytes().to_vec();
                big.extend([1, 1]);
                big.resize(500_006, 7);
                let (face, proxy) = (face, &proxy);
                let call = scope.spawn(move || face.call_with(proxy, "echo", &big));
                relay.wait_until_stalled();
                relay.cut();
                call.join().unwrap().unwrap_err()
            });
            let text = failure.to_string();
            let endpoint = format!("lost the connection to 127.0.0.1:{}", relay.port());
            assert!(text.starts_with(&endpoint), "{transport}: {text}");
            face.call(&direct, "echo").unwrap();
            face.call(&proxy, "echo").unwrap();
        }
    });
}

#[test]
fn a_server_that_ends_the_stream_before_it_validates_is_told_apart() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        let text = thread::scope(|scope| {
            let call = scope.spawn(|| face.failure(&proxy, "echo").0);
            drop(server.accept_silently());
            call.join().unwrap()
        });
        assert!(
            text.contains(
                "before it validated the connection: it is shutting down, or at its limit"
            ),
            "{text}"
        );
        assert!(!text.contains("may have been executed"), "{text}");
    });
}

#[test]
fn a_client_that_is_reset_while_its_request_runs_leaves_the_dispatch_to_its_end() {
    Face::each(|face| {
        let server = Server::start(face, settings(), "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        raw.send(&request(1, "wait"));
        server.echo.wait_until_begun(1);
        let _ = raw.0.flush();
        drop(raw);
        server.echo.let_go();
        until("the dispatch ends", || {
            server.echo.ended.load(std::sync::atomic::Ordering::SeqCst) == 1
        });
        until("the connection is gone", || {
            server.adapter.counts().connections == 0
        });
    });
}
