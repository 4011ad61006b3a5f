//! Access rules in force at a hub, and the refusals that they cause.

use std::path::Path;
use std::sync::Arc;

use floe::contracts::ice_storm::{
    AlreadySubscribedOrBadQoSOrInvalidSubscriberError as Error, QoS, TopicInternalProxy, TopicProxy,
};
use floe::message::Outcome;
use floe::{Context, InvokeError, OperationMode, Proxy, SystemException, TypedProxy};
use floe_access::{Access, Settings};
use floe_hub::HubSettings;
use floe_hub::contracts::floe::{BackupProxy, DurableTopicsProxy, HubAdminProxy};
use serde_json::Value as Json;

use crate::durable::{DURABLE, hub_with, publish_with};
use crate::world::{Directory, Subscribers, World, qos, soon};

const KEYS: &[u8] = include_bytes!("../../../access/tests/tokens/keys.pem");
const TOKENS: &str = include_str!("../../../access/tests/tokens/tokens.txt");

/// The rules of a `floe.toml` with this text.
pub(crate) fn rules(text: &str) -> Arc<Access> {
    let settings = Settings::parse(text).unwrap_or_else(|problems| panic!("{problems}"));
    let files = |_: &Path, _| Ok(KEYS.to_vec());
    Arc::new(Access::load(&settings, &files).expect("good keys"))
}

/// Rules that let a caller with a token of ann do what she may, and no other caller.
const ANN_MAY: &str =
    "[access.tokens]\nkeys = \"keys\"\n[[access.rule]]\nusers = \"ann\"\nallow = ";

pub(crate) fn token(name: &str) -> Context {
    let mut lines = TOKENS.lines().filter_map(|line| line.split_once(' '));
    let (_, token) = lines.find(|(own, _)| *own == name).expect("a token");
    [("floe.token".to_owned(), token.to_owned())].into()
}

fn set(access: &Arc<Access>) -> impl FnOnce(&mut HubSettings) {
    let access = access.clone();
    move |settings| settings.access = access
}

/// Returns the text of the exception with which a hub refuses.
fn refusal<T: std::fmt::Debug>(result: Result<T, impl std::fmt::Display>) -> String {
    let text = match result {
        Ok(result) => panic!("expected a refusal, got {result:?}"),
        Err(error) => error.to_string(),
    };
    assert!(text.contains("access refused: "), "{text}");
    text
}

async fn publish(publisher: &Proxy) -> Result<Option<Outcome>, InvokeError> {
    // An encapsulation without parameters.
    let parameters = [6, 0, 0, 0, 1, 1];
    soon(publisher.invoke("tell", OperationMode::Normal, &parameters)).await
}

/// The publisher object of a topic, whether the topic can be found or not.
fn publisher(world: &World, topic: &str) -> Proxy {
    world.object(&format!("IceStorm/{topic}.publish"))
}

pub(crate) fn topic(world: &World, name: &str) -> TopicProxy {
    TopicProxy::from_proxy(world.object(&format!("IceStorm/topic.{name}")))
}

fn may(rule: &str) -> Arc<Access> {
    rules(&format!("[[access.rule]]\n{rule}\n"))
}

#[tokio::test]
async fn without_rules_everybody_may_do_everything() {
    let world = World::start().await;
    world.create("a").await;
    publish(&publisher(&world, "a"))
        .await
        .expect("it is allowed");
    assert_eq!(world.hub.view().refused(), Some(0));
    world.shut_down().await;
}

