//! Topics: creating, finding and destroying them.

use floe::contracts::ice_storm::{
    FinderProxy, NoSuchTopicError, TopicExistsError, TopicManagerInternalProxy, TopicManagerProxy,
    TopicProxy,
};
use floe::{Communicator, InvokeError, OperationMode, Proxy, SystemException, TypedProxy};
use floe_hub::{Hub, HubError, HubSettings};

use crate::world::{Log, Subscribers, World, nothing, publish, publisher, soon, subscribe};

#[tokio::test]
async fn a_topic_is_created_once_and_found_by_its_name() {
    let world = World::start().await;
    let topic = world.create("t").await;
    assert_eq!(topic.get_name().await.unwrap(), "t");
    let again = world.manager.create("t").await.unwrap_err();
    assert!(
        matches!(&again, TopicExistsError::TopicExists(e) if e.name == "t"),
        "{again}"
    );
    assert_eq!(world.manager.retrieve("t").await.unwrap(), topic.clone());
    assert_eq!(world.manager.create_or_retrieve("t").await.unwrap(), topic);
    world.manager.create_or_retrieve("u").await.unwrap();
    let all = world.manager.retrieve_all().await.unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["t", "u"]);
}

#[tokio::test]
async fn a_topic_that_does_not_exist_is_not_found() {
    let world = World::start().await;
    let error = soon(world.manager.retrieve("t")).await.unwrap_err();
    assert!(
        matches!(&error, NoSuchTopicError::NoSuchTopic(e) if e.name == "t"),
        "{error}"
    );
    let object = world.object("IceStorm/topic.t");
    assert!(is_not_exist(soon(object.ice_ping()).await));
}

#[tokio::test]
async fn objects_have_the_same_identities_as_in_icestorm() {
    let world = World::start().await;
    let topic = world.create("a.b").await;
    let identity = |proxy: &floe::Proxy| proxy.reference().identity.to_string();
    assert_eq!(identity(topic.as_proxy()), "IceStorm/topic.a.b");
    assert_eq!(identity(&publisher(&topic).await), "IceStorm/a.b.publish");
    let publisher = topic.get_non_replicated_publisher().await.unwrap();
    assert_eq!(identity(&publisher), "IceStorm/a.b.publish");
}

#[tokio::test]
async fn objects_have_the_same_type_ids_as_in_icestorm() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let expected = [
        "::Ice::Object",
        "::IceStorm::Topic",
        "::IceStorm::TopicInternal",
    ];
    assert_eq!(topic.ice_ids().await.unwrap(), expected);
    assert_eq!(topic.ice_id().await.unwrap(), "::IceStorm::TopicInternal");
    let expected = [
        "::Ice::Object",
        "::IceStorm::TopicManager",
        "::IceStorm::TopicManagerInternal",
    ];
    assert_eq!(world.manager.ice_ids().await.unwrap(), expected);
    let checked = TopicProxy::checked(topic.as_proxy().clone()).await;
    assert_eq!(checked.unwrap(), Some(topic));
}

#[tokio::test]
async fn the_finder_returns_the_topic_manager_of_any_instance() {
    let world = World::with(|settings| settings.instance_name = "Other".to_owned()).await;
    let finder = FinderProxy::from_proxy(world.object("IceStorm/Finder"));
    let found = soon(finder.get_topic_manager()).await.unwrap();
    assert_eq!(
        found.as_proxy().reference().identity.to_string(),
        "Other/TopicManager"
    );
    found.create("t").await.unwrap();
    assert!(is_not_exist(
        world.object("IceStorm/TopicManager").ice_ping().await
    ));
}

#[tokio::test]
async fn a_destroyed_topic_is_gone_with_all_its_objects_and_may_be_created_again() {
    let world = World::start().await;
    let topic = world.create("t").await;
    let publisher = publisher(&topic).await;
    soon(topic.destroy()).await.unwrap();
    assert!(is_not_exist(topic.destroy().await));
    assert!(is_not_exist(publisher.ice_ping().await));
    let topic = world.create("t").await;
    assert_eq!(topic.get_subscribers().await.unwrap(), []);
    publish(&publisher, "e").await;
    assert_eq!(world.info("t").await.published, 1);
}

