//! The part of the Floe client of `Runtime.ice` that concerns connections: which one is taken, what is known of it, calls
//! back over it, its end, and who has to wait.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant, SystemTime};

use floe::settings::EndpointSelection;
use floe::{Communicator, Identity, InvokeError, LocalError, SystemException, TypedProxy};

use super::caller::{becomes, release, spawn_hold, total};
use super::contract::runtime::*;
use super::servant::{Heard, link_of};

pub(crate) async fn check(communicator: &Communicator, probe: &ProbeProxy) {
    check_links(communicator, probe).await;
    check_selection(probe).await;
    check_dead_endpoint(communicator, probe).await;
    check_callbacks(communicator, probe).await;
    check_close_of_the_server(probe).await;
    check_close_of_the_client(probe).await;
    check_drop_of_the_client(probe).await;
    check_retries(probe).await;
    check_flow(probe).await;
}

async fn connection(probe: &ProbeProxy) -> floe::Connection {
    let connection = probe.ice_connection().await.expect("connected");
    connection.expect("over the wire")
}

async fn linked(probe: &ProbeProxy) -> Link {
    probe.linked().await.expect("a link")
}

async fn check_links(communicator: &Communicator, probe: &ProbeProxy) {
    let (own, theirs) = (link_of(&connection(probe).await), linked(probe).await);
    let is_encrypted = matches!(own.transport.as_str(), "ssl" | "wss");
    assert!(!own.is_incoming && own.is_encrypted == is_encrypted);
    assert_eq!(own.certificate_count > 0, is_encrypted);
    let mirrored = Link {
        transport: own.transport.clone(),
        is_incoming: true,
        local_host: own.remote_host.clone(),
        local_port: own.remote_port,
        remote_host: own.local_host.clone(),
        remote_port: own.local_port,
        is_encrypted,
        certificate_count: theirs.certificate_count,
    };
    assert_eq!(theirs, mirrored);
    assert_eq!(theirs.certificate_count > 0, is_encrypted);
    let other = linked(&probe.ice_connection_id("other")).await;
    assert_ne!(other.remote_port, theirs.remote_port);
    assert_eq!(linked(&probe.ice_connection_id("other")).await, other);
    let text = probe.as_proxy().to_string();
    let host = " -h 127.0.0.1 ";
    let text = text.replace(host, &format!("{host}--sourceAddress 127.0.0.2 "));
    let source: ProbeProxy = communicator.proxy(&text).expect("a proxy");
    // Another connection to one of the endpoints would be preferred.
    let source = source.ice_connection_id("source");
    let source = source.ice_endpoint_selection(EndpointSelection::Ordered);
    assert_eq!(linked(&source).await.remote_host, "127.0.0.2");
}

async fn check_selection(probe: &ProbeProxy) {
    let endpoints = probe.as_proxy().reference().endpoints().iter();
    let streams = endpoints.filter(|endpoint| !endpoint.is_datagram());
    let ports: Vec<i32> = streams
        .map(|endpoint| port_of(&endpoint.to_string()))
        .collect();
    if ports.len() < 2 {
        return;
    }
    let uncached = probe.ice_connection_cached(false);
    let ordered = uncached.ice_endpoint_selection(EndpointSelection::Ordered);
    assert_eq!(ports_used(&ordered, 10).await, BTreeSet::from([ports[0]]));
    let random = uncached.ice_endpoint_selection(EndpointSelection::Random);
    assert_eq!(ports_used(&random, 60).await, ports.into_iter().collect());
}

fn port_of(endpoint: &str) -> i32 {
    let mut words = endpoint.split(' ').skip_while(|word| *word != "-p");
    let port = words.nth(1).expect("endpoints have a port");
    port.parse().expect("a port is a number")
}

async fn ports_used(probe: &ProbeProxy, count: usize) -> BTreeSet<i32> {
    let mut used = BTreeSet::new();
    for _ in 0..count {
        used.insert(linked(probe).await.local_port);
    }
    used
}

/// A proxy with an endpoint where nobody listens before the others.
async fn check_dead_endpoint(communicator: &Communicator, probe: &ProbeProxy) {
    let endpoints = probe.as_proxy().reference().endpoints();
    let first = endpoints[0].to_string();
    let port = port_of(&first);
    let dead = first.replace(&format!(" -p {port}"), " -p 1");
    let text = probe.as_proxy().to_string();
    let text = text.replacen(&first, &format!("{dead}:{first}"), 1);
    let proxy: ProbeProxy = communicator.proxy(&text).expect("a proxy");
    let count = proxy.as_proxy().reference().endpoints().len();
    assert_eq!(count, endpoints.len() + 1);
    let ordered = proxy.ice_connection_id("dead");
    let ordered = ordered.ice_endpoint_selection(EndpointSelection::Ordered);
    assert_eq!(linked(&ordered).await.local_port, port);
    // A new id means that a connection must be made.
    for id in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let random = proxy.ice_connection_id(id);
        let random = random.ice_endpoint_selection(EndpointSelection::Random);
        assert_ne!(linked(&random).await.local_port, 1);
    }
}

