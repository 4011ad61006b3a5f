//! A hub, and subscribers that record what they receive, for the other files.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use floe::contracts::ice_storm::{TopicManagerProxy, TopicProxy};
use floe::dispatch::{DispatchFuture, DispatchSlot, Request, Requests};
use floe::encoding::Encoder;
use floe::message::Outcome;
use floe::{
    Adapter, Communicator, Context, Dispatcher, EncodingVersion, Identity, OperationMode, Proxy,
    Settings, TypedProxy,
};
use floe_hub::contracts::floe::{HubAdminProxy, TopicInfo};
use floe_hub::{HUB_ADMIN, Hub, HubSettings};
use tokio::sync::{mpsc, watch};
use tracing::Dispatch;

/// A hub and a client of it, in communicators of their own.
pub(crate) struct World {
    pub(crate) hub_side: Communicator,
    pub(crate) client: Communicator,
    pub(crate) hub: Hub,
    pub(crate) manager: TopicManagerProxy,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(|_| ()).await
    }

    /// A hub on a free port, with changed settings.
    pub(crate) async fn with(change: impl FnOnce(&mut HubSettings)) -> Self {
        Self::of(Communicator::new(), change).await
    }

    /// Starts a hub in this communicator.
    pub(crate) async fn of(hub_side: Communicator, change: impl FnOnce(&mut HubSettings)) -> Self {
        let mut settings = HubSettings::default();
        settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
        settings.flush_interval = Duration::from_millis(100);
        change(&mut settings);
        let hub = Hub::start(&hub_side, settings).await.expect("a hub starts");
        let client = Communicator::new();
        let manager = client.proxy(&hub.topic_manager()).expect("a proxy");
        Self {
            hub_side,
            client,
            hub,
            manager,
        }
    }

    pub(crate) async fn create(&self, name: &str) -> TopicProxy {
        let topic = soon(self.manager.create(name)).await;
        topic.expect("a new topic")
    }

    /// A proxy to an object of the hub.
    pub(crate) fn object(&self, identity: &str) -> Proxy {
        let text = format!("{identity}:{}", self.hub.endpoints());
        self.client.proxy(&text).expect("a proxy")
    }

    /// The hub's info of a topic.
    pub(crate) async fn info(&self, topic: &str) -> TopicInfo {
        let admin = HubAdminProxy::from_proxy(self.object(HUB_ADMIN));
        soon(admin.topic_info(topic)).await.expect("a topic")
    }

    /// Waits until the info of a topic is as expected.
    pub(crate) async fn info_when(
        &self,
        topic: &str,
        expected: impl Fn(&TopicInfo) -> bool,
    ) -> TopicInfo {
        let start = Instant::now();
        loop {
            let info = self.info(topic).await;
            if expected(&info) {
                return info;
            }
            assert!(
                start.elapsed() < WATCHDOG,
                "still not as expected: {info:?}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until this many events of a durable topic are dead letters. None of them counts as lost.
    pub(crate) async fn dead_letters_when(&self, topic: &str, count: i64) {
        let admin = HubAdminProxy::from_proxy(self.object(HUB_ADMIN));
        let start = Instant::now();
        loop {
            let told = soon(admin.durable_topic(topic, "")).await.expect("a topic");
            let own = &told[0];
            if own.dead_letters == count && own.kept_dead_letters == count {
                break;
            }
            assert!(start.elapsed() < WATCHDOG, "still not {count}: {told:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.info(topic).await.lost.failed, 0);
    }

    pub(crate) async fn shut_down(self) {
        soon(self.hub.shutdown()).await;
        soon(self.hub_side.shutdown()).await;
    }
}

/// A process that subscribes: a communicator and an adapter.
pub(crate) struct Subscribers {
    pub(crate) communicator: Communicator,
    pub(crate) adapter: Adapter,
}

impl Subscribers {
    pub(crate) async fn start() -> Self {
        Self::at("tcp -h 127.0.0.1 -p 0").await
    }

    pub(crate) async fn at(endpoint: &str) -> Self {
        Self::with(Settings::default(), endpoint).await
    }

    pub(crate) async fn with(settings: Settings, endpoint: &str) -> Self {
        let communicator = Communicator::with_settings(settings);
        let adapter = communicator.adapter(endpoint).await.expect("loopback");
        adapter.activate();
        Self {
            communicator,
            adapter,
        }
    }

    /// A subscriber that answers immediately.
    pub(crate) fn add(&self, identity: &str) -> (Proxy, Inbox) {
        self.add_gated(identity, true)
    }

    /// A subscriber that answers only when its gate is opened.
    pub(crate) fn add_stuck(&self, identity: &str) -> (Proxy, Inbox) {
        self.add_gated(identity, false)
    }

    fn add_gated(&self, identity: &str, is_open: bool) -> (Proxy, Inbox) {
        let (sender, events) = mpsc::unbounded_channel();
        let (gate, gate_is_open) = watch::channel(is_open);
        let recorder = Recorder {
            sender,
            gate_is_open,
        };
        let proxy = self
            .adapter
            .add(identity, recorder)
            .expect("a new identity");
        (proxy, Inbox { events, gate })
    }

    /// Ends the process.
    pub(crate) async fn stop(self) {
        soon(self.communicator.shutdown()).await;
    }
}

/// A directory for one test, deleted when this is dropped.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("floe-hub-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Takes all log lines, and keeps none. Without it, a line that a thread without a log reaches first would be missing
/// from every log.
/// log that there is.
static LISTENER: LazyLock<Dispatch> = LazyLock::new(|| {
    let subscriber = tracing_subscriber::fmt().with_writer(io::sink);
    Dispatch::new(subscriber.finish())
});

/// Records the log of this thread while it lives.
pub(crate) struct Log {
    text: Arc<Mutex<Vec<u8>>>,
    _guard: tracing::subscriber::DefaultGuard,
}

impl Log {
    pub(crate) fn start() -> Self {
        LazyLock::force(&LISTENER);
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let (subscriber, written) = (tracing_subscriber::fmt(), text.clone());
        let subscriber = subscriber
            .with_ansi(false)
            .with_writer(move || Writer(written.clone()));
        Self {
            text,
            _guard: tracing::subscriber::set_default(subscriber.finish()),
        }
    }

    /// The lines that contain this.
    pub(crate) fn lines_with(&self, part: &str) -> Vec<String> {
        let text = String::from_utf8(self.text.lock().unwrap().clone()).unwrap();
        let lines = text.lines().filter(|line| line.contains(part));
        lines.map(str::to_owned).collect()
    }
}

struct Writer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A request as a subscriber received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) operation: String,
    pub(crate) mode: OperationMode,
    pub(crate) context: Context,
    pub(crate) parameters: Vec<u8>,
    pub(crate) is_oneway: bool,
    /// The other end of the connection of the request.
    pub(crate) peer: String,
}

/// Receives the events of a subscriber.
pub(crate) struct Inbox {
    events: mpsc::UnboundedReceiver<Received>,
    gate: watch::Sender<bool>,
}

impl Inbox {
    /// The next event.
    pub(crate) async fn next(&mut self) -> Received {
        soon(self.events.recv()).await.expect("the recorder lives")
    }

    /// The operations of this many events.
    pub(crate) async fn operations(&mut self, count: usize) -> Vec<String> {
        let mut operations = Vec::new();
        for _ in 0..count {
            operations.push(self.next().await.operation);
        }
        operations
    }

    /// The number of events that the test has not taken.
    pub(crate) fn waiting(&self) -> usize {
        self.events.len()
    }

    /// Returns true if there is an event that the test has not taken.
    pub(crate) fn has_more(&self) -> bool {
        !self.events.is_empty()
    }

    /// Stops answering until its gate is opened.
    pub(crate) fn close(&self) {
        self.gate.send_replace(false);
    }

    /// Lets a stuck subscriber answer.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }
}

/// Records what it receives. It answers the operation `throw` with a user exception.
struct Recorder {
    sender: mpsc::UnboundedSender<Received>,
    gate_is_open: watch::Receiver<bool>,
}

impl Dispatcher for Recorder {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| self.clone().respond(request));
    }
}

