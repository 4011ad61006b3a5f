//! Scripted peers of Ice 3.7 (section 12.3 of the protocol's reference): ACM.

use std::thread;

use floe::settings::{Heartbeats, IdleCheck, Liveness};

use crate::raw::{CLOSE, Came, Raw, RawServer, VALIDATE, reply, request};
use crate::stage::{Face, Server, ms, settings, until};

#[test]
fn an_idle_client_without_heartbeats_is_left_alone() {
    Face::each(|face| {
        let mut settings = settings();
        settings.incoming.heartbeat_interval = ms(50);
        settings.incoming.idle_timeout = ms(150);
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        for id in 1..3 {
            // Six times the idle timeout, in which it sends nothing.
            thread::sleep(ms(900));
            raw.send(&request(id, "echo"));
            assert_eq!(raw.next_but_heartbeats(), Came::Reply(id));
        }
    });
}

#[test]
fn a_client_that_waits_for_a_long_dispatch_gets_heartbeats_in_time() {
    Face::each(|face| {
        for heartbeats in [
            Heartbeats::WhileDispatching,
            Heartbeats::WhenSilent,
            Heartbeats::Always,
        ] {
            let mut settings = settings();
            settings.incoming.heartbeats = heartbeats;
            settings.incoming.heartbeat_interval = ms(300);
            let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
            let mut raw = Raw::connect(server.port());
            raw.send(&request(1, "wait"));
            // Its ACM timeout, after which it would kill the connection.
            for _ in 0..4 {
                assert_eq!(raw.next(ms(20 * 300)), Came::Heartbeat, "{heartbeats:?}");
            }
            server.echo.let_go();
            assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
            if heartbeats == Heartbeats::WhileDispatching {
                assert_eq!(raw.next(ms(1000)), Came::Silence);
            }
        }
    });
}

#[test]
fn a_client_that_closes_when_idle_is_answered_with_the_end_of_the_stream() {
    Face::each(|face| {
        let server = Server::start(face, settings(), "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        raw.send(&request(1, "echo"));
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        raw.send(&CLOSE);
        assert_eq!(raw.next_but_heartbeats(), Came::End);
        until("it is forgotten", || {
            server.adapter.counts().connections == 0
        });
    });
}

#[test]
fn a_server_that_closes_when_idle_is_called_again_over_a_new_connection() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let serving = scope.spawn(|| {
                for round in 0..3 {
                    let mut raw = server.accept();
                    let Came::Request(id) = raw.next_but_heartbeats() else {
                        panic!("expected a request")
                    };
                    raw.send(&reply(id));
                    if round < 2 {
                        raw.send(&CLOSE);
                        // The next request may be on its way already; it is discarded, and repeated.
                        while raw.next_but_heartbeats() != Came::End {}
                    }
                }
            });
            for _ in 0..3 {
                face.call(&proxy, "echo").unwrap();
            }
            serving.join().unwrap();
        });
    });
}

#[test]
fn a_server_that_heartbeats_while_it_dispatches_may_take_its_time() {
    Face::each(|face| {
        let server = RawServer::listen();
        let mut settings = settings();
        settings.outgoing.heartbeat_interval = ms(100);
        settings.outgoing.idle_timeout = ms(1000);
        let client = face.communicator(settings);
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let call = scope.spawn(|| face.call(&proxy, "echo"));
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            for _ in 0..30 {
                raw.send(&VALIDATE);
                thread::sleep(ms(100));
            }
            raw.send(&reply(1));
            call.join().unwrap().unwrap();
        });
    });
}

#[test]
fn the_rules_of_37_close_an_unused_client_connection_gracefully_and_not_a_used_one() {
    Face::each(|face| {
        let server = RawServer::listen();
        let mut settings = settings();
        settings.outgoing = Liveness::ice_37_client();
        settings.outgoing.inactivity_timeout = Some(ms(300));
        settings.outgoing.idle_timeout = ms(5000);
        assert_eq!(settings.outgoing.idle_check, IdleCheck::WhileReplyDue);
        let client = face.communicator(settings);
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let call = scope.spawn(|| face.call(&proxy, "echo"));
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            // A call is outstanding, for much longer than that.
            assert_eq!(raw.next(ms(1200)), Came::Silence);
            raw.send(&reply(1));
            call.join().unwrap().unwrap();
            assert_eq!(raw.next_but_heartbeats(), Came::Close);
        });
    });
}
