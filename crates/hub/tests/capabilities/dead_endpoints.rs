//! Many subscribers at endpoints that refuse connections, or accept them and say nothing.
//!
//! Each has a host of its own: only Linux has all of 127.0.0.0/8.
#![cfg(target_os = "linux")]

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use floe::contracts::ice_storm::TopicProxy;
use floe::{Communicator, Proxy, Settings, TypedProxy};
use floe_hub::HUB_ADMIN;
use floe_hub::contracts::floe::HubAdminProxy;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::world::{Inbox, Subscribers, World, publish, publisher, soon, subscribe};

const COUNT: usize = 2_000;
/// How many of them the hub connects to at a time: one client has subscribed all.
const AT_A_TIME: usize = 128;

/// Subscribes [`COUNT`] objects, each at a host of its own and this port.
async fn subscribe_many(world: &World, topic: &TopicProxy, port: u16) {
    for number in 0..COUNT {
        let host = Ipv4Addr::new(127, 1, (number / 200) as u8, (number % 200) as u8 + 1);
        let text = format!("{number}:tcp -h {host} -p {port}");
        subscribe(topic, &world.client.proxy(&text).unwrap(), &[]).await;
    }
}

/// Waits until an event was lost for each of them, while another client has its calls answered and its events delivered.
async fn until_lost(world: &World, canary: &mut Canary) {
    let admin = HubAdminProxy::from_proxy(world.object(HUB_ADMIN));
    patiently("an event is lost for each", async || {
        canary.check().await;
        let page = soon(admin.topic_page("t", 0)).await.unwrap();
        page.status.totals.lost.failed == COUNT as i64
    })
    .await;
}

/// Waits until a condition holds, however busy the machine is.
async fn patiently(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(120), async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect(what);
}

/// A publisher and a subscriber of another topic, which are connected before the hub meets the dead endpoints.
struct Canary {
    topic: TopicProxy,
    publisher: Proxy,
    inbox: Inbox,
    _subscribers: Subscribers,
}

impl Canary {
    async fn start(world: &World) -> Self {
        let topic = world.create("canary").await;
        let subscribers = Subscribers::start().await;
        let (proxy, inbox) = subscribers.add("s");
        subscribe(&topic, &proxy, &[]).await;
        let mut canary = Self {
            publisher: publisher(&topic).await,
            topic,
            inbox,
            _subscribers: subscribers,
        };
        canary.check().await;
        canary
    }

    async fn check(&mut self) {
        soon(self.topic.get_name()).await.unwrap();
        publish(&self.publisher, "e").await;
        self.inbox.next().await;
    }
}

/// Listens at all hosts, and holds what it accepts until it is told to let go.
struct Silent {
    port: u16,
    open: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    lets_go: watch::Sender<bool>,
}

impl Silent {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let silent = Self {
            port: listener.local_addr().unwrap().port(),
            open: Arc::default(),
            most: Arc::default(),
            lets_go: watch::Sender::new(false),
        };
        let (open, most) = (silent.open.clone(), silent.most.clone());
        let lets_go = silent.lets_go.subscribe();
        tokio::spawn(async move {
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let now = open.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                let (open, mut lets_go) = (open.clone(), lets_go.clone());
                tokio::spawn(async move {
                    let _ = lets_go.wait_for(|lets_go| *lets_go).await;
                    // Before the hub learns of it, and connects to the next one.
                    open.fetch_sub(1, Ordering::SeqCst);
                    drop(socket);
                });
            }
        });
        silent
    }
}

#[tokio::test]
async fn others_are_served_while_many_subscribers_are_at_endpoints_that_say_nothing() {
    let mut settings = Settings::default();
    settings.connect_timeout = Duration::from_secs(3_600);
    let world = World::of(Communicator::with_settings(settings), |_| ()).await;
    let mut canary = Canary::start(&world).await;
    let silent = Silent::start().await;
    let topic = world.create("t").await;
    subscribe_many(&world, &topic, silent.port).await;
    publish(&publisher(&topic).await, "e").await;
    patiently("as many connect as may", async || {
        silent.open.load(Ordering::SeqCst) == AT_A_TIME
    })
    .await;
    for _ in 0..100 {
        canary.check().await;
    }
    assert_eq!(silent.most.load(Ordering::SeqCst), AT_A_TIME);
    silent.lets_go.send_replace(true);
    until_lost(&world, &mut canary).await;
    assert_eq!(silent.most.load(Ordering::SeqCst), AT_A_TIME);
}

#[tokio::test]
async fn others_are_served_while_many_subscribers_are_at_endpoints_that_refuse() {
    let world = World::start().await;
    let mut canary = Canary::start(&world).await;
    let topic = world.create("t").await;
    // No program listens there.
    subscribe_many(&world, &topic, 1).await;
    publish(&publisher(&topic).await, "e").await;
    until_lost(&world, &mut canary).await;
}