async fn check_callbacks(communicator: &Communicator, probe: &ProbeProxy) {
    let connection = connection(probe).await;
    let fixed = probe.ice_fixed(&connection);
    let not_there = async || match fixed.call_back("client", "back", 1).await {
        Err(InvokeError::System(SystemException::ObjectNotExist(failed))) => {
            assert_eq!(failed.identity.to_string(), "client/back");
        }
        other => panic!("expected ObjectNotExist, got {other:?}"),
    };
    not_there().await;
    let adapter = communicator.adapter_without_endpoints().await;
    let adapter = adapter.expect("an adapter");
    let heard = Arc::new(Heard::default());
    let back = CallbackDispatcher::new(heard.clone());
    adapter
        .add(Identity::with_category("back", "client"), back)
        .expect("a new identity");
    connection.set_adapter(Some(&adapter));
    let sum = fixed.call_back("client", "back", 10).await;
    assert_eq!(sum.expect("called back"), 65);
    becomes("told back", 10, async || heard.0.load(Ordering::SeqCst)).await;
    connection.set_adapter(None);
    not_there().await;
    adapter.destroy().await;
}

/// Requests that the server has not begun when it closes are sent again, and executed once.
async fn check_close_of_the_server(probe: &ProbeProxy) {
    let aside = probe.ice_connection_id("aside");
    let hold = spawn_hold(probe, 5);
    probe.reset().await.expect("reset");
    let before = linked(probe).await;
    let add = |_| {
        let probe = probe.clone();
        tokio::spawn(async move { probe.add(1).await })
    };
    let mut adds: Vec<_> = (0..50).map(add).collect();
    let closing = probe.clone();
    let closing = tokio::spawn(async move { closing.close(true).await });
    adds.extend((0..50).map(add));
    tokio::time::sleep(Duration::from_millis(50)).await;
    release(&aside, 5).await;
    closing.await.expect("no panic").expect("it is answered");
    let held = hold.await.expect("no panic");
    assert_eq!(held.expect("it is answered before the close"), 5);
    for add in adds {
        add.await.expect("no panic").expect("it is sent again");
    }
    assert_eq!(total(probe).await, 100);
    assert_ne!(linked(probe).await.remote_port, before.remote_port);
}

/// A graceful close waits for the replies that are due.
async fn check_close_of_the_client(probe: &ProbeProxy) {
    let before = connection(probe).await;
    let mut slow = pin!(probe.sleep(100));
    // Polled once, it is sent.
    let sent = poll_fn(|context| Poll::Ready(slow.as_mut().poll(context)));
    assert!(sent.await.is_pending());
    before.close().await;
    slow.await.expect("it was waited for");
    probe.ice_ping().await.expect("over another connection");
    assert!(connection(probe).await != before);
}

/// A close that does not wait ends what is waited for, at this end alone.
async fn check_drop_of_the_client(probe: &ProbeProxy) {
    let before = connection(probe).await;
    let mut hold = pin!(probe.hold(6));
    // Polled once, it is sent, and what is sent after it comes after it.
    let sent = poll_fn(|context| Poll::Ready(hold.as_mut().poll(context)));
    assert!(sent.await.is_pending());
    probe.ice_ping().await.expect("a ping");
    before.abort();
    match hold.await {
        Err(InvokeError::PerhapsDispatched(LocalError::ClosedHere { .. })) => {}
        other => panic!("expected a connection that was closed here, got {other:?}"),
    }
    release(probe, 6).await;
    assert!(connection(probe).await != before);
}

async fn check_retries(probe: &ProbeProxy) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let key = format!("{:?}", now.expect("it is later than 1970"));
    match probe.stumble(&key).await {
        Err(InvokeError::PerhapsDispatched(LocalError::ConnectionLost { .. })) => {}
        other => panic!("expected a lost connection, got {other:?}"),
    }
    assert_eq!(probe.executions(&key).await.expect("a count"), 1);
    let repeated = probe.stumble_idempotently(&format!("{key}i")).await;
    assert_eq!(repeated.expect("it is repeated"), 2);
}

/// A client that sends more than the server takes waits until the server takes it.
async fn check_flow(probe: &ProbeProxy) {
    probe.reset().await.expect("reset");
    probe.pause(200).await.expect("paused");
    let (oneway, ballast) = (probe.ice_oneway(), vec![0; 200_000]);
    let started = Instant::now();
    for _ in 0..150 {
        oneway.note(&ballast).await.expect("sent");
    }
    assert!(started.elapsed() >= Duration::from_millis(150));
    becomes("all arrives", 150, async || total(probe).await).await;
}