#[tokio::test]
async fn what_no_rule_allows_is_refused_whatever_the_operation() {
    let world = World::with(set(&may(
        "anyone = true\nallow = \"create\"\ntopics = \"a\"",
    )))
    .await;
    world.create("a").await;
    let subscribers = Subscribers::start().await;
    let (subscriber, _inbox) = subscribers.add("s");
    let a = topic(&world, "a");
    refusal(soon(world.manager.create("b")).await);
    refusal(soon(world.manager.create_or_retrieve("b")).await);
    refusal(soon(world.manager.retrieve("b")).await);
    refusal(publish(&publisher(&world, "a")).await);
    refusal(soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&subscriber))).await);
    refusal(soon(a.unsubscribe(Some(&subscriber))).await);
    refusal(soon(a.link(Some(&a), 0)).await);
    refusal(soon(a.unlink(Some(&a))).await);
    refusal(soon(a.get_subscribers()).await);
    refusal(soon(a.get_link_info_seq()).await);
    refusal(soon(a.destroy()).await);
    let internal = TopicInternalProxy::from_proxy(a.as_proxy().clone());
    refusal(soon(internal.reap(&Vec::new())).await);
    let admin = HubAdminProxy::from_proxy(world.object(floe_hub::HUB_ADMIN));
    refusal(soon(admin.topic_info("a")).await);
    refusal(soon(admin.topic_status("a")).await);
    refusal(soon(admin.status()).await);
    refusal(soon(admin.totals()).await);
    refusal(soon(admin.storage_problems()).await);
    let backup = BackupProxy::from_proxy(world.object(floe_hub::BACKUP));
    refusal(soon(backup.begin()).await);
    refusal(soon(backup.next("1", 0)).await);
    refusal(soon(backup.end("1")).await);
    assert_eq!(world.hub.view().refused(), Some(20));
    // Allowed calls still succeed: a caller finds a topic if it may do anything with it.
    let found = soon(world.manager.retrieve("a")).await;
    found.expect("it is found");
    subscribers.stop().await;
    world.shut_down().await;
}

#[tokio::test]
async fn a_refusal_is_an_unknown_exception_that_says_what_and_not_which_rule() {
    let world = World::with(set(&may("anyone = true\nallow = \"create\""))).await;
    world.create("a").await;
    match publish(&publisher(&world, "a")).await {
        Err(InvokeError::System(SystemException::UnknownException(text))) => {
            assert_eq!(
                text,
                "access refused: anonymous may not publish (topic \"a\")"
            );
        }
        other => panic!("expected an unknown exception, got {other:?}"),
    }
    world.shut_down().await;
}

#[tokio::test]
async fn topics_of_which_a_caller_may_do_nothing_are_not_listed() {
    let world = World::with(set(&may(
        "anyone = true\nallow = [\"create\", \"publish\"]\ntopics = [\"a\", \"b\"]",
    )))
    .await;
    world.create("a").await;
    world.create("b").await;
    let mut others = HubSettings::default();
    others.access = may("anyone = true\nallow = \"publish\"\ntopics = \"b\"");
    soon(world.hub.reconfigure(others)).await;
    let listed = soon(world.manager.retrieve_all()).await.expect("a list");
    assert_eq!(listed.keys().collect::<Vec<_>>(), ["b"]);
    world.shut_down().await;
}

#[tokio::test]
async fn a_token_in_the_context_tells_who_calls_each_time() {
    let world = World::with(set(&rules(&format!(
        "{ANN_MAY}[\"create\", \"publish\"]\n"
    ))))
    .await;
    let (ann, bob) = (token("ann"), token("bob"));
    refusal(soon(world.manager.create("a")).await);
    refusal(soon(world.manager.ice_context(bob.clone()).create("a")).await);
    let created = soon(world.manager.ice_context(ann.clone()).create("a")).await;
    created.expect("ann may");
    let publisher = publisher(&world, "a");
    // One connection, and each request for itself.
    for _ in 0..3 {
        publish(&publisher.ice_context(ann.clone()))
            .await
            .expect("ann may");
        refusal(publish(&publisher.ice_context(bob.clone())).await);
        refusal(publish(&publisher).await);
    }
    let text = refusal(publish(&publisher.ice_context(token("expired"))).await);
    assert!(text.ends_with("the token has expired"), "{text}");
    let none = Context::from([("floe.token".to_owned(), "SECRET".to_owned())]);
    let text = refusal(publish(&publisher.ice_context(none)).await);
    assert!(!text.contains("SECRET"), "{text}");
    world.shut_down().await;
}

