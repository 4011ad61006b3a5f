//! Tests of configuration files: how they are read, and the errors for invalid ones.

use std::time::Duration;

use floe::tls::ClientCertificates;
use floe_hub::log::{Level, PerKey};
use floe_hub::{DurableSettings, METRICS_MAPS, OverflowPolicy, StoreSettings};
use floe_metrics::{GroupBy, MetricsMap};

use super::*;

mod gateway;
mod hostile;
mod properties;
mod rows;

fn read_toml(text: &str) -> (Configuration, Vec<(usize, String)>) {
    let mut configuration = Configuration::new(Settings::default());
    let problems = floe_toml::read(text, &mut configuration, &|_| ());
    (configuration, told(problems))
}

fn read_properties(text: &str) -> (Configuration, Vec<(usize, String)>) {
    let mut configuration = Configuration::new(Settings::default());
    let problems = super::properties::read(text, &mut configuration);
    (configuration, told(problems))
}

fn told(problems: Vec<Problem>) -> Vec<(usize, String)> {
    let pair = |problem: Problem| (problem.line, problem.message);
    problems.into_iter().map(pair).collect()
}

/// By what a locator finds the adapters of a hub.
fn adapter_names(hub: &HubSettings) -> [Option<&str>; 4] {
    [
        hub.adapter_id.as_deref(),
        hub.replica_group_id.as_deref(),
        hub.publish_adapter_id.as_deref(),
        hub.publish_replica_group_id.as_deref(),
    ]
}

#[test]
fn every_setting_of_a_toml_file_arrives() {
    let (configuration, problems) = read_toml(
        r#"
listen = ["tcp -p 1", "ssl -p 2"]
publish-listen = "tcp -p 3"
published-endpoints = ["tcp -h a -p 4", "ssl -h a -p 5"]
publish-published-endpoints = "tcp -h a -p 6 --sourceAddress 10.0.0.1"
adapter-id = "T"
replica-group-id = "Ts"
publish-adapter-id = "P"
publish-replica-group-id = "Ps"
instance = "Demo"
data = "/var/lib/floe"
drain-timeout = "3s"
log = "info"

[delivery]
flush-interval = "250ms"
flush-bytes = "64 KiB"
rest-max = "none"
polling = "20us"
send-timeout = "never"
discard-interval = "for ever"

[queue]
events = 5
bytes = "1 MiB"
patience = "2s"
overflow = "block"

[topic."a.b".queue]
events = 7

[connections]
limit = 100
limit-per-address = 10
handshakes = 20
message-bytes = "2 MiB"
message-timeout = "5s"
message-rate = "1 KiB"
unfinished-bytes = "8 MiB"
inflation-ratio = 200
turn-requests = 100
turn-inflated-bytes = "1 MiB"
turn-time = "2ms"
web-origins = ["https://example.org", "null"]

[liveness]
heartbeats = "always"
heartbeat-interval = "1s"
idle-check = "always"
idle-timeout = "2s"
inactivity-timeout = "5m"

[tls]
ca = "ca.pem"
cert = "own.pem"
key = "own.key"
client-certificates = "verified"
any-host = true
"#,
    );
    assert_eq!(problems, []);
    let hub = &configuration.hub;
    assert_eq!(hub.listen, "tcp -p 1:ssl -p 2");
    assert_eq!(hub.publish_listen.as_deref(), Some("tcp -p 3"));
    let published = hub.published_endpoints.as_deref();
    assert_eq!(published, Some("tcp -h a -p 4:ssl -h a -p 5"));
    let published = hub.publish_published_endpoints.as_deref();
    assert_eq!(published, Some("tcp -h a -p 6 --sourceAddress 10.0.0.1"));
    assert_eq!(adapter_names(hub), ["T", "Ts", "P", "Ps"].map(Some));
    assert_eq!(hub.instance_name, "Demo");
    assert_eq!(hub.store, StoreSettings::Disk("/var/lib/floe".into()));
    assert_eq!(hub.drain_timeout, Duration::from_secs(3));
    assert_eq!(hub.flush_interval, Duration::from_millis(250));
    assert_eq!(hub.flush_bytes, 64 * 1024);
    assert_eq!(hub.rest_max, Duration::ZERO);
    assert_eq!(hub.polling, Duration::from_micros(20));
    assert_eq!(hub.send_timeout, None);
    assert_eq!(hub.discard_interval, Duration::MAX);
    let own = hub.topic_queue_limits["a.b"];
    assert_eq!((own.events, own.bytes), (7, 1 << 20));
    assert_eq!(own.patience, Duration::from_secs(2));
    assert_eq!(own.overflow, OverflowPolicy::Block);
    assert_eq!(hub.queue_limits.events, 5);
    let settings = &configuration.communicator;
    assert_eq!(settings.connection_limit, 100);
    assert_eq!(settings.connection_limit_per_address, Some(10));
    assert_eq!(settings.handshake_limit, 20);
    assert_eq!(settings.message_size_max, 2 << 20);
    assert_eq!(settings.message_timeout, Duration::from_secs(5));
    assert_eq!(settings.message_rate_min, 1024);
    assert_eq!(settings.input_memory_max, 8 << 20);
    assert_eq!(settings.inflation_ratio_max, 200);
    assert_eq!(settings.turn_requests_max, 100);
    assert_eq!(settings.turn_inflated_max, 1 << 20);
    assert_eq!(settings.turn_time_max, Duration::from_millis(2));
    assert_eq!(settings.websocket_origins, ["https://example.org", "null"]);
    assert_eq!(
        settings.incoming.heartbeats,
        floe::settings::Heartbeats::Always
    );
    assert_eq!(
        settings.incoming.idle_check,
        floe::settings::IdleCheck::Always
    );
    assert_eq!(settings.incoming.idle_timeout, Duration::from_secs(2));
    let inactivity = settings.incoming.inactivity_timeout;
    assert_eq!(inactivity, Some(Duration::from_secs(300)));
    assert_eq!(configuration.log.as_deref(), Some("info"));
    let mut tls = Certificates::default();
    tls.set_ca(vec!["ca.pem".to_owned()]);
    tls.set_cert("own.pem".to_owned());
    tls.set_key("own.key".to_owned());
    tls.set_client_certificates(ClientCertificates::Verified);
    tls.set_any_host(true);
    assert_eq!(configuration.tls, tls);
}

