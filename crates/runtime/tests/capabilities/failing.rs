//! The errors that callers get when things break.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use floe::{
    Communicator, InvokeError, LocalError, OperationMode, Proxy, Settings, SystemException,
    TypedProxy,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::echo::{Echo, NOTHING, Server, encapsulation, returned, soon};
use crate::raw::header;

/// A listener that plays a server, and a proxy to an object of it.
async fn fake_server(client: &Communicator) -> (TcpListener, Proxy) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let proxy = client
        .proxy(&format!("fake:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    (listener, proxy)
}

async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    stream.write_all(&header(3, 14)).await.unwrap();
    stream
}

#[tokio::test]
async fn a_request_that_one_attempt_may_have_executed_stays_in_doubt() {
    let client = Communicator::new();
    let (listener, proxy) = fake_server(&client).await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let mut request = [0; 40];
        stream.read_exact(&mut request).await.unwrap();
        // The connection and the port are gone; the second attempt is refused.
    });
    let error = soon(proxy.ice_ping()).await.unwrap_err();
    server.await.unwrap();
    assert!(
        matches!(error, InvokeError::PerhapsDispatched(_)),
        "{error:?}"
    );
    assert!(!error.is_surely_not_dispatched());
}

#[tokio::test]
async fn callers_of_a_silent_server_share_one_wait() {
    let mut settings = Settings::default();
    settings.connect_timeout = Duration::from_millis(300);
    let client = Communicator::with_settings(settings);
    let (listener, proxy) = fake_server(&client).await;
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let proxy = proxy.clone();
            tokio::spawn(async move { proxy.ice_ping().await })
        })
        .collect();
    let all = async {
        for call in calls {
            assert!(call.await.unwrap().unwrap_err().is_timeout());
        }
    };
    // Each caller tries twice; one after another they would need twelve seconds.
    tokio::time::timeout(Duration::from_secs(6), all)
        .await
        .expect("they wait together");
    drop(listener);
}

#[tokio::test]
async fn a_caller_in_a_hurry_does_not_keep_others_from_connecting() {
    let client = Communicator::new();
    let (listener, proxy) = fake_server(&client).await;
    let (give_up, given_up) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        given_up.await.unwrap();
        stream.write_all(&header(3, 14)).await.unwrap();
        let mut request = [0; 18];
        stream.read_exact(&mut request).await.unwrap();
        stream
    });
    let hasty = proxy.ice_timeout(Some(Duration::from_millis(60)));
    let error = soon(hasty.ice_ping()).await.unwrap_err();
    assert!(
        matches!(
            error,
            InvokeError::NotDispatched(LocalError::Timeout { .. })
        ),
        "{error:?}"
    );
    give_up.send(()).unwrap();
    soon(proxy.ice_oneway().ice_ping()).await.unwrap();
    soon(server).await.unwrap();
}

#[tokio::test]
async fn a_batch_that_cannot_leave_takes_its_last_request_along() {
    let mut settings = Settings::default();
    settings.batch_size_max = 200;
    let client = Communicator::with_settings(settings);
    let server = Server::start().await;
    let batch = server.proxy_of(&client, "echo").ice_batch_oneway();
    soon(server.communicator.shutdown()).await;
    let mut collected = 0;
    let error = loop {
        match soon(batch.invoke("echo", OperationMode::Normal, &NOTHING)).await {
            Ok(_) => collected += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&error, InvokeError::NotDispatched(LocalError::BatchLost { count, .. }) if *count == collected),
        "{error:?} after {collected}"
    );
    batch
        .ice_flush_batch()
        .await
        .expect("nothing is left to send");
}

#[tokio::test]
async fn parameters_that_are_no_encapsulation_are_refused_here() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let error = soon(returned(&proxy, "echo", b"hello")).await.unwrap_err();
    assert!(
        matches!(error, InvokeError::NotDispatched(LocalError::Parameters(_))),
        "{error:?}"
    );
    proxy.ice_ping().await.unwrap();
}

/// Panics before it gives a future.
struct Hasty;

