//! Dead letters in the console, which follow the rules of `floe dlq`, and a hub that cannot store.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use floe::hub::HubClient;
use floe::{Communicator, Proxy, TypedProxy};
use floe_hub::contracts::floe::DurableTopicsProxy;
use floe_server::Server;
use serde_json::{Value as Json, json};

use crate::browser::Browser;
use crate::console::{EMPTY, Folder, ask, get, server};

const REPLAY: &str = "/api/v1/dead-letters/replay";
const PURGE: &str = "/api/v1/dead-letters/purge";

/// A server with a console, and a client of its hub.
struct Stage {
    server: Server,
    address: SocketAddr,
    client: HubClient,
    folder: Folder,
}

impl Stage {
    /// With these durable topics.
    async fn new(name: &str, topics: &[&str]) -> Self {
        let folder = Folder::new(name);
        let tables = topics.iter();
        let tables: String = tables
            .map(|topic| format!("[topic.{topic:?}]\ndurable = true\n"))
            .collect();
        let server = server(&folder, "127.0.0.1:0", &tables).await;
        let manager = server.hub().expect("a hub").topic_manager();
        let communicator = Communicator::new();
        let client = HubClient::connect_with(&communicator, &manager).await;
        Self {
            address: server.console_address().expect("a console"),
            client: client.expect("the hub"),
            server,
            folder,
        }
    }

    async fn logs(&self, topic: &str) -> DurableTopicsProxy {
        let topic = self.client.topic(topic).await.expect("a topic");
        let identity = floe::Identity::with_category("DurableTopics", "Floe");
        DurableTopicsProxy::from_proxy(topic.proxy().as_proxy().ice_identity(identity))
    }

    async fn publisher(&self, topic: &str) -> Proxy {
        let topic = self.client.topic(topic).await.expect("a topic");
        topic.proxy().get_publisher().await.expect("a publisher")
    }

    async fn publish(&self, topic: &str) {
        let publisher = self.publisher(topic).await;
        let published = publisher.invoke("order", floe::OperationMode::Normal, EMPTY);
        published.await.expect("it is taken");
    }

    /// The durable subscription `billing` of a topic, which tries an event once.
    async fn subscribe(&self, topic: &str, dead: &str) {
        let qos = [
            ("floe.durable", "billing"),
            ("floe.from", "beginning"),
            ("floe.attempts", "1"),
            ("floe.deadLetters", dead),
        ];
        let qos = qos.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let opened = self.logs(topic).await;
        let opened = opened.open_pull(topic, &qos.into()).await;
        opened.expect("a subscription");
    }

    /// The subscription gets an event, and refuses it.
    async fn refuse(&self, topic: &str) {
        let logs = self.logs(topic).await;
        let pulled = logs.pull(topic, "billing", 10, 5000).await;
        let pulled = pulled.expect("events");
        assert_eq!(pulled[0].operation, "order");
        let refused = logs.refuse(topic, "billing", &[pulled[0].number]).await;
        refused.expect("it takes it back");
    }

