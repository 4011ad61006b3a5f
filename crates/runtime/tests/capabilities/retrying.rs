//! When a request is sent again: never one that may have been executed, unless it may be repeated.
//!
//! The requests go over a connection that is there, so that the first attempt of each leaves without
//! any wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::codegen::OperationInfo;
use floe::encoding::Encoder;
use floe::{Communicator, EncodeError, InvokeError, LocalError, OperationMode, Proxy, TypedProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::echo::{NOTHING, soon};
use crate::raw::header;

/// Long enough for another attempt, if there is one.
const PAUSE: Duration = Duration::from_millis(500);

const RUN: OperationInfo = operation("run", OperationMode::Normal);
const LOOK: OperationInfo = operation("look", OperationMode::Idempotent);

const fn operation(name: &'static str, mode: OperationMode) -> OperationInfo {
    OperationInfo {
        name,
        mode,
        returns_data: false,
    }
}

async fn call(proxy: &Proxy, operation: &'static OperationInfo) -> Result<(), InvokeError> {
    let nothing = |encoder: &mut Encoder<'_>| encoder.bytes(&[]);
    soon(proxy.call(operation, nothing, |_| Ok(()))).await
}

/// A server by hand, and a client that is connected to it.
struct Pair {
    listener: TcpListener,
    stream: TcpStream,
    proxy: Proxy,
}

impl Pair {
    async fn connected() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy: Proxy = Communicator::new()
            .proxy(&format!("fake:tcp -h 127.0.0.1 -p {port}"))
            .unwrap();
        let connecting = proxy.clone();
        let connecting = tokio::spawn(async move { connecting.connect().await });
        let stream = accept(&listener).await;
        soon(connecting).await.unwrap().unwrap();
        Self {
            listener,
            stream,
            proxy,
        }
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = soon(listener.accept()).await.unwrap();
    stream.write_all(&header(3, 14)).await.unwrap();
    stream
}

/// Reads a request; gives its id and operation.
async fn read_request(stream: &mut TcpStream) -> ([u8; 4], String) {
    let mut head = [0; 14];
    soon(stream.read_exact(&mut head)).await.unwrap();
    let size = i32::from_le_bytes([head[10], head[11], head[12], head[13]]);
    let mut body = vec![0; size as usize - head.len()];
    soon(stream.read_exact(&mut body)).await.unwrap();
    let id = [body[0], body[1], body[2], body[3]];
    // The identity `fake` without a category, and no facet.
    let operation = &body[4 + 5 + 1 + 1..];
    let (len, operation) = operation.split_first().unwrap();
    let operation = String::from_utf8(operation[..usize::from(*len)].to_vec());
    (id, operation.unwrap())
}

/// Reads a request, drops its connection, and reads what comes over the next one.
async fn read_drop_and_read(
    mut stream: TcpStream,
    listener: &TcpListener,
) -> ([u8; 4], String, TcpStream) {
    read_request(&mut stream).await;
    drop(stream);
    let mut stream = accept(listener).await;
    let (id, operation) = read_request(&mut stream).await;
    (id, operation, stream)
}

async fn answer(stream: &mut TcpStream, id: [u8; 4]) {
    let reply = [&header(2, 25)[..], &id, &[0], &NOTHING].concat();
    stream.write_all(&reply).await.unwrap();
}

#[tokio::test]
async fn what_a_graceful_close_left_undone_is_done_over_another_connection() {
    let Pair {
        listener,
        mut stream,
        proxy,
    } = Pair::connected().await;
    let server = tokio::spawn(async move {
        let (_, first) = read_request(&mut stream).await;
        stream.write_all(&header(4, 14)).await.unwrap();
        let mut stream = accept(&listener).await;
        let (id, second) = read_request(&mut stream).await;
        answer(&mut stream, id).await;
        (first, second, stream)
    });
    call(&proxy, &RUN).await.unwrap();
    let (first, second, _stream) = soon(server).await.unwrap();
    assert_eq!([first, second], ["run", "run"]);
}

#[tokio::test]
async fn what_may_have_been_executed_is_not_sent_again() {
    let Pair {
        listener,
        stream,
        proxy,
    } = Pair::connected().await;
    let server = tokio::spawn(async move {
        // The next that comes is another call's.
        let (id, operation, mut stream) = read_drop_and_read(stream, &listener).await;
        answer(&mut stream, id).await;
        (operation, stream)
    });
    let error = call(&proxy, &RUN).await.unwrap_err();
    assert!(
        matches!(
            error,
            InvokeError::PerhapsDispatched(LocalError::ConnectionLost { .. })
        ),
        "{error:?}"
    );
    call(&proxy, &LOOK).await.unwrap();
    let (operation, _stream) = soon(server).await.unwrap();
    assert_eq!(operation, "look");
}

#[tokio::test]
async fn what_may_be_repeated_is_sent_again_once_and_no_more_often() {
    let Pair {
        listener,
        stream,
        proxy,
    } = Pair::connected().await;
    let server = tokio::spawn(async move {
        let (_, operation, _stream) = read_drop_and_read(stream, &listener).await;
        (operation, listener)
    });
    let error = call(&proxy, &LOOK).await.unwrap_err();
    assert!(
        matches!(error, InvokeError::PerhapsDispatched(_)),
        "{error:?}"
    );
    let (operation, listener) = soon(server).await.unwrap();
    assert_eq!(operation, "look");
    let more = std::future::poll_fn(|context| {
        let is_none = listener.poll_accept(context).is_pending();
        std::task::Poll::Ready(!is_none)
    });
    assert!(!more.await, "there is no third attempt");
}

/// Input that breaks the protocol: no message, a message of another protocol, and one of no type.
fn faults() -> [Vec<u8>; 3] {
    let mut of_version_2 = header(3, 14);
    of_version_2[4] = 2;
    [b"garbage".repeat(3), of_version_2, header(9, 14)]
}

#[tokio::test]
async fn a_peer_that_begins_with_a_fault_is_tried_again_with_whatever_was_to_be_said() {
    // A request and a graceful close, too, are not what a server begins with.
    let request = [&header(0, 18)[..], &[1, 0, 0, 0]].concat();
    for first in faults().into_iter().chain([request, header(4, 14)]) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let text = format!("fake:tcp -h 127.0.0.1 -p {port}");
        let proxy: Proxy = Communicator::new().proxy(&text).unwrap();
        let saying = first.clone();
        let server = tokio::spawn(async move {
            let (mut faulty, _) = soon(listener.accept()).await.unwrap();
            faulty.write_all(&saying).await.unwrap();
            let mut stream = accept(&listener).await;
            let (id, operation) = read_request(&mut stream).await;
            answer(&mut stream, id).await;
            (operation, faulty, stream)
        });
        call(&proxy, &RUN).await.unwrap();
        let (operation, _faulty, _stream) = soon(server).await.unwrap();
        assert_eq!(operation, "run", "after {first:02x?}");
    }
}

