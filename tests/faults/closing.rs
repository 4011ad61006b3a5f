//! Graceful close in every order of events, and what is said when it takes too long.

use std::thread;

use floe::{OperationMode, TypedProxy};

use crate::log::Log;
use crate::raw::{CLOSE, Came, Raw, RawServer, parameters, reply, request};
use crate::stage::{Face, Server, ms, settings};

/// An address which no other test uses: ports come again, and other tests log theirs.
const ALONE: &str = "127.0.0.41";

#[test]
fn both_sides_may_close_at_once() {
    let log = Log::of_all();
    Face::each(|face| {
        for _ in 0..20 {
            let server = Server::start(face, settings(), &format!("tcp -h {ALONE} -p 0"));
            let client = face.communicator(settings());
            face.call(&server.proxy(&client), "echo").unwrap();
            let begun = std::time::Instant::now();
            thread::scope(|scope| {
                scope.spawn(|| face.run(client.shutdown()));
                face.run(server.communicator.shutdown());
            });
            assert!(
                begun.elapsed() < ms(10_000),
                "neither waits for its close timeout"
            );
            assert_eq!(log.lines_with(&format!("{ALONE}:")), [""; 0]);
        }
    });
}

#[test]
fn a_close_that_the_peer_does_not_take_any_more_is_not_missed() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client).ice_oneway();
        let name = format!("127.0.0.1:{}", server.port());
        let log = Log::of_all();
        thread::scope(|scope| {
            // More than the system takes: what comes next waits behind it.
            let long = parameters(32 << 20);
            scope.spawn(move || face.run(proxy.invoke("echo", OperationMode::Normal, &long)));
            let raw = server.accept();
            raw.0.peek(&mut [0]).expect("a request begins");
            let end = scope.spawn(|| face.run(client.shutdown()));
            // Time enough for the close to stand behind the request.
            thread::sleep(ms(200));
            drop(raw);
            end.join().expect("it ends");
        });
        let missed = log.lines_with(&format!("for {name} were never sent"));
        assert_eq!(missed, [""; 0]);
    });
}

#[test]
fn close_connections_that_cross_end_both_sides() {
    Face::each(|face| {
        let server = Server::start(face, settings(), "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        raw.send(&request(1, "echo"));
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        server.adapter.deactivate();
        assert_eq!(raw.next_but_heartbeats(), Came::Close);
        // The peer had sent its own before it read ours.
        raw.send(&CLOSE);
        assert_eq!(raw.next_but_heartbeats(), Came::End);
    });
}

#[test]
fn a_server_that_closes_while_a_request_is_in_flight_answers_it_first() {
    Face::each(|face| {
        let server = Server::start(face, settings(), "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        raw.send(&request(1, "wait"));
        server.echo.wait_until_begun(1);
        server.adapter.deactivate();
        // What comes after the decision is discarded, and its sender told so by CloseConnection.
        raw.send(&request(2, "echo"));
        assert_eq!(raw.next(ms(300)), Came::Silence);
        server.echo.let_go();
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        assert_eq!(raw.next_but_heartbeats(), Came::Close);
        assert_eq!(
            server.echo.begun.load(std::sync::atomic::Ordering::SeqCst),
            1
        );
    });
}

#[test]
fn a_client_whose_server_closes_repeats_what_was_surely_not_executed() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let call = scope.spawn(|| face.call(&proxy, "echo"));
            let mut first = server.accept();
            assert_eq!(first.next_but_heartbeats(), Came::Request(1));
            first.send(&CLOSE);
            let mut second = server.accept();
            assert_eq!(second.next_but_heartbeats(), Came::Request(1));
            second.send(&reply(1));
            call.join().unwrap().unwrap();
            assert_eq!(first.next_but_heartbeats(), Came::End);
        });
    });
}

#[test]
fn a_client_that_closes_waits_for_its_replies() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let call = scope.spawn(|| face.call(&proxy, "echo"));
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            let closing = scope.spawn(|| face.run(client.shutdown()));
            assert_eq!(raw.next(ms(300)), Came::Silence);
            raw.send(&reply(1));
            assert_eq!(raw.next_but_heartbeats(), Came::Close);
            drop(raw);
            call.join().unwrap().unwrap();
            closing.join().unwrap();
        });
    });
}

#[test]
fn a_dispatch_that_never_ends_is_named_as_ours_when_the_close_timeout_is_over() {
    let log = Log::of_all();
    Face::each(|face| {
        let mut settings = settings();
        settings.close_timeout = ms(300);
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        let name = raw.name();
        raw.send(&request(1, "wait"));
        server.echo.wait_until_begun(1);
        server.adapter.deactivate();
        assert_eq!(raw.next_but_heartbeats(), Came::End);
        assert_eq!(
            log.only_line_with(&format!(
                "to {name}: it was not closed within 300ms: 1 request"
            )),
            format!(
                "dropped the connection to {name}: it was not closed within 300ms: 1 request of the \
                 peer is still in dispatch here (let them end sooner, or set \
                 `Settings::close_timeout` higher)"
            )
        );
        server.echo.let_go();
    });
}

#[test]
fn a_peer_that_does_not_close_its_end_is_named() {
    let log = Log::of_all();
    Face::each(|face| {
        let mut settings = settings();
        settings.close_timeout = ms(300);
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        let name = raw.name();
        server.adapter.deactivate();
        assert_eq!(raw.next_but_heartbeats(), Came::Close);
        assert_eq!(raw.next_but_heartbeats(), Came::End);
        assert_eq!(
            log.only_line_with(&format!(
                "to {name}: it was not closed within 300ms: the peer got"
            )),
            format!(
                "dropped the connection to {name}: it was not closed within 300ms: the peer got \
                 CloseConnection and did not close its end"
            )
        );
    });
}

#[test]
fn a_server_that_never_replies_to_a_closing_client_is_named_to_the_caller() {
    Face::each(|face| {
        let server = RawServer::listen();
        let mut settings = settings();
        settings.close_timeout = ms(300);
        let client = face.communicator(settings);
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let call = scope.spawn(|| face.failure(&proxy, "echo").0);
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            face.run(client.shutdown());
            let text = call.join().unwrap();
            assert!(
                text.contains("it was not closed within 300ms: the peer still owes 1 reply"),
                "{text}"
            );
        });
    });
}

#[test]
fn a_close_while_the_connection_is_being_made_ends_the_waiting_caller() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let call = scope.spawn(|| face.failure(&proxy, "echo").0);
            let _raw = server.accept_silently();
            thread::sleep(ms(50));
            face.run(client.shutdown());
            assert_eq!(call.join().unwrap(), "the communicator is shut down");
        });
    });
}
