//! WebSockets that break the rules of frames, and those that web pages open.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::log::Log;
use crate::raw::Raw;
use crate::stage::{Face, PATIENCE, Server, settings};

/// Opens a WebSocket with these headers more; the stream, and the first line of the answer.
fn open(port: u16, headers: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Protocol: ice.zeroc.com\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("it answers") == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text");
    (stream, head.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn a_frame_that_breaks_the_rules_is_one_line_in_the_log() {
    let log = Log::of_all();
    Face::each(|face| {
        for frame in [
            // Without a mask; with a reserved bit; with an unknown opcode; a ping of 126 bytes.
            &[0x82, 0x01, 0x00][..],
            &[0xc2, 0x81, 1, 2, 3, 4, 5],
            &[0x83, 0x81, 1, 2, 3, 4, 5],
            &[0x89, 0xfe, 0, 126, 1, 2, 3, 4],
        ] {
            let server = Server::start(face, settings(), "ws -h 127.0.0.1 -p 0");
            let (mut stream, answer) = open(server.port(), "");
            assert_eq!(answer, "HTTP/1.1 101 Switching Protocols");
            let name = Raw(stream.try_clone().expect("a clone")).name();
            stream.write_all(frame).expect("it reads");
            let _ = stream.shutdown(Shutdown::Write);
            let _ = stream.read_to_end(&mut Vec::new());
            let line = log.only_line_with(&format!("closed the connection to {name}"));
            assert!(line.contains("expected"), "{line}");
        }
    });
}

#[test]
fn a_web_page_opens_a_websocket_only_if_its_origin_is_on_the_list() {
    let log = Log::of_all();
    Face::each(|face| {
        let page = "Origin: https://evil.example\r\n";
        let server = Server::start(face, settings(), "ws -h 127.0.0.1 -p 0");
        let (stream, answer) = open(server.port(), page);
        assert_eq!(answer, "HTTP/1.1 403 Forbidden");
        let name = Raw(stream).name();
        let line = log.only_line_with(&format!("refused a connection from {name}"));
        assert!(
            line.contains("https://evil.example") && line.contains("websocket_origins"),
            "{line}"
        );
        assert_eq!(server.adapter.counts().handshakes_failed, 1);
        // Sandboxed pages and files say `null`, and an empty origin is one, too.
        for origin in ["null", ""] {
            let (_, answer) = open(server.port(), &format!("Origin: {origin}\r\n"));
            assert_eq!(answer, "HTTP/1.1 403 Forbidden", "{origin:?}");
        }
        assert_eq!(
            open(server.port(), "").1,
            "HTTP/1.1 101 Switching Protocols"
        );

        for allowed in ["https://Evil.example", "*"] {
            let mut settings = settings();
            settings.websocket_origins = vec![allowed.to_owned()];
            let server = Server::start(face, settings, "ws -h 127.0.0.1 -p 0");
            let (_, answer) = open(server.port(), page);
            assert_eq!(answer, "HTTP/1.1 101 Switching Protocols", "{allowed}");
        }
    });
}