#[test]
fn each_setting_is_known_to_those_who_mistype_it() {
    for name in ["published-endpoints", "publish-published-endpoints"] {
        let (_, problems) = read_toml(&format!("{name}x = 1\n"));
        let expected = format!("unknown setting {name}x: did you mean {name}?");
        assert_eq!(problems, [(1, expected)]);
    }
}

#[test]
fn all_that_is_wrong_with_a_toml_file_is_told_at_once_with_its_lines() {
    let (_, problems) = read_toml(
        "lisetn = \"x\"\n[queue]\nevents = \"many\"\noverflow = \"drop\"\n\n[delivery]\nsend-timeout = 5\n",
    );
    let expected = [
        (1, "unknown setting lisetn: did you mean listen?"),
        (
            3,
            "queue.events: expected a whole number from 1, got \"many\"",
        ),
        (
            4,
            "queue.overflow: expected \"block\" or \"drop-oldest\" or \"drop-newest\" or \
             \"disconnect\", got \"drop\"",
        ),
        (
            7,
            "delivery.send-timeout: expected a time above 0 with its unit (us, ms, s, m or h), such as \
             \"500ms\" or \"5s\", or \"never\", got 5",
        ),
    ];
    assert_eq!(
        problems,
        expected.map(|(line, text)| (line, text.to_owned()))
    );
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let (_, problems) = read_toml("listen = \"x\"\nqueue events\n");
    let [(2, message)] = &problems[..] else {
        panic!("expected one problem of line 2, got {problems:?}");
    };
    assert!(message.starts_with("expected TOML: "), "{message}");
}

