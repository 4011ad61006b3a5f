//! `floe topic`, and `floe call` of the hub's own objects.

use std::thread;
use std::time::{Duration, Instant};

use crate::command::{run, slice_file};
use crate::hub::Hub;

#[test]
fn topics_are_created_listed_shown_and_removed() {
    let hub = Hub::start();
    assert_eq!(hub.run(&["topic", "list"]).ended(0).stdout, "");
    let created = hub.run(&["topic", "create", "news"]).ended(0).json();
    assert_eq!(created["name"], "news");
    hub.run(&["topic", "create", "alarms"]).ended(0);
    let listed = hub.run(&["topic", "list", "-o", "json"]).ended(0).json();
    let expected = serde_json::json!([
        {"name": "alarms", "subscribers": 0},
        {"name": "news", "subscribers": 0},
    ]);
    assert_eq!(listed, expected);
    let table = hub.run(&["topic", "list", "-o", "table"]).ended(0).stdout;
    assert_eq!(
        table,
        "NAME    SUBSCRIBERS\nalarms            0\nnews              0\n"
    );
    let info = hub.run(&["topic", "info", "news"]).ended(0).json();
    assert_eq!((&info["published"], &info["lost"]), (&0.into(), &0.into()));
    hub.run(&["topic", "remove", "news", "alarms"])
        .ended(0)
        .said("removed topic `news`");
    assert_eq!(hub.run(&["topic", "list"]).ended(0).stdout, "");
}

#[test]
fn a_topic_that_does_not_exist_is_not_found() {
    let hub = Hub::start();
    for verb in ["info", "remove", "subscribers"] {
        hub.run(&["topic", verb, "nothing"])
            .ended(4)
            .said("no topic `nothing`");
    }
}

#[test]
fn a_topic_that_exists_is_not_created_again() {
    let hub = Hub::start();
    let created = hub.run(&["topic", "create", "news"]).ended(0).stdout;
    assert!(created.contains("topic.news"), "{created}");
    assert!(!created.contains("-t 60000"), "{created}");
    hub.run(&["topic", "create", "news"])
        .ended(5)
        .said("the topic `news` exists already");
    hub.run(&["topic", "create", "news", "--exist-ok"]).ended(0);
}

#[test]
fn names_of_any_kind_are_topics() {
    let hub = Hub::start();
    for name in ["a/b", "with blank", "ünïcode", "q\"uote"] {
        hub.run(&["topic", "create", name]).ended(0);
        let info = hub.run(&["topic", "info", name]).ended(0).json();
        assert_eq!(info["name"], name);
    }
}

#[test]
fn a_hub_that_is_not_there_is_said_so() {
    for noun in [&["topic", "list"][..], &["topic", "info", "x"]] {
        run(&[noun, &["--hub", "tcp -h 127.0.0.1 -p 1"]].concat())
            .ended(5)
            .said("no hub: cannot connect")
            .said("start one with `floe serve`");
    }
    run(&["topic", "list", "--hub", "tpc -p 1"])
        .ended(2)
        .said("--hub");
}

#[test]
fn a_hub_that_does_not_answer_times_out() {
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let port = deaf.local_addr().expect("it is bound").port();
    let endpoint = format!("tcp -h 127.0.0.1 -p {port}");
    run(&["topic", "list", "--timeout", "100ms", "--hub", &endpoint])
        .ended(3)
        .said("100ms");
}

