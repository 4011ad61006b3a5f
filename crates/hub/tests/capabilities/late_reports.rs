//! A subscriber whose delivery learns late that its connection has broken, after other subscribers have reconnected. In
//! a runtime of several threads this happens by chance; here a request that is told first delays the report.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use floe::encoding::Encoder;
use floe::forwarding::{Event, EventsBuilder, PendingEvent, ReplySink};
use floe::message::Outcome;
use floe::{Communicator, EncodingVersion, InvokeError, OperationMode, Proxy, Settings};
use floe_hub::HubSettings;
use floe_hub::contracts::floe::TopicInfo;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::reconnecting::numbers;
use crate::world::{Inbox, Subscribers, World, nothing, publisher, soon, subscribe};

/// More than any socket buffers.
const LONG: usize = 12_000_000;

/// Forwards connections to a port of loopback.
struct Relay {
    port: u16,
    first: Arc<First>,
}

/// The state of the first connection.
#[derive(Default)]
struct First {
    /// The relay does not read it any more.
    hold: Notify,
    /// The relay reads and forwards it.
    is_held: Notify,
    /// The relay cuts it.
    cut: Notify,
}

impl Relay {
    async fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let port = listener.local_addr().expect("an address").port();
        let first = Arc::<First>::default();
        let mut next = Some(first.clone());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(("127.0.0.1", target)).await;
                let far = far.expect("the subscriber lives");
                tokio::spawn(forward(near, far, next.take()));
            }
        });
        Self { port, first }
    }
}

async fn forward(mut near: TcpStream, mut far: TcpStream, first: Option<Arc<First>>) {
    let copied = copy_bidirectional(&mut near, &mut far);
    let Some(first) = first else {
        // However it ends.
        let _ = copied.await;
        return;
    };
    tokio::select! {
        _ = copied => {}
        () = first.hold.notified() => {}
    }
    first.is_held.notify_one();
    first.cut.notified().await;
}

/// Is told of a broken connection, and then delays those that are told after it.
struct Slow {
    told: Notify,
    go_on: Mutex<Receiver<()>>,
}

impl Slow {
    fn new() -> (Arc<Self>, Sender<()>) {
        let (sender, go_on) = channel();
        let slow = Self {
            told: Notify::new(),
            go_on: Mutex::new(go_on),
        };
        (Arc::new(slow), sender)
    }
}

impl ReplySink for Slow {
    fn returned(&self, _: Range<u64>) {}

    fn answered(&self, _: Range<u64>, _: Result<Option<Outcome>, InvokeError>) {}

    fn failed(&self, _: Vec<(Range<u64>, InvokeError)>) {
        self.told.notify_one();
        let go_on = self.go_on.lock().unwrap_or_else(PoisonError::into_inner);
        // It ends with its sender, too.
        tokio::task::block_in_place(|| go_on.recv_timeout(Duration::from_secs(60))).ok();
    }
}

/// An event of this many bytes.
fn event(len: usize) -> Vec<Event> {
    let mut events = EventsBuilder::default();
    let write = |buffer: &mut Vec<u8>| {
        let mut encoder = Encoder::new(buffer, EncodingVersion::V1_0);
        encoder.string("long");
        encoder.put(&OperationMode::Normal);
        encoder.size(0);
        encoder.encapsulation(EncodingVersion::V1_1, |encoder| {
            encoder.put(&vec![0_u8; len]);
        });
        encoder.finish().expect("it is short enough");
        Ok(())
    };
    events.push_with(write).expect("an event");
    let mut list = Vec::new();
    events.finish().expect("there is one").append_to(&mut list);
    list
}

/// A subscriber that answers nothing, beside others that share its connection.
struct Stage {
    world: World,
    subscribers: Subscribers,
    inbox: Inbox,
    relay: Relay,
    publisher: Proxy,
    /// The adapter of the other subscribers.
    others: Proxy,
    slow: Arc<Slow>,
    go_on: Sender<()>,
    /// Events that were sent to the other subscribers, which do not answer.
    sent: Vec<PendingEvent>,
    others_inbox: Inbox,
}

impl Stage {
    async fn set() -> Self {
        let mut settings = Settings::default();
        settings.message_size_max = 2 * LONG;
        let hub_side = Communicator::with_settings(settings);
        let no_interval = |settings: &mut HubSettings| settings.discard_interval = Duration::ZERO;
        let world = World::of(hub_side, no_interval).await;
        let subscribers = Subscribers::start().await;
        let (_, inbox) = subscribers.add_stuck("s");
        let (_, others_inbox) = subscribers.add_stuck("others");
        let port = subscribers.adapter.endpoints()[0].port().expect("tcp");
        let relay = Relay::to(port).await;
        let port = relay.port;
        let at = |name: &str| format!("{name}:tcp -h 127.0.0.1 -p {port}");
        let others: Proxy = world.hub_side.proxy(&at("others")).expect("a proxy");
        soon(others.connect()).await.expect("it listens");
        let topic = world.create("t").await;
        let (slow, go_on) = Slow::new();
        let mut stage = Self {
            publisher: publisher(&topic).await,
            others,
            world,
            subscribers,
            inbox,
            slow,
            go_on,
            sent: Vec::new(),
            others_inbox,
            relay,
        };
        stage.send_to_others(0);
        let subscriber: Proxy = stage.world.client.proxy(&at("s")).expect("a proxy");
        let wishes = [("retryCount", "-1"), ("floe.outstanding", "32")];
        subscribe(&topic, &subscriber, &wishes).await;
        stage
    }

    fn send_to_others(&mut self, len: usize) {
        let sent = self.others.try_forward(&event(len), &self.slow, 0, None);
        self.sent.extend(sent.expect("there is room"));
    }

    async fn publish(&self, numbers: Range<usize>) {
        for number in numbers {
            let (operation, nothing) = (format!("e{number}"), nothing());
            let mode = OperationMode::Idempotent;
            let sent = self.publisher.invoke(&operation, mode, &nothing);
            soon(sent).await.expect("the hub takes it");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_event_overtakes_events_whose_failure_is_reported_late() {
    let mut stage = Stage::set().await;
    stage.publish(0..3).await;
    assert_eq!(stage.inbox.operations(3).await, ["e0", "e1", "e2"]);
    // The events after these wait for room.
    stage.relay.first.hold.notify_one();
    soon(stage.relay.first.is_held.notified()).await;
    stage.send_to_others(LONG);
    stage.publish(3..6).await;
    let all_are_sent = |it: &TopicInfo| it.subscribers[0].outstanding == 6;
    stage.world.info_when("t", all_are_sent).await;

    stage.relay.first.cut.notify_one();
    soon(stage.slow.told.notified()).await;
    // The delivery task looks for events to send.
    stage.publish(6..7).await;
    for _ in 0..20 {
        stage.world.info("t").await;
    }
    drop(stage.go_on);
    stage.inbox.open();
    stage.others_inbox.open();
    stage.world.info_when("t", |it| it.delivered == 7).await;
    stage.subscribers.stop().await;
    let heard = numbers(&mut stage.inbox).await;
    assert_eq!(heard, [(0..7).collect::<Vec<_>>()]);
}