#[test]
fn views_of_metrics_are_read_from_either_file() {
    let (configuration, problems) = read_toml(
        "listen = \"tcp\"\ninstance = \"Demo\"\n[admin]\nlisten = \"tcp -p 4\"\n[metrics.All]\ngroup = \"none\"\n\
         retained = 3\n[metrics.Kind]\nsubscribers = \"mode/state\"\nenabled = false\n",
    );
    assert_eq!(problems, []);
    let from_toml = configuration.hub.admin.expect("it has one");
    assert_eq!(
        (from_toml.listen.as_str(), from_toml.instance_name.as_str()),
        ("tcp -p 4", "Demo")
    );
    let kind = &from_toml.views["Kind"];
    assert!(kind.maps.keys().eq(["Subscriber"]) && !kind.is_enabled);
    let all = &from_toml.views["All"];
    assert!(all.maps.keys().eq(["Subscriber", "Topic"]) && all.is_enabled);
    let (configuration, problems) = read_properties(
        "Demo.TopicManager.Endpoints=tcp\nDemo.InstanceName=Demo\nIce.Admin.Endpoints=tcp -p 4\n\
         IceMX.Metrics.All.GroupBy=none\nIceMX.Metrics.All.RetainDetached=3\n\
         IceMX.Metrics.Kind.Map.Subscriber.GroupBy=mode/state\nIceMX.Metrics.Kind.Disabled=1\n\
         IceMX.Metrics.Kind.Map.Thread.GroupBy=id\n",
    );
    assert_eq!(problems, []);
    let admin = configuration.hub.admin.expect("it has one");
    assert_eq!(admin.views, from_toml.views);
    let warnings = told(configuration.warnings);
    let expected = "IceMX.Metrics.Kind.Map.Thread.GroupBy: ignored: a Floe hub measures its topics and its subscribers";
    assert_eq!(warnings, [(8, expected.to_owned())]);
}

#[test]
fn what_a_property_file_says_of_a_view_holds_where_it_names_no_maps() {
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp
Ice.Admin.Endpoints=tcp -p 4
IceMX.Metrics.All.GroupBy=none
IceMX.Metrics.All.RetainDetached=3
IceMX.Metrics.Own.GroupBy=none
IceMX.Metrics.Own.RetainDetached=3
IceMX.Metrics.Own.Map.Subscriber.RetainDetached=1
IceMX.Metrics.Own.Map.Topic.GroupBy=service
IceMX.Metrics.Less.Map.Topic.Disabled=1
IceMX.Metrics.Less.Map.Subscriber.GroupBy=mode
IceMX.Metrics.Other.Map.Thread.GroupBy=id
IceMX.Metrics.Bare.Map.Subscriber=1
IceMX.Metrics.Odd.Map.Topic.Retained=1
",
    );
    assert_eq!(problems, []);
    let views = configuration.hub.admin.expect("it has one").views;
    let map = |text, known, retained_max| {
        let mut map = MetricsMap::new(GroupBy::parse(text, known).expect("it groups"));
        map.retained_max = retained_max;
        Some(map)
    };
    let [of_topics, of_subscribers] = METRICS_MAPS.map(|kind| kind.attributes);
    let topics = |text, retained_max| map(text, of_topics, retained_max);
    let subscribers = |text, retained_max| map(text, of_subscribers, retained_max);
    let of = |name: &str| {
        let map = |kind| views[name].maps.get(kind).cloned();
        (map("Topic"), map("Subscriber"))
    };
    assert_eq!(of("All"), (topics("none", 3), subscribers("none", 3)));
    assert_eq!(of("Own"), (topics("service", 10), subscribers("id", 1)));
    assert_eq!(of("Less"), (None, subscribers("mode", 10)));
    assert_eq!(of("Other"), (None, None));
    assert_eq!(of("Bare"), (None, None));
    assert_eq!(of("Odd"), (topics("id", 10), None));
    let warnings = told(configuration.warnings);
    let expected = [
        (
            11,
            "IceMX.Metrics.Other.Map.Thread.GroupBy: ignored: a Floe hub measures its topics and its subscribers",
        ),
        (
            12,
            "IceMX.Metrics.Bare.Map.Subscriber: ignored: a map has the properties GroupBy, RetainDetached and Disabled",
        ),
        (
            13,
            "IceMX.Metrics.Odd.Map.Topic.Retained: ignored: a map has the properties GroupBy, RetainDetached and Disabled",
        ),
    ];
    let expected = expected.map(|(line, text)| (line, text.to_owned()));
    assert_eq!(warnings, expected);
}

