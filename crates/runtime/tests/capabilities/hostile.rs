//! Peers that send what no peer should.

use std::time::Duration;

use floe::TypedProxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::echo::{NOTHING, Server, soon};
use crate::raw::{header, send_and_wait};

#[tokio::test]
async fn bad_messages_close_their_connection_and_no_other() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    soon(proxy.ice_ping()).await.unwrap();
    let mut request = header(0, 30);
    request.extend([
        1, 0, 0, 0, 4, b'e', b'c', b'h', b'o', 0, 0, 4, b'e', b'c', b'h', b'o',
    ]);
    let bad: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        header(0, 13),
        header(0, -1),
        header(0, 2_000_000),
        header(9, 14),
        header(3, 15),
        header(1, 14),
        header(0, 14),
        b"IceP\x02\x00\x01\x00\x00\x00\x0e\x00\x00\x00".to_vec(),
        b"IceP\x01\x00\x01\x00\x00\x02\x20\x00\x00\x00".to_vec(),
        request,
        header(0, 100),
    ];
    for bytes in bad {
        soon(send_and_wait(&server, &bytes)).await;
        proxy.ice_ping().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_never_validates_is_given_up() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let client = floe::Communicator::new();
    let proxy: floe::Proxy = client
        .proxy(&format!("echo:tcp -h 127.0.0.1 -p {port} -t 50"))
        .unwrap();
    let started = std::time::Instant::now();
    let error = soon(proxy.ice_ping()).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert!(error.to_string().contains("ValidateConnection"), "{error}");
    assert!(started.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn a_client_refuses_a_server_that_speaks_another_protocol() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"220 mail.example.org ESMTP\r\n").await;
        }
    });
    let client = floe::Communicator::new();
    let proxy: floe::Proxy = client
        .proxy(&format!("echo:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let error = soon(proxy.ice_ping()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("does not speak the Ice protocol"),
        "{error}"
    );
}

#[tokio::test]
async fn a_peer_that_never_reads_its_replies_is_not_read_from() {
    let server = Server::start().await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut request = header(0, 0);
    request.extend([1, 0, 0, 0, 4]);
    request.extend(b"echo\x00\x00\x04echo\x00\x00");
    request.extend(crate::echo::encapsulation(&vec![7; 500_000]));
    let size = request.len() as i32;
    request[10..14].copy_from_slice(&size.to_le_bytes());
    let mut sent = 0;
    // At some point the server stops reading, and so do the buffers of the system.
    let write = async {
        for _ in 0..400 {
            stream.write_all(&request).await.unwrap();
            sent += request.len();
        }
    };
    let is_stopped = tokio::time::timeout(Duration::from_secs(2), write)
        .await
        .is_err();
    assert!(
        is_stopped,
        "the server took {sent} bytes, and nobody read its replies"
    );
    // The server took 4 MiB of output and the buffers of two sockets.
    assert!(sent < 64 << 20, "the server took {sent} bytes");
    soon(server.proxy("echo").ice_ping()).await.unwrap();
}

/// A request to the object `echo` without parameters, with this compression byte and mode.
fn request(id: i32, operation: &str, compression: u8, mode: u8) -> Vec<u8> {
    let mut bytes = header(0, 0);
    bytes[9] = compression;
    bytes.extend(id.to_le_bytes());
    bytes.extend(b"\x04echo\x00\x00");
    bytes.push(operation.len() as u8);
    bytes.extend(operation.as_bytes());
    bytes.extend([mode, 0]);
    bytes.extend(NOTHING);
    sized(bytes)
}

/// Writes the length of a message into its header.
fn sized(mut message: Vec<u8>) -> Vec<u8> {
    let size = message.len() as i32;
    message[10..14].copy_from_slice(&size.to_le_bytes());
    message
}

/// Reads the next message, and returns its body.
async fn body(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 14];
    stream.read_exact(&mut header).await.unwrap();
    let size = i32::from_le_bytes(header[10..].try_into().unwrap()) as usize;
    let mut body = vec![0; size - 14];
    stream.read_exact(&mut body).await.unwrap();
    body
}

#[tokio::test]
async fn a_sick_request_does_not_end_the_other_calls_of_its_connection() {
    let server = Server::start().await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    assert!(body(&mut stream).await.is_empty(), "it validates");

    let mut bad_parameters = request(3, "echo", 0, 0);
    let size = bad_parameters.len() - 6;
    bad_parameters[size] = 7;
    let mut bad_text = request(4, "echo", 0, 0);
    bad_text[19] = 0xFF;
    let mut oneway = request(0, "echo", 0, 3);
    let surplus = sized([request(5, "echo", 0, 0), b"abc".to_vec()].concat());
    oneway.extend(request(6, "echo", 3, 0));
    let all = [
        request(1, "slow", 0, 0),
        request(2, "echo", 0, 3),
        bad_parameters,
        bad_text,
        surplus,
        oneway,
    ];
    stream.write_all(&all.concat()).await.unwrap();
    let mut statuses = Vec::new();
    for _ in 1..=6 {
        let body = soon(body(&mut stream)).await;
        statuses.push((body[0], body[4]));
    }
    statuses.sort();
    assert_eq!(statuses, [(1, 0), (2, 5), (3, 5), (4, 5), (5, 0), (6, 0)]);
}

#[tokio::test]
async fn a_sick_reply_does_not_end_the_other_calls_of_its_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = floe::Communicator::new();
    let proxy: floe::Proxy = client
        .proxy(&format!("echo:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&header(3, 14)).await.unwrap();
        let first = body(&mut stream).await;
        let second = body(&mut stream).await;
        let without_status = sized([header(2, 0), first[..4].to_vec()].concat());
        let mut good = [&header(2, 0), &second[..4], &[0], &NOTHING].concat();
        good.extend(b"abc");
        let heartbeat = sized([header(3, 0), b"abc".to_vec()].concat());
        let replies = [without_status, heartbeat, sized(good)].concat();
        stream.write_all(&replies).await.unwrap();
        stream
    };
    let calls = async { tokio::join!(proxy.ice_ping(), proxy.ice_ping()) };
    let (_stream, (first, second)) = soon(async { tokio::join!(serve, calls) }).await;
    let error = first.unwrap_err().to_string();
    assert!(error.contains("cannot decode reply status"), "{error}");
    second.unwrap();
}
