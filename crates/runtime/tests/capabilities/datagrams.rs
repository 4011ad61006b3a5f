//! Requests in datagrams, which get no reply.

use std::sync::atomic::Ordering;
use std::time::Duration;

use floe::{Communicator, OperationMode, Settings, TypedProxy};
use tokio::net::UdpSocket;

use crate::echo::{Echo, NOTHING, Server, encapsulation, soon};
use crate::transports::start;

async fn arrived(server: &Server, count: usize) {
    soon(async {
        while server.echo.echo_count.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(server.echo.echo_count.load(Ordering::SeqCst), count);
}

async fn echo(proxy: &floe::Proxy, parameters: &[u8]) -> Result<(), floe::InvokeError> {
    let outcome = soon(proxy.invoke("echo", OperationMode::Normal, parameters)).await?;
    assert!(outcome.is_none(), "nobody answers");
    Ok(())
}

#[tokio::test]
async fn requests_arrive_one_by_one_and_in_batches() {
    for host in ["127.0.0.1", "\"::1\""] {
        let server = start(&format!("udp -h {host} -p 0")).await;
        let datagram = server.proxy("echo").ice_datagram();
        for _ in 0..10 {
            echo(&datagram, &NOTHING).await.unwrap();
        }
        arrived(&server, 10).await;
        let batch = datagram.ice_batch_datagram();
        for _ in 0..5 {
            echo(&batch, &NOTHING).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        arrived(&server, 10).await;
        batch.ice_flush_batch().await.unwrap();
        arrived(&server, 15).await;
        let started = std::time::Instant::now();
        soon(server.communicator.shutdown()).await;
        assert!(started.elapsed().as_secs() < 5, "nobody waits for a peer");
    }
}

#[tokio::test]
async fn a_batch_that_grows_too_long_for_a_datagram_becomes_several() {
    let server = start("udp -h 127.0.0.1 -p 0").await;
    let batch = server.proxy("echo").ice_batch_datagram();
    let parameters = encapsulation(&[7; 20_000]);
    for _ in 0..7 {
        echo(&batch, &parameters).await.unwrap();
    }
    arrived(&server, 6).await;
    batch.ice_flush_batch().await.unwrap();
    arrived(&server, 7).await;
}

#[tokio::test]
async fn what_is_too_long_for_a_datagram_is_refused_and_not_sent() {
    let server = start("udp -h 127.0.0.1 -p 0").await;
    let datagram = server.proxy("echo").ice_datagram();
    let error = echo(&datagram, &encapsulation(&[0; 65_600]))
        .await
        .unwrap_err();
    assert!(error.is_surely_not_dispatched());
    let text = error.to_string();
    assert!(
        text.contains("at most 65507 bytes for a datagram"),
        "{text}"
    );
    echo(&datagram, &encapsulation(&[0; 65_000])).await.unwrap();
    arrived(&server, 1).await;
}

#[tokio::test]
async fn datagrams_that_are_no_requests_are_ignored() {
    let server = start("udp -h 127.0.0.1 -p 0").await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut request = b"IceP\x01\x00\x01\x00\x00\x00".to_vec();
    request.extend(41_i32.to_le_bytes());
    request.extend(b"\x07\x00\x00\x00\x04echo\x00\x00\x04echo\x00\x00");
    request.extend([7, 0, 0, 0, 1, 1, 0]);
    let whole = request.len();
    request[10] = whole as u8;
    // Parameters that claim to be longer than they are.
    let mut malformed = request.clone();
    malformed[whole - 7] = 99;
    for datagram in [
        &b""[..],
        b"hello",
        &request[..20],
        &malformed,
        &[0xFF; 60_000],
    ] {
        stranger
            .send_to(datagram, ("127.0.0.1", port))
            .await
            .unwrap();
    }
    // It asks for an answer, and gets none.
    stranger
        .send_to(&request, ("127.0.0.1", port))
        .await
        .unwrap();
    arrived(&server, 1).await;
    let mut answer = [0; 100];
    let answered = tokio::time::timeout(Duration::from_millis(50), stranger.recv(&mut answer));
    assert!(answered.await.is_err(), "a datagram is never answered");
    assert_eq!(server.adapter.counts().datagrams_ignored, 5);
}

/// Notes where each request came from; the first takes its time.
#[derive(Default)]
struct Senders(std::sync::Mutex<Vec<String>>);

impl floe::Dispatcher for Senders {
    fn dispatch(
        self: std::sync::Arc<Self>,
        requests: floe::dispatch::Requests,
        slot: &mut floe::dispatch::DispatchSlot,
    ) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Senders {
    fn respond(
        self: std::sync::Arc<Self>,
        request: floe::dispatch::Request,
    ) -> floe::dispatch::DispatchFuture {
        Box::pin(async move {
            if request.operation() == "slow" {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let peer = request.current().peer().to_owned();
            self.0.lock().unwrap().push(peer);
            request.returned_nothing()
        })
    }
}

#[tokio::test]
async fn the_peer_of_a_datagram_is_its_sender() {
    let mut settings = floe::Settings::default();
    settings.udp_receive_buffer = Some(1 << 20);
    settings.udp_send_buffer = Some(1 << 20);
    let server = Communicator::with_settings(settings.clone());
    let adapter = server.adapter("udp -h 127.0.0.1 -p 0").await.unwrap();
    let senders = std::sync::Arc::new(Senders::default());
    let there = adapter.add("senders", senders.clone()).unwrap();
    adapter.activate();
    let mut expected = Vec::new();
    for round in 0..3 {
        let client = Communicator::with_settings(settings.clone());
        let datagram = client.proxy_from(there.reference().clone()).ice_datagram();
        let batch = datagram.ice_batch_datagram();
        for operation in ["slow", "fast", "fast"] {
            batch
                .invoke(operation, OperationMode::Normal, &NOTHING)
                .await
                .unwrap();
        }
        batch.ice_flush_batch().await.unwrap();
        let connection = datagram.ice_connection().await.unwrap().unwrap();
        let address = connection.info().local_address.unwrap().to_string();
        expected.extend([address.clone(), address.clone(), address]);
        // The next sender's datagram is read while the first of this batch still runs.
        let so_far = if round == 1 { 6 } else { 0 };
        soon(async {
            while senders.0.lock().unwrap().len() < so_far {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
    soon(async {
        while senders.0.lock().unwrap().len() < 9 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let mut came = senders.0.lock().unwrap().clone();
    came.sort();
    expected.sort();
    assert_eq!(came, expected);
}

#[tokio::test]
async fn a_group_reaches_each_of_its_receivers() {
    let first = start("udp -h 239.255.77.1 -p 0 --interface 127.0.0.1").await;
    let port = first.adapter.endpoints()[0].port().unwrap();
    let group = format!("udp -h 239.255.77.1 -p {port} --interface 127.0.0.1");
    let second = start(&group).await;
    let client = Communicator::new();
    let proxy: floe::Proxy = client.proxy(&format!("echo -d:{group} --ttl 1")).unwrap();
    for _ in 0..3 {
        echo(&proxy, &NOTHING).await.unwrap();
    }
    arrived(&first, 3).await;
    arrived(&second, 3).await;
}

#[tokio::test]
async fn each_mode_uses_endpoints_of_its_own_kind() {
    let communicator = Communicator::new();
    let adapter = communicator
        .adapter("tcp -h 127.0.0.1 -p 0:udp -h 127.0.0.1 -p 0")
        .await
        .unwrap();
    let echo_servant = std::sync::Arc::new(Echo::default());
    let proxy = adapter.add("echo", echo_servant.clone()).unwrap();
    adapter.activate();
    soon(proxy.ice_ping()).await.unwrap();
    echo(&proxy.ice_datagram(), &NOTHING).await.unwrap();
    soon(proxy.ice_ping()).await.unwrap();

    let tcp: floe::Proxy = communicator.proxy("echo -d:tcp -h 127.0.0.1 -p 1").unwrap();
    let error = echo(&tcp, &NOTHING).await.unwrap_err().to_string();
    assert!(
        error.contains("expected a udp endpoint, for datagrams"),
        "{error}"
    );
    let udp: floe::Proxy = communicator.proxy("echo:udp -h 127.0.0.1 -p 1").unwrap();
    let error = soon(udp.ice_ping()).await.unwrap_err().to_string();
    assert!(error.contains("expected tcp, ssl, ws, wss"), "{error}");
}

#[tokio::test]
async fn a_sender_does_not_mind_that_nobody_listens() {
    let gone = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = gone.local_addr().unwrap().port();
    drop(gone);
    let client = Communicator::new();
    let proxy: floe::Proxy = client
        .proxy(&format!("echo -d:udp -h 127.0.0.1 -p {port}"))
        .unwrap();
    for _ in 0..5 {
        echo(&proxy, &NOTHING).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn requests_and_batches_may_be_compressed() {
    let server = start("udp -h 127.0.0.1 -p 0").await;
    let datagram = server.proxy("echo").ice_datagram().ice_compress(true);
    echo(&datagram, &encapsulation(&[7; 20_000])).await.unwrap();
    arrived(&server, 1).await;
    let batch = datagram.ice_batch_datagram();
    for _ in 0..30 {
        echo(&batch, &NOTHING).await.unwrap();
    }
    batch.ice_flush_batch().await.unwrap();
    arrived(&server, 31).await;
}

#[tokio::test]
async fn a_sender_that_is_not_used_is_closed_and_the_next_request_makes_another() {
    let server = start("udp -h 127.0.0.1 -p 0").await;
    let mut settings = Settings::default();
    settings.outgoing.inactivity_timeout = Some(Duration::from_millis(50));
    let client = Communicator::with_settings(settings);
    let object: floe::Proxy = client.proxy(&server.proxy("echo").to_string()).unwrap();
    let datagram = object.ice_datagram();
    for count in 1..=2 {
        echo(&datagram, &NOTHING).await.unwrap();
        arrived(&server, count).await;
        let connection = datagram.ice_cached_connection();
        soon(connection.expect("it has just sent").closed()).await;
    }
}