#[tokio::test]
async fn events_that_arrive_together_are_each_asked_about() {
    let text = format!("{ANN_MAY}[\"create\", \"publish\", \"subscribe\"]\n");
    let world = World::with(set(&rules(&text))).await;
    let ann = token("ann");
    let created = soon(world.manager.ice_context(ann.clone()).create("a")).await;
    let topic = created.expect("ann may").ice_context(ann.clone());
    let subscribers = Subscribers::start().await;
    let (subscriber, mut inbox) = subscribers.add("s");
    let qos = QoS::new();
    let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
    soon(subscribed).await.expect("ann may");
    let batch = publisher(&world, "a").ice_batch_oneway();
    let (ann, bob) = (batch.ice_context(ann), batch.ice_context(token("bob")));
    for proxy in [&ann, &bob, &ann, &batch, &ann] {
        publish(proxy).await.expect("it is collected");
    }
    soon(world.client.flush_batches())
        .await
        .expect("it is sent");
    // A twoway request behind them on the same connection.
    publish(&ann.ice_twoway()).await.expect("ann may");
    for _ in 0..4 {
        let event = inbox.next().await;
        assert_eq!(
            event.context,
            Context::new(),
            "the token stays with the hub"
        );
    }
    assert!(!inbox.has_more());
    assert_eq!(world.hub.view().refused(), Some(2));
    subscribers.stop().await;
    world.shut_down().await;
}

#[tokio::test]
async fn a_token_for_another_hub_stays_with_a_hub_that_takes_none() {
    let world = World::start().await;
    let topic = world.create("a").await;
    let subscribers = Subscribers::start().await;
    let (subscriber, mut inbox) = subscribers.add("s");
    let qos = QoS::new();
    let subscribed = topic.subscribe_and_get_publisher(&qos, Some(&subscriber));
    let alone = soon(subscribed).await.expect("everybody may");
    let mut context = token("ann");
    context.insert("colour".to_owned(), "blue".to_owned());
    for publisher in [publisher(&world, "a"), alone] {
        publish(&publisher.ice_context(context.clone()))
            .await
            .expect("everybody may");
        let event = inbox.next().await;
        let kept = Context::from([("colour".to_owned(), "blue".to_owned())]);
        assert_eq!(event.context, kept);
    }
    subscribers.stop().await;
    world.shut_down().await;
}

#[tokio::test]
async fn other_rules_hold_for_open_connections() {
    let open = may("anyone = true\nallow = \"*\"");
    let world = World::with(set(&open)).await;
    world.create("a").await;
    let publisher = publisher(&world, "a");
    publish(&publisher).await.expect("it is allowed");
    let mut settings = HubSettings::default();
    settings.access = may("anyone = true\nallow = \"observe\"");
    soon(world.hub.reconfigure(settings.clone())).await;
    refusal(publish(&publisher).await);
    settings.access = Arc::default();
    soon(world.hub.reconfigure(settings)).await;
    publish(&publisher)
        .await
        .expect("there are no rules any more");
    world.shut_down().await;
}

#[tokio::test]
async fn each_refusal_is_a_line_of_the_audit_log() {
    let directory = Directory::new();
    std::fs::create_dir_all(&directory.0).expect("a directory");
    let file = directory.0.join("audit.jsonl");
    let text = format!("{ANN_MAY}\"publish\"\n");
    let world = World::with(|settings| {
        settings.access = rules(&text);
        settings.audit = Some(file.clone());
    })
    .await;
    refusal(soon(world.manager.create("a")).await);
    refusal(soon(world.manager.ice_context(token("bob")).create("b")).await);
    refusal(soon(world.manager.ice_context(token("expired")).create("c")).await);
    let log = std::fs::read_to_string(&file).expect("an audit log");
    let lines: Vec<Json> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let told = |at: usize| {
        (
            &lines[at]["who"],
            &lines[at]["from"],
            &lines[at]["action"],
            &lines[at]["topic"],
        )
    };
    let text = |text: &str| Json::from(text);
    assert_eq!(lines.len(), 3, "{log}");
    assert_eq!(
        told(0),
        (
            &text("anonymous"),
            &text("127.0.0.1"),
            &text("create"),
            &text("a")
        )
    );
    assert_eq!(
        told(1),
        (
            &text("bob"),
            &text("127.0.0.1"),
            &text("create"),
            &text("b")
        )
    );
    assert_eq!(lines[1]["reason"], "no rule applies");
    assert_eq!(lines[2]["reason"], "the token has expired");
    assert!(
        !log.contains(&token("bob")["floe.token"]),
        "a token is a secret"
    );
    world.shut_down().await;
}