/// Over one connection that has no other requests, so that its head cache and servant cache know the former topic.
#[tokio::test]
async fn events_reach_the_topic_that_has_the_name_now() {
    for facet in ["", floe_hub::WAITING_FACET] {
        let world = World::start().await;
        let topic = world.create("t").await;
        let of_topic = publisher(&topic).await;
        let publishers = Communicator::new();
        let publisher: Proxy = publishers.proxy(&of_topic.to_string()).unwrap();
        let publisher = publisher.ice_facet(facet);
        for _ in 0..3 {
            publish(&publisher, "before").await;
        }
        assert_eq!(world.info("t").await.published, 3);
        soon(topic.destroy()).await.unwrap();
        let nothing = nothing();
        let late = publisher.invoke("between", OperationMode::Normal, &nothing);
        assert!(is_not_exist(late.await.map(drop)));
        let topic = world.create("t").await;
        let subscribers = Subscribers::start().await;
        let (proxy, mut inbox) = subscribers.add("s");
        subscribe(&topic, &proxy, &[]).await;
        publish(&publisher, "after").await;
        assert_eq!(inbox.operations(1).await, ["after"]);
        assert_eq!(world.info("t").await.published, 1);
    }
}

#[tokio::test]
async fn facets_other_than_the_default_do_not_exist() {
    let world = World::start().await;
    let topic = world.create("t").await;
    for proxy in [
        topic.as_proxy(),
        &publisher(&topic).await,
        world.manager.as_proxy(),
        &world.object("IceStorm/Finder"),
        &world.object(floe_hub::HUB_ADMIN),
    ] {
        let error = soon(proxy.ice_facet("f").ice_ping()).await.unwrap_err();
        assert!(
            matches!(
                error,
                InvokeError::System(SystemException::FacetNotExist(_))
            ),
            "{error}"
        );
    }
}