#[test]
fn a_hub_is_called_like_any_object() {
    let hub = Hub::start();
    let storm = slice_file("storm.ice", "#include <IceStorm/IceStorm.ice>");
    let call = |arguments: &[&str]| {
        run(&[&["call", &hub.manager], arguments, &["--slice", &storm]].concat())
    };
    let id = run(&["call", &hub.manager, "ice_id", "-o", "raw"])
        .ended(0)
        .stdout;
    assert!(id.starts_with("::IceStorm::TopicManager"), "{id}");
    let created = call(&["create", "news"]).ended(2);
    created.said("argument JSON");
    let created = call(&["create", r#"{"name": "news"}"#]).ended(0).json();
    let topic = created["returnValue"]
        .as_str()
        .expect("it is a proxy")
        .to_owned();
    let thrown = call(&["create", r#"["news"]"#]).ended(1);
    let expected = serde_json::json!({"$exception": "::IceStorm::TopicExists", "name": "news"});
    assert_eq!(thrown.json(), expected);
    thrown.said("the operation threw ::IceStorm::TopicExists");
    let name = run(&["call", &topic, "getName", "--slice", &storm, "-o", "raw"])
        .ended(0)
        .stdout;
    assert_eq!(name, "news\n");
    let none = topic.replace("topic.news", "topic.none");
    run(&["call", &none, "getName", "--slice", &storm])
        .ended(4)
        .said("object does not exist");
    run(&["call", &topic, "getName", "--facet", "x", "--slice", &storm]).ended(4);
    run(&["call", &hub.manager, "getName", "--slice", &storm]).ended(4);
    run(&["call", &topic, "destroy", "--slice", &storm]).ended(0);
}

#[test]
fn topics_are_linked_shown_with_their_links_and_unlinked() {
    let (hub, other) = (Hub::start(), Hub::start());
    hub.run(&["topic", "create", "a"]).ended(0);
    hub.run(&["topic", "create", "b"]).ended(0);
    other.run(&["topic", "create", "far"]).ended(0);
    hub.run(&["topic", "link", "a", "b", "7"])
        .ended(0)
        .said("linked topic `a` to `b` at cost 7");
    hub.run(&["topic", "link", "a", "b"])
        .ended(5)
        .said("topic `a` is linked to `b` already");
    hub.run(&["topic", "link", "a", "far"])
        .ended(4)
        .said("no topic `far`");
    hub.run(&[
        "topic",
        "link",
        "a",
        "far",
        "-3",
        "--to-hub",
        &other.manager,
    ])
    .ended(0);
    let info = hub.run(&["topic", "info", "a"]).ended(0).json();
    let links = serde_json::json!([
        {"name": "b", "cost": 7, "identity": "IceStorm/topic.b"},
        {"name": "far", "cost": -3, "identity": "IceStorm/topic.far"},
    ]);
    assert_eq!(info["links"], links);
    assert_eq!(info["subscribers"][0]["mode"], "link");
    assert_eq!(info["subscribers"][1]["cost"], -3);
    let table = hub.run(&["topic", "subscribers", "a", "-o", "table"]);
    let table = table.ended(0).stdout;
    assert!(
        table.contains("IceStorm/topic.far  link  online"),
        "{table}"
    );
    drop(other);
    hub.run(&["topic", "unlink", "a", "far"])
        .ended(0)
        .said("unlinked topic `a` from `far`");
    hub.run(&["topic", "unlink", "a", "far"])
        .ended(4)
        .said("topic `a` is not linked to `far`");
}

#[test]
fn of_links_to_topics_of_the_same_name_one_is_chosen_by_its_identity() {
    let [hub, first, second] = ["Here", "First", "Second"].map(Hub::named);
    hub.run(&["topic", "create", "T"]).ended(0);
    for other in [&first, &second] {
        other.run(&["topic", "create", "a/U"]).ended(0);
        let link = ["topic", "link", "T", "a/U", "--to-hub", &other.manager];
        hub.run(&link).ended(0);
    }
    let unlink = |to| hub.run(&["topic", "unlink", "T", to]);
    unlink("a/U")
        .ended(2)
        .said(
            r"topic `T` is linked to several topics `a/U`: `First/topic.a\/U`, `Second/topic.a\/U`",
        )
        .said(r"such as `floe topic unlink T 'First/topic.a\/U'`");
    let second = r"Second/topic.a\/U";
    hub.run(&["topic", "unsubscribe", "T", second])
        .ended(2)
        .said(r"`floe topic unlink T 'Second/topic.a\/U'` removes it");
    unlink(second).ended(0);
    unlink(second).ended(4).said("is not linked to");
    let info = hub.run(&["topic", "info", "T"]).ended(0).json();
    let links = serde_json::json!([{"name": "a/U", "cost": 0, "identity": r"First/topic.a\/U"}]);
    assert_eq!(info["links"], links);
    unlink("a/U").ended(0);
}

#[test]
fn a_link_that_has_failed_is_unlinked_too() {
    let (hub, other) = (Hub::start(), Hub::named("Other"));
    let contract = "module M { interface Ear { void hear(); } }";
    let contract = slice_file("failed-link.ice", contract);
    hub.run(&["topic", "create", "T"]).ended(0);
    for to in ["U", "Other/topic.U"] {
        other.run(&["topic", "create", "U"]).ended(0);
        hub.run(&["topic", "link", "T", "U", "--to-hub", &other.manager])
            .ended(0);
        other.run(&["topic", "remove", "U"]).ended(0);
        hub.run(&["pub", "T", "hear", "{}", "--slice", &contract])
            .ended(0);
        let info = || {
            hub.run(&["topic", "info", "T", "--over", "0"])
                .ended(0)
                .json()
        };
        let has_failed = || info()["subscribers"][0]["state"] == "failed";
        assert!(eventually(has_failed), "{}", info());
        assert_eq!(info()["links"], serde_json::json!([]));
        hub.run(&["topic", "unsubscribe", "T", "Other/topic.U"])
            .ended(2)
            .said("`floe topic unlink T Other/topic.U` removes it");
        hub.run(&["topic", "unlink", "T", to]).ended(0);
        assert_eq!(info()["subscribers"], serde_json::json!([]));
    }
}

#[test]
fn a_topic_is_not_linked_to_itself() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "a"]).ended(0);
    hub.run(&["topic", "link", "a", "a"])
        .ended(2)
        .said("topic `a` cannot be linked to itself");
    let other = Hub::start();
    other.run(&["topic", "create", "a"]).ended(0);
    hub.run(&["topic", "link", "a", "a", "--to-hub", &other.manager])
        .ended(0);
}

#[test]
fn the_hub_at_the_other_end_is_named_in_errors() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "a"]).ended(0);
    hub.run(&["topic", "link", "a", "b", "--to-hub", "tpc -p 1"])
        .ended(2)
        .said("--to-hub");
}