#[tokio::test]
async fn a_subscriber_is_called_only_where_the_rules_allow() {
    let world = World::with(set(&may(
        "anyone = true\nallow = [\"create\", \"subscribe\", \"link\"]",
    )))
    .await;
    let a = world.create("a").await;
    let subscribers = Subscribers::start().await;
    let (own, _inbox) = subscribers.add("s");
    soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&own)))
        .await
        .expect("it is on this host");
    for elsewhere in [
        "x:tcp -h 192.0.2.9 -p 1",
        "x:tcp -h example.invalid -p 1",
        "x @ adapter",
        "x",
    ] {
        let elsewhere: Proxy = world.client.proxy(elsewhere).expect("a proxy");
        let text =
            refusal(soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&elsewhere))).await);
        assert!(text.contains("callbacks"), "{text}");
    }
    let far: TopicProxy = world
        .client
        .proxy("IceStorm/topic.b:tcp -h 192.0.2.9 -p 1")
        .expect("a proxy");
    refusal(soon(a.link(Some(&far), 0)).await);
    subscribers.stop().await;
    world.shut_down().await;
}

#[tokio::test]
async fn of_a_subscriber_with_several_addresses_those_on_its_host_are_kept() {
    let world = World::with(set(&may("anyone = true\nallow = \"*\""))).await;
    let a = world.create("a").await;
    let subscribers = Subscribers::start().await;
    let (own, mut inbox) = subscribers.add("s");
    let several = format!("{own}:tcp -h 192.0.2.9 -p 1");
    let several: Proxy = world.client.proxy(&several).expect("a proxy");
    soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&several)))
        .await
        .expect("one is on this host");
    let status = HubAdminProxy::from_proxy(world.object(floe_hub::HUB_ADMIN));
    let status = soon(status.topic_status("a")).await.expect("a topic");
    let shown = format!("{:?}", status.subscribers);
    assert!(!shown.contains("192.0.2.9"), "{shown}");
    publish(&publisher(&world, "a"))
        .await
        .expect("it is allowed");
    inbox.next().await;
    subscribers.stop().await;
    world.shut_down().await;
}

#[tokio::test]
async fn an_object_of_the_hub_is_no_subscriber() {
    let world = World::start().await;
    let [a, b] = [world.create("a").await, world.create("b").await];
    for (topic, other) in [(&a, "b"), (&b, "a")] {
        let publisher = publisher(&world, other);
        let Err(Error::InvalidSubscriber(error)) =
            soon(topic.subscribe_and_get_publisher(&QoS::new(), Some(&publisher))).await
        else {
            panic!("events would go round for ever");
        };
        assert!(
            error.reason.contains("link the topics instead"),
            "{}",
            error.reason
        );
    }
    let port = world.hub.endpoints();
    let port = port
        .split(" -p ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .expect("a port");
    for alias in ["localhost", "0.0.0.0", "127.0.0.1"] {
        let manager = format!("IceStorm/topic.b:tcp -h \"{alias}\" -p {port}");
        let object: Proxy = world.client.proxy(&manager).expect("a proxy");
        let result = soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&object))).await;
        assert!(
            matches!(result, Err(Error::InvalidSubscriber(_))),
            "{alias}: {result:?}"
        );
    }
    // Another program may have the same port at an address where the hub does not listen.
    for other in ["::1", "127.0.0.2"] {
        let object = format!("x:tcp -h \"{other}\" -p {port}");
        let object: Proxy = world.client.proxy(&object).expect("a proxy");
        let result = soon(a.subscribe_and_get_publisher(&QoS::new(), Some(&object))).await;
        assert!(result.is_ok(), "{other}: {result:?}");
        soon(a.unsubscribe(Some(&object)))
            .await
            .expect("it is subscribed");
    }
    world.shut_down().await;
}

