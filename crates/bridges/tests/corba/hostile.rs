//! Programs that mean harm: they cost their own connection.

use std::time::Duration;

use floe_bridges::corba::Settings;
use floe_giop::cdr::Encoder;
use floe_giop::message::Outcome;
use floe_giop::reference::{IiopProfile, Ior};
use floe_giop::system_exception::SystemExceptionKind as Kind;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Client, assert_returned, refusal};
use crate::fixture::{PATIENCE, bridge, settings, start, topic};
use crate::values::{tick, tick_code};

fn consumer_at(host: &str, port: u16) -> Ior {
    let profile = IiopProfile::new(host, port, bytes::Bytes::from_static(b"k"));
    Ior::new(
        "IDL:omg.org/CosEventComm/PushConsumer:1.0",
        profile.expect("it is short"),
    )
}

#[tokio::test]
async fn a_consumer_leads_to_no_other_computer_and_not_to_the_bridge_itself() {
    let joined = start(settings()).await;
    let address = joined.address();
    let (_, port) = address.split_once(':').expect("it has a port");
    let own: u16 = port.parse().expect("it is a number");
    let mut client = Client::connect(&address).await;
    for (host, port) in [
        ("192.0.2.1", 80),
        ("::ffff:192.0.2.1", 80),
        ("0.0.0.0", 80),
        ("127.0.0.1", own),
        ("localhost", own),
        ("::ffff:127.0.0.1", own),
        ("127.1", own),
    ] {
        let refused = client
            .connect_consumer("ticks", &consumer_at(host, port))
            .await;
        assert_eq!(refusal(refused), (Kind::NoPermission, 6), "{host}:{port}");
    }
    let refused = client.connect_consumer("ticks", &consumer_at("", 80)).await;
    assert_eq!(refusal(refused), (Kind::InvObjref, 7));
    joined.end().await;
}

#[tokio::test]
async fn proxies_that_nobody_connects_are_limited_by_connection() {
    let joined = start(settings()).await;
    let mut client = Client::connect(&joined.address()).await;
    let (_, admin) = client.obtain(b"ticks", "for_suppliers").await;
    let (_, proxy) = client.obtain(&admin, "obtain_push_consumer").await;
    for _ in 1..64 {
        client.obtain(&admin, "obtain_push_consumer").await;
    }
    let refused = client
        .call(&admin, "obtain_push_consumer", |_| Ok(()))
        .await;
    assert_eq!(refusal(refused), (Kind::ImpLimit, 10));
    // One that is connected makes room.
    let connect = |to: &mut Encoder| Ior::NIL.encode(to);
    assert_returned(&client.call(&proxy, "connect_push_supplier", connect).await);
    client.obtain(&admin, "obtain_push_consumer").await;
    joined.end().await;
}

#[tokio::test]
async fn proxies_that_nobody_connects_go_when_there_are_too_many() {
    let joined = start(settings()).await;
    let mut proxies = Vec::new();
    for _ in 0..6 {
        let mut client = Client::connect(&joined.address()).await;
        let (_, admin) = client.obtain(b"ticks", "for_suppliers").await;
        for _ in 0..50 {
            proxies.push(client.obtain(&admin, "obtain_push_consumer").await.1);
        }
        if proxies.len() == 50 {
            // The reference is given to another program, and this one ends.
            let connect = |to: &mut Encoder| Ior::NIL.encode(to);
            let mut other = Client::connect(&joined.address()).await;
            let connected = other.call(&proxies[0], "connect_push_supplier", connect);
            assert_returned(&connected.await);
        }
    }
    let mut client = Client::connect(&joined.address()).await;
    let gone = async {
        loop {
            let there = client.call(&proxies[1], "_non_existent", |_| Ok(())).await;
            if matches!(there, Outcome::SystemException(_)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, gone).await.expect("it goes");
    for kept in [&proxies[0], &proxies[299]] {
        let there = client.call(kept, "_non_existent", |_| Ok(())).await;
        assert_returned(&there);
    }
    let pushed = client.push(&proxies[0], &tick_code(), &tick("a", 1)).await;
    assert_returned(&pushed);
    joined.end().await;
}

#[tokio::test]
async fn one_connection_too_many_is_closed() {
    let joined = start(Settings {
        connections_max: 2,
        ..settings()
    })
    .await;
    let mut first = Client::connect(&joined.address()).await;
    let mut second = Client::connect(&joined.address()).await;
    first.obtain(b"ticks", "for_consumers").await;
    second.obtain(b"ticks", "for_consumers").await;
    let mut third = TcpStream::connect(joined.address())
        .await
        .expect("it listens");
    let read = timeout(PATIENCE, third.read(&mut [0]))
        .await
        .expect("it ends");
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    first.obtain(b"ticks", "for_consumers").await;
    joined.end().await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_ends_its_connection_at_once() {
    let joined = start(Settings {
        message_len_max: 4096,
        ..settings()
    })
    .await;
    let mut stream = TcpStream::connect(joined.address())
        .await
        .expect("it listens");
    let header = *b"GIOP\x01\x02\x01\x00\xff\xff\xff\x7f";
    stream.write_all(&header).await.expect("it is read");
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    read.expect("it ends").expect("it is closed in peace");
    assert_eq!(
        answer.get(7),
        Some(&6),
        "expected MessageError, got {answer:?}"
    );
    joined.end().await;
}

/// Damages bytes as a fuzzer does.
fn damage() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((any::<usize>(), any::<u8>()), 1..6)
}

#[tokio::test]
async fn damaged_conversations_cost_their_own_connection() {
    let joined = start(settings()).await;
    let mut good = Client::connect(&joined.address()).await;
    let proxy = good.supplier("ticks").await;
    let mut recorded = Client::connect(&joined.address()).await;
    let theirs = recorded.supplier("ticks").await;
    assert_returned(
        &recorded
            .push(&theirs, &tick_code(), &tick("Zürich", 1))
            .await,
    );
    recorded
        .connect_consumer("ticks", &consumer_at("127.0.0.1", 1))
        .await;
    recorded
        .call(b"NameService", "list", |to| {
            to.ulong(10);
            Ok(())
        })
        .await;
    let written = recorded.written.clone();
    let mut runner = TestRunner::deterministic();
    for round in 0..300 {
        let mut bytes = written.clone();
        let damage = damage().new_tree(&mut runner).expect("it is one").current();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let mut stream = TcpStream::connect(joined.address())
            .await
            .expect("it listens");
        // The bridge may close before it has read all.
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let end = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
        // A connection may also be reset.
        let _ = end.unwrap_or_else(|_| panic!("round {round} does not end"));
        if round % 20 == 0 {
            assert_returned(&good.push(&proxy, &tick_code(), &tick("a", round)).await);
        }
    }
    assert_returned(&good.push(&proxy, &tick_code(), &tick("a", 300)).await);
    joined.end().await;
}

#[tokio::test]
async fn a_bridge_listens_on_this_computer_alone() {
    let joined = start(settings()).await;
    let everywhere = Settings {
        listen: ([0, 0, 0, 0], 0).into(),
        ..settings()
    };
    let topics = [topic("ticks", "::Demo::Ticker")];
    let started = bridge(everywhere, &joined.client, &topics).await;
    let error = started.expect_err("it is refused").to_string();
    assert!(error.contains("listen on 127.0.0.1"), "{error}");
    joined.end().await;
}
