//! A subscriber's connection breaks while events are under way: their order, and the counts.

use std::time::Duration;

use floe::{EncodingVersion, OperationMode, Proxy, TypedProxy};
use floe_hub::contracts::floe::SubscriberInfo;
use tokio::io::{AsyncReadExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::{Receiver, Sender, channel};

use crate::world::{
    Inbox, Subscribers, World, encapsulation, nothing, publish, publisher, soon, subscribe,
};

/// Events of a round: eight short windows of a twoway subscriber.
const EVENTS: usize = 40;
/// A quality of service, and how many requests may be unanswered with it.
type Window = (&'static [(&'static str, &'static str)], usize);
/// It begins with 5, and may have grown to any number.
const GROWING: Window = (&[], EVENTS);
const SHORT: Window = (&[("floe.outstanding", "5")], 5);
const LONG: Window = (&[("floe.outstanding", "32")], 32);
/// A request takes about 36 bytes: connections break at its start, in its middle, at its end, and in every window.
const STEP: usize = 47;
const CUTS: std::ops::Range<usize> = 1..30;
/// So many events of 100 kB are published one after the other while none is delivered, until the test takes the
/// connection to be full. Since the hub may only be slow, this is more than the system buffers.
const STILL: usize = 100;

/// Forwards connections to a port of loopback. It cuts the first one when so many bytes have passed.
async fn relay(target: u16, cut_after: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let mut allowance = cut_after as u64;
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(("127.0.0.1", target)).await;
            let far = far.expect("the subscriber lives");
            tokio::spawn(forward(near, far, allowance));
            allowance = u64::MAX;
        }
    });
    port
}

async fn forward(mut near: TcpStream, mut far: TcpStream, allowance: u64) {
    let (from_hub, mut to_hub) = near.split();
    let (mut from_subscriber, mut to_subscriber) = far.split();
    let mut allowed = from_hub.take(allowance);
    // When one direction ends, both end.
    tokio::select! {
        _ = copy(&mut allowed, &mut to_subscriber) => {}
        _ = copy(&mut from_subscriber, &mut to_hub) => {}
    }
}

/// Relays connections, but reads nothing from the first one, which ends when the sender is dropped.
async fn relay_after_a_jam(target: u16) -> (u16, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    let (jam, jam_ends) = channel();
    tokio::spawn(async move {
        let mut jam_ends = Some(jam_ends);
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(("127.0.0.1", target)).await;
            let far = far.expect("the subscriber lives");
            match jam_ends.take() {
                Some(jam_ends) => _ = tokio::spawn(jammed(near, far, jam_ends)),
                None => _ = tokio::spawn(forward(near, far, u64::MAX)),
            }
        }
    });
    (port, jam)
}

async fn jammed(mut near: TcpStream, mut far: TcpStream, jam_ends: Receiver<()>) {
    let (_unread, mut to_hub) = near.split();
    let (mut from_subscriber, _to_subscriber) = far.split();
    tokio::select! {
        _ = copy(&mut from_subscriber, &mut to_hub) => {}
        _ = jam_ends => {}
    }
}

/// Returns the events that a subscriber receives in this mode if its connection breaks after this many bytes, and the
/// counts of the hub.
async fn hear(
    cut_after: usize,
    mode: OperationMode,
    subscribe_as: fn(&Proxy) -> Proxy,
    qos: &[(&str, &str)],
) -> (Vec<usize>, SubscriberInfo) {
    let (heard, info) = hear_beside(0, cut_after, mode, subscribe_as, qos).await;
    (heard.concat(), info)
}

