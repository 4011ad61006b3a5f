//! A hub and a broker in this process, and a program that speaks plain HTTP.

use std::sync::Arc;

use floe::hub::HubClient;
use floe::{Communicator, TypedProxy as _};
use floe_bridges::Bridge;
use floe_bridges::core::account::Counts;
use floe_bridges::core::mapping::EventTypes;
use floe_bridges::hub::TopicPlan;
use floe_bridges::settings::WorldSettings as _;
use floe_bridges::soap::Settings;
use floe_dynamic::Contract;
use floe_hub::{Hub, HubSettings};
use floe_slice::check_source;
use floe_wire::EncodingVersion;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const SOAP11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
pub(crate) const SOAP12: &str = "http://www.w3.org/2003/05/soap-envelope";

pub(crate) struct Joined {
    pub(crate) bridge: Bridge,
    pub(crate) address: String,
    client: HubClient,
    events: Arc<EventTypes>,
    hub: Hub,
    communicator: Communicator,
}

/// An answer of HTTP.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Joined {
    /// A broker on a free port, with these settings.
    pub(crate) async fn start(settings: &str) -> Self {
        let communicator = Communicator::new();
        let mut hub_settings = HubSettings::default();
        hub_settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
        let hub = Hub::start(&communicator, hub_settings).await;
        let hub = hub.expect("the hub starts");
        let client = HubClient::connect_with(&communicator, &hub.topic_manager()).await;
        let client = client.expect("the hub answers");
        let slice = b"module M { struct Tick { string text; int price; } interface Ticker { void tick(Tick tick); } }";
        let contract = Contract::new(check_source(slice).model);
        let events = EventTypes::new(&contract, "::M::Ticker").expect("they are events");
        let events = Arc::new(events);
        let settings = format!("listen = \"127.0.0.1:0\"\n{settings}");
        let settings: Settings = toml::from_str(&settings).expect("settings");
        let plan = TopicPlan {
            topic: "ticks".to_owned(),
            name: "Ticks".to_owned(),
            direction: Default::default(),
            events: events.clone(),
        };
        let bridge = Bridge::start(settings.world(), &client, vec![plan]).await;
        let bridge = bridge.unwrap_or_else(|error| panic!("{error}"));
        let address = bridge.address().expect("it listens");
        Self {
            bridge,
            address,
            client,
            events,
            hub,
            communicator,
        }
    }

    pub(crate) async fn end(self) {
        self.bridge.shut_down().await;
        self.hub.shutdown().await;
        self.communicator.shutdown().await;
    }

    pub(crate) fn counts(&self) -> Counts {
        self.bridge.counts().remove(0).1
    }

    /// Publishes an event as an Ice program does.
    pub(crate) async fn publish(&self, text: &str, price: i32) {
        let kind = self.events.only().expect("one operation");
        let tick = json!({"tick": {"text": text, "price": price}});
        let parameters = kind
            .operation()
            .encode_request(&tick, EncodingVersion::V1_1);
        let parameters = parameters.expect("a tick");
        let topic = self.client.topic("ticks").await.expect("it is there");
        let publisher: floe::Proxy = topic.publisher().await.expect("it has one");
        let publisher = publisher.ice_twoway();
        let sent = publisher.invoke("tick", kind.operation().mode(), &parameters);
        sent.await.expect("the hub takes it");
    }

    /// Posts the content of a body in SOAP 1.1.
    pub(crate) async fn post(&self, path: &str, content: &str) -> Reply {
        self.post_as(SOAP11, "text/xml; charset=UTF-8", path, content)
            .await
    }

    /// Posts the content of a body in an envelope of this namespace.
    pub(crate) async fn post_as(
        &self,
        soap: &str,
        r#type: &str,
        path: &str,
        content: &str,
    ) -> Reply {
        let envelope = format!(
            "<?xml version='1.0' encoding='utf-8'?><s:Envelope xmlns:s='{soap}' xmlns:n='http://docs.oasis-open.org/wsn/b-2' \
             xmlns:o='http://www.onvif.org/ver10/events/wsdl' xmlns:a='http://www.w3.org/2005/08/addressing' \
             xmlns='urn:floe:slice:M'><s:Body>{content}</s:Body></s:Envelope>"
        );
        self.send(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: {type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{envelope}",
            self.address,
            envelope.len()
        ))
        .await
    }

    /// Sends this, and returns the answer.
    pub(crate) async fn send(&self, request: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.address).await.expect("it listens");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it reads");
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        let answer = String::from_utf8(bytes).expect("UTF-8");
        let (head, text) = answer
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {answer:?}"));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Reply {
            status: status.expect("a status"),
            text: text.to_owned(),
        }
    }

    /// Makes a pull point with a subscription; returns the paths of both.
    pub(crate) async fn pull_point(&self) -> (String, String) {
        let made = self.post("/", "<n:CreatePullPoint/>").await;
        let pull_point = made.address();
        let subscribed = self
            .subscribe(&format!("http://{}{pull_point}", self.address), "")
            .await;
        assert_eq!(subscribed.status, 200, "{}", subscribed.text);
        (pull_point, subscribed.address())
    }

    pub(crate) async fn subscribe(&self, consumer: &str, more: &str) -> Reply {
        let content = format!(
            "<n:Subscribe><n:ConsumerReference><a:Address>{consumer}</a:Address></n:ConsumerReference>\
             <n:Filter><n:TopicExpression Dialect='http://docs.oasis-open.org/wsn/t-1/TopicExpression/Simple'>Ticks</n:TopicExpression>\
             </n:Filter>{more}</n:Subscribe>"
        );
        self.post("/", &content).await
    }

    /// Takes so many events out of a pull point, in as many requests as that needs.
    pub(crate) async fn take(&self, path: &str, count: usize) -> Vec<String> {
        let mut got = Vec::new();
        while got.len() < count {
            got.extend(self.get(path, count - got.len()).await);
        }
        got
    }

    /// Takes what a pull point has: the texts of its events.
    pub(crate) async fn get(&self, path: &str, max: usize) -> Vec<String> {
        let content =
            format!("<n:GetMessages><n:MaximumNumber>{max}</n:MaximumNumber></n:GetMessages>");
        let reply = self.post(path, &content).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        texts(&reply.text)
    }
}

/// A Notify with events of these texts.
pub(crate) fn notify(texts: &[&str]) -> String {
    let messages = texts.iter().map(|text| {
        format!(
            "<n:NotificationMessage><n:Topic>x:Ticks</n:Topic><n:Message><Ticker_Event><text>{text}</text><price>7</price>\
             </Ticker_Event></n:Message></n:NotificationMessage>"
        )
    });
    format!("<n:Notify>{}</n:Notify>", messages.collect::<String>())
}

/// The texts of all events in an answer.
pub(crate) fn texts(answer: &str) -> Vec<String> {
    let parts = answer.split("<ns1:text>").skip(1);
    let parts = parts.map(|it| {
        it.split("</ns1:text>")
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    parts.collect()
}

impl Reply {
    /// The path of the first address in it.
    pub(crate) fn address(&self) -> String {
        let behind = self.text.split("<wsa:Address").nth(1);
        let behind = behind.unwrap_or_else(|| panic!("no address: {}", self.text));
        let url = behind.split(['>', '<']).nth(1).expect("a URL");
        let path = url.splitn(4, '/').nth(3).expect("a path");
        format!("/{path}")
    }
}
