//! Forwarding: order, batches, and queues that are full.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::dispatch::dispatch_fn;
use floe::{Communicator, Context, OperationMode, Proxy, TypedProxy};
use floe_gateway::{Batching, ConnectionContext, ForwardingSettings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{BackEnd, Calls, NOTHING, Recorder, World, call, soon};

/// Sends a oneway request.
async fn send(proxy: &Proxy, operation: &str) {
    let invoked = proxy.invoke(operation, OperationMode::Normal, NOTHING);
    soon(invoked).await.expect("it is sent");
}

/// Some ways to forward.
fn ways() -> Vec<ForwardingSettings> {
    let mut ways = Vec::new();
    for batching in [Batching::Off, Batching::Adaptive, Batching::Always] {
        for sleep_time in [Duration::ZERO, Duration::from_millis(3)] {
            let mut way = ForwardingSettings::default();
            (way.batching, way.sleep_time) = (batching, sleep_time);
            way.batch_len_max = 500;
            ways.push(way);
        }
    }
    let mut unbuffered = ForwardingSettings::default();
    unbuffered.buffered = false;
    ways.push(unbuffered);
    ways
}

#[tokio::test]
async fn the_requests_of_a_session_keep_their_order_in_every_mode() {
    for way in ways() {
        let world = World::with(|settings| settings.to_servers = way.clone()).await;
        let client = world.client().await;
        let one = client.routed(&world.back_end.object("one")).await.unwrap();
        let two = client.routed(&world.back_end.object("two")).await.unwrap();
        let mut expected = Vec::new();
        for number in 0..300 {
            let operation = format!("op{number}");
            let object = if number % 3 == 0 { &one } else { &two };
            match number % 50 {
                0 => call(object, &operation).await.unwrap(),
                _ => send(&object.ice_oneway(), &operation).await,
            }
            expected.push(operation);
        }
        assert_eq!(world.back_end.calls.when(300).await, expected, "{way:?}");
        world.shut_down().await;
    }
}

#[tokio::test]
async fn the_requests_to_a_client_keep_their_order_in_every_mode() {
    for way in ways() {
        let world = World::with(|settings| settings.to_clients = way.clone()).await;
        let client = world.client().await;
        let calls = Calls::default();
        let adapter = client
            .communicator
            .adapter_without_endpoints()
            .await
            .unwrap();
        adapter.add_default("", Recorder(calls.clone())).unwrap();
        client.connection.set_adapter(Some(&adapter));
        let server_proxy = soon(client.router.get_server_proxy()).await.unwrap();
        let reference = server_proxy.expect("there is one").reference().clone();
        let object: Proxy = world.back_end.communicator.proxy_from(reference);
        let mut expected = Vec::new();
        for number in 0..300 {
            let operation = format!("op{number}");
            match number % 50 {
                0 => call(&object, &operation).await.unwrap(),
                _ => send(&object.ice_oneway(), &operation).await,
            }
            expected.push(operation);
        }
        assert_eq!(calls.when(300).await, expected, "{way:?}");
        world.shut_down().await;
    }
}

/// The header of the message that a server sends first: ValidateConnection.
const VALIDATE: [u8; 14] = *b"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00";

/// Accepts a connection as a server does.
pub(crate) async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = soon(listener.accept()).await.expect("a connection");
    stream.write_all(&VALIDATE).await.expect("it is open");
    stream
}

/// The type of the next message, and the number of requests in it if it is a batch.
pub(crate) async fn next_message(stream: &mut TcpStream) -> (u8, u32) {
    let mut header = [0; 14];
    soon(stream.read_exact(&mut header))
        .await
        .expect("a header");
    let len = u32::from_le_bytes(header[10..].try_into().expect("four bytes"));
    let mut body = vec![0; len as usize - 14];
    soon(stream.read_exact(&mut body)).await.expect("a body");
    let count = body
        .first_chunk()
        .map_or(0, |count| u32::from_le_bytes(*count));
    (header[8], count)
}

pub(crate) const REQUEST: u8 = 0;
const BATCH_REQUEST: u8 = 1;