#[test]
fn what_a_toml_file_says_of_a_view_is_retained_by_each_map_of_it() {
    let (configuration, problems) = read_toml(
        "[admin]\nlisten = \"tcp -p 4\"\n[metrics.V]\nretained = 3\ntopics = \"id\"\nsubscribers = \"mode\"\n",
    );
    assert_eq!(problems, []);
    let view = &configuration.hub.admin.expect("it has one").views["V"];
    let retained: Vec<_> = view.maps.values().map(|map| map.retained_max).collect();
    assert_eq!(retained, [3, 3]);
}

#[test]
fn a_view_that_cannot_be_is_told_with_what_to_do() {
    let of_properties = |text: &str| {
        let text = format!("S.TopicManager.Endpoints=tcp\n{text}");
        read_properties(&text).1
    };
    // In files of Ice, the object that gives them is often in another file.
    let services = ["S.TopicManager.Endpoints", "Glacier2.Client.Endpoints"];
    for service in services {
        let text =
            format!("{service}=tcp\nIceMX.Metrics.V.GroupBy=id\nIceMX.Metrics.V.Reject.id=x\n");
        let (configuration, problems) = read_properties(&text);
        assert_eq!(problems, [], "{service}");
        let [(2, unread)] = &told(configuration.warnings)[..] else {
            panic!("expected one warning of line 2");
        };
        let expected = "IceMX.Metrics.V.GroupBy: ignored: no program can read views";
        assert!(unread.starts_with(expected), "{unread}");
    }
    let admin = "Ice.Admin.Endpoints=tcp\n";
    let problems = of_properties(&format!("{admin}IceMX.Metrics.V.Map.Topic.GroupBy=state\n"));
    let unknown =
        "the map Topic cannot be grouped so: expected attributes (id, parent, none, topic, service), got \"state\"".to_owned();
    assert_eq!(problems, [(3, unknown)]);
    let problems = of_properties(&format!("{admin}IceMX.Metrics.V.Reject.id=x\n"));
    assert!(
        problems[0]
            .1
            .contains("cannot leave anything out of its metrics: remove the line")
    );
    let off = read_properties(
        "S.TopicManager.Endpoints=tcp\nIce.Admin.Enabled=0\nIce.Admin.Endpoints=tcp\n",
    );
    assert_eq!((off.0.hub.admin, off.1), (None, Vec::new()));
    let (_, problems) = read_toml("[admin]\nlisten = \"tcp\"\n[metrics.V]\ngruop = \"id\"\n");
    let mistyped = "unknown setting metrics.V.gruop: did you mean metrics.V.group?".to_owned();
    assert_eq!(problems, [(4, mistyped)]);
    let (_, problems) = read_toml("[topic.news]\ncolour = \"red\"\n");
    let expected = "expected one of topic.news.queue.events, topic.news.queue.bytes, topic.news.queue.patience, \
                    topic.news.queue.overflow, topic.news.lifespan, topic.news.durable, topic.news.acknowledge, topic.news.retention.age, \
                    topic.news.retention.bytes, topic.news.retention.events, topic.news.retention.key, topic.news.retention.per-key, \
                    topic.news.history.age, topic.news.history.bytes, topic.news.history.events, topic.news.history.key, \
                    topic.news.history.per-key";
    assert!(problems[0].1.ends_with(expected), "{problems:?}");
    let (_, problems) = read_toml("colour = \"red\"\n");
    assert!(
        problems[0]
            .1
            .ends_with("`floe config list` shows all settings")
    );
}

