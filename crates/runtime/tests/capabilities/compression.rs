//! Compressed messages: with bzip2 as Ice has them, and what only Floe peers understand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use floe::settings::Compression;
use floe::{Communicator, Endpoint, OperationMode, Proxy, Settings, TypedProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::echo::{Server, encapsulation, returned, soon};
use crate::raw::{header, send_and_wait};

/// Bytes and compression bytes that a server and its clients said to each other.
#[derive(Default)]
pub(crate) struct Heard {
    /// For each message to the server, without heartbeats; then for those from the server.
    requests: std::sync::Mutex<Vec<(u8, usize)>>,
    replies: std::sync::Mutex<Vec<(u8, usize)>>,
    connection_count: AtomicUsize,
}

impl Heard {
    /// Compression bytes and lengths of requests, then of replies, since the last time.
    fn take(&self) -> [Vec<(u8, usize)>; 2] {
        [&self.requests, &self.replies].map(|it| std::mem::take(&mut *it.lock().unwrap()))
    }

    pub(crate) fn statuses(&self) -> [Vec<u8>; 2] {
        self.take()
            .map(|it| it.iter().map(|(status, _)| *status).collect())
    }
}

/// Listens on a port of its own and carries what comes to the port of a server and back.
pub(crate) async fn listen_in(to: u16) -> (u16, Arc<Heard>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Heard::default());
    let hearing = heard.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            hearing.connection_count.fetch_add(1, Ordering::SeqCst);
            let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            let (there, back) = (hearing.clone(), hearing.clone());
            tokio::spawn(async move {
                while carry(&mut from_client, &mut to_server, &there.requests).await {}
            });
            tokio::spawn(async move {
                while carry(&mut from_server, &mut to_client, &back.replies).await {}
            });
        }
    });
    (port, heard)
}

async fn carry(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    heard: &std::sync::Mutex<Vec<(u8, usize)>>,
) -> bool {
    let mut message = vec![0; 14];
    if from.read_exact(&mut message).await.is_err() {
        return false;
    }
    let size = u32::from_le_bytes(message[10..].try_into().unwrap()) as usize;
    message.resize(size, 0);
    if from.read_exact(&mut message[14..]).await.is_err() {
        return false;
    }
    if message[8] < 3 {
        heard.lock().unwrap().push((message[9], size));
    }
    to.write_all(&message).await.is_ok()
}

struct World {
    /// Kept for as long as it has to serve.
    _server: Server,
    heard: Arc<Heard>,
    proxy: Proxy,
}

impl World {
    /// A server and a client of it, with what they say to each other heard.
    async fn start(client: Settings) -> Self {
        let mut settings = Settings::default();
        settings.compressions = Compression::ALL.into();
        Self::before(Server::with_settings(settings).await, client).await
    }

    async fn before(server: Server, client: Settings) -> Self {
        let (port, heard) = listen_in(server.adapter.endpoints()[0].port().unwrap()).await;
        let client = Communicator::with_settings(client);
        let proxy = client.proxy(&format!("echo:tcp -h 127.0.0.1 -p {port}"));
        Self {
            _server: server,
            heard,
            proxy: proxy.unwrap(),
        }
    }

    /// Returns a copy of the proxy whose endpoint offers a compression.
    fn offered(&self, compression: Compression) -> Proxy {
        let mut endpoints = self.proxy.reference().endpoints().to_vec();
        endpoints.extend(floe_wire::compression::offer(&[compression], &endpoints));
        let text = endpoints
            .iter()
            .map(Endpoint::to_string)
            .collect::<Vec<_>>();
        let communicator = self.proxy.communicator().unwrap();
        let proxy: Proxy = communicator
            .proxy(&format!("echo:{}", text.join(":")))
            .unwrap();
        proxy.ice_compression(compression)
    }
}

fn long() -> Vec<u8> {
    encapsulation(&b"a line of text\n".repeat(100))
}

fn short() -> Vec<u8> {
    encapsulation(b"short")
}

async fn check_echo(proxy: &Proxy, parameters: &[u8]) {
    let echoed = soon(returned(proxy, "echo", parameters)).await;
    assert_eq!(echoed.unwrap(), parameters);
}

#[tokio::test]
async fn nothing_is_compressed_unless_somebody_asks() {
    let world = World::start(Settings::default()).await;
    check_echo(&world.proxy, &long()).await;
    assert_eq!(world.heard.statuses(), [[0], [0]]);
}

