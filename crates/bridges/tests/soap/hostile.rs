//! Programs that mean harm: each costs its own connection only.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{Joined, notify};

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let joined = Joined::start("").await;
    let post = |headers: &str, body: &str| {
        format!("POST / HTTP/1.1\r\nConnection: close\r\n{headers}\r\n{body}")
    };
    let host = "Host: localhost\r\n";
    let xml = format!("{host}Content-Type: text/xml\r\n");
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\">]><a>&b;</a>";
    let deep = "<a>".repeat(100_000);
    for (request, status) in [
        (post(&format!("{host}Content-Length: 4\r\n"), "<a/>"), 415),
        (
            post(
                &format!("{host}Content-Type: text/plain\r\nContent-Length: 4\r\n"),
                "<a/>",
            ),
            415,
        ),
        (
            post(
                &format!("{host}Content-Type: text/xml; charset=utf-16\r\nContent-Length: 4\r\n"),
                "<a/>",
            ),
            415,
        ),
        (
            post(
                &format!("{xml}Content-Encoding: gzip\r\nContent-Length: 4\r\n"),
                "<a/>",
            ),
            415,
        ),
        (
            post(&format!("{xml}Content-Length: 99999999999\r\n"), ""),
            413,
        ),
        (
            post(&format!("{xml}Content-Length: {}\r\n", bomb.len()), bomb),
            500,
        ),
        (
            post(&format!("{xml}Content-Length: {}\r\n", deep.len()), &deep),
            500,
        ),
        (
            post(
                "Host: evil.example\r\nContent-Type: text/xml\r\nContent-Length: 4\r\n",
                "<a/>",
            ),
            421,
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(),
            404,
        ),
        (
            "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(),
            405,
        ),
        (
            format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(16 * 1024)),
            431,
        ),
        ("\u{1}\u{2}\r\n\r\n".to_owned(), 400),
    ] {
        let reply = joined.send(&request).await;
        let shown: String = request.chars().take(200).collect();
        assert_eq!(reply.status, status, "{shown}: {}", reply.text);
    }
    // Others are served as before.
    assert_eq!(joined.post("/", &notify(&["a"])).await.status, 202);
    joined.end().await;
}

#[tokio::test]
async fn a_body_that_is_longer_than_allowed_is_not_read_to_its_end() {
    let joined = Joined::start("").await;
    let mut stream = TcpStream::connect(&joined.address)
        .await
        .expect("it listens");
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let mut sent = 0;
    while stream.write_all(chunk.as_bytes()).await.is_ok() {
        sent += chunk.len();
        assert!(sent < 64 * 1024 * 1024, "it reads without an end");
    }
    assert_eq!(joined.post("/", &notify(&["a"])).await.status, 202);
    joined.end().await;
}

#[tokio::test]
async fn silent_connections_keep_no_program_out() {
    let joined = Joined::start("").await;
    let mut silent = Vec::new();
    for index in 0..300 {
        let mut stream = TcpStream::connect(&joined.address)
            .await
            .expect("it listens");
        // Some say a part, and stop.
        if index % 2 == 0 {
            let part = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/xml\r\nContent-Length: 10\r\n\r\n<a";
            let _ = stream.write_all(part.as_bytes()).await;
        }
        silent.push(stream);
    }
    assert_eq!(joined.post("/", &notify(&["a"])).await.status, 202);
    // The oldest were dropped to make room.
    let mut first = Vec::new();
    let ended =
        tokio::time::timeout(Duration::from_secs(10), silent[1].read_to_end(&mut first)).await;
    assert!(ended.is_ok(), "the oldest silent connection is still open");
    joined.end().await;
}

#[tokio::test]
async fn pull_points_have_a_limit() {
    let joined = Joined::start("").await;
    let body = format!(
        "<s:Envelope xmlns:s='{}'><s:Body><CreatePullPoint xmlns='http://docs.oasis-open.org/wsn/b-2'/></s:Body></s:Envelope>",
        crate::fixture::SOAP11
    );
    let request = |connection: &str| {
        format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/xml\r\nConnection: {connection}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    // One connection, many requests, which are answered in order.
    let all = request("keep-alive").repeat(1000) + &request("close");
    let mut stream = TcpStream::connect(&joined.address)
        .await
        .expect("it listens");
    let (mut read, mut write) = stream.split();
    let mut answers = String::new();
    let (sent, got) = tokio::join!(
        write.write_all(all.as_bytes()),
        read.read_to_string(&mut answers)
    );
    sent.expect("it reads");
    got.expect("it answers");
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 1000);
    assert_eq!(
        answers
            .matches("UnableToCreatePullPointFault xmlns")
            .count(),
        1
    );
    joined.end().await;
}
