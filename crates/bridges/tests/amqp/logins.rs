//! Programs say who they are.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};
use floe_amqp::codec::{Reader, Symbol, Writer};
use floe_amqp::frame::{AMQP_HEADER, SASL_HEADER, take_frame};
use floe_amqp::limits::SASL_FRAME_LEN_MAX;
use floe_amqp::sasl::{Init, SaslFrame};
use floe_bridges::amqp::Settings;

use crate::broker::{Broker, settings};

/// The password is tulip; so few rounds are for tests alone.
const USER: &str = "ann $5$rounds=1000$saltsalt$QdyCXwm0GKc2yonAJ67WiHMDVWJCvH50QYOcZ67hXg.";

fn users(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("there is room");
    path
}

/// The outcome of a login: 0 is right; nothing if the broker closes instead.
fn log_in(address: &str, mechanism: &'static str, response: &'static [u8]) -> Option<u8> {
    let mut stream = TcpStream::connect(address).expect("the broker listens");
    let mut writer = Writer::default();
    SaslFrame::Init(Init {
        mechanism: Symbol::new(mechanism),
        initial_response: Some(Bytes::from_static(response)),
        hostname: None,
    })
    .encode(&mut writer);
    let body = writer.into_bytes();
    let mut said = SASL_HEADER.to_vec();
    said.extend_from_slice(&(body.len() as u32 + 8).to_be_bytes());
    said.extend_from_slice(&[2, 1, 0, 0]);
    said.extend_from_slice(&body);
    stream.write_all(&said).expect("the broker reads");
    let mut input = BytesMut::new();
    let mut is_begun = false;
    loop {
        if !is_begun && input.len() >= SASL_HEADER.len() {
            assert_eq!(input.split_to(SASL_HEADER.len())[..], SASL_HEADER);
            is_begun = true;
        }
        let frame = is_begun.then(|| take_frame(&mut input, SASL_FRAME_LEN_MAX).expect("a frame"));
        if let Some(frame) = frame.flatten() {
            match SaslFrame::decode(&mut Reader::new(&frame.body)) {
                Ok(SaslFrame::Outcome(outcome)) => return Some(outcome.code),
                Ok(_) => continue,
                Err(error) => panic!("{error}"),
            }
        }
        let mut buffer = [0; 512];
        match stream.read(&mut buffer) {
            Ok(len @ 1..) => input.extend_from_slice(&buffer[..len]),
            Ok(0) | Err(_) => return None,
        }
    }
}

#[test]
fn with_a_users_file_only_its_users_are_let_in() {
    let broker = Broker::with(
        Settings {
            passwords: Some(users("amqp-users", USER)),
            ..settings()
        },
        |_| (),
    );
    let address = broker.address();
    assert_eq!(log_in(&address, "PLAIN", b"\0ann\0tulip"), Some(0));
    assert_eq!(log_in(&address, "PLAIN", b"ann\0ann\0tulip"), Some(0));
    for response in [
        &b"\0ann\0rose"[..],
        b"\0bob\0tulip",
        b"bob\0ann\0tulip",
        b"\0ann\0",
    ] {
        assert_eq!(log_in(&address, "PLAIN", response), Some(1), "{response:?}");
    }
    assert_eq!(log_in(&address, "ANONYMOUS", b""), Some(1));
    // Who begins without SASL is told to begin with it.
    let mut stream = TcpStream::connect(&address).expect("the broker listens");
    stream.write_all(&AMQP_HEADER).expect("the broker reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("the broker closes");
    assert_eq!(answer, SASL_HEADER);
}

#[test]
fn without_a_users_file_nobody_is_asked() {
    let broker = Broker::start();
    assert_eq!(log_in(&broker.address(), "ANONYMOUS", b"x"), Some(0));
    assert_eq!(log_in(&broker.address(), "PLAIN", b"\0ann\0tulip"), Some(1));
}

#[test]
fn a_users_file_that_cannot_be_used_is_named() {
    let broker = Broker::start();
    for (path, expected) in [
        (
            PathBuf::from("nowhere/users"),
            "nowhere/users: No such file",
        ),
        (users("amqp-no-users", "ann"), "amqp-no-users: "),
    ] {
        let started = broker.try_start(Settings {
            passwords: Some(path),
            ..settings()
        });
        let error = started.expect_err("it cannot start").to_string();
        assert!(error.contains("the users' file"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}
