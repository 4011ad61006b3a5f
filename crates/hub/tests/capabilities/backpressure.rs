//! Publishers that are held back while the queue of a subscriber is full.
//!
//! The patience is long where nothing must be lost, so that a busy machine is no reason for a loss.

use std::collections::HashMap;
use std::time::Duration;

use floe::settings::Settings;
use floe::{Communicator, EncodingVersion, OperationMode, Proxy, TypedProxy};
use floe_hub::HUB_ADMIN;
use floe_hub::contracts::floe::{Backpressure, HubAdminProxy, Losses, TopicInfo};

use crate::world::{
    Inbox, Subscribers, World, encapsulation, numbered, publish, publish_many, publisher, soon,
    subscribe,
};

const LONG: Duration = Duration::from_secs(600);

/// A hub with short queues.
async fn hub(events: usize, patience: Duration) -> World {
    World::with(|settings| {
        settings.queue_limits.events = events;
        settings.queue_limits.patience = patience;
    })
    .await
}

/// Returns a proxy of this publisher object that has a connection of its own.
fn over_own_connection(publisher: &Proxy) -> (Communicator, Proxy) {
    let communicator = Communicator::new();
    let proxy = communicator.proxy(&publisher.to_string());
    (communicator, proxy.expect("a proxy"))
}

async fn backpressure(world: &World) -> Vec<Backpressure> {
    let admin = HubAdminProxy::from_proxy(world.object(HUB_ADMIN));
    soon(admin.backpressure("t")).await.expect("a topic")
}

