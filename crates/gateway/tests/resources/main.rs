//! Memory and open files that clients may cost a gateway. The tests measure this process, so they run one at a time and
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

use floe::contracts::glacier2::RouterProxy;
use floe::dispatch::{DispatchSlot, Requests};
use floe::{Communicator, Dispatcher, OperationMode, Proxy, TypedProxy};
use floe_gateway::PasswordVerifier;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use world::{BackEnd, NOTHING, World, call, soon};

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

/// A waiting request keeps the memory that it counts with, and not all that was read with it.
#[tokio::test]
async fn a_request_that_waits_does_not_keep_the_read_buffer() {
    const COUNT: usize = 150;
    // As much as is read at a time, in messages that share a buffer.
    const BESIDES: usize = 24;
    const BESIDES_LEN: usize = 12_000;
    for is_buffered in [true, false] {
        let _alone = ALONE.lock().await;
        let world = World::with(|settings| settings.to_servers.buffered = is_buffered).await;
        let back_end = &world.back_end;
        let silent = back_end.adapter.add("silent", Silent).expect("one");
        let client = world.client().await;
        let silent = client.routed(&silent).await.expect("registered");
        // The gateway drops what is sent to an object that it does not know.
        let nobody = client
            .connection
            .proxy("nobody".parse().expect("an identity"));
        let nobody = nobody.ice_oneway();
        let len = 6 + BESIDES_LEN as i32;
        let besides = [&len.to_le_bytes()[..], &[1, 1], &[0; BESIDES_LEN]].concat();
        let mut calls = tokio::task::JoinSet::new();
        let mut before = 0;
        for number in 0..2 * COUNT {
            if number == COUNT {
                before = resident();
            }
            // The first rounds let the process grow as it does in any case.
            if number >= COUNT {
                let silent = silent.clone();
                calls.spawn(
                    async move { silent.invoke("op", OperationMode::Normal, NOTHING).await },
                );
                tokio::task::yield_now().await;
            }
            for _ in 0..BESIDES {
                let sent = nobody.invoke("op", OperationMode::Normal, &besides);
                soon(sent).await.expect("it is oneway");
            }
            soon(client.router.get_session_timeout())
                .await
                .expect("it is served");
        }
        assert_eq!(world.gateway.status().to_servers, COUNT as u64);
        let grown = resident().saturating_sub(before);
        let counted = world.gateway.status().memory;
        assert!(
            grown < 10 << 20,
            "is_buffered: {is_buffered}: {counted} bytes are counted, {grown} are held"
        );
        // A shutdown would wait for the answers.
        calls.abort_all();
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
