//! Receivers of events that lead back to the hub, or that get what their makers may not publish.

use std::sync::Arc;

use floe::contracts::ice::{Process, ProcessDispatcher};
use floe::contracts::ice_storm::{
    AlreadySubscribedOrBadQoSOrInvalidSubscriberError as Error, LinkExistsError, QoS, TopicProxy,
};
use floe::dispatch::{DispatchSlot, Requests};
use floe::{Adapter, Current, Dispatcher, InvokeError, Proxy, TypedProxy};
use floe_hub::HubSettings;
use tokio::sync::mpsc;

use crate::access::{rules, topic};
use crate::world::{Subscribers, World, identity, publish, publisher, soon};

/// A topic that answers `getLinkProxy` with any object.
struct FalseTopic(Proxy);

impl Dispatcher for FalseTopic {
    fn dispatch(self: Arc<Self>, requests: Requests, slot: &mut DispatchSlot) {
        requests.each(slot, move |request| {
            let link = self.0.clone();
            async move { request.returned(|encoder| encoder.put(&Some(link))) }
        });
    }
}

fn refused_link(linked: Result<(), LinkExistsError>) -> String {
    match linked.expect_err("it publishes what its maker may not") {
        LinkExistsError::Invoke(error) => error.to_string(),
        error => panic!("{error}"),
    }
}

const NOT_ALARM: &str = r#"
[[access.rule]]
deny = "publish"
topics = "alarm"
anyone = true
[[access.rule]]
allow = "*"
anyone = true
"#;

#[tokio::test]
async fn a_false_topic_does_not_let_the_hub_publish_to_itself() {
    let world = World::with(|settings| settings.access = rules(NOT_ALARM)).await;
    let [open, _alarm] = [world.create("open").await, world.create("alarm").await];
    let subscribers = Subscribers::start().await;
    for receiver in [
        "IceStorm/alarm.link",
        "IceStorm/alarm.publish",
        "IceStorm/open.link",
    ] {
        let receiver = world.object(receiver);
        let name = format!("false/{}", receiver.reference().identity.name);
        let proxy = subscribers
            .adapter
            .add(&*name, FalseTopic(receiver))
            .unwrap();
        let error = refused_link(soon(open.link(Some(&TopicProxy::from_proxy(proxy)), 0)).await);
        assert!(error.contains("object of this hub"), "{error}");
    }
    // A link calls its topic once, and a call of a publisher object is an event.
    let object = world.object("IceStorm/alarm.publish");
    refused_link(soon(open.link(Some(&TopicProxy::from_proxy(object)), 0)).await);
    publish(&publisher(&open).await, "e").await;
    let info = world.info("alarm").await;
    assert_eq!((info.published, info.forwarded), (0, 0));
}

#[tokio::test]
async fn a_link_within_the_hub_needs_the_right_to_publish_at_its_end_now_and_later() {
    let world = World::with(|settings| settings.access = rules(NOT_ALARM)).await;
    let [open, alarm] = [world.create("open").await, world.create("alarm").await];
    let error = refused_link(soon(open.link(Some(&alarm), 0)).await);
    assert!(
        error.contains("may not publish (topic \"alarm\")"),
        "{error}"
    );
    let with = |text: &str| {
        let mut settings = HubSettings::default();
        settings.access = rules(text);
        settings
    };
    let all = "[[access.rule]]\nallow = \"*\"\nanyone = true\n";
    soon(world.hub.reconfigure(with(all))).await;
    soon(open.link(Some(&alarm), 0))
        .await
        .expect("it is allowed now");
    let publisher = publisher(&topic(&world, "open")).await;
    publish(&publisher, "allowed").await;
    world.info_when("alarm", |info| info.forwarded == 1).await;
    soon(world.hub.reconfigure(with(NOT_ALARM))).await;
    publish(&publisher, "refused").await;
    world
        .info_when("open", |info| info.subscribers[0].lost.failed == 1)
        .await;
    assert_eq!(world.info("alarm").await.forwarded, 1);
}

struct EndOfProcess(mpsc::UnboundedSender<()>);

impl Process for EndOfProcess {
    async fn shutdown(&self, _current: &Current) -> Result<(), InvokeError> {
        let _ = self.0.send(());
        Ok(())
    }

    async fn write_message(
        &self,
        _message: String,
        _fd: i32,
        _current: &Current,
    ) -> Result<(), InvokeError> {
        Ok(())
    }
}

#[tokio::test]
async fn an_object_of_the_same_program_that_refuses_given_proxies_is_no_subscriber() {
    let world = World::start().await;
    let a = world.create("a").await;
    let admin: Adapter = world
        .hub_side
        .adapter("tcp -h 127.0.0.1 -p 0")
        .await
        .unwrap();
    admin.refuse_given();
    let (ended, mut has_ended) = mpsc::unbounded_channel();
    let process = ProcessDispatcher::new(EndOfProcess(ended));
    let process = admin
        .add_facet(identity("Glacier2/admin"), "Process", process)
        .unwrap();
    admin.activate();
    let of_client = format!("{process}");
    let nowhere = "Glacier2/admin -f Process";
    for text in [&*of_client, nowhere] {
        let object: Proxy = world.client.proxy(text).unwrap();
        let result = soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&object))).await;
        assert!(
            matches!(result, Err(Error::InvalidSubscriber(_))),
            "{result:?}"
        );
    }
    publish(&publisher(&a).await, "shutdown").await;
    assert!(has_ended.try_recv().is_err());
}

#[tokio::test]
async fn the_hub_is_no_subscriber_however_its_host_is_spelled() {
    let world = World::with(|settings| settings.listen = "tcp -h 0.0.0.0 -p 0".to_owned()).await;
    let [a, _b] = [world.create("a").await, world.create("b").await];
    let endpoints = world.hub.endpoints();
    let port = endpoints.split(" -p ").nth(1).unwrap();
    let port = port.split([' ', ':']).next().unwrap();
    for host in [
        "127.1",
        "0",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.0.0.2",
        "::ffff:127.0.0.1",
        "LocalHost",
        "localhost.",
    ] {
        let object = format!("IceStorm/b.publish:tcp -h \"{host}\" -p {port}");
        let object: Proxy = world.client.proxy(&object).unwrap();
        let result = soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&object))).await;
        assert!(
            matches!(result, Err(Error::InvalidSubscriber(_))),
            "{host}: {result:?}"
        );
        let topic = TopicProxy::from_proxy(object.ice_identity(identity("IceStorm/topic.x")));
        soon(a.link(Some(&topic), 0)).await.expect_err(host);
    }
    let nowhere = "s:tcp -h no-such-host.invalid -p 1";
    let nowhere: Proxy = world.client.proxy(nowhere).unwrap();
    let result = soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&nowhere))).await;
    match result {
        Err(Error::InvalidSubscriber(error)) => {
            assert!(error.reason.contains("leads nowhere"), "{}", error.reason);
        }
        other => panic!("{other:?}"),
    }
    publish(&publisher(&a).await, "e").await;
    assert_eq!(world.info("b").await.published, 0);
}