#[test]
fn a_topic_keeps_the_newest_events_of_each_key_if_its_table_says_so() {
    let (configuration, problems) = read_toml(
        "[topic.a]\ndurable = true\n[topic.a.retention]\nkey = \"symbol\"\n\
         [topic.b.history]\nper-key = 3\nkey = \"sensor\"\n",
    );
    assert_eq!(problems, []);
    let per_key = |context_key: &str, count| {
        let context_key = context_key.to_owned();
        Some(PerKey { context_key, count })
    };
    let hub = &configuration.hub;
    assert_eq!(
        hub.durable_topics["a"].retention.per_key,
        per_key("symbol", 1)
    );
    assert_eq!(hub.histories["b"].per_key, per_key("sensor", 3));
    let (_, problems) = read_toml("[topic.b.history]\nper-key = 3\n");
    let [(2, message)] = problems.as_slice() else {
        panic!("expected a problem of line 2, got {problems:?}");
    };
    assert!(
        message.starts_with("expected topic.b.history.key beside"),
        "{message}"
    );
}

#[test]
fn a_durable_topic_says_how_it_keeps_its_events() {
    let (configuration, problems) = read_toml(
        "[topic.a]\ndurable = true\nacknowledge = \"written\"\n[topic.a.retention]\nage = \"24h\"\nbytes = \"1 GiB\"\nevents = 7\n\
         [topic.b]\ndurable = true\n[topic.b.queue]\nevents = 5\n[topic.c]\ndurable = false\n[topic.d.history]\nevents = 9\n",
    );
    assert_eq!(problems, []);
    let topics = &configuration.hub.durable_topics;
    assert_eq!(topics.keys().collect::<Vec<_>>(), ["a", "b"]);
    let retention = &topics["a"].retention;
    assert_eq!(topics["a"].acknowledge, Level::Written);
    assert_eq!(retention.age, Some(Duration::from_secs(86_400)));
    assert_eq!(
        (retention.bytes, retention.events),
        (Some(1 << 30), Some(7))
    );
    assert_eq!(topics["b"], DurableSettings::default());
    assert_eq!(configuration.hub.topic_queue_limits["b"].events, 5);
    assert_eq!(configuration.hub.histories["d"].events, Some(9));
    let (_, problems) = read_toml("[topic.a]\nacknowledge = \"surely\"\n");
    assert!(
        problems[0]
            .1
            .contains("\"accepted\" or \"written\" or \"synced\""),
        "{problems:?}"
    );
    let (_, problems) = read_toml("[topic.a.retention]\nevents = 7\n");
    assert!(
        problems[0].1.contains("expected topic.a.durable = true"),
        "{problems:?}"
    );
    let (_, problems) = read_toml("[topic.a]\ndurably = true\n");
    assert!(
        problems[0].1.contains("did you mean topic.a.durable?"),
        "{problems:?}"
    );
}

#[test]
fn endpoints_that_are_none_are_told_with_their_place() {
    let expected = "expected a port from 0 to 65535, got `x`";
    let (_, problems) = read_toml("log = \"warn\"\nlisten = [\"tcp -p 1\", \"tcp -p x\"]\n");
    let told = "listen: `tcp -p x` is no endpoint: at byte 7: ";
    assert_eq!(problems, [(2, format!("{told}{expected}"))]);
    let (_, problems) = read_properties("S.TopicManager.Endpoints=tcp -p x\n");
    let told = "S.TopicManager.Endpoints: `tcp -p x` is no endpoint: at byte 7: ";
    assert_eq!(problems, [(1, format!("{told}{expected}"))]);
}

#[test]
fn what_is_a_table_or_too_long_is_told() {
    let (_, problems) = read_toml("queue = 5\n[delivery]\npolling = \"1s\"\n");
    let table = "unknown setting queue: it is a table: write [queue] on a line of its own, with its settings below";
    let long = "delivery.polling: expected at most 100us, got \"1s\"";
    assert_eq!(problems, [(1, table.to_owned()), (3, long.to_owned())]);
    let (_, problems) = read_toml("metrics = \"127.0.0.1:9464\"\n");
    let option = "unknown setting metrics: it is a command-line option: floe serve --metrics";
    assert_eq!(problems, [(1, option.to_owned())]);
}