#[tokio::test]
async fn a_fault_in_place_of_a_reply_is_answered_with_the_request_again_if_that_may_be_repeated() {
    for fault in faults() {
        let Pair {
            listener,
            mut stream,
            proxy,
        } = Pair::connected().await;
        let server = tokio::spawn(async move {
            let mut operations = Vec::new();
            for _ in 0..2 {
                operations.push(read_request(&mut stream).await.1);
                stream.write_all(&fault).await.unwrap();
                stream = accept(&listener).await;
            }
            let (id, operation) = read_request(&mut stream).await;
            operations.push(operation);
            answer(&mut stream, id).await;
            (operations, stream)
        });
        let error = call(&proxy, &RUN).await.unwrap_err();
        let is_doubtful = matches!(
            error,
            InvokeError::PerhapsDispatched(LocalError::Protocol { .. })
        );
        assert!(is_doubtful, "{error:?}");
        call(&proxy, &LOOK).await.unwrap();
        let (operations, _stream) = soon(server).await.unwrap();
        assert_eq!(operations, ["run", "look", "look"]);
    }
}

#[tokio::test]
async fn a_peer_that_speaks_another_protocol_for_good_is_tried_twice_and_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = format!("fake:tcp -h 127.0.0.1 -p {port}");
    let proxy: Proxy = Communicator::new().proxy(&text).unwrap();
    let server = tokio::spawn(async move {
        let mut streams = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = soon(listener.accept()).await.unwrap();
            stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").await.unwrap();
            streams.push(stream);
        }
        let third = timeout(PAUSE, listener.accept()).await;
        assert!(third.is_err(), "a third connection");
    });
    let error = call(&proxy, &LOOK).await.unwrap_err();
    let is_sure = matches!(
        error,
        InvokeError::NotDispatched(LocalError::Protocol { .. })
    );
    assert!(is_sure, "{error:?}");
    let said = error.to_string();
    assert!(
        said.contains("expected a message that starts with"),
        "{said}"
    );
    assert!(said.contains("got 53 53 48 2d"), "{said}");
    soon(server).await.unwrap();
}

#[tokio::test]
async fn parameters_without_an_encoding_are_not_tried_again() {
    let Pair { stream, proxy, .. } = Pair::connected().await;
    for proxy in [
        proxy.clone(),
        proxy.ice_oneway(),
        proxy.ice_batch_oneway(),
        proxy.ice_timeout(None),
    ] {
        let encode_count = AtomicUsize::new(0);
        let encode = |encoder: &mut Encoder<'_>| {
            encode_count.fetch_add(1, Ordering::Relaxed);
            encoder.fail(EncodeError::FixedProxy);
        };
        let called = soon(proxy.call::<(), InvokeError>(&RUN, encode, |_| Ok(()))).await;
        let error = called.unwrap_err();
        assert!(
            matches!(error, InvokeError::NotDispatched(LocalError::Encode(_))),
            "{error:?}"
        );
        assert_eq!(encode_count.load(Ordering::Relaxed), 1);
    }
    drop(stream);
}
