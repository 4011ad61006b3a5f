//! A log that the disk has damaged in the middle: the hub names the segment and the events that are missing, and serves the others.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::{QoS, TopicManagerProxy, TopicProxy};
use floe::dispatch::{DispatchSlot, Requests};
use floe::{Communicator, Dispatcher, OperationMode, TypedProxy};
use floe_tests::hub::{Data, serve_configured};
use floe_tests::peer::Peer;
use floe_tests::workspace;

/// So many events of so many bytes are several segments.
const EVENTS: u64 = 600;
const LEN: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a hub with the durable topic `t`. A log that keeps few bytes has short segments, of 1 MiB.
fn serve(data: &Data) -> (Peer, String) {
    let floe = Command::new(workspace::program("floe"));
    let config = "[topic.t]\ndurable = true\n[topic.t.retention]\nbytes = \"8 MiB\"\n";
    serve_configured(floe, data, "tcp -h 127.0.0.1 -p 0", config)
}

/// Records the numbers of the events that it gets.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<u64>>>);

impl Dispatcher for Recorder {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let number = request.operation().strip_prefix('e');
            if let Some(number) = number.and_then(|number| number.parse().ok()) {
                self.0.lock().expect("no panic").push(number);
            }
            std::future::ready(request.returned_nothing())
        });
    }
}

async fn topic(communicator: &Communicator, manager: &str) -> TopicProxy {
    let manager = TopicManagerProxy::from_proxy(communicator.proxy(manager).expect("a proxy"));
    manager.retrieve("t").await.expect("the hub answers")
}

async fn publish(topic: &TopicProxy, numbers: std::ops::RangeInclusive<u64>) {
    let publisher = topic.get_publisher().await.expect("the hub answers");
    let mut parameters = (LEN as u32).to_le_bytes().to_vec();
    parameters.extend([1, 1]);
    parameters.resize(LEN, 7);
    for number in numbers {
        let operation = format!("e{number}");
        let sent = publisher.invoke(&operation, OperationMode::Normal, &parameters);
        sent.await.expect("the hub takes it");
    }
}

/// The segments of the log, the oldest first.
fn segments(data: &Data) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.path().join("topics/t/log")).expect("the log has a folder");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "log"));
    paths.sort();
    paths
}

#[tokio::test]
async fn a_damaged_segment_is_named_with_its_events_and_the_others_are_served() {
    let data = Data::new("durable-damage");
    let own = Communicator::new();
    let (mut hub, manager) = serve(&data);
    publish(&topic(&own, &manager).await, 1..=EVENTS).await;
    hub.kill();
    let segments = segments(&data);
    assert!(segments.len() > 3, "{segments:?}");
    // In the middle of an event of the second segment, which is finished.
    let broken = &segments[1];
    let mut bytes = fs::read(broken).expect("the test may read it");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(broken, bytes).expect("the test may write it");

    let (hub, manager) = serve(&data);
    let adapter = own.adapter("tcp -h 127.0.0.1 -p 0").await;
    let adapter = adapter.expect("loopback");
    let recorder = Recorder::default();
    let reader = adapter.add("reader", recorder.clone()).expect("a new name");
    adapter.activate();
    let wishes: QoS = [("floe.from", "beginning"), ("reliability", "ordered")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let topic = topic(&own, &manager).await;
    let subscribed = topic.subscribe_and_get_publisher(&wishes, Some(&reader));
    subscribed.await.expect("a subscription");
    publish(&topic, EVENTS + 1..=EVENTS + 1).await;
    let received = wait_for(&recorder, EVENTS + 1).await;

    let missing: Vec<u64> = (1..=EVENTS + 1)
        .filter(|number| received.binary_search(number).is_err())
        .collect();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(
        received.len() as u64,
        EVENTS,
        "each of the others comes once"
    );
    assert!(received.is_sorted());
    let lost = missing[0];
    let file = broken
        .file_name()
        .expect("a file")
        .to_string_lossy()
        .into_owned();
    let said = hub.errors_with("is damaged");
    assert!(said.contains(&file), "{said}");
    let range = format!("the events {lost} to {lost} (1) are missing, the others are served");
    assert!(said.contains(&range), "{said}");
    own.shutdown().await;
}

/// The numbers of the events that came, up to this one.
async fn wait_for(recorder: &Recorder, last: u64) -> Vec<u64> {
    let (mut count, mut since) = (0, Instant::now());
    loop {
        {
            let numbers = recorder.0.lock().expect("no panic");
            if numbers.last() == Some(&last) {
                return numbers.clone();
            }
            if numbers.len() > count {
                (count, since) = (numbers.len(), Instant::now());
            }
        }
        assert!(since.elapsed() < PATIENCE, "{count} events, and not {last}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
