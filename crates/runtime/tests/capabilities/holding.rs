//! Adapters that are held, and what they have of their own: settings.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use floe::settings::AdapterSettings;
use floe::{
    Communicator, InvokeError, LocalError, OperationMode, Proxy, Settings, TypedProxy, blocking,
};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::echo::{Echo, Server, encapsulation, returned, soon};

/// Long enough for a server that reads to answer, and no test fails because it was short.
const A_WHILE: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_held_adapter_dispatches_nothing_until_it_is_activated() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let sent = encapsulation(b"here");
    returned(&proxy, "echo", &sent).await.expect("answered");

    // A dispatch that has begun ends, and its reply leaves.
    let slow = tokio::spawn({
        let (proxy, sent) = (proxy.clone(), sent.clone());
        async move { returned(&proxy, "slow", &sent).await }
    });
    server.has_begun(1).await;
    server.adapter.hold();
    server.adapter.hold();
    let answer = soon(slow).await.expect("no panic");
    assert_eq!(answer.expect("answered"), sent);

    let mut held = Box::pin(returned(&proxy, "echo", &sent));
    assert!(timeout(A_WHILE, &mut held).await.is_err(), "no answer");
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 1);
    server.adapter.activate();
    assert_eq!(soon(held).await.expect("answered"), sent);
    assert_eq!(returned(&proxy, "echo", &sent).await.expect("again"), sent);
    server.communicator.shutdown().await;
}

/// Without a runtime, nothing could accept connections. The text says so before a reader has to know tokio.
#[test]
fn activating_without_a_runtime_says_what_is_missing() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let communicator = Communicator::new();
    let adapter = runtime
        .block_on(communicator.adapter("tcp -h 127.0.0.1 -p 0"))
        .expect("listens");
    let refused = catch_unwind(AssertUnwindSafe(|| adapter.activate())).expect_err("panics");
    let owned = refused.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| refused.downcast_ref::<&str>().copied());
    let text = text.expect("a text");
    assert!(text.contains("no tokio runtime here"), "{text}");

    // The adapter took no harm.
    let entered = runtime.enter();
    adapter.activate();
    drop(entered);
    let proxy = adapter.proxy("nobody".parse().expect("an identity"));
    let answer = runtime.block_on(returned(&proxy, "ice_ping", &encapsulation(b"")));
    assert!(answer.is_err(), "there is no such object");
    runtime.block_on(communicator.shutdown());
}

#[tokio::test]
async fn who_sends_to_a_held_adapter_has_to_wait() {
    let server = Server::start().await;
    server.adapter.hold();
    let mut settings = Settings::default();
    settings.output_limit = 64 * 1024;
    let client = Communicator::with_settings(settings);
    let proxy = server.proxy_of(&client, "echo").ice_oneway();
    let sent = encapsulation(&vec![7; 64 * 1024]);
    let sending = async {
        for _ in 0..COUNT {
            let sent = proxy.invoke("echo", OperationMode::Normal, &sent).await;
            sent.expect("sent");
        }
    };
    let mut sending = Box::pin(sending);
    assert!(
        timeout(A_WHILE, &mut sending).await.is_err(),
        "64 MiB are more than the buffers of two sockets"
    );
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), 0);
    server.adapter.activate();
    soon(sending).await;
    let all_come = async {
        while server.echo.echo_count.load(Ordering::SeqCst) < COUNT {
            yield_now().await;
        }
    };
    soon(all_come).await;
}

/// Requests of 64 KiB each.
const COUNT: usize = 1024;

#[tokio::test]
async fn a_held_adapter_accepts_nobody() {
    let server = Server::start().await;
    server.adapter.hold();
    let port = server.adapter.endpoints()[0].port().expect("tcp");
    let peer = TcpStream::connect(("127.0.0.1", port)).await;
    let mut peer = peer.expect("the system's queue has room");
    let mut validation = [0; 14];
    let mut reading = Box::pin(peer.read_exact(&mut validation));
    assert!(timeout(A_WHILE, &mut reading).await.is_err());
    assert_eq!(server.adapter.counts().connections, 0);
    server.adapter.activate();
    soon(reading).await.expect("validated");
}

#[tokio::test]
async fn the_end_of_an_adapter_ends_its_hold() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let sent = encapsulation(b"");
    returned(&proxy, "echo", &sent).await.expect("answered");
    server.adapter.hold();
    let held = tokio::spawn(async move { returned(&proxy, "echo", &sent).await });
    yield_now().await;
    soon(server.adapter.destroy()).await;
    // It was read or not when the connection closed; it does not wait for ever in either case.
    let _ = soon(held).await.expect("no panic");
    server.adapter.hold();
    server.adapter.activate();
    soon(server.communicator.shutdown()).await;
}

#[test]
fn threads_of_a_held_adapter_wait_too() {
    let server = blocking::Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").expect("loopback");
    let echo = std::sync::Arc::new(Echo::default());
    adapter.add("echo", echo.clone()).expect("a new identity");
    adapter.activate();
    let text = format!("echo:{}", adapter.endpoints()[0]);
    let client = blocking::Communicator::new();
    let proxy: Proxy = client.proxy(&text).expect("a proxy");
    let ping = move |proxy: Proxy| {
        let sent = encapsulation(b"");
        blocking::Wait::wait(proxy.invoke("echo", OperationMode::Normal, &sent)).map(drop)
    };
    ping(proxy.clone()).expect("answered");
    adapter.hold();
    let held = std::thread::spawn({
        let proxy = proxy.clone();
        move || ping(proxy)
    });
    std::thread::sleep(A_WHILE);
    assert!(!held.is_finished());
    assert_eq!(echo.echo_count.load(Ordering::SeqCst), 1);
    adapter.activate();
    held.join().expect("no panic").expect("answered");
    client.shutdown();
    server.shutdown();
}

#[tokio::test]
async fn each_adapter_has_its_own_limit_of_message_sizes() {
    let server = Communicator::new();
    let mut settings = AdapterSettings::default();
    settings.message_size_max = Some(1_000);
    let narrow = server.adapter_with("tcp -h 127.0.0.1 -p 0", settings).await;
    let wide = server.adapter("tcp -h 127.0.0.1 -p 0").await;
    let sent = encapsulation(&[7; 2_000]);
    let client = Communicator::new();
    let mut answers = Vec::new();
    for adapter in [narrow, wide] {
        let adapter = adapter.expect("loopback");
        let echo = std::sync::Arc::new(Echo::default());
        adapter.add("echo", echo).expect("a new identity");
        adapter.activate();
        let text = format!("echo:{}", adapter.endpoints()[0]);
        let proxy: Proxy = client.proxy(&text).expect("a proxy");
        let short = encapsulation(&[7; 500]);
        assert_eq!(returned(&proxy, "echo", &short).await.expect("fits"), short);
        answers.push(returned(&proxy, "echo", &sent).await);
    }
    assert!(
        matches!(
            &answers[0],
            Err(InvokeError::PerhapsDispatched(
                LocalError::ConnectionLost { .. }
            ))
        ),
        "{:?}",
        answers[0]
    );
    assert_eq!(answers[1].as_ref().expect("fits"), &sent);
}
