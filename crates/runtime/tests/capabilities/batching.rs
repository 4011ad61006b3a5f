//! Requests that are collected and given up before they leave stay collected, and none is lost silently.

use std::pin::pin;
use std::task::Poll;

use floe::TypedProxy;
use floe::codegen::OperationInfo;
use floe::encoding::Encoder;
use floe::{Communicator, InvokeError, LocalError, OperationMode, Proxy, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::echo::{NOTHING, Server, soon};
use crate::raw::header;

/// A hand-written server that is silent until it accepts a connection, and a batch proxy for it.
async fn silent(settings: Settings) -> (TcpListener, Proxy) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy: Proxy = Communicator::with_settings(settings)
        .proxy(&format!("fake:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    (listener, proxy.ice_batch_oneway())
}

async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = soon(listener.accept()).await.unwrap();
    stream.write_all(&header(3, 14)).await.unwrap();
    stream
}

/// Reads a batch; how many requests it has.
async fn read_batch(stream: &mut TcpStream) -> i32 {
    let mut head = [0; 18];
    soon(stream.read_exact(&mut head)).await.unwrap();
    let [size, count] = [10, 14].map(|at| i32::from_le_bytes(head[at..at + 4].try_into().unwrap()));
    assert_eq!(head[8], 1, "a batch");
    let mut requests = vec![0; size as usize - head.len()];
    soon(stream.read_exact(&mut requests)).await.unwrap();
    count
}

async fn collect(proxy: &Proxy) -> Result<(), InvokeError> {
    let collected = proxy.invoke("note", OperationMode::Normal, &NOTHING);
    collected.await.map(|_| ())
}

/// Begins something that has to wait, and gives it up.
async fn give_up<T: std::fmt::Debug>(future: impl Future<Output = T>) {
    let mut future = pin!(future);
    let begun = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
    assert!(begun.await.is_pending());
}

#[tokio::test]
async fn what_a_flush_did_not_get_away_leaves_with_the_next() {
    let (listener, batch) = silent(Settings::default()).await;
    for _ in 0..3 {
        soon(collect(&batch)).await.unwrap();
    }
    give_up(batch.flush_batch()).await;
    give_up(batch.flush_batch()).await;
    let mut stream = accept(&listener).await;
    soon(batch.flush_batch()).await.unwrap();
    assert_eq!(read_batch(&mut stream).await, 3);
    // The batch is empty now.
    soon(batch.flush_batch()).await.unwrap();
    soon(collect(&batch)).await.unwrap();
    soon(batch.flush_batch()).await.unwrap();
    assert_eq!(read_batch(&mut stream).await, 1);
}

#[tokio::test]
async fn a_flush_of_all_finds_what_another_gave_up() {
    let (listener, batch) = silent(Settings::default()).await;
    soon(collect(&batch)).await.unwrap();
    give_up(batch.flush_batch()).await;
    let mut stream = accept(&listener).await;
    let communicator = batch.communicator().expect("it is there");
    soon(communicator.flush_batches()).await.unwrap();
    assert_eq!(read_batch(&mut stream).await, 1);
}

/// Until it has left, no more requests are collected, so that callers that give up need no memory.
#[tokio::test]
async fn a_full_batch_that_was_given_up_leaves_before_anything_else_is_collected() {
    const NOTE: OperationInfo = OperationInfo {
        name: "note",
        mode: OperationMode::Normal,
        returns_data: false,
    };
    let mut settings = Settings::default();
    settings.batch_size_max = 100;
    let (listener, batch) = silent(settings).await;
    let long = |encoder: &mut Encoder<'_>| encoder.bytes(&[0; 60]);
    let typed = || batch.call::<(), InvokeError>(&NOTE, long, |_| Ok(()));
    soon(typed()).await.unwrap();
    // The first is full with this one, which stays.
    give_up(typed()).await;
    for _ in 0..100 {
        give_up(typed()).await;
        give_up(collect(&batch)).await;
    }
    let mut stream = accept(&listener).await;
    soon(batch.flush_batch()).await.unwrap();
    assert_eq!(read_batch(&mut stream).await, 1);
    assert_eq!(read_batch(&mut stream).await, 1);
    let more = soon(batch.flush_batch()).await;
    more.unwrap();
    soon(typed()).await.unwrap();
    soon(batch.flush_batch()).await.unwrap();
    assert_eq!(read_batch(&mut stream).await, 1);
}

/// One that ran out of time says so, and is collected no longer: its caller knows.
#[tokio::test]
async fn a_flush_that_runs_out_of_time_says_what_is_lost() {
    let (listener, batch) = silent(Settings::default()).await;
    for _ in 0..2 {
        soon(collect(&batch)).await.unwrap();
    }
    let hasty = batch.ice_timeout(Some(std::time::Duration::from_millis(20)));
    soon(collect(&hasty)).await.unwrap();
    match soon(hasty.flush_batch()).await {
        Err(InvokeError::NotDispatched(LocalError::BatchLost { count, .. })) => {
            assert_eq!(count, 1);
        }
        other => panic!("expected the loss of one, got {other:?}"),
    }
    let mut stream = accept(&listener).await;
    soon(hasty.flush_batch()).await.unwrap();
    soon(batch.flush_batch()).await.unwrap();
    assert_eq!(read_batch(&mut stream).await, 2);
}

#[tokio::test]
async fn what_is_with_the_connection_leaves_by_itself() {
    let server = Server::start().await;
    let batch = server.proxy("echo").ice_batch_oneway();
    batch.connect().await.unwrap();
    let echo = || batch.invoke("echo", OperationMode::Normal, &NOTHING);
    soon(echo()).await.unwrap();
    let mut flush = Box::pin(batch.flush_batch());
    // It may be done immediately or wait for the transport. Nothing is collected again in either case.
    let _ = std::future::poll_fn(|context| Poll::Ready(flush.as_mut().poll(context))).await;
    drop(flush);
    soon(batch.flush_batch()).await.unwrap();
    // It came over the same connection.
    batch.ice_twoway().ice_ping().await.unwrap();
    let count = &server.echo.echo_count;
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
}
