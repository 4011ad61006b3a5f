//! What clients may cost a gateway of memory and open files. The tests measure this process, so they run one at a time and
//! in a process of their own.

#[expect(
    dead_code,
    reason = "shared with the capabilities; these tests need a part of it"
)]
#[path = "../capabilities/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use floe::dispatch::{DispatchSlot, Requests};
use floe::encoding::{Encode, Encoder};
use floe::contracts::glacier2::RouterProxy;
use floe::{Communicator, Dispatcher, EncodingVersion, Proxy, TypedProxy};
use floe_gateway::PasswordVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use world::{BackEnd, World, call, soon};

/// Held by the test that measures.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    let kilobytes = kilobytes.and_then(|count| count.parse::<usize>().ok());
    kilobytes.expect("a number") * 1024
}

/// A request keeps nothing of its object that others keep, too, and what it keeps counts.
#[tokio::test]
async fn requests_that_wait_share_a_long_proxy_or_count_it() {
    const OFFER_LEN: usize = 500_000;
    const COUNT: u64 = 1000;
    for is_token in [true, false] {
        let _alone = ALONE.lock().await;
        let world = World::start().await;
        // It accepts connections in its backlog, and reads nothing.
        let deaf = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let port = deaf.local_addr().expect("it is bound").port();
        let client = world.client().await;
        let text = format!(
            "deaf:tcp -h 127.0.0.1 -p {port}:opaque -t 18029 -e 1.1 -v {}",
            "A".repeat(OFFER_LEN)
        );
        let object: Proxy = client.communicator.proxy(&text).unwrap();
        let object = client.routed(&object).await.unwrap().ice_oneway();
        let before = resident();
        for number in 0..COUNT {
            let object = match is_token {
                true => {
                    let context = [("_ovrd".to_owned(), number.to_string())];
                    object.ice_context(BTreeMap::from(context))
                }
                false => object.ice_facet("f"),
            };
            call(&object, "op").await.expect("it is oneway");
        }
        soon(async {
            while world.gateway.status().to_servers < COUNT {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        let grown = resident().saturating_sub(before);
        assert!(grown < 100 << 20, "is_token: {is_token}, {grown} bytes");
        let refused = world.gateway.status().memory_full;
        assert_eq!(refused > 0, !is_token, "{refused}");
        world.shut_down().await;
    }
}

/// Never answers.
struct Silent;

impl Dispatcher for Silent {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, |request| async move {
            let () = std::future::pending().await;
            request.returned_nothing()
        });
    }
}

/// A client that writes its messages itself, so that they are read together.
struct RawClient(TcpStream);

impl RawClient {
    /// With a session, and a route to an object.
    async fn start(world: &World, object: &Proxy) -> Self {
        let endpoints = world.gateway.client_endpoints();
        let port = endpoints.split(" -p ").nth(1).expect("a port");
        let port = port.split(' ').next().expect("a number");
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).await;
        let mut client = Self(stream.expect("loopback"));
        client.read().await;
        let credentials = parameters(|encoder| {
            encoder.string("joe");
            encoder.string("secret");
        });
        let router = ("router", "Glacier2");
        let created = request(1, router, ("createSession", 0), &credentials);
        client.write(&created).await;
        client.read().await;
        let proxies = parameters(|encoder| vec![Some(object.clone())].encode(encoder));
        let added = request(2, router, ("addProxies", 2), &proxies);
        client.write(&added).await;
        client.read().await;
        client
    }

    async fn write(&mut self, bytes: &[u8]) {
        soon(self.0.write_all(bytes)).await.expect("it is read");
    }

    /// Reads a message.
    async fn read(&mut self) {
        let mut header = [0; 14];
        soon(self.0.read_exact(&mut header)).await.expect("one");
        let size = u32::from_le_bytes(header[10..].try_into().expect("four bytes"));
        let mut body = vec![0; size as usize - header.len()];
        soon(self.0.read_exact(&mut body)).await.expect("all of it");
    }
}

fn parameters(encode: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_1);
    encoder.encapsulation(EncodingVersion::V1_1, encode);
    encoder.finish().expect("they are short");
    bytes
}

/// A Request message. Zero is the id of a oneway request.
fn request(id: i32, object: (&str, &str), operation: (&str, u8), parameters: &[u8]) -> Vec<u8> {
    let mut bytes = b"IceP\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00".to_vec();
    bytes.extend(id.to_le_bytes());
    let mut encoder = Encoder::new(&mut bytes, EncodingVersion::V1_0);
    encoder.string(object.0);
    encoder.string(object.1);
    // No facet.
    encoder.bytes(&[0]);
    encoder.string(operation.0);
    // The mode, and an empty context.
    encoder.bytes(&[operation.1, 0]);
    encoder.bytes(parameters);
    encoder.finish().expect("they are short");
    let size = u32::try_from(bytes.len()).expect("short");
    bytes[10..14].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[tokio::test]
async fn a_request_that_waits_keeps_none_alive_that_came_with_it() {
    const COUNT: u64 = 200;
    for buffered in [true, false] {
        let _alone = ALONE.lock().await;
        let world = World::with(|settings| settings.to_servers.buffered = buffered).await;
        let silent = world.back_end.adapter.add("silent", Silent);
        let mut client = RawClient::start(&world, &silent.expect("one")).await;
        let long = parameters(|encoder| encoder.bytes(&[0; 1000]));
        let lost = request(0, ("unknown", ""), ("op", 0), &long).repeat(250);
        let before = resident();
        for number in 1..=COUNT {
            let id = i32::try_from(number).expect("short") + 2;
            let asked = request(id, ("silent", ""), ("op", 0), &parameters(|_| ()));
            client.write(&[&lost[..], &asked].concat()).await;
            soon(async {
                while world.gateway.status().to_servers < number {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
            .await;
        }
        let grown = resident().saturating_sub(before);
        assert!(grown < 20 << 20, "buffered: {buffered}, {grown} bytes");
        world.shut_down().await;
    }
}

/// Number of files that this process has open.
fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

#[tokio::test]
async fn nothing_is_kept_of_connections_that_were_closed_during_a_login() {
    const COUNT: usize = 100;
    // So many names of an address are verified at a time.
    const VERIFIED: usize = 16;
    let _alone = ALONE.lock().await;
    let back_end = BackEnd::start().await;
    let verifier = back_end.adapter.add("silent", Silent).expect("one");
    let world = World::before(back_end, |settings| {
        settings.password_verifier = Some(PasswordVerifier::Proxy(verifier.reference().clone()));
    })
    .await;
    let communicator = Communicator::new();
    let router: RouterProxy = communicator.proxy(&world.gateway.router()).unwrap();
    soon(router.ice_ping()).await.expect("it is there");
    let before = open_files();
    let mut logins = tokio::task::JoinSet::new();
    let mut connections = Vec::new();
    for number in 0..COUNT {
        let router = router.ice_connection_id(&number.to_string());
        let connection = soon(router.ice_connection()).await.unwrap();
        connections.push(connection.expect("it is elsewhere"));
        let user = format!("user{number}");
        logins.spawn(async move { router.create_session(&user, "secret").await });
    }
    // All of them have come.
    for connection in &connections {
        let router = router.ice_fixed(connection);
        soon(router.ice_ping()).await.expect("it is there");
    }
    for connection in &connections {
        connection.abort();
    }
    drop(connections);
    while let Some(login) = soon(logins.join_next()).await {
        login.expect("it does not panic").expect_err("it is closed");
    }
    soon(async {
        while open_files() > before + 2 * VERIFIED {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    world.shut_down().await;
}
