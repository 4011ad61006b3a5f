//! Peers that stop to read, or stop to write in the middle of a message.

use std::thread;

use floe::{OperationMode, TypedProxy};

use crate::log::Log;
use crate::raw::{Came, Raw, RawServer, parameters, reply, request};
use crate::stage::{Face, Server, ms, settings, until};

#[test]
fn callers_of_a_server_that_does_not_read_wait_for_room_and_for_no_longer_than_their_timeout() {
    Face::each(|face| {
        let server = RawServer::listen();
        let mut settings = settings();
        settings.output_limit = 100_000;
        settings.close_timeout = ms(200);
        let client = face.communicator(settings);
        let proxy = server.proxy(&client).ice_oneway();
        let hasty = proxy.ice_timeout(Some(ms(300)));
        let raw = thread::scope(|scope| {
            let accepting = scope.spawn(|| server.accept());
            face.run(proxy.connect()).unwrap();
            accepting.join().unwrap()
        });
        let big = parameters(50_000);
        let mut sent = 0;
        let text = loop {
            match face.run(hasty.invoke("echo", OperationMode::Normal, &big)) {
                Ok(_) => sent += big.len(),
                Err(error) => break error.to_string(),
            }
            assert!(sent < 64 << 20, "{sent} bytes, and nobody read them");
        };
        assert!(
            text.contains("operation \"echo\" was not sent within 300ms"),
            "{}: {text}",
            face.name()
        );
        // A close says who did not do what.
        let log = Log::of_all();
        let name = format!("127.0.0.1:{}", server.port());
        face.run(client.shutdown());
        let lines = log.lines_with(&name);
        assert!(
            lines.iter().any(|line| line
                .contains("it was not closed within 200ms: the peer does not read, and ")),
            "{lines:#?}"
        );
        drop(raw);
    });
}

#[test]
fn a_reply_that_stops_in_its_middle_ends_with_the_idle_timeout() {
    Face::each(|face| {
        let server = RawServer::listen();
        let mut settings = settings();
        settings.outgoing.heartbeat_interval = ms(100);
        settings.outgoing.idle_timeout = ms(400);
        let client = face.communicator(settings);
        let proxy = server.proxy(&client);
        let (text, waited) = thread::scope(|scope| {
            let call = scope.spawn(|| face.failure(&proxy, "echo"));
            let mut raw = server.accept();
            assert_eq!(raw.next_but_heartbeats(), Came::Request(1));
            raw.send(&reply(1)[..20]);
            call.join().unwrap()
        });
        assert!(
            text.contains("a reply is due, and the peer sent nothing for 400ms"),
            "{text}"
        );
        assert!(waited >= ms(400));
    });
}

#[test]
fn a_client_that_does_not_read_its_replies_is_not_read_from_and_others_are_served() {
    Face::each(|face| {
        let mut settings = settings();
        settings.output_limit = 100_000;
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        raw.0.set_write_timeout(Some(ms(500))).unwrap();
        let mut big = request(1, "echo");
        big.truncate(big.len() - 6);
        big.extend(parameters(100_000));
        let len = big.len() as i32;
        big[10..14].copy_from_slice(&len.to_le_bytes());
        let mut sent = 0;
        while std::io::Write::write_all(&mut raw.0, &big).is_ok() {
            sent += big.len();
            assert!(
                sent < 128 << 20,
                "{sent} bytes were taken, and no reply was read"
            );
        }
        let mut other = Raw::connect(server.port());
        other.send(&request(1, "echo"));
        assert_eq!(other.next_but_heartbeats(), Came::Reply(1));
        drop(raw);
        until("its connection is forgotten", || {
            server.adapter.counts().connections == 1
        });
    });
}

#[test]
fn a_server_whose_dispatches_hold_it_back_does_not_blame_its_silent_peer() {
    Face::each(|face| {
        let mut settings = settings();
        settings.dispatch_limit = 1;
        settings.incoming.idle_check = floe::settings::IdleCheck::Always;
        settings.incoming.idle_timeout = ms(300);
        let server = Server::start(face, settings, "tcp -h 127.0.0.1 -p 0");
        let mut raw = Raw::connect(server.port());
        // The second waits for the first, and the connection is not read meanwhile.
        raw.send(&[request(1, "wait"), request(2, "wait")].concat());
        server.echo.wait_until_begun(1);
        thread::sleep(ms(1000));
        server.echo.let_go();
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(1));
        assert_eq!(raw.next_but_heartbeats(), Came::Reply(2));
    });
}