#[tokio::test]
async fn names_that_icestorm_cannot_store_are_refused() {
    let world = World::start().await;
    world.create(&"x".repeat(489)).await;
    for name in ["x".repeat(490), "x".repeat(512)] {
        let error = world.manager.create_or_retrieve(&name).await.unwrap_err();
        assert!(
            matches!(
                error,
                InvokeError::System(SystemException::UnknownException(_))
            ),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_topic_whose_objects_would_have_the_names_of_others_is_refused() {
    let world = World::start().await;
    world.create("topic.a").await;
    let error = world
        .manager
        .create_or_retrieve("a.publish")
        .await
        .unwrap_err();
    assert!(error.to_string().contains("topic.a.publish"), "{error}");
}

#[tokio::test]
async fn the_name_of_a_topic_cannot_forge_a_line_of_the_log() {
    let log = Log::start();
    let world = World::start().await;
    let refused = soon(world.manager.create("a\nWARN forged")).await;
    let refused = refused.expect_err("a name with a line break").to_string();
    assert!(
        refused.contains(r#"topic name "a\nWARN forged": expected no control characters"#),
        "{refused}"
    );
    assert!(!refused.contains('\n'), "{refused}");
    let forged = log.lines_with("forged");
    assert!(
        forged.iter().all(|line| !line.starts_with("WARN forged")),
        "{forged:?}"
    );
}

#[tokio::test]
async fn operations_of_old_and_new_versions_exist() {
    let world = World::start().await;
    assert!(
        soon(world.manager.get_slice_checksums())
            .await
            .unwrap()
            .is_empty()
    );
    let manager = TopicManagerInternalProxy::from_proxy(world.manager.as_proxy().clone());
    assert_eq!(manager.get_replica_node().await.unwrap(), None);
}

fn is_not_exist(result: Result<(), InvokeError>) -> bool {
    matches!(
        result,
        Err(InvokeError::System(SystemException::ObjectNotExist(_)))
    )
}

#[tokio::test]
async fn proxies_have_the_published_endpoints() {
    let world = World::with(|settings| {
        settings.publish_listen = Some("tcp -h 127.0.0.1 -p 0".to_owned());
        settings.published_endpoints = Some("tcp -h hub.example -p 1:ssl -h b -p 2".to_owned());
        settings.publish_published_endpoints = Some("tcp -h hub.example -p 3".to_owned());
    })
    .await;
    let endpoints = world.hub.endpoints();
    assert!(endpoints.starts_with("tcp -h 127.0.0.1 "), "{endpoints}");
    let manager = format!("IceStorm/TopicManager:{endpoints}");
    let manager: TopicManagerProxy = world.client.proxy(&manager).unwrap();
    let topic = soon(manager.create("t")).await.unwrap();
    let of = |proxy: &Proxy| {
        let endpoints = proxy.reference().endpoints().iter();
        endpoints.map(ToString::to_string).collect::<Vec<_>>()
    };
    let expected = ["tcp -h hub.example -p 1 -t 60000", "ssl -h b -p 2 -t 60000"];
    assert_eq!(of(topic.as_proxy()), expected);
    let topic = world.client.proxy(&format!("IceStorm/topic.t:{endpoints}"));
    let topic: TopicProxy = topic.unwrap();
    let publisher = soon(topic.get_publisher()).await.unwrap();
    assert_eq!(of(&publisher), ["tcp -h hub.example -p 3 -t 60000"]);
}

#[tokio::test]
async fn published_endpoints_that_lead_nowhere_are_refused() {
    let communicator = Communicator::new();
    for (published, shown) in [
        ("tcp -p 1", "\"tcp -p 1 -t 60000\""),
        ("tcp -h a -p 1:ws -h b", "\"ws -h b -p 0 -t 60000 -r /\""),
    ] {
        let mut settings = HubSettings::default();
        settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
        settings.published_endpoints = Some(published.to_owned());
        let error = Hub::start(&communicator, settings).await.unwrap_err();
        assert!(matches!(error, HubError::Published { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.ends_with(&format!("got {shown}")), "{text}");
    }
    type Change = fn(&mut HubSettings, String);
    let changes: [Change; 2] = [
        |settings, text| settings.publish_published_endpoints = Some(text),
        |settings, text| settings.publish_adapter_id = Some(text),
    ];
    for change in changes {
        let mut settings = HubSettings::default();
        settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
        change(&mut settings, "tcp -h a -p 1".to_owned());
        let error = Hub::start(&communicator, settings).await.unwrap_err();
        assert!(matches!(error, HubError::NothingPublished), "{error:?}");
    }
}

#[tokio::test]
async fn a_hub_that_cannot_register_with_the_locator_does_not_start() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let locator = format!("Floe/Locator:tcp -h 127.0.0.1 -p {port}");
    let mut settings = floe::Settings::default();
    settings.locator = Some(locator.parse().unwrap());
    let communicator = Communicator::with_settings(settings);
    let mut settings = HubSettings::default();
    settings.adapter_id = Some("Topics".to_owned());
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    let error = Hub::start(&communicator, settings).await.unwrap_err();
    let text = error.to_string();
    let expected = "cannot register the adapter \"Topics\" with the locator Floe/Locator ";
    assert!(text.starts_with(expected), "{text}");
}

#[tokio::test]
async fn a_hub_without_an_instance_name_is_refused() {
    let mut settings = HubSettings::default();
    settings.listen = "tcp -h 127.0.0.1 -p 0".to_owned();
    settings.instance_name.clear();
    let started = Hub::start(&Communicator::new(), settings).await;
    let error = started.expect_err("it would answer for every category");
    assert!(matches!(error, HubError::NoInstanceName), "{error:?}");
}
