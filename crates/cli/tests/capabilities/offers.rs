//! Compressions that a server offers beyond bzip2, and callers that use them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::command::run;
use crate::echo::{CONTRACT, Echo};
use crate::hub::{Hub, Running};

#[test]
fn what_a_server_offers_is_in_its_proxy_and_used_if_asked_for() {
    let echo = Echo::start(&["--offer", "zstd,brotli,zstd-stream,zstd-batch"]);
    let parsed = run(&["proxy", "parse", &echo.proxy]).ended(0).json();
    let offers = serde_json::json!(["zstd", "brotli", "zstd-stream", "zstd-batch"]);
    assert_eq!(parsed["endpoints"][0]["offers"], offers);
    let hub = Hub::with(&["--transient", "--offer", "brotli"]);
    let parsed = run(&["proxy", "parse", &hub.manager]).ended(0).json();
    assert_eq!(
        parsed["endpoints"][0]["offers"],
        serde_json::json!(["brotli"])
    );
    for name in ["zstd", "brotli", "zstd-stream", "zstd-batch", "bzip2"] {
        let zeros = serde_json::json!([vec![0.0; 100]]).to_string();
        let call = ["call", &echo.proxy, "doubles", &zeros, "--slice", CONTRACT];
        run(&[&call[..], &["--compress", name]].concat()).ended(0);
    }
    let (proxy, port) = (echo.proxy.clone(), echo.port());
    echo.process.signal("TERM");
    echo.process.end().ended(0);
    // In its place somebody who only looks at the header of the first request.
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("it was used until now");
    let zeros = serde_json::json!([vec![0.0; 100]]).to_string();
    let call = ["call", &proxy, "doubles", &zeros, "--slice", CONTRACT];
    let process = Running::start(&[&call[..], &["--compress", "zstd"]].concat());
    let mut stream = accept(&listener);
    stream.write_all(VALIDATE_CONNECTION).expect("it listens");
    let mut header = [0; 14];
    stream.read_exact(&mut header).expect("a request");
    assert_eq!((header[8], header[9]), (0, COMPRESSED_WITH_ZSTD));
    drop(stream);
    drop(process);
}

/// The next connection, unless that takes for ever.
fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).expect("it is a socket");
    let deadline = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).expect("it is a socket");
                stream
                    .set_read_timeout(Some(PATIENCE))
                    .expect("it is a socket");
                return stream;
            }
            Err(error) => assert!(Instant::now() < deadline, "nobody connects: {error}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// How long anything may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The message with which a server begins.
const VALIDATE_CONNECTION: &[u8] = b"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00";

/// The compression byte of a message that is compressed with zstd: ADR 14.
const COMPRESSED_WITH_ZSTD: u8 = 71;