impl floe::Dispatcher for Hasty {
    fn dispatch(
        self: Arc<Self>,
        requests: floe::dispatch::Requests,
        slot: &mut floe::dispatch::DispatchSlot,
    ) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Hasty {
    fn respond(self: Arc<Self>, _: floe::dispatch::Request) -> floe::dispatch::DispatchFuture {
        panic!("at once")
    }
}

#[tokio::test]
async fn a_panic_before_the_dispatch_fails_that_call_alone() {
    let server = Server::start().await;
    server.adapter.add("hasty", Hasty).unwrap();
    let proxy = server.proxy("hasty");
    let error = soon(returned(&proxy, "any", &NOTHING)).await.unwrap_err();
    assert!(
        matches!(&error, InvokeError::System(SystemException::UnknownException(text)) if text.contains("at once")),
        "{error}"
    );
    assert!(proxy.ice_ping().await.is_err());
}

/// Panics when it is given events.
struct Sinkless;

impl floe::Dispatcher for Sinkless {
    fn dispatch(
        self: Arc<Self>,
        requests: floe::dispatch::Requests,
        slot: &mut floe::dispatch::DispatchSlot,
    ) {
        let taken = requests.take_events(|_, _| panic!("no sink"));
        taken.answer(slot);
    }
}

/// Panics while it waits for room.
struct Roomless;

impl floe::Dispatcher for Roomless {
    fn dispatch(
        self: Arc<Self>,
        requests: floe::dispatch::Requests,
        slot: &mut floe::dispatch::DispatchSlot,
    ) {
        let taken = requests.take_events(|_, _| ());
        taken.answer_or_refuse(slot, async {
            tokio::task::yield_now().await;
            panic!("no room")
        });
    }
}

#[tokio::test]
async fn a_panic_over_events_loses_these_alone() {
    let server = Server::start().await;
    server.adapter.add("sinkless", Sinkless).unwrap();
    server.adapter.add("roomless", Roomless).unwrap();
    let client = Communicator::new();
    let echo = server.proxy_of(&client, "echo");
    soon(echo.ice_ping()).await.unwrap();
    let connection = echo.ice_cached_connection().expect("it was used");
    let sinkless = server.proxy_of(&client, "sinkless");
    soon(returned(&sinkless, "any", &NOTHING)).await.unwrap();
    let roomless = server.proxy_of(&client, "roomless");
    let error = soon(returned(&roomless, "any", &NOTHING)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no room"), "{error}");
    assert!(connection.is_active(), "other calls go on");
}

/// Keeps none of its promises: it puts no answer into its slot.
struct Answerless;

impl floe::Dispatcher for Answerless {
    fn dispatch(
        self: Arc<Self>,
        _: floe::dispatch::Requests,
        _: &mut floe::dispatch::DispatchSlot,
    ) {
    }
}

#[tokio::test]
async fn a_dispatcher_that_answers_nothing_fails_that_call_alone() {
    let server = Server::start().await;
    server.adapter.add("answerless", Answerless).unwrap();
    let proxy = server.proxy("answerless");
    for _ in 0..2 {
        let error = soon(returned(&proxy, "any", &NOTHING)).await.unwrap_err();
        assert!(error.to_string().contains("no future"), "{error}");
    }
    soon(server.proxy("echo").ice_ping()).await.unwrap();
}

#[tokio::test]
async fn a_panic_while_parameters_are_encoded_leaves_the_connection_whole() {
    const OPERATION: floe::codegen::OperationInfo = floe::codegen::OperationInfo {
        name: "echo",
        mode: OperationMode::Normal,
        returns_data: false,
    };
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    proxy.ice_ping().await.unwrap();
    let panicking = proxy.clone();
    let call = tokio::spawn(async move {
        let encode = |_: &mut floe::encoding::Encoder<'_>| panic!("no encoding");
        panicking
            .call::<(), InvokeError>(&OPERATION, encode, |_| Ok(()))
            .await
    });
    assert!(call.await.unwrap_err().is_panic());
    soon(proxy.ice_ping()).await.unwrap();
    soon(server.communicator.shutdown()).await;
}

#[tokio::test]
async fn a_panic_while_parameters_are_encoded_leaves_a_batch_whole() {
    const OPERATION: floe::codegen::OperationInfo = floe::codegen::OperationInfo {
        name: "echo",
        mode: OperationMode::Normal,
        returns_data: false,
    };
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let batch = proxy.ice_batch_oneway();
    let echo = || batch.invoke("echo", OperationMode::Normal, &NOTHING);
    soon(echo()).await.unwrap();
    let panicking = batch.clone();
    let call = tokio::spawn(async move {
        let encode = |encoder: &mut floe::encoding::Encoder<'_>| {
            encoder.bytes(b"half of it");
            panic!("no encoding")
        };
        panicking
            .call::<(), InvokeError>(&OPERATION, encode, |_| Ok(()))
            .await
    });
    assert!(call.await.unwrap_err().is_panic());
    soon(echo()).await.unwrap();
    soon(batch.ice_flush_batch()).await.unwrap();
    soon(proxy.ice_ping()).await.unwrap();
    let count = server.echo.echo_count.load(Ordering::SeqCst);
    assert_eq!(count, 2, "those that were collected whole");
}

#[tokio::test]
async fn when_all_handles_are_dropped_the_port_is_free_and_clients_are_told() {
    let Server {
        communicator,
        adapter,
        echo,
    } = Server::start().await;
    let endpoint = adapter.endpoints()[0].clone();
    let client = Communicator::new();
    let proxy: Proxy = client.proxy(&format!("echo:{endpoint}")).unwrap();
    soon(proxy.ice_ping()).await.unwrap();
    drop((communicator, adapter, echo));
    soon(async {
        while proxy.ice_ping().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let again = Communicator::new();
    let adapter = soon(again.adapter(&endpoint.to_string()))
        .await
        .expect("the port is free");
    adapter.add("echo", Echo::default()).unwrap();
    adapter.activate();
    soon(proxy.ice_ping()).await.unwrap();
}

/// Shuts its server down, as Ice servers often do.
struct Stopping;

impl floe::Dispatcher for Stopping {
    fn dispatch(
        self: Arc<Self>,
        requests: floe::dispatch::Requests,
        slot: &mut floe::dispatch::DispatchSlot,
    ) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Stopping {
    fn respond(
        self: Arc<Self>,
        request: floe::dispatch::Request,
    ) -> floe::dispatch::DispatchFuture {
        Box::pin(async move {
            request.current().adapter().communicator().begin_shutdown();
            request.returned_nothing()
        })
    }
}

#[tokio::test]
async fn a_servant_may_begin_the_shutdown_and_is_still_answered() {
    let server = Server::start().await;
    server.adapter.add("stopping", Stopping).unwrap();
    let proxy = server.proxy("stopping");
    soon(returned(&proxy, "shutdown", &NOTHING)).await.unwrap();
    soon(server.communicator.wait_for_shutdown()).await;
    let late = server.communicator.adapter("tcp -h 127.0.0.1 -p 0").await;
    assert_eq!(
        late.unwrap_err().to_string(),
        "the communicator is shut down"
    );
}

#[tokio::test]
async fn a_secure_proxy_is_not_used_over_plain_tcp() {
    let server = Server::start().await;
    let endpoint = &server.adapter.endpoints()[0];
    let proxy: Proxy = Communicator::new()
        .proxy(&format!("echo -s:{endpoint}"))
        .unwrap();
    let error = soon(proxy.ice_ping()).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected an ssl or wss endpoint"),
        "{error}"
    );
}

#[test]
fn a_connection_that_a_gone_runtime_was_making_is_made_by_another_one() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let (first, second) = (runtime(), runtime());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!(
        "ws -h 127.0.0.1 -p {}",
        listener.local_addr().unwrap().port()
    );
    let proxy: Proxy = Communicator::new()
        .proxy(&format!("echo:{endpoint}"))
        .unwrap();
    let call = || {
        let proxy = proxy.clone();
        async move { soon(proxy.ice_ping()).await }
    };
    let begun = first.spawn(call());
    let (mut silent, _) = listener.accept().unwrap();
    // It waits for the answer to the opening of its WebSocket.
    std::io::Read::read_exact(&mut silent, &mut [0; 4]).unwrap();
    drop(listener);
    let server = Communicator::new();
    let adapter = second.block_on(server.adapter(&endpoint)).unwrap();
    adapter.add("echo", Arc::new(Echo::default())).unwrap();
    second.block_on(async { adapter.activate() });
    // It waits for what the first runtime has begun, or finds it given up.
    let waiting = second.spawn(call());
    drop(first);
    second.block_on(waiting).unwrap().unwrap();
    second.block_on(call()).unwrap();
    drop((begun, silent));
}

#[test]
fn a_call_after_its_runtime_is_gone_fails() {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let server_runtime = runtime();
    let server = server_runtime.block_on(Server::start());
    let client = Communicator::new();
    let proxy = server.proxy_of(&client, "echo");
    let first = runtime();
    first.block_on(proxy.ice_ping()).unwrap();
    drop(first);
    let second = runtime();
    let call = async { tokio::time::timeout(Duration::from_secs(20), proxy.ice_ping()).await };
    second
        .block_on(call)
        .expect("it does not hang")
        .expect("a new connection is made");
}

#[tokio::test]
async fn a_request_that_is_too_long_for_its_peer_is_told_its_length() {
    let mut settings = Settings::default();
    settings.message_size_max = 100_000;
    let server = Server::with_settings(settings).await;
    let proxy = server.proxy("echo");
    let error = soon(returned(&proxy, "echo", &encapsulation(&[1; 200_000])))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            InvokeError::PerhapsDispatched(LocalError::ConnectionLost { .. })
        ),
        "{error}"
    );
    // Its header, the identity and the operation are counted, too.
    let text = error.to_string();
    assert!(text.contains("this message of 2000"), "{text}");
    assert!(text.contains("connections.message-bytes"), "{text}");
}