    /// Waits until so many letters are listed.
    async fn letters(&self, query: &str, count: usize) -> Json {
        let start = Instant::now();
        loop {
            let list = get(self.address, &format!("/api/v1/dead-letters?{query}")).await;
            if list["letters"].as_array().expect("letters").len() == count {
                return list;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{list}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Changes something.
    async fn change(&self, path: &str, topic: &str, dead: &str) -> (u16, Json) {
        let address = self.address;
        let token = get(address, "/api/v1/snapshot").await["rights"]["change_token"].clone();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nFloe-Change-Token: {}",
            token.as_str().expect("a token")
        );
        let body = json!({"topic": topic, "dead_letter_topic": dead}).to_string();
        let (status, _, answer) = ask(address, &head, &body).await;
        (status, serde_json::from_str(&answer).expect("JSON"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_listed_published_again_once_and_deleted() {
    let stage = Stage::new("letters", &["orders", "orders.dead"]).await;
    stage.subscribe("orders", "orders.dead").await;
    stage.publish("orders").await;
    stage.refuse("orders").await;
    let list = stage.letters("topic=orders", 1).await;
    assert_eq!(list["letters"][0]["operation"], "order");
    assert_eq!(list["letters"][0]["subscription"], "billing");
    assert!(list["letters"][0]["reason"].is_string(), "{list}");
    // What is refused again is a new letter, for the next time.
    for round in 1..=3 {
        let replayed = stage.change(REPLAY, "orders", "orders.dead").await;
        assert_eq!(replayed, (200, json!({"published": 1, "others": 0})));
        stage.refuse("orders").await;
        let list = stage.letters("topic=orders", round + 1).await;
        let letters = list["letters"].as_array().expect("letters");
        let replayed = letters.iter().filter(|it| it["replayed"] == true);
        assert_eq!(replayed.count(), round, "{list}");
    }
    let later = stage.letters("topic=orders&from=3", 2).await;
    assert_eq!(later["next"], Json::Null);
    let purged = stage.change(PURGE, "orders", "orders.dead").await;
    assert_eq!(purged, (200, json!({"deleted": 4})));
    stage.letters("topic=orders", 0).await;
    stage.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topics_that_share_a_topic_for_dead_letters_have_their_own() {
    let stage = Stage::new("shared", &["orders", "bills", "shared"]).await;
    for topic in ["orders", "bills"] {
        stage.subscribe(topic, "shared").await;
        stage.publish(topic).await;
        stage.refuse(topic).await;
    }
    for topic in ["orders", "bills"] {
        let query = format!("topic={topic}&dead_letter_topic=shared");
        let list = stage.letters(&query, 1).await;
        assert_eq!(list["letters"][0]["topic"], topic);
        assert_eq!((&list["events"], &list["others"]), (&json!(2), &json!(1)));
    }
    let (status, refused) = stage.change(PURGE, "orders", "shared").await;
    assert_eq!(status, 409, "{refused}");
    let reason = refused["error"].as_str().expect("a reason");
    assert!(
        reason.contains("has more: dead letters of topic `bills`"),
        "{reason}"
    );
    for topic in ["orders", "bills"] {
        let replayed = stage.change(REPLAY, topic, "shared").await;
        assert_eq!(replayed, (200, json!({"published": 1, "others": 1})));
        let contents = stage.logs(topic).await.contents(topic).await;
        assert_eq!(contents.expect("a log").events, 2);
    }
    let snapshot = get(stage.address, "/api/v1/snapshot").await;
    assert_eq!(snapshot["hub"]["kept_dead_letters"], 2);
    let url = format!("http://{}/", stage.address);
    let page = tokio::task::spawn_blocking(move || shared_letters_in(&url));
    page.await.expect("the page shows them");
    stage.server.shutdown().await;
}

/// Looks at the page, if there is a browser: each topic has a row, and its own letters.
fn shared_letters_in(url: &str) {
    let Some(mut browser) = Browser::open(url) else {
        return;
    };
    browser.wait("document.getElementById('state').textContent !== ''");
    browser.value("location.hash = '#letters'");
    browser.wait("document.querySelectorAll('#view tbody tr').length === 2");
    for topic in ["bills", "orders"] {
        browser.value(&format!(
            "document.querySelector('[data-key=\"show shared {topic}\"]').click()"
        ));
        let text = "document.getElementById('view').innerText";
        browser.wait(&format!(
            "{text}.includes('Dead letters of {topic} in shared')"
        ));
        browser.wait("document.querySelectorAll('#view tbody tr').length === 3");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_with_more_than_dead_letters_is_kept() {
    let stage = Stage::new("kept", &["orders", "orders.dead"]).await;
    stage.publish("orders").await;
    // The events of a topic are not its dead letters, nor those of another.
    for path in [REPLAY, PURGE] {
        let (status, refused) = stage.change(path, "orders", "orders").await;
        assert_eq!(status, 409, "{refused}");
        let reason = refused["error"].as_str().expect("a reason");
        assert!(reason.contains("whose events they are"), "{reason}");
    }
    let (status, refused) = stage.change(PURGE, "else", "orders").await;
    assert_eq!(status, 409, "{refused}");
    let reason = refused["error"].as_str().expect("a reason");
    assert!(
        reason.contains("event 1, which is no dead letter"),
        "{reason}"
    );
    // Somebody reads the dead letters.
    stage.subscribe("orders.dead", "orders.dead.dead").await;
    let (status, refused) = stage.change(PURGE, "orders", "orders.dead").await;
    assert_eq!(status, 409, "{refused}");
    let reason = refused["error"].as_str().expect("a reason");
    assert!(
        reason.contains("has more: durable subscription `billing`"),
        "{reason}"
    );
    let contents = stage.logs("orders").await.contents("orders").await;
    assert_eq!(contents.expect("a log").events, 1);
    stage.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_hub_cannot_store_is_a_finding() {
    let stage = Stage::new("unstored", &["t"]).await;
    let before = get(stage.address, "/api/v1/snapshot").await;
    assert_eq!(before["findings"], json!([]));
    stage.publish("t").await;
    // The hub notices within a second that the files are gone, and refuses events.
    let log = stage.folder.path().join("data/topics/t/log");
    std::fs::rename(&log, log.with_extension("kept")).expect("the log is there");
    let publisher = stage.publisher("t").await;
    let start = Instant::now();
    let publish = async || {
        let published = publisher.invoke("order", floe::OperationMode::Normal, EMPTY);
        published.await.is_ok()
    };
    while publish().await {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "events are taken"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    loop {
        let snapshot = get(stage.address, "/api/v1/snapshot").await;
        let first = &snapshot["findings"][0]["what"];
        if let Some(what) = first.as_str() {
            let expected = "the last events of topic \"t\" could not be stored: ";
            assert!(what.starts_with(expected), "{what}");
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{snapshot}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stage.server.shutdown().await;
}