#[test]
fn the_settings_of_the_guide_make_sense() {
    let guide = include_str!("../../../../docs/guides/operating.md");
    let (_, behind) = guide.split_once("```text\n").expect("it has a block");
    let (text, _) = behind.split_once("```").expect("it ends");
    let (configuration, problems) = read_toml(text);
    assert_eq!(problems, []);
    let hub = &configuration.hub;
    assert!(hub.admin.is_some() && hub.topic_queue_limits.contains_key("alarms"));
}

#[test]
fn a_locator_is_named_in_either_file() {
    let (of_toml, problems) =
        read_toml("locator = \"IceGrid/Locator:tcp -h a -p 1\"\nlocator-cache-timeout = \"5s\"\n");
    assert_eq!(problems, []);
    let (of_properties, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp -p 1
Ice.Default.Locator=IceGrid/Locator:tcp -h a -p 1
Ice.Default.LocatorCacheTimeout=5
",
    );
    assert_eq!(problems, []);
    for configuration in [&of_toml, &of_properties] {
        let settings = &configuration.communicator;
        let locator = settings.locator.as_ref().map(ToString::to_string);
        let expected = "IceGrid/Locator -t -e 1.1:tcp -h a -p 1 -t 60000";
        assert_eq!(locator.as_deref(), Some(expected));
        let five = Some(Duration::from_secs(5));
        assert_eq!(settings.locator_cache_timeout, five);
    }
    let (another, _) = read_toml("locator = \"IceGrid/Locator:tcp -h b -p 1\"\n");
    assert_eq!(of_toml.fixed_differences(&another), ["locator"]);

    let (_, problems) = read_toml("locator = \"IceGrid/Locator\"\n");
    assert!(
        problems[0]
            .1
            .contains("locator: expected the proxy of a locator with its endpoints")
    );
    let (_, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp -p 1\nIce.Default.Locator=x\nIce.Default.LocatorCacheTimeout=-2\n",
    );
    let lines: Vec<_> = problems.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3], "{problems:?}");
}

#[test]
fn a_cut_or_damaged_file_ends_with_settings_or_problems() {
    const TOML: &str = r#"
listen = ["tcp -p 1", "ssl -p 2"]
data = "/x"
[delivery]
flush-interval = "250ms"
[limits]
topics = 7
queue-bytes = "1MiB"
[access.networks]
lab = ["10.1.0.0/16", "fd00:1::/32"]
[[access.rule]]
allow = ["create", "publish"]
topics = "telemetry.*"
certificate = "O=Acme\\, Inc.; !CN=retired"
[topics."a.b"]
queue-events = 3
"#;
    const PROPERTIES: &str = r"
IceBox.Service.IceStorm=IceStormService,37:createIceStorm --Ice.Config=x
IceStorm.TopicManager.Endpoints=tcp -h 127.0.0.1 -p 10000:ssl -p 2
IceStorm.Flush.Timeout = 1000
IceStorm.Send.QueueSizeMaxPolicy=DropEvents # a comment \# none
Ice.Admin.Endpoints=tcp -p 3
IceMX.Metrics.v.Map.Topic.GroupBy=id
";
    const DAMAGE: [&str; 6] = ["", "\\", "\"", "=", "9", "\u{e4}\n["];
    let toml = |text: &str| drop(read_toml(text));
    let properties = |text: &str| drop(read_properties(text));
    for (text, read) in [
        (TOML, &toml as &dyn Fn(&str)),
        (PROPERTIES, &properties as &dyn Fn(&str)),
    ] {
        for place in 0..text.len() {
            read(&text[..place]);
            for damage in DAMAGE {
                read(&format!("{}{damage}{}", &text[..place], &text[place + 1..]));
            }
        }
    }
}