#[tokio::test]
async fn a_proxy_that_compresses_gets_compressed_replies() {
    let world = World::start(Settings::default()).await;
    let proxy = world.proxy.ice_compress(true);
    check_echo(&proxy, &long()).await;
    let [requests, replies] = world.heard.take();
    assert!(matches!(requests[..], [(2, ..200)]), "{requests:?}");
    assert!(matches!(replies[..], [(2, ..200)]), "{replies:?}");
    check_echo(&proxy, &short()).await;
    assert_eq!(world.heard.statuses(), [[1], [1]]);
    check_echo(&proxy.ice_compress(false), &long()).await;
    assert_eq!(world.heard.statuses(), [[0], [0]]);
}

#[tokio::test]
async fn a_slow_dispatch_answers_compressed_too() {
    let world = World::start(Settings::default()).await;
    let proxy = world.proxy.ice_compress(true);
    let echoed = soon(returned(&proxy, "slow", &long())).await;
    assert_eq!(echoed.unwrap(), long());
    assert_eq!(world.heard.statuses(), [[2], [2]]);
}

#[tokio::test]
async fn an_endpoint_asks_for_compression_and_the_proxy_may_refuse() {
    let world = World::start(Settings::default()).await;
    let text = format!("{} -z", world.proxy);
    let proxy: Proxy = world.proxy.communicator().unwrap().proxy(&text).unwrap();
    check_echo(&proxy, &long()).await;
    assert_eq!(world.heard.statuses(), [[2], [2]]);
    check_echo(&proxy.ice_compress(false), &long()).await;
    assert_eq!(world.heard.statuses(), [[0], [0]]);
}