/// Does the same beside this many other subscribers on the same connection, any of which may be the one that
/// reconnects. Returns the events grouped by connection.
async fn hear_beside(
    others: usize,
    cut_after: usize,
    mode: OperationMode,
    subscribe_as: fn(&Proxy) -> Proxy,
    qos: &[(&str, &str)],
) -> (Vec<Vec<usize>>, SubscriberInfo) {
    let world = World::with(|settings| settings.discard_interval = Duration::ZERO).await;
    let subscribers = Subscribers::start().await;
    let (_, mut inbox) = subscribers.add("s");
    let port = subscribers.adapter.endpoints()[0].port().expect("tcp");
    let port = relay(port, cut_after).await;
    let topic = world.create("t").await;
    let wishes = [qos, &[("retryCount", "-1")]].concat();
    let mut unheard = Vec::new();
    let names = (0..others).map(|number| format!("other-{number}"));
    for name in names.chain(["s".to_owned()]) {
        if name != "s" {
            unheard.push(subscribers.add(&name));
        }
        let text = format!("{name}:tcp -h 127.0.0.1 -p {port}");
        let subscriber: Proxy = world.client.proxy(&text).expect("a proxy");
        subscribe(&topic, &subscribe_as(&subscriber), &wishes).await;
    }
    let publisher = publisher(&topic).await.ice_oneway();
    for number in 0..EVENTS {
        let (operation, nothing) = (format!("e{number}"), nothing());
        let sent = publisher.invoke(&operation, mode, &nothing);
        soon(sent).await.expect("the hub takes it");
    }
    let info = world
        .info_when("t", |info| {
            let is_done = |it: &SubscriberInfo| it.queued == 0 && it.outstanding == 0;
            info.published == EVENTS as i64 && info.subscribers.iter().all(is_done)
        })
        .await;
    subscribers.stop().await;
    let is_own = |it: &&SubscriberInfo| it.subscriber.reference().identity.name == "s";
    let own = info.subscribers.iter().find(is_own);
    (
        numbers(&mut inbox).await,
        own.expect("it is subscribed").clone(),
    )
}

/// The numbers of all events, by connection, when no more will come. A subscriber reads its connections side by side:
/// the rest of a broken connection may come after what the next one brings.
pub(crate) async fn numbers(inbox: &mut Inbox) -> Vec<Vec<usize>> {
    let mut connections: Vec<(String, Vec<usize>)> = Vec::new();
    while inbox.has_more() {
        let received = inbox.next().await;
        let number = received.operation[1..].parse().expect("a number");
        match connections.iter_mut().find(|(it, _)| *it == received.peer) {
            Some((_, numbers)) => numbers.push(number),
            None => connections.push((received.peer, vec![number])),
        }
    }
    // The connection that was cut has not seen its end.
    connections.sort_by_key(|(_, numbers)| numbers.last().copied());
    connections
        .into_iter()
        .map(|(_, numbers)| numbers)
        .collect()
}

fn twoway(subscriber: &Proxy) -> Proxy {
    subscriber.clone()
}

fn is_increasing(numbers: &[usize]) -> bool {
    numbers.is_sorted_by(|before, after| before < after)
}