#[test]
fn a_hub_that_answers_that_it_failed_is_not_said_to_be_silent() {
    let hub = Hub::start();
    let ran = hub.run(&["topic", "create", &"x".repeat(600)]);
    ran.ended(1)
        .said("floe: error: the hub failed: ")
        .said("expected a key of at most 511 bytes");
}

#[test]
fn a_subscriber_that_is_gone_for_good_is_unsubscribed_by_its_identity() {
    let hub = Hub::start();
    for topic in ["t", "other"] {
        hub.run(&["topic", "create", topic]).ended(0);
    }
    hub.run(&["topic", "link", "t", "other"]).ended(0);
    let storm = slice_file("unsubscribe-storm.ice", "#include <IceStorm/IceStorm.ice>");
    let topic = hub.manager.replace("TopicManager", "topic.t");
    let subscriber =
        r#"{"qos": {"retryCount": "-1"}, "subscriber": "cat/gone:tcp -h 127.0.0.1 -p 1"}"#;
    let subscribe = "subscribeAndGetPublisher";
    run(&["call", &topic, subscribe, subscriber, "--slice", &storm]).ended(0);
    hub.run(&["topic", "unsubscribe", "t", "cat/other"])
        .ended(4)
        .said("`floe topic subscribers t` shows who does");
    hub.run(&["topic", "unsubscribe", "t", "IceStorm/topic.other"])
        .ended(2)
        .said("`floe topic unlink t IceStorm/topic.other` removes it");
    // One that is gone already does not keep the next one.
    hub.run(&["topic", "unsubscribe", "t", "cat/other", "cat/gone"])
        .ended(4)
        .said("`cat/other` does not subscribe to topic `t`")
        .said("ended the subscription of `cat/gone` to topic `t`");
    let left = hub
        .run(&["topic", "subscribers", "t", "-o", "raw"])
        .ended(0);
    assert!(!left.stdout.contains("cat/gone"), "{left:?}");
}

/// Returns true if something comes to be so before a slow machine has had its time.
fn eventually(is_so: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
fn a_topic_with_a_similar_name_is_suggested() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "news"]).ended(0);
    hub.run(&["topic", "info", "newz"])
        .ended(4)
        .said("did you mean `news`?");
}

#[test]
fn several_topics_are_all_tried() {
    let hub = Hub::start();
    hub.run(&["topic", "create", "b"]).ended(0);
    let created = hub
        .run(&["topic", "create", "a", "b", "c", "-o", "raw"])
        .ended(5);
    assert_eq!(created.stdout, "a\nc\n");
    created.said("the topic `b` exists already");
    hub.run(&["topic", "create", "a", "b", "--exist-ok"])
        .ended(0);
    hub.run(&["topic", "remove", "a", "missing", "other", "c"])
        .ended(4)
        .said("removed topic `a`")
        .said("no topic `missing`")
        .said("no topic `other`")
        .said("removed topic `c`");
    let left = hub.run(&["topic", "list", "-o", "raw"]).ended(0);
    assert_eq!(left.stdout, "b\n");
}

#[test]
fn links_that_fill_more_than_a_message_are_shown() {
    let settings = "[connections]\nmessage-bytes = \"16 KiB\"\n";
    let config = slice_file("many-links.toml", settings);
    let hub = Hub::with(&["--transient", "--config", &config]);
    let names: Vec<_> = (0..20)
        .map(|number| format!("{}-{number}", "x".repeat(400)))
        .collect();
    let all = names.iter().map(String::as_str);
    let create = ["topic", "create", "t"].into_iter().chain(all);
    hub.run(&create.collect::<Vec<_>>()).ended(0);
    for name in &names {
        hub.run(&["topic", "link", "t", name, "7"]).ended(0);
    }
    let info = hub.run(&["topic", "info", "t", "--over", "0s", "-o", "json"]);
    let info = info.ended(0).json();
    let links = info["links"].as_array().expect("a list");
    let shown: Vec<_> = links
        .iter()
        .map(|it| (it["name"].as_str(), it["cost"].as_i64()))
        .collect();
    let expected: Vec<_> = names.iter().map(|it| (Some(&**it), Some(7))).collect();
    assert_eq!(shown, expected);
    let identity = format!("IceStorm/topic.{}", names[0]);
    assert_eq!(links[0]["identity"], identity.as_str());
}