#[tokio::test]
async fn a_topic_for_dead_letters_is_created_only_for_a_caller_that_may_create_it() {
    let directory = Directory::new();
    let subscribe = "[[access.rule]]\nanyone = true\nallow = \"subscribe\"\ntopics = \"t\"\n";
    let world = hub_with(&directory.0, set(&rules(subscribe))).await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let topic = topic(&world, "t");
    let wishes = qos(&[DURABLE, &[("floe.attempts", "3")]].concat());
    let text = refusal(soon(topic.subscribe_and_get_publisher(&wishes, Some(&proxy))).await);
    assert!(
        text.ends_with("may not create (topic \"t.dead\")"),
        "{text}"
    );
    let create = "[[access.rule]]\nanyone = true\nallow = \"create\"\ntopics = \"t.dead\"\n";
    let mut settings = HubSettings::default();
    settings.access = rules(&format!("{subscribe}{create}"));
    soon(world.hub.reconfigure(settings)).await;
    soon(topic.subscribe_and_get_publisher(&wishes, Some(&proxy)))
        .await
        .expect("it may create the topic now");
    subscribers.stop().await;
    world.shut_down().await;
}

#[tokio::test]
async fn who_has_chosen_a_topic_for_dead_letters_must_be_allowed_to_publish_there_after_a_reload() {
    let directory = Directory::new();
    let all_of_t = "[[access.rule]]\nanyone = true\nallow = \"*\"\ntopics = \"t\"\n";
    let chosen = |actions: &str| {
        let rule =
            format!("[[access.rule]]\nanyone = true\nallow = [{actions}]\ntopics = \"chosen\"\n");
        rules(&format!("{all_of_t}{rule}"))
    };
    let may_publish = chosen("\"create\", \"observe\", \"publish\"");
    let world = hub_with(&directory.0, set(&may_publish)).await;
    let subscribers = Subscribers::start().await;
    let (proxy, _inbox) = subscribers.add("s");
    let wishes = [
        DURABLE,
        &[("floe.attempts", "1"), ("floe.deadLetters", "chosen")],
    ];
    let (topic, wishes) = (topic(&world, "t"), qos(&wishes.concat()));
    let subscribed = soon(topic.subscribe_and_get_publisher(&wishes, Some(&proxy))).await;
    subscribed.expect("the topic is created with it");
    let topics = DurableTopicsProxy::from_proxy(world.object(floe_hub::DURABLE_TOPICS));
    let letters = async || {
        let contents = soon(topics.contents("chosen")).await;
        contents.expect("a topic").events
    };
    let publisher = publisher(&world, "t");
    let throw = async || {
        let thrown = publish_with(&publisher, "throw", &[]).await;
        thrown.expect("it is stored");
    };
    let reload = async |access: &Arc<Access>| {
        let mut settings = HubSettings::default();
        settings.access = access.clone();
        soon(world.hub.reconfigure(settings)).await;
    };
    throw().await;
    while letters().await != 1 {
        tokio::task::yield_now().await;
    }
    reload(&chosen("\"observe\"")).await;
    throw().await;
    while world.hub.view().refused() == Some(0) {
        tokio::task::yield_now().await;
    }
    assert_eq!(letters().await, 1, "nothing may be published there");
    // It waits, and becomes a dead letter when that is allowed again.
    reload(&may_publish).await;
    while letters().await != 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    subscribers.stop().await;
    world.shut_down().await;
}

#[tokio::test]
async fn an_event_of_one_user_is_no_duplicate_of_an_event_of_another() {
    let directory = Directory::new();
    let access =
        rules("[access.tokens]\nkeys = \"keys\"\n[[access.rule]]\nanyone = true\nallow = \"*\"\n");
    let world = hub_with(&directory.0, set(&access)).await;
    let publisher = publisher(&world, "t");
    let of = |user: &str| {
        let mut context = token(user);
        context.insert("floe.publisher".to_owned(), "p".to_owned());
        context.insert("floe.publisherSequence".to_owned(), "1".to_owned());
        context
    };
    for user in ["ann", "bob", "ann"] {
        publish(&publisher.ice_context(of(user)))
            .await
            .expect("it is stored, or was before");
    }
    let named = [("floe.publisher", "p"), ("floe.publisherSequence", "1")];
    publish_with(&publisher, "anonymous", &named)
        .await
        .expect("it is stored");
    let topics = DurableTopicsProxy::from_proxy(world.object(floe_hub::DURABLE_TOPICS));
    let contents = soon(topics.contents("t")).await.expect("a topic");
    assert_eq!(contents.events, 3);
    world.shut_down().await;
}
