//! A hub whose disk is full: it refuses events with the reason, keeps all that it has acknowledged, and goes on when there is room.
//!
//! The system refuses to make a file longer than a limit that the hub's process has. The test raises it later.

use std::process::Command;

use floe::contracts::ice_storm::TopicManagerProxy;
use floe::{Communicator, OperationMode, Proxy, TypedProxy};
use floe_hub::DURABLE_TOPICS;
use floe_hub::contracts::floe::DurableTopicsProxy;
use floe_tests::hub::{Data, serve_configured};
use floe_tests::peer::Peer;
use floe_tests::workspace;

/// The longest file for a while, in bytes.
const LIMIT: u64 = 600 * 1024;
/// The bytes of the parameters of an event.
const LEN: usize = 4096;

/// Starts a hub with the durable topic `t`.
fn serve(data: &Data) -> (Peer, String) {
    // A process that ignores the signal learns from the write that its file is too long.
    let mut floe = Command::new("bash");
    floe.args(["-c", "trap '' XFSZ; exec \"$@\"", "bash"]);
    floe.arg(workspace::program("floe"));
    let config = "[topic.t]\ndurable = true\n";
    serve_configured(floe, data, "tcp -h 127.0.0.1 -p 0", config)
}

/// Changes how long the files of a process may be.
fn limit_files(hub: &Peer, limit: &str) {
    let mut change = Command::new("prlimit");
    change.args(["--pid", &hub.id().to_string(), &format!("--fsize={limit}")]);
    let status = change.status();
    assert!(status.expect("util-linux has it").success());
}

async fn publisher(communicator: &Communicator, manager: &str) -> Proxy {
    let manager = TopicManagerProxy::from_proxy(communicator.proxy(manager).expect("a proxy"));
    let topic = manager.retrieve("t").await.expect("the hub answers");
    topic.get_publisher().await.expect("the hub answers")
}

/// Publishes an event, and says why the hub refuses it.
async fn publish(publisher: &Proxy, number: u64) -> Result<(), String> {
    let mut parameters = (LEN as u32).to_le_bytes().to_vec();
    parameters.extend([1, 1]);
    parameters.resize(LEN, 7);
    let operation = format!("e{number}");
    let sent = publisher.invoke(&operation, OperationMode::Normal, &parameters);
    sent.await.map(drop).map_err(|error| error.to_string())
}

/// The operations of all events of the log.
async fn logged(communicator: &Communicator, manager: &str) -> Vec<String> {
    let (_, endpoint) = manager.split_once(':').expect("an endpoint");
    let topics = communicator.proxy(&format!("{DURABLE_TOPICS}:{endpoint}"));
    let topics = DurableTopicsProxy::from_proxy(topics.expect("a proxy"));
    let (mut operations, mut from) = (Vec::new(), 1);
    loop {
        let read = topics.read("t", from, 1000).await;
        let (events, next) = read.expect("the hub answers");
        if next == from {
            return operations;
        }
        operations.extend(events.into_iter().map(|event| event.operation));
        from = next;
    }
}

#[tokio::test]
async fn a_full_disk_refuses_events_loses_none_and_goes_on_when_there_is_room() {
    let data = Data::new("durable-full-disk");
    let own = Communicator::new();
    let (mut hub, manager) = serve(&data);
    limit_files(&hub, &format!("{LIMIT}:unlimited"));
    let to = publisher(&own, &manager).await;
    let mut stored = 0;
    let refused = loop {
        match publish(&to, stored + 1).await {
            Ok(()) => stored += 1,
            Err(reason) => break reason,
        }
        assert!(stored < 1000, "a file has at most {LIMIT} bytes");
    };
    assert!(stored > 10, "{stored}: {refused}");
    assert!(refused.contains("not stored"), "{refused}");
    assert!(refused.contains("too large"), "{refused}");
    publish(&to, 0).await.expect_err("there is still no room");
    let expected = |count| (1..=count).map(|number| format!("e{number}"));
    assert!(
        logged(&own, &manager)
            .await
            .into_iter()
            .eq(expected(stored))
    );

    limit_files(&hub, "unlimited");
    for _ in 0..20 {
        stored += 1;
        publish(&to, stored).await.expect("there is room");
    }
    hub.kill();
    let (hub, manager) = serve(&data);
    assert!(
        logged(&own, &manager)
            .await
            .into_iter()
            .eq(expected(stored))
    );
    assert!(!hub.errors().contains("damage"), "{}", hub.errors());
    own.shutdown().await;
}
