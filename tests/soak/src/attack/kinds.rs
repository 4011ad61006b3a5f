//! Attacks on a hub alone. Each kind lasts as long as it is told, and ends with its connections closed.

use std::collections::BTreeMap;
use std::time::Duration;

use floe::OperationMode;
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use super::message::{ADMIN, LOGS, MANAGER, request, string};
use super::target::{Kind, Target};

/// The attacks on a hub by name.
pub(super) const KINDS: [(&str, Kind); 8] = [
    ("replies that nobody reads", |target| {
        Box::pin(unread(target, "topicInfo", 60))
    }),
    ("topics publishing to each other", |target| {
        Box::pin(circle(target))
    }),
    ("much unknown quality of service", |target| {
        Box::pin(large_subscriptions(target))
    }),
    ("stalled subscribers of 30 topics", |target| {
        Box::pin(stalled(target))
    }),
    ("subscribers at dead endpoints", |target| {
        Box::pin(dead(target))
    }),
    ("all of many topics, unread", |target| {
        Box::pin(many_topics(target))
    }),
    ("names of topics with 900 kB", |target| {
        Box::pin(async move {
            let create = request(1, MANAGER, "create", &string(&"n".repeat(900_000)));
            target.flood(8, &create).await;
        })
    }),
    ("pulls that wait", |target| Box::pin(waiting_pulls(target))),
];

/// Asks for something again and again, without reading the replies.
async fn unread(target: Target, operation: &str, connections: usize) {
    let asking = match operation {
        "topicInfo" => request(1, ADMIN, operation, &string("large")),
        _ => request(1, MANAGER, operation, &[]),
    };
    if let Some(topic) = target.topic("large").await {
        for number in 0..500 {
            let proxy = format!("{number:0>400}:tcp -h 127.0.0.1 -p 1");
            target.subscribe(&topic, &proxy, &BTreeMap::new()).await;
        }
        target.flood(connections, &asking.repeat(60)).await;
        let _ = topic.destroy().await;
    }
}

async fn circle(target: Target) {
    let (a, b) = (target.topic("a").await, target.topic("b").await);
    let Some((a, b)) = a.zip(b) else { return };
    let publishers = (target.publisher(&a).await, target.publisher(&b).await);
    let (Some(of_a), Some(of_b)) = publishers else {
        return;
    };
    let qos = BTreeMap::new();
    target.subscribe(&a, &of_b.to_string(), &qos).await;
    target.subscribe(&b, &of_a.to_string(), &qos).await;
    for _ in 0..100 {
        let _ = of_a.invoke("e", OperationMode::Normal, &NOTHING[..]).await;
    }
    target.wait_for_end().await;
}

async fn large_subscriptions(target: Target) {
    let qos = BTreeMap::from([("unknown".to_owned(), "x".repeat(1_000_000))]);
    let Some(topic) = target.topic("t").await else {
        return;
    };
    for number in 0..300 {
        if !target.lasts() {
            break;
        }
        let proxy = format!("{number}:tcp -h 127.0.0.1 -p 1");
        target.subscribe(&topic, &proxy, &qos).await;
    }
    let _ = topic.destroy().await;
}

async fn stalled(target: Target) {
    // It accepts connections in its backlog, and reads nothing.
    let Ok(deaf) = std::net::TcpListener::bind("127.0.0.1:0") else {
        return;
    };
    let port = deaf.local_addr().map_or(0, |address| address.port());
    let mut event = i32::to_le_bytes(900_006).to_vec();
    event.extend([1, 1]);
    event.resize(900_006, 0);
    let mut topics = Vec::new();
    for number in 0..30 {
        if let Some(topic) = target.topic(&format!("stalled{number}")).await
            && let Some(publisher) = target.publisher(&topic).await
        {
            let proxy = format!("s:tcp -h 127.0.0.1 -p {port}");
            target.subscribe(&topic, &proxy, &BTreeMap::new()).await;
            topics.push((topic, publisher));
        }
    }
    while target.lasts() {
        for (_, publisher) in &topics {
            let published = publisher.invoke("e", OperationMode::Normal, &event);
            let _ = timeout(Duration::from_secs(1), published).await;
        }
    }
    for (topic, _) in topics {
        let _ = topic.destroy().await;
    }
}

async fn dead(target: Target) {
    let Some(topic) = target.topic("dead").await else {
        return;
    };
    let qos = BTreeMap::from([("retryCount".to_owned(), "-1".to_owned())]);
    for number in 0..20_000 {
        if !target.lasts() {
            break;
        }
        // Loopback refuses at once.
        let proxy = format!("{number}:tcp -h 127.0.0.1 -p 1");
        target.subscribe(&topic, &proxy, &qos).await;
    }
    if let Some(publisher) = target.publisher(&topic).await {
        let _ = publisher
            .invoke("e", OperationMode::Normal, &NOTHING[..])
            .await;
    }
    sleep(Duration::from_secs(2)).await;
    let _ = topic.destroy().await;
}

async fn many_topics(target: Target) {
    let manager = target.manager();
    for number in 0..20_000 {
        if !target.lasts() {
            break;
        }
        let _ = manager.create(&format!("many{number}")).await;
    }
    unread(target.for_seconds(5), "retrieveAll", 33).await;
}

/// As many dispatches that wait as an adapter may have.
async fn waiting_pulls(target: Target) {
    let Some(topic) = target.topic("pulled").await else {
        return;
    };
    let name = [string("pulled"), string("p")].concat();
    let open = [
        &string("pulled")[..],
        &[1],
        &string("floe.pull"),
        &string("p"),
    ]
    .concat();
    let pull = [&name[..], &1_i32.to_le_bytes(), &30_000_i32.to_le_bytes()].concat();
    let opening = request(1, LOGS, "openPull", &open);
    let pulls = [opening, request(1, LOGS, "pull", &pull).repeat(16)].concat();
    let mut streams = Vec::new();
    while target.lasts() && streams.len() < 4_500 {
        if let Some(mut stream) = target.connect(target.ports.tcp).await {
            let _ = timeout(Duration::from_millis(200), stream.write_all(&pulls)).await;
            streams.push(stream);
        }
    }
    target.wait_for_end().await;
    let _ = topic.destroy().await;
}

/// Parameters of an operation that has none.
const NOTHING: [u8; 6] = [6, 0, 0, 0, 1, 1];
