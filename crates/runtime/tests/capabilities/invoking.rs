//! Contexts, batches of many proxies, retries, and invocations that are given up.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use floe::{
    Communicator, Context, InvokeError, LocalError, OperationMode, Proxy, Settings, TypedProxy,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::echo::{NOTHING, Server, encapsulation, returned, soon};

fn answer(value: &str) -> Context {
    Context::from([("answer".to_owned(), value.to_owned())])
}

#[tokio::test]
async fn the_context_of_a_proxy_wins_over_that_of_the_communicator() {
    let server = Server::start().await;
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "echo");
    let asked = async |proxy: &Proxy| returned(proxy, "context", &NOTHING).await.expect("ok");

    assert_eq!(asked(&proxy).await, encapsulation(b"\0"));
    client.implicit_context().put("answer", "all");
    assert_eq!(asked(&proxy).await, encapsulation(b"\x03all"));
    let own = proxy.ice_context(answer("own"));
    assert_eq!(asked(&own).await, encapsulation(b"\x03own"));
    // Entries that only the communicator has are sent, too.
    let other = proxy.ice_context([("other".to_owned(), String::new())].into());
    assert_eq!(asked(&other).await, encapsulation(b"\x03all"));

    assert_eq!(
        client.implicit_context().get("answer").as_deref(),
        Some("all")
    );
    client.implicit_context().remove("answer");
    assert_eq!(asked(&proxy).await, encapsulation(b"\0"));
    client.implicit_context().set(answer("set"));
    assert_eq!(client.implicit_context().context(), answer("set"));
    assert_eq!(asked(&proxy).await, encapsulation(b"\x03set"));
}

#[tokio::test]
async fn batches_are_flushed_by_connection_or_all_together() {
    let (one, two) = (Server::start().await, Server::start().await);
    let client = Communicator::new();
    let collect = async |proxy: &Proxy| {
        let collected = proxy.invoke("echo", OperationMode::Normal, &NOTHING).await;
        collected.expect("collected");
    };
    let counts = || [&one, &two].map(|server| server.echo.echo_count.load(Ordering::SeqCst));
    let first = one.proxy_of(&client, "echo");
    let connection = first.ice_connection().await.expect("connected");
    let connection = connection.expect("a connection");
    let proxies = [first.ice_batch_oneway(), first.ice_batch_oneway(), {
        two.proxy_of(&client, "echo").ice_batch_oneway()
    }];
    for proxy in &proxies {
        collect(proxy).await;
        collect(proxy).await;
    }
    connection.flush_batches().await.expect("flushed");
    first.ice_ping().await.expect("a ping");
    assert_eq!(counts(), [4, 0]);

    collect(&proxies[0]).await;
    client.flush_batches().await.expect("flushed");
    first.ice_ping().await.expect("a ping");
    proxies[2].ice_twoway().ice_ping().await.expect("a ping");
    assert_eq!(counts(), [5, 2]);
}

#[tokio::test]
async fn a_reply_to_a_call_that_was_dropped_is_discarded() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    proxy.connect().await.expect("connected");
    for _ in 0..50 {
        let call = proxy.invoke("slow", OperationMode::Normal, &NOTHING);
        let dropped = tokio::time::timeout(Duration::from_millis(1), call).await;
        dropped.expect_err("it is slow");
    }
    let slow = encapsulation(b"still here");
    assert_eq!(returned(&proxy, "slow", &slow).await.expect("ok"), slow);
    let connection = proxy.ice_cached_connection().expect("the same connection");
    // A close waits for replies that are due: there are none.
    let start = Instant::now();
    soon(connection.close()).await;
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A server that validates each connection and drops it with the first bytes that come; gives how
/// many connections were made when it is stopped.
async fn dropping_server(client: &Communicator) -> (Proxy, tokio::sync::watch::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let (sender, count) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            sender.send_modify(|count| *count += 1);
            let validate = *b"IceP\x01\0\x01\0\x03\0\x0e\0\0\0";
            let _ = stream.write_all(&validate).await;
            let mut bytes = [0; 64];
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut bytes).await;
        }
    });
    let text = format!("x:tcp -h 127.0.0.1 -p {port}");
    (client.proxy(&text).expect("a proxy"), count)
}

