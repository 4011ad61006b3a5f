//! Scripted peers of Ice 3.8 (section 12.4 of the protocol's reference): heartbeats every half idle
//! timeout in both directions, abort when not a byte has come for all of it, inactivity.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use floe::TypedProxy;
use floe::settings::Liveness;

use crate::log::Log;
use crate::raw::{Came, Raw, RawServer, VALIDATE, reply, request};
use crate::stage::{Face, Server, ms, settings, until};

/// The idle timeout of the scripted peers; a loaded machine may hold either side up for a second.
const IDLE: Duration = ms(2000);

/// The rules of 3.8 with that timeout.
fn rules() -> Liveness {
    let mut rules = Liveness::ice_38();
    rules.heartbeat_interval = IDLE / 2;
    rules.idle_timeout = IDLE;
    rules.inactivity_timeout = None;
    rules
}

/// Does as a 3.8 peer does while it has nothing to say: a heartbeat whenever it wrote nothing for half
/// the idle timeout, and the end when nothing came for all of it. What comes of requests and replies.
fn idle_as_38(raw: &mut Raw, time: Duration) -> Result<Vec<Came>, &'static str> {
    let end = Instant::now() + time;
    let mut read = Instant::now();
    let mut written = Instant::now();
    let mut came = Vec::new();
    while Instant::now() < end {
        match raw.next(ms(20)) {
            Came::Silence if read.elapsed() >= IDLE => return Err("nothing came: aborted"),
            Came::Silence => {}
            Came::End => return Err("the other side ended the stream"),
            Came::Heartbeat => read = Instant::now(),
            other => {
                read = Instant::now();
                came.push(other);
            }
        }
        if written.elapsed() >= IDLE / 2 {
            raw.send(&VALIDATE);
            written = Instant::now();
        }
    }
    Ok(came)
}

#[test]
fn a_38_client_and_a_floe_server_keep_an_idle_connection() {
    Face::each(|face| {
        for rules in [rules(), shorter_default()] {
            let mut settings = settings();
            settings.incoming = rules;
            let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
            let mut raw = Raw::connect(server.port());
            assert_eq!(idle_as_38(&mut raw, 2 * IDLE), Ok(vec![]));
            raw.send(&request(1, "echo"));
            assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        }
    });
}

/// The default, with the 3.8 peer's shorter time.
fn shorter_default() -> Liveness {
    let mut rules = Liveness::default();
    rules.heartbeat_interval = IDLE / 3;
    rules.idle_timeout = IDLE;
    rules
}

#[test]
fn a_38_server_and_a_floe_client_keep_an_idle_connection_and_one_with_a_long_call() {
    Face::each(|face| {
        let server = RawServer::listen();
        let mut settings = settings();
        settings.outgoing = rules();
        let client = face.communicator(settings);
        let proxy = server.proxy(&client);
        thread::scope(|scope| {
            let calls = scope.spawn(|| {
                face.call(&proxy, "echo").unwrap();
                face.call(&proxy, "echo").unwrap();
            });
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            // The reply takes longer than the idle timeout; the heartbeats of both sides bridge it.
            assert_eq!(idle_as_38(&mut raw, 3 * IDLE / 2), Ok(vec![]));
            raw.send(&reply(1));
            assert_eq!(raw.next_but_heartbeats(), Came::Request(2));
            raw.send(&reply(2));
            calls.join().unwrap();
            assert_eq!(idle_as_38(&mut raw, 3 * IDLE / 2), Ok(vec![]));
        });
    });
}

#[test]
fn a_38_peer_that_falls_silent_is_dropped_with_one_line_that_says_why() {
    let log = Log::of_all();
    Face::each(|face| {
        let mut settings = settings();
        settings.incoming = rules();
        settings.incoming.idle_timeout = ms(400);
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        let name = raw.name();
        assert_eq!(raw.next_but_heartbeats(), Came::End);
        assert_eq!(
            log.only_line_with(&format!("to {name}: the peer sent")),
            format!(
                "dropped the connection to {name}: the peer sent nothing for 400ms, not even a \
                 heartbeat: it hangs or is cut off, or it sends none (then see `Liveness::idle_check`)"
            )
        );
    });
}

#[test]
fn inactivity_closes_gracefully_although_heartbeats_come_and_never_while_a_dispatch_runs() {
    Face::each(|face| {
        let mut limits = floe::settings::AdapterSettings::default();
        let mut liveness = rules();
        liveness.inactivity_timeout = Some(ms(400));
        limits.liveness = Some(liveness);
        let server = Server::start_with(face, settings(), limits, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        raw.send(&request(1, "wait"));
        // A oneway counts, too.
        raw.send(&request(0, "wait"));
        server.echo.wait_until_begun(2);
        for _ in 0..6 {
            raw.send(&VALIDATE);
            thread::sleep(ms(200));
        }
        server.echo.let_go();
        let came = raw.next_but_heartbeats();
        assert_eq!(
            came,
            Came::Reply(1),
            "dispatches were under way, and nothing was closed"
        );
        let mut came = Came::Silence;
        while came == Came::Silence || came == Came::Heartbeat {
            raw.send(&VALIDATE);
            came = raw.next(ms(50));
        }
        assert_eq!(came, Came::Close);
    });
}

#[test]
fn a_client_that_was_closed_for_inactivity_calls_again_as_if_nothing_had_been() {
    Face::each(|face| {
        let mut settings = settings();
        settings.outgoing.inactivity_timeout = Some(ms(100));
        let server = Server::start(face, settings.clone(), "tcp -h 127.0.0.1 -p 0");
        let client = face.communicator(settings);
        let proxy = server.proxy(&client);
        for _ in 0..3 {
            face.call(&proxy, "echo").unwrap();
            until("the client closes it", || !proxy.is_connected());
            until("the server sees it go", || {
                server.adapter.counts().connections == 0
            });
        }
    });
}

#[test]
fn heartbeats_of_the_peer_are_told_to_who_asks() {
    Face::each(|face| {
        let server = RawServer::listen();
        let client = face.communicator(settings());
        let proxy = server.proxy(&client);
        let mut raw = thread::scope(|scope| {
            let accepting = scope.spawn(|| server.accept());
            face.run(proxy.connect()).unwrap();
            accepting.join().unwrap()
        });
        let connection = face
            .run(proxy.ice_connection())
            .unwrap()
            .expect("one over the wire");
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let same = connection.clone();
        connection.on_heartbeat(move |connection| {
            assert!(connection == same);
            counted.fetch_add(1, Ordering::SeqCst);
        });
        for _ in 0..3 {
            raw.send(&VALIDATE);
        }
        until("they are told", || count.load(Ordering::SeqCst) == 3);
        // The other way.
        connection.heartbeat();
        assert_eq!(raw.next(crate::stage::PATIENCE), Came::Heartbeat);
        // Other rules for this one.
        let mut liveness = connection.liveness();
        liveness.heartbeat_interval = ms(100);
        connection.set_liveness(liveness);
        assert_eq!(raw.next(crate::stage::PATIENCE), Came::Heartbeat);
        assert_eq!(raw.next(crate::stage::PATIENCE), Came::Heartbeat);
    });
}