#[tokio::test]
async fn idempotent_events_of_a_broken_window_are_sent_again_and_not_overtaken() {
    for (cut, (qos, window)) in CUTS.flat_map(|cut| [(cut, GROWING), (cut, SHORT)]) {
        let sent = hear_beside(0, cut * STEP, OperationMode::Idempotent, twoway, qos);
        let (heard, info) = sent.await;
        check_again(cut, window, &heard, &info);
        // Replies come in order here.
        let last = heard.last().expect("something is heard");
        let all_again = last.iter().copied().eq(last[0]..EVENTS);
        assert!(all_again, "step {cut}: {heard:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_sent_again_are_not_overtaken_if_another_subscriber_reconnects() {
    for (cut, (qos, window)) in CUTS.flat_map(|cut| [GROWING, SHORT, LONG].map(|it| (cut, it))) {
        let mode = OperationMode::Idempotent;
        // The requests of the other subscribers are in between.
        let (heard, info) = hear_beside(3, cut * STEP * 4, mode, twoway, qos).await;
        check_again(cut, window, &heard, &info);
    }
}

/// At most one window is sent again, with its unanswered events, and nothing is lost.
fn check_again(cut: usize, window: usize, heard: &[Vec<usize>], info: &SubscriberInfo) {
    let context = format!("step {cut}: {heard:?}");
    let (last, before) = heard.split_last().expect("something is heard");
    assert!(before.len() <= 1, "{context}");
    let until = before.first().map_or(0, Vec::len);
    assert!(
        before.iter().all(|it| it.iter().copied().eq(0..until)),
        "{context}"
    );
    let first = last[0];
    assert!(is_increasing(last), "{context}");
    let are_all = (until..EVENTS).all(|number| last.contains(&number));
    assert!(are_all, "{context}");
    assert!(first <= until && until - first <= window, "{context}");
    assert_eq!(info.delivered, EVENTS as i64, "{context}");
}

#[tokio::test]
async fn events_that_are_not_idempotent_are_lost_and_counted_and_the_rest_keeps_its_order() {
    let ordered: &[(&str, &str)] = &[("reliability", "ordered")];
    for (cut, qos) in CUTS.flat_map(|cut| [GROWING.0, SHORT.0, ordered].map(|qos| (cut, qos))) {
        let (heard, info) = hear(cut * STEP, OperationMode::Normal, twoway, qos).await;
        let context = format!("cut after {} bytes: {heard:?}, {info:?}", cut * STEP);
        assert!(is_increasing(&heard), "{context}");
        let lost = &info.lost;
        assert_eq!(info.offered, EVENTS as i64, "{context}");
        let delivered = EVENTS as i64 - lost.failed - lost.offline;
        assert_eq!(info.delivered, delivered, "{context}");
        // An event that failed may have arrived all the same.
        let most = info.delivered + lost.failed;
        let heard = heard.len() as i64;
        assert!(info.delivered <= heard && heard <= most, "{context}");
    }
}

#[tokio::test]
async fn oneway_events_keep_their_order_over_a_broken_connection() {
    for cut in CUTS {
        let sent = hear(cut * STEP, OperationMode::Normal, Proxy::ice_oneway, &[]);
        let (heard, info) = sent.await;
        let context = format!("cut after {} bytes: {heard:?}, {info:?}", cut * STEP);
        assert!(is_increasing(&heard), "{context}");
        let lost = &info.lost;
        let delivered = EVENTS as i64 - lost.failed - lost.offline;
        assert_eq!(info.delivered, delivered, "{context}");
    }
}

#[tokio::test]
async fn a_oneway_subscriber_outlives_a_connection_that_breaks_while_it_is_full() {
    let world = World::start().await;
    let subscribers = Subscribers::start().await;
    let (_, mut inbox) = subscribers.add("s");
    let port = subscribers.adapter.endpoints()[0].port().expect("tcp");
    let (port, jam) = relay_after_a_jam(port).await;
    let topic = world.create("t").await;
    let subscriber: Proxy = world
        .client
        .proxy(&format!("s:tcp -h 127.0.0.1 -p {port}"))
        .expect("a proxy");
    subscribe(&topic, &subscriber.ice_oneway(), &[]).await;
    let publisher = publisher(&topic).await;
    // More than the system buffers for a connection that is not read.
    let long = encapsulation(EncodingVersion::V1_1, &"x".repeat(100_000));
    let (mut delivered, mut still) = (0, 0);
    while still < STILL {
        let sent = publisher.invoke("long", OperationMode::Normal, &long);
        soon(sent).await.expect("the hub takes it");
        let info = world.info("t").await;
        // Outstanding events wait for room in the connection.
        let is_still = info.delivered == delivered && info.subscribers[0].outstanding > 0;
        still = if is_still { still + 1 } else { 0 };
        delivered = info.delivered;
    }
    drop(jam);
    publish(&publisher, "last").await;
    let is_done = |it: &SubscriberInfo| it.queued == 0 && it.outstanding == 0;
    let info = world.info_when("t", |info| info.subscribers.iter().all(is_done));
    let info = info.await;
    assert_eq!(info.subscribers.len(), 1, "it is still subscribed");
    // Events that waited behind those that failed.
    let mut heard = inbox.next().await;
    while heard.operation != "last" {
        heard = inbox.next().await;
    }
    let lost = &info.lost;
    assert_eq!(info.published, info.delivered + lost.failed, "{info:?}");
    assert_eq!(lost.failed, 1, "what was being written: {info:?}");
}