impl Recorder {
    fn respond(self: Arc<Self>, request: Request) -> DispatchFuture {
        Box::pin(async move {
            let current = request.current();
            let received = Received {
                operation: current.operation().to_owned(),
                mode: current.mode(),
                context: current.context(),
                parameters: request.parameters().to_vec(),
                is_oneway: current.is_oneway(),
                peer: current.peer().to_owned(),
            };
            // A test that has seen enough has dropped its end.
            let _ = self.sender.send(received);
            let mut gate_is_open = self.gate_is_open.clone();
            let _ = gate_is_open.wait_for(|is_open| *is_open).await;
            if request.operation() == "throw" {
                let nothing = request.parameters();
                return request.respond(&Outcome::UserException(nothing));
            }
            request.returned_nothing()
        })
    }
}

/// Publishes an event without parameters.
pub(crate) async fn publish(publisher: &Proxy, operation: &str) {
    let nothing = nothing();
    let sent = publisher.invoke(operation, OperationMode::Normal, &nothing);
    soon(sent).await.expect("the hub takes it");
}

/// Publishes events without parameters, named `e0`, `e1` and so on.
pub(crate) async fn publish_many(publisher: &Proxy, count: usize) {
    for number in 0..count {
        publish(publisher, &format!("e{number}")).await;
    }
}

/// The names of the events of [`publish_many`].
pub(crate) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("e{number}")).collect()
}

/// The publisher object of a topic.
pub(crate) async fn publisher(topic: &TopicProxy) -> Proxy {
    let publisher = soon(topic.get_publisher()).await;
    publisher.expect("a topic")
}

/// Subscribes with a quality of service. Returns the publisher of this subscriber alone.
pub(crate) async fn subscribe(
    topic: &TopicProxy,
    subscriber: &Proxy,
    qos: &[(&str, &str)],
) -> Proxy {
    let qos = self::qos(qos);
    let subscribed = topic.subscribe_and_get_publisher(&qos, Some(subscriber));
    let publisher = soon(subscribed).await;
    publisher.expect("a subscription")
}

pub(crate) fn qos(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

/// An encapsulation without parameters, in encoding 1.1.
pub(crate) fn nothing() -> Vec<u8> {
    encapsulation(EncodingVersion::V1_1, "")
}

/// An encapsulation with a text, or without parameters if the text is empty.
pub(crate) fn encapsulation(encoding: EncodingVersion, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, encoding);
    encoder.encapsulation(encoding, |encoder| {
        if !text.is_empty() {
            encoder.string(text);
        }
    });
    encoder.finish().expect("a short text");
    bytes
}

pub(crate) fn identity(text: &str) -> Identity {
    text.parse().expect("an identity")
}

/// Fails a test that hangs.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let result = tokio::time::timeout(WATCHDOG, future).await;
    result.expect("done in time")
}

const WATCHDOG: Duration = Duration::from_secs(30);
