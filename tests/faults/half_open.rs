//! The peer is there and says nothing: stopped by a signal, cut off, or never answering.

use std::thread;

use crate::child;
use crate::raw::{Came, RawServer};
use crate::relay::Relay;
use crate::stage::{Face, Server, ms, settings};

#[test]
fn a_stopped_server_that_owes_a_reply_is_given_up_after_the_idle_timeout() {
    Face::each(|face| {
        let (peer, proxy) = child::serve();
        let mut settings = settings();
        settings.outgoing.heartbeat_interval = ms(100);
        settings.outgoing.idle_timeout = ms(600);
        let client = face.communicator(settings);
        let proxy: floe::Proxy = client.proxy(&proxy).unwrap();
        face.call(&proxy, "echo").unwrap();
        child::stop(&peer);
        let (text, waited) = face.failure(&proxy, "echo");
        peer.signal("CONT");
        assert!(
            text.contains(
                "a reply is due, and the peer sent nothing for 600ms, not even a heartbeat: it hangs \
                 or is cut off"
            ) && text.ends_with("the operation may have been executed"),
            "{text}"
        );
        assert!(waited >= ms(600), "{waited:?}");
        // It goes on, and is called again over a new connection.
        face.call(&proxy, "echo").unwrap();
    });
}

#[test]
fn a_stopped_server_does_not_hold_a_caller_with_a_timeout_longer_than_that() {
    Face::each(|face| {
        let (peer, proxy) = child::serve();
        let client = face.communicator(settings());
        let proxy: floe::Proxy = client.proxy(&proxy).unwrap();
        face.call(&proxy, "echo").unwrap();
        child::stop(&peer);
        use floe::TypedProxy;
        let (text, waited) = face.failure(&proxy.ice_timeout(Some(ms(200))), "echo");
        assert_eq!(
            text,
            "no reply to operation \"echo\" within 200ms; the operation may have been executed"
        );
        assert!(waited >= ms(200));
    });
}

#[test]
fn a_stopped_server_accepts_and_never_validates() {
    Face::each(|face| {
        let (peer, proxy) = child::serve();
        child::stop(&peer);
        let mut settings = settings();
        settings.connect_timeout = ms(250);
        let client = face.communicator(settings);
        let (text, waited) = face.failure(&client.proxy(&proxy).unwrap(), "echo");
        assert!(
            text.contains("was not ready within 250ms: expected a connection and the peer's ValidateConnection"),
            "{text}"
        );
        assert!(waited >= ms(250));
    });
}

#[test]
fn over_every_transport_a_network_that_goes_silent_is_noticed_on_both_sides() {
    Face::each(|face| {
        for transport in ["tcp", "ssl", "ws", "wss"] {
            let mut settings = crate::certificates::with_tls(settings());
            for liveness in [&mut settings.outgoing, &mut settings.incoming] {
                liveness.heartbeat_interval = ms(100);
                liveness.idle_check = floe::settings::IdleCheck::Always;
                liveness.idle_timeout = ms(700);
            }
            let endpoint = format!("{transport} -h 127.0.0.1 -p 0");
            let server = Server::start(face, settings.clone(), &endpoint);
            let relay = Relay::start(server.port());
            let client = face.communicator(settings);
            let text = format!("echo:{transport} -h 127.0.0.1 -p {}", relay.port());
            let proxy: floe::Proxy = client.proxy(&text).unwrap();
            face.call(&proxy, "echo").unwrap();
            relay.stall_after(0);
            let (text, _) = face.failure(&proxy, "echo");
            assert!(
                text.contains("the peer sent nothing for 700ms, not even a heartbeat"),
                "{} over {transport}: {text}",
                face.name()
            );
            crate::stage::until("the server drops the connection, too", || {
                server.adapter.counts().connections == 0
            });
            let direct = server.proxy(&client);
            face.call(&direct, "echo").unwrap();
        }
    });
}

#[test]
fn a_server_that_takes_requests_and_never_answers_is_bounded_by_the_timeout_of_the_call() {
    Face::each(|face| {
        let server = RawServer::listen();
        let mut settings = settings();
        settings.invocation_timeout = Some(ms(150));
        let client = face.communicator(settings);
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let call = scope.spawn(|| face.failure(&proxy, "echo"));
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            let (text, waited) = call.join().unwrap();
            assert!(
                text.starts_with("no reply to operation \"echo\" within 150ms"),
                "{text}"
            );
            assert!(waited >= ms(150));
        });
    });
}