#[tokio::test]
async fn proxies_share_a_connection_over_which_each_compresses_or_not_as_its_endpoint_says() {
    let world = World::start(Settings::default()).await;
    let plain = &world.proxy;
    let communicator = plain.communicator().unwrap();
    let asking: Proxy = communicator.proxy(&format!("{plain} -z")).unwrap();
    for (proxy, status) in [(plain, 0), (&asking, 2), (plain, 0)] {
        check_echo(proxy, &long()).await;
        assert_eq!(world.heard.statuses(), [[status], [status]], "{proxy}");
    }
    // One that is bound to the connection has no endpoint that could ask.
    let connection = asking.ice_cached_connection().unwrap();
    assert_eq!(plain.ice_cached_connection().unwrap(), connection);
    check_echo(&asking.ice_fixed(&connection), &long()).await;
    assert_eq!(world.heard.statuses(), [[0], [0]]);
    assert_eq!(world.heard.connection_count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn one_that_asks_for_compression_opens_the_connection_for_all() {
    let world = World::start(Settings::default()).await;
    let plain = world.proxy.ice_connection_cached(false);
    let communicator = plain.communicator().unwrap();
    let asking: Proxy = communicator.proxy(&format!("{plain} -z")).unwrap();
    let asking = asking.ice_connection_cached(false);
    for (proxy, status) in [(&asking, 2), (&plain, 0), (&asking, 2)] {
        check_echo(proxy, &long()).await;
        assert_eq!(world.heard.statuses(), [[status], [status]], "{proxy}");
    }
    assert_eq!(world.heard.connection_count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_settings_override_proxies_and_endpoints() {
    for is_on in [false, true] {
        let mut settings = Settings::default();
        settings.compress_override = Some(is_on);
        let world = World::start(settings).await;
        check_echo(&world.proxy.ice_compress(!is_on), &long()).await;
        let status = 2 * u8::from(is_on);
        assert_eq!(world.heard.statuses(), [[status], [status]]);
    }
}

#[tokio::test]
async fn the_level_is_that_of_the_settings() {
    let mut settings = Settings::default();
    (settings.compress_override, settings.compression_level) = (Some(true), 9);
    let world = World::start(settings).await;
    // Random bytes that repeat after 90 kB. Level 1 does not see so far.
    let random = (0..90_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
    let half: Vec<u8> = random.collect();
    check_echo(&world.proxy, &encapsulation(&half.repeat(4))).await;
    let [requests, replies] = world.heard.take();
    assert!(requests[0].1 < replies[0].1, "{requests:?} {replies:?}");
}

#[tokio::test]
async fn a_batch_is_compressed_whole() {
    let world = World::start(Settings::default()).await;
    let batch = world.proxy.ice_compress(true).ice_batch_oneway();
    for _ in 0..50 {
        let sent = batch.invoke("echo", OperationMode::Normal, &short()).await;
        assert!(sent.unwrap().is_none());
    }
    soon(batch.ice_flush_batch()).await.unwrap();
    // A twoway request on the same connection comes after the batch.
    let count = soon(returned(&batch.ice_twoway(), "count", &encapsulation(&[]))).await;
    assert_eq!(count.unwrap()[6..], 50_i32.to_le_bytes());
    let [requests, _] = world.heard.take();
    assert!(matches!(requests[..], [(2, ..300), (1, _)]), "{requests:?}");
}

#[tokio::test]
async fn short_messages_are_left_alone_up_to_the_length_that_a_proxy_says() {
    let world = World::start(Settings::default()).await;
    let proxy = world.proxy.ice_compress(true).ice_compress_from(5000);
    check_echo(&proxy, &long()).await;
    assert_eq!(world.heard.statuses(), [[1], [2]]);
}

#[tokio::test]
async fn what_a_peer_does_not_offer_is_replaced_with_bzip2() {
    let world = World::start(Settings::default()).await;
    for compression in Compression::ALL {
        check_echo(&world.proxy.ice_compression(compression), &long()).await;
        assert_eq!(world.heard.statuses(), [[2], [2]], "{compression}");
    }
}

#[tokio::test]
async fn floe_peers_use_what_is_offered_in_both_directions() {
    let world = World::start(Settings::default()).await;
    for compression in [
        Compression::Zstd,
        Compression::Brotli,
        Compression::ZstdStream,
        Compression::ZstdBatch,
    ] {
        let proxy = world.offered(compression);
        for _ in 0..3 {
            check_echo(&proxy, &long()).await;
            let status = compression.compressed();
            assert_eq!(
                world.heard.statuses(),
                [[status], [status]],
                "{compression}"
            );
        }
        check_echo(&proxy, &short()).await;
        let status = compression.accepted();
        assert_eq!(
            world.heard.statuses(),
            [[status], [status]],
            "{compression}"
        );
    }
    // All over the same connection, beside messages that are not compressed.
    check_echo(&world.proxy, &long()).await;
    assert_eq!(world.heard.connection_count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_adapter_offers_what_its_settings_say() {
    let mut settings = Settings::default();
    settings.compressions = vec![Compression::Zstd, Compression::ZstdStream];
    let server = Communicator::with_settings(settings);
    let adapter = server.adapter("tcp -h 127.0.0.1 -p 0").await.unwrap();
    let text = adapter
        .add("echo", crate::echo::Echo::default())
        .unwrap()
        .to_string();
    assert!(text.contains(":opaque -t 18029 "), "{text}");
    adapter.activate();
    let proxy: Proxy = Communicator::new().proxy(&text).unwrap();
    check_echo(&proxy.ice_compression(Compression::Zstd), &long()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_keeps_its_order_with_many_callers() {
    let world = World::start(Settings::default()).await;
    let proxy = world.offered(Compression::ZstdStream);
    let calls: Vec<_> = (0..500_usize)
        .map(|number| {
            let proxy = proxy.clone();
            let parameters =
                encapsulation(&format!("call {number} ").repeat(number % 40).into_bytes());
            let operation = if number % 7 == 0 { "slow" } else { "echo" };
            tokio::spawn(async move {
                let echoed = returned(&proxy, operation, &parameters).await;
                assert_eq!(echoed.unwrap(), parameters);
            })
        })
        .collect();
    for call in calls {
        soon(call).await.unwrap();
    }
    assert_eq!(world.heard.connection_count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_takes_no_stream_that_it_does_not_offer() {
    let world = World::before(Server::start().await, Settings::default()).await;
    // The offer is not the server's own.
    let proxy = world.offered(Compression::ZstdStream);
    let refused = returned(&proxy, "echo", &long()).await;
    assert!(refused.is_err(), "the connection is closed");
    let proxy = world.offered(Compression::Zstd);
    check_echo(&proxy, &long()).await;
}

#[tokio::test]
async fn a_server_compresses_no_reply_by_a_method_that_it_does_not_offer() {
    let server = Server::start().await;
    let port = server.adapter.endpoints()[0].port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.read_exact(&mut [0; 14]).await.unwrap();
    for (compression, status) in [
        (Compression::ZstdStream, 0),
        (Compression::Zstd, 0),
        (Compression::Brotli, 0),
        (Compression::Bzip2, Compression::Bzip2.compressed()),
    ] {
        let mut request = header(0, 0);
        request[9] = compression.accepted();
        request.extend(7_i32.to_le_bytes());
        request.push(200);
        request.extend([b'n'; 200]);
        request.extend(b"\0\0\x04echo\0\0\x06\0\0\0\x01\x01");
        let len = request.len() as u32;
        request[10..14].copy_from_slice(&len.to_le_bytes());
        stream.write_all(&request).await.unwrap();
        let mut reply = [0; 14];
        soon(stream.read_exact(&mut reply)).await.unwrap();
        assert_eq!((reply[8], reply[9]), (2, status), "{compression:?}");
        let len = u32::from_le_bytes(reply[10..].try_into().unwrap());
        let mut rest = vec![0; len as usize - 14];
        soon(stream.read_exact(&mut rest)).await.unwrap();
    }
}

#[tokio::test]
async fn in_a_stream_many_like_messages_take_few_bytes() {
    let world = World::start(Settings::default()).await;
    let proxy = world.offered(Compression::ZstdStream);
    let random = (0..1000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8);
    let parameters = encapsulation(&random.collect::<Vec<_>>());
    for _ in 0..20 {
        check_echo(&proxy, &parameters).await;
    }
    for said in world.heard.take() {
        let len: usize = said.iter().map(|(_, len)| len).sum();
        assert!(said.len() == 20 && len < 2500, "{said:?}");
    }
}

#[tokio::test]
async fn bombs_close_their_connection_and_no_other() {
    let server = Server::start().await;
    let proxy = server.proxy("echo");
    let mut bomb = header(0, 14 + (1 << 20));
    bomb.resize(14 + (1 << 20), 0);
    floe_wire::compression::Compressor::new(Compression::Bzip2).compress(&mut bomb, 0);
    assert!(bomb.len() < 1000);
    soon(send_and_wait(&server, &bomb)).await;
    let mut lying = bomb.clone();
    lying[14..18].copy_from_slice(&100_u32.to_le_bytes());
    soon(send_and_wait(&server, &lying)).await;
    let mut unknown = header(0, 30);
    unknown[9] = 2;
    unknown.extend([0; 16]);
    soon(send_and_wait(&server, &unknown)).await;
    proxy.ice_ping().await.unwrap();
}

#[tokio::test]
async fn requests_that_were_compressed_hard_are_all_answered() {
    // More in one read than is taken off it at a time.
    let server = Server::start().await;
    let proxy = server.proxy("echo").ice_compress(true);
    let parameters = encapsulation(&vec![7; 900_000]);
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let (proxy, parameters) = (proxy.clone(), parameters.clone());
            tokio::spawn(async move {
                assert_eq!(
                    returned(&proxy, "echo", &parameters).await.unwrap(),
                    parameters
                );
            })
        })
        .collect();
    for call in calls {
        soon(call).await.unwrap();
    }
}

#[tokio::test]
async fn streams_beyond_the_limit_of_all_connections_are_refused_or_not_begun() {
    let mut settings = Settings::default();
    settings.compressions = Compression::ALL.into();
    settings.compression_streams_max = 3;
    let server = Server::with_settings(settings).await;
    let communicator = server.communicator.clone();
    let world = World::before(server, Settings::default()).await;
    let offered = world.offered(Compression::ZstdStream).to_string();
    let [first, second, third] = [0; 3].map(|_| Communicator::new());
    let proxy = |client: &Communicator| {
        let proxy: Proxy = client.proxy(&offered).unwrap();
        proxy.ice_compression(Compression::ZstdStream)
    };
    let (stream, alone) = (
        Compression::ZstdStream.compressed(),
        Compression::Zstd.compressed(),
    );
    // One stream for the requests of the first, and one for the replies.
    check_echo(&proxy(&first), &long()).await;
    assert_eq!(world.heard.statuses(), [[stream], [stream]]);
    assert_eq!(communicator.compression_streams(), 2);
    // The last one is for the requests of the second, whose replies are compressed alone.
    for _ in 0..2 {
        check_echo(&proxy(&second), &long()).await;
        assert_eq!(world.heard.statuses(), [[stream], [alone]]);
    }
    assert_eq!(communicator.compression_streams(), 3);
    let refused = soon(returned(&proxy(&third), "echo", &long())).await;
    refused.expect_err("its connection is closed");
    world.heard.take();
    check_echo(&proxy(&first), &long()).await;
    assert_eq!(world.heard.statuses(), [[stream], [stream]]);
    // A connection that ends gives its streams back.
    soon(first.shutdown()).await;
    let start = std::time::Instant::now();
    while communicator.compression_streams() > 1 {
        assert!(start.elapsed().as_secs() < 30, "they are not given back");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    check_echo(&proxy(&third), &long()).await;
}