#[tokio::test]
async fn an_idempotent_operation_is_retried_as_often_and_as_late_as_the_settings_say() {
    let mut settings = Settings::default();
    let intervals = [0, 20, 30].map(Duration::from_millis);
    settings.retry_intervals = intervals.to_vec();
    let client = Communicator::with_settings(settings);
    let (proxy, count) = dropping_server(&client).await;
    let start = Instant::now();
    let result = soon(proxy.ice_ping()).await;
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert!(
        matches!(result, Err(InvokeError::PerhapsDispatched(_))),
        "{result:?}"
    );
    assert_eq!(*count.borrow(), 4);
    // A request that may have been executed is not repeated.
    let before = *count.borrow();
    let normal = proxy.invoke("op", OperationMode::Normal, &NOTHING);
    soon(normal).await.unwrap_err();
    assert_eq!(*count.borrow(), before + 1);
}

#[tokio::test]
async fn neither_batches_nor_the_impatient_are_retried() {
    let mut settings = Settings::default();
    settings.retry_intervals = Vec::new();
    let client = Communicator::with_settings(settings);
    let (proxy, count) = dropping_server(&client).await;
    soon(proxy.ice_ping()).await.unwrap_err();
    assert_eq!(*count.borrow(), 1);

    let client = Communicator::new();
    let dead: Proxy = client.proxy("x:tcp -h 127.0.0.1 -p 1").expect("a proxy");
    let batch = dead.ice_batch_oneway();
    let collected = batch
        .invoke("op", OperationMode::Idempotent, &NOTHING)
        .await;
    collected.expect("collected");
    let lost = batch.flush_batch().await;
    assert!(
        matches!(
            &lost,
            Err(InvokeError::NotDispatched(LocalError::BatchLost {
                count: 1,
                ..
            }))
        ),
        "{lost:?}"
    );
    batch.flush_batch().await.expect("nothing is left");
}

#[tokio::test]
async fn a_caller_waits_while_the_output_is_above_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let mut settings = Settings::default();
    settings.output_limit = 64 * 1024;
    settings.close_timeout = Duration::from_millis(100);
    let client = Communicator::with_settings(settings);
    let text = format!("x -o:tcp -h 127.0.0.1 -p {port}");
    let proxy: Proxy = client.proxy(&text).expect("a proxy");
    let accepting = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let validate = *b"IceP\x01\0\x01\0\x03\0\x0e\0\0\0";
        stream.write_all(&validate).await.expect("written");
        stream
    });
    proxy.connect().await.expect("connected");
    let mut stream = accepting.await.expect("accepted");
    let large = encapsulation(&vec![0; 1024 * 1024]);
    // The peer reads nothing: what its system buffers takes some, and then callers wait.
    let mut sent_count = 0;
    loop {
        let send = proxy.invoke("op", OperationMode::Normal, &large);
        match tokio::time::timeout(Duration::from_millis(300), send).await {
            Ok(sent) => assert_eq!(sent.expect("sent"), None),
            Err(_) => break,
        }
        sent_count += 1;
        assert!(sent_count < 100, "nobody waited");
    }
    let send = proxy.invoke("op", OperationMode::Normal, &large);
    let (sent, ()) = tokio::join!(soon(send), async {
        let mut bytes = vec![0; 1024 * 1024];
        for _ in 0..(sent_count + 1) * 2 {
            let read = tokio::io::AsyncReadExt::read(&mut stream, &mut bytes);
            let _ = tokio::time::timeout(Duration::from_millis(200), read).await;
        }
    });
    sent.expect("sent when the peer read");
}