/// Waits until a subscriber holds publishers back.
async fn held(world: &World) -> Backpressure {
    let found = async {
        loop {
            let all = backpressure(world).await.into_iter();
            let mut holding = all.filter(|own| !own.publishers.is_empty());
            if let Some(own) = holding.next() {
                return own;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(found).await
}

/// Checks that a subscriber gets all events of each publisher. Those of a subscriber that answers come in order. The
/// others may come in any, because the recorder of this test may wait within a batch, and the next one does not.
async fn has_all(inbox: &mut Inbox, publishers: usize, count: usize, is_ordered: bool) {
    let mut numbers = HashMap::<_, Vec<usize>>::new();
    for operation in inbox.operations(publishers * count).await {
        let (publisher, number) = operation.split_once('.').expect("both");
        let number = number.parse().expect("a number");
        numbers
            .entry(publisher.to_owned())
            .or_default()
            .push(number);
    }
    assert_eq!(numbers.len(), publishers);
    for mut numbers in numbers.into_values() {
        if !is_ordered {
            numbers.sort_unstable();
        }
        assert!(numbers.into_iter().eq(0..count));
    }
    assert!(!inbox.has_more());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishers_at_full_speed_lose_nothing() {
    const COUNT: usize = 2_000;
    let world = hub(50, LONG).await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let ordered = [("reliability", "ordered")];
    let (twoway, mut in_twoway) = subscribers.add("twoway");
    subscribe(&topic, &twoway, &ordered).await;
    let (oneway, mut in_oneway) = subscribers.add("oneway");
    subscribe(&topic, &oneway.ice_oneway(), &[]).await;
    let (batched, mut in_batched) = subscribers.add("batched");
    subscribe(&topic, &batched.ice_batch_oneway(), &[]).await;
    let publisher = publisher(&topic).await;
    let modes = [
        Proxy::ice_twoway as fn(&Proxy) -> Proxy,
        Proxy::ice_oneway,
        Proxy::ice_batch_oneway,
    ];
    let publishing = modes.map(|mode| {
        let (communicator, publisher) = over_own_connection(&publisher);
        let publisher = mode(&publisher);
        tokio::spawn(async move {
            let name = communicator_name(&publisher);
            for number in 0..COUNT {
                publish(&publisher, &format!("{name}.{number}")).await;
                if number % 100 == 99 {
                    soon(publisher.flush_batch()).await.expect("it is sent");
                }
            }
            communicator
        })
    });
    has_all(&mut in_twoway, publishing.len(), COUNT, true).await;
    for inbox in [&mut in_oneway, &mut in_batched] {
        has_all(inbox, publishing.len(), COUNT, false).await;
    }
    for publishing in publishing {
        let communicator = soon(publishing).await.expect("no panic");
        soon(communicator.shutdown()).await;
    }
    let all = (3 * 3 * COUNT) as i64;
    let info = world.info_when("t", |info| info.delivered == all).await;
    assert_eq!(info.lost, Losses::default());
}

fn communicator_name(publisher: &Proxy) -> String {
    format!("{:?}", publisher.reference().mode)
}

#[tokio::test]
async fn a_stopped_subscriber_holds_nobody_back_for_longer_than_the_patience() {
    const PATIENCE: Duration = Duration::from_millis(100);
    let world = hub(10, PATIENCE).await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let (stuck, _in_stuck) = subscribers.add_stuck("stuck");
    subscribe(&topic, &stuck, &[("retryCount", "-1")]).await;
    let (well, mut in_well) = subscribers.add("well");
    subscribe(&topic, &well, &[("reliability", "ordered")]).await;
    // Each is answered: the first beyond the queue when the patience is over, and all others immediately.
    publish_many(&publisher(&topic).await, 200).await;
    assert_eq!(in_well.operations(200).await, numbered(200));
    let info = world.info("t").await;
    let subscribers: &[_; 2] = info.subscribers.as_slice().try_into().expect("both");
    assert!(subscribers[0].lost.overflow > 0);
    assert_eq!(subscribers[1].lost, Losses::default());
    let own = &backpressure(&world).await[0];
    assert!(own.time >= PATIENCE.as_micros() as i64);
    assert!(own.publishers.is_empty());
    assert_eq!(own.events, 0);
}

#[tokio::test]
async fn the_hub_tells_who_is_held_back_by_whom_and_for_how_long() {
    let world = hub(10, LONG).await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let (stuck, mut inbox) = subscribers.add_stuck("s");
    subscribe(&topic, &stuck, &[("reliability", "ordered")]).await;
    assert!(backpressure(&world).await.is_empty());
    let (communicator, publisher) = over_own_connection(&publisher(&topic).await);
    publish_many(&publisher.ice_oneway(), 40).await;
    let connection = soon(publisher.ice_connection()).await.expect("connected");
    let connection = connection.expect("it is not collocated");
    let address = connection.info().local_address.expect("a socket");
    let own = held(&world).await;
    assert_eq!(own.subscriber, stuck);
    assert_eq!(own.publishers[0].publisher, address.to_string());
    assert!(own.events > 0 && own.time > 0 && own.publishers[0].time > 0);
    inbox.open();
    assert_eq!(inbox.operations(40).await, numbered(40));
    world.info_when("t", |info| info.delivered == 40).await;
    let own = &backpressure(&world).await[0];
    assert_eq!((own.events, own.publishers.len()), (0, 0));
    soon(communicator.shutdown()).await;
}

#[tokio::test]
async fn events_of_a_publisher_that_has_left_are_still_delivered() {
    let world = hub(5, LONG).await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let (stuck, mut inbox) = subscribers.add_stuck("s");
    subscribe(&topic, &stuck, &[("reliability", "ordered")]).await;
    let (communicator, publisher) = over_own_connection(&publisher(&topic).await);
    publish_many(&publisher.ice_oneway(), 30).await;
    held(&world).await;
    soon(communicator.shutdown()).await;
    inbox.open();
    assert_eq!(inbox.operations(30).await, numbered(30));
    let info = world
        .info_when("t", |info: &TopicInfo| info.delivered == 30)
        .await;
    assert_eq!(info.lost, Losses::default());
}

#[tokio::test]
async fn a_link_passes_backpressure_on() {
    let (here, there) = (hub(10, LONG).await, hub(10, LONG).await);
    let subscribers = Subscribers::start().await;
    let (from, to) = (here.create("from").await, there.create("t").await);
    soon(from.link(Some(&to), 0)).await.expect("linked");
    let (stuck, mut inbox) = subscribers.add_stuck("s");
    subscribe(&to, &stuck, &[("reliability", "ordered")]).await;
    let (communicator, publisher) = over_own_connection(&publisher(&from).await);
    publish_many(&publisher.ice_oneway(), 100).await;
    held(&there).await;
    inbox.open();
    assert_eq!(inbox.operations(100).await, numbered(100));
    let delivered = |info: &TopicInfo| info.delivered == 100;
    for (world, name) in [(&here, "from"), (&there, "t")] {
        let info = world.info_when(name, delivered).await;
        assert_eq!(info.lost, Losses::default());
    }
    soon(communicator.shutdown()).await;
}

#[tokio::test]
async fn what_is_held_back_counts_as_memory_of_the_queues() {
    let queue_bytes = 100_000;
    let world = World::with(|settings| {
        settings.queue_limits.bytes = queue_bytes;
        settings.queue_limits.patience = LONG;
    })
    .await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let (stuck, inbox) = subscribers.add_stuck("s");
    subscribe(&topic, &stuck, &[]).await;
    let publisher = publisher(&topic).await;
    let mut publishing = Vec::new();
    for _ in 0..60 {
        let (communicator, publisher) = over_own_connection(&publisher);
        publishing.push(tokio::spawn(async move {
            let parameters = encapsulation(EncodingVersion::V1_1, &"x".repeat(40_000));
            let published = publisher.invoke("e", OperationMode::Normal, &parameters);
            let published = published.await.map(drop);
            drop(communicator);
            published
        }));
    }
    let used = || {
        let limits = world.hub.view().limits().expect("the hub runs");
        let used = limits.iter().find(|it| it.setting == "limits.queue-bytes");
        used.expect("it is one").used
    };
    let counted = async {
        while used() <= queue_bytes {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(counted).await;
    inbox.open();
    for published in publishing {
        soon(published).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn too_much_backpressure_for_one_answer_names_the_pages() {
    let mut settings = Settings::default();
    settings.message_size_max = 16 * 1024;
    let world = World::of(Communicator::with_settings(settings), |settings| {
        settings.queue_limits.events = 1;
        settings.queue_limits.patience = LONG;
    })
    .await;
    let topic = world.create("t").await;
    let subscribers = Subscribers::start().await;
    let mut inboxes = Vec::new();
    for number in 0..60 {
        let (stuck, inbox) = subscribers.add_stuck(&format!("{number:0>400}"));
        subscribe(&topic, &stuck, &[]).await;
        inboxes.push(inbox);
    }
    let publisher = publisher(&topic).await;
    let (communicator, publisher) = over_own_connection(&publisher);
    let publishing = tokio::spawn(async move {
        publish_many(&publisher, 100).await;
        drop(communicator);
    });
    let admin = HubAdminProxy::from_proxy(world.object(HUB_ADMIN));
    let refused = async {
        loop {
            if let Err(error) = admin.backpressure("t").await {
                return error.to_string();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let error = soon(refused).await;
    assert!(error.contains("topicPage"), "{error}");
    publishing.abort();
}
