//! Durable topics as the hub tells of them: their logs and their subscriptions.

use floe::TypedProxy;
use floe_hub::contracts::floe::{DurableTopicStatus, DurableTopicsProxy, HubAdminProxy};
use floe_hub::{DURABLE_TOPICS, HUB_ADMIN};

use crate::durable::{DURABLE, hub_in, topic};
use crate::world::{Directory, World, publish_many, publisher, qos, soon};

fn admin(world: &World) -> HubAdminProxy {
    HubAdminProxy::from_proxy(world.object(HUB_ADMIN))
}

async fn status(world: &World) -> DurableTopicStatus {
    let admin = admin(world);
    let mut page = soon(admin.durable_topic("t", "")).await.unwrap();
    page.pop().expect("it is durable")
}

#[tokio::test]
async fn the_lag_of_a_subscription_that_nobody_reads_is_told_and_outlasts_the_hub() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    let publisher = publisher(&topic(&world, "t").await).await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    soon(topics.open_pull("t", &qos(DURABLE))).await.unwrap();
    publish_many(&publisher, 10).await;
    let pulled = soon(topics.pull("t", "d", 4, 10_000)).await.unwrap();
    soon(topics.acknowledge("t", "d", &[2])).await.unwrap();
    assert_eq!(pulled.len(), 4);
    let told = status(&world).await;
    let own = &told.subscriptions[0];
    assert_eq!(
        (told.events, own.position, own.pending, own.behind),
        (10, 1, 3, 6)
    );
    assert!(
        told.bytes > 0 && own.lag_bytes > 0 && own.lag_age > 0,
        "{told:?}"
    );
    assert!(told.age > 0, "{told:?}");
    assert!(own.away > 0 && !own.is_away_since_start, "{own:?}");
    soon(topics.acknowledge_to("t", "d", 10)).await.unwrap();
    let settled = soon(topics.pull("t", "d", 10, 10_000)).await.unwrap();
    let last = settled.last().expect("the rest").number;
    soon(topics.acknowledge_to("t", "d", last)).await.unwrap();
    let told = status(&world).await;
    let own = &told.subscriptions[0];
    assert_eq!(
        (own.pending, own.behind, own.lag_bytes, own.lag_age),
        (0, 0, 0, 0)
    );
    publish_many(&publisher, 2).await;
    world.shut_down().await;

    let world = hub_in(&directory.0).await;
    let told = status(&world).await;
    let own = &told.subscriptions[0];
    assert_eq!((own.behind, own.subscribers), (2, 0));
    assert!(
        own.away > 0 && own.is_away_since_start && own.lag_age > 0,
        "{own:?}"
    );
}

/// More subscriptions than fit into a page.
const COUNT: usize = 1_000;

#[tokio::test]
async fn durable_topics_and_subscriptions_are_told_in_pages() {
    let directory = Directory::new();
    let world = hub_in(&directory.0).await;
    topic(&world, "t").await;
    let topics = DurableTopicsProxy::from_proxy(world.object(DURABLE_TOPICS));
    topics.create("u").await.unwrap();
    // A page has room for fewer of these names.
    let name = |number: usize| format!("{}{number:04}", "d".repeat(196));
    for number in 0..COUNT {
        let name = name(number);
        let wishes = qos(&[("floe.durable", &name)]);
        soon(topics.open_pull("t", &wishes)).await.unwrap();
    }
    let admin = admin(&world);
    let first = soon(admin.durable_topics_after("")).await.unwrap();
    let mut all: Vec<_> = first[0].subscriptions.clone();
    assert!(first[0].has_more && !all.is_empty(), "{}", all.len());
    let mut pages = 1;
    loop {
        let last = all.last().expect("a page has one").name.clone();
        let page = soon(admin.durable_topic("t", &last)).await.unwrap();
        all.extend(page[0].subscriptions.clone());
        pages += 1;
        if !page[0].has_more {
            break;
        }
    }
    assert!(pages > 1);
    let names: Vec<_> = all.into_iter().map(|own| own.name).collect();
    assert_eq!(names, (0..COUNT).map(name).collect::<Vec<_>>());
    let rest = soon(admin.durable_topics_after("t")).await.unwrap();
    assert_eq!((rest.len(), rest[0].name.as_str()), (1, "u"));
    assert!(
        soon(admin.durable_topics_after("u"))
            .await
            .unwrap()
            .is_empty()
    );
}