#[tokio::test]
async fn what_waits_leaves_as_one_batch_and_what_finds_the_line_free_leaves_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = World::with(|settings| {
        settings.to_servers.sleep_time = Duration::from_secs(1);
        settings.to_servers.batch_len_max = 100_000;
    })
    .await;
    let client = world.client().await;
    let object: Proxy = client
        .communicator
        .proxy(&format!("object:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let object = client.routed(&object).await.unwrap().ice_oneway();
    send(&object, "first").await;
    let mut stream = accept(&listener).await;
    assert_eq!(next_message(&mut stream).await.0, REQUEST);
    for _ in 0..100 {
        send(&object, "next").await;
    }
    let mut count = 0;
    let mut batches = 0;
    while count < 100 {
        let (message_type, requests) = next_message(&mut stream).await;
        assert_eq!(message_type, BATCH_REQUEST);
        count += requests;
        batches += 1;
    }
    assert_eq!((count, batches), (100, 1));
    world.shut_down().await;
}

#[tokio::test]
async fn a_server_that_reads_nothing_fills_its_own_queue_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let world = World::before(BackEnd::start().await, |settings| {
        settings.to_servers.queue_requests = 4;
        settings.to_servers.queue_bytes = 100_000;
    })
    .await;
    let client = world.client().await;
    let stuck: Proxy = client
        .communicator
        .proxy(&format!("stuck:tcp -h 127.0.0.1 -p {port}"))
        .unwrap();
    let stuck = client.routed(&stuck).await.unwrap().ice_oneway();
    let well = client.routed(&world.back_end.object("well")).await.unwrap();
    let long = [&50_006_u32.to_le_bytes()[..], &[1, 1], &[0; 50_000]].concat();
    let mut stream = None;
    while world.gateway.status().queue_full == 0 {
        let invoked = stuck.invoke("op", OperationMode::Normal, &long);
        soon(invoked).await.expect("it is sent");
        if stream.is_none() {
            stream = Some(accept(&listener).await);
        }
    }
    call(&well, "well").await.unwrap();
    assert_eq!(world.back_end.calls.operations(), ["well"]);
    drop(stream);
    world.shut_down().await;
}

#[tokio::test]
async fn a_client_cannot_forge_entries_about_its_connection() {
    let world = World::with(|settings| {
        settings.to_servers.forward_context = true;
        settings.connection_context = ConnectionContext::All;
    })
    .await;
    let server = Communicator::new();
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let seen = Arc::new(Mutex::new(Context::new()));
    let noted = seen.clone();
    let servant = dispatch_fn(move |request| {
        *noted.lock().unwrap() = request.current().context();
        request.returned_nothing()
    });
    let object = adapter.add("server", servant).unwrap();
    adapter.activate();
    let client = world.client().await;
    let routed = client.routed(&object).await.unwrap();
    let entries = [
        ("_con.peerCert", "forged"),
        ("_con.type", "forged"),
        ("user", "joe"),
    ];
    let context: Context = entries
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    call(&routed.ice_context(context), "op").await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.get("user").map(String::as_str), Some("joe"));
    assert_eq!(seen.get("_con.type").map(String::as_str), Some("tcp"));
    assert_eq!(seen.get("_con.peerCert"), None);
    world.shut_down().await;
}

#[tokio::test]
async fn a_request_goes_as_a_datagram_if_it_asks_for_that() {
    for buffered in [true, false] {
        let world = World::with(|settings| settings.to_servers.buffered = buffered).await;
        let client = world.client().await;
        let adapter = world.back_end.communicator.adapter("udp -h 127.0.0.1 -p 0");
        let adapter = adapter.await.unwrap();
        let recorder = Recorder(world.back_end.calls.clone());
        adapter.add("datagrams", recorder).unwrap();
        adapter.activate();
        let object = format!("datagrams:{}", adapter.endpoints()[0]);
        let object: Proxy = client.communicator.proxy(&object).unwrap();
        let object = client.routed(&object).await.unwrap();
        for (index, letters) in ["d", "D"].into_iter().enumerate() {
            let context = [("_fwd".to_owned(), letters.to_owned())];
            let asking = object.ice_context(context.into());
            call(&asking, letters).await.expect("it gets no answer");
            assert_eq!(world.back_end.calls.when(index + 1).await[index], letters);
        }
        world.shut_down().await;
    }
}

#[tokio::test]
async fn a_request_that_asks_for_encryption_never_leaves_without_it() {
    let world = World::start().await;
    let client = world.client().await;
    let object = client.routed(&world.back_end.object("object")).await;
    let context = [("_fwd".to_owned(), "s".to_owned())];
    let secure = object.unwrap().ice_context(context.into());
    let error = call(&secure, "op").await.unwrap_err().to_string();
    assert!(error.contains("::Ice::NoEndpointException"), "{error}");
    assert_eq!(world.back_end.calls.operations(), [""; 0]);
    world.shut_down().await;
}
