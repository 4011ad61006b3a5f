//! Tests of the property files of IceStorm.

use floe::settings::EndpointSelection;
use floe_access::{Action, Caller, Place};

use super::*;

#[test]
fn a_property_file_of_icestorm_arrives() {
    let (configuration, problems) = read_properties(
        "# a service
IceStorm.TopicManager.Endpoints=default -p 9999
IceStorm.Publish.Endpoints=tcp -p 10001:udp -p 10001
IceStorm.TopicManager.AdapterId=T
IceStorm.TopicManager.ReplicaGroupId=Ts
IceStorm.Publish.AdapterId=P
IceStorm.Publish.ReplicaGroupId=Ps
IceStorm.InstanceName=DemoIceStorm
IceStorm.LMDB.Path = db
IceStorm.Flush.Timeout=2000
IceStorm.Send.Timeout=-1
IceStorm.Send.QueueSizeMax=50
IceStorm.Discard.Interval=10
IceStorm.Trace.Topic=2
Ice.MessageSizeMax=2048
",
    );
    assert_eq!(problems, []);
    let hub = &configuration.hub;
    assert_eq!(hub.listen, "tcp -p 9999 -h \"*\"");
    let publish = hub.publish_listen.as_deref();
    let expected = "tcp -p 10001 -h \"*\":udp -p 10001 -h \"*\"";
    assert_eq!(publish, Some(expected));
    assert_eq!(adapter_names(hub), ["T", "Ts", "P", "Ps"].map(Some));
    assert_eq!(hub.instance_name, "DemoIceStorm");
    assert_eq!(hub.store, StoreSettings::Disk("db".into()));
    assert_eq!(hub.flush_interval, Duration::from_secs(2));
    assert_eq!(hub.send_timeout, None);
    assert_eq!(hub.queue_limits.events, 50);
    assert_eq!(hub.queue_limits.overflow, OverflowPolicy::Disconnect);
    assert_eq!(hub.discard_interval, Duration::from_secs(10));
    assert_eq!(configuration.communicator.message_size_max, 2 << 20);
    let warnings = told(configuration.warnings);
    let expected = "IceStorm.Trace.Topic: ignored: use --verbose, or FLOE_LOG=floe_hub=debug";
    assert_eq!(warnings, [(14, expected.to_owned())]);
}

#[test]
fn endpoints_of_a_property_file_without_a_host_are_at_the_default_one() {
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=default -p 1:tcp -h \"::1\" -p 2
S.Publish.Endpoints=tcp:udp -p 3
S.TopicManager.PublishedEndpoints=tcp -h hub.example -p 5
S.Publish.PublishedEndpoints=tcp -p 6
Ice.Default.Host=127.0.0.1
Ice.Admin.Endpoints=tcp -p 4
",
    );
    assert_eq!(problems, []);
    let hub = &configuration.hub;
    let expected = "tcp -p 1 -h \"127.0.0.1\":tcp -h \"::1\" -p 2";
    assert_eq!(hub.listen, expected);
    let publish = hub.publish_listen.as_deref();
    let expected = "tcp -h \"127.0.0.1\":udp -p 3 -h \"127.0.0.1\"";
    assert_eq!(publish, Some(expected));
    let published = hub.published_endpoints.as_deref();
    assert_eq!(published, Some("tcp -h hub.example -p 5"));
    let published = hub.publish_published_endpoints.as_deref();
    assert_eq!(published, Some("tcp -p 6 -h \"127.0.0.1\""));
    let admin = hub.admin.as_ref().map(|admin| admin.listen.as_str());
    assert_eq!(admin, Some("tcp -p 4 -h \"127.0.0.1\""));
}

#[test]
fn waits_of_a_property_file_may_be_none_and_adapters_have_properties_that_mean_nothing() {
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp
S.Flush.Timeout=0
S.Discard.Interval=-1
S.Publish.ACM.Timeout=5
S.TopicManager.MessageSizeMax=9
",
    );
    assert_eq!(problems, []);
    assert_eq!(configuration.hub.flush_interval, Duration::ZERO);
    assert_eq!(configuration.hub.discard_interval, Duration::ZERO);
    let warnings = told(configuration.warnings);
    let lines: Vec<_> = warnings.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [4, 5], "{warnings:?}");
}

#[test]
fn the_service_of_a_property_file_may_have_any_name() {
    let (configuration, problems) = read_properties(
        "Demo.TopicManager.Endpoints=tcp\nDemo.Transient=1\nDemo.Send.QueueSizeMaxPolicy=DropEvents\n",
    );
    assert_eq!(problems, []);
    assert_eq!(configuration.hub.store, StoreSettings::Memory);
    let (configuration, _) = read_properties("Demo.TopicManager.Endpoints=tcp\n");
    assert_eq!(configuration.hub.store, StoreSettings::Disk("Demo".into()));
}

#[test]
fn a_property_without_a_value_is_as_if_it_were_not_there() {
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp -p 1
S.TopicManager.PublishedEndpoints=
S.Publish.Endpoints= # none
S.InstanceName=Demo
S.InstanceName=
S.Flush.Timeout=
S.Send.QueueSizeMax=
S.Send.QueueSizeMaxPolicy=
S.Send.Timeout=
S.Transient=
S.Discard.Interval=
S.NodeId=
S.LMDB.Path=
Ice.Default.Host=
Ice.Default.Protocol=
Ice.Override.Secure=
IceSSL.VerifyPeer=
Ice.Admin.Endpoints=tcp -p 2
Ice.Admin.InstanceName=
IceMX.Metrics.V.GroupBy=none
IceMX.Metrics.V.RetainDetached=
IceMX.Metrics.V.Map.Topic.GroupBy=
",
    );
    assert_eq!(
        (problems, told(configuration.warnings.clone())),
        (vec![], vec![])
    );
    let (expected, _) = read_properties(
        "S.TopicManager.Endpoints=tcp -p 1\nIce.Admin.Endpoints=tcp -p 2\nIceMX.Metrics.V.GroupBy=none\n",
    );
    assert_eq!(
        format!("{configuration:?}"),
        format!("{expected:?}"),
        "each has its default"
    );
    assert_eq!(configuration.hub.instance_name, "IceStorm");
    assert_eq!(configuration.hub.store, StoreSettings::Disk("S".into()));
}

#[test]
fn properties_of_replication_and_unknown_ones_are_refused_with_what_to_do() {
    let (_, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp\nS.NodeId=2\nS.Nodes.1=x\nS.Flush.Timout=5\nS.Send.Timeout=soon\n",
    );
    let lines: Vec<_> = problems.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 5]);
    assert!(problems[0].1.contains("has no replicas: remove the line"));
    assert!(problems[2].1.contains("did you mean Flush.Timeout?"));
    let expected = "S.Send.Timeout: expected milliseconds, or -1 for none, got \"soon\"";
    assert_eq!(problems[3].1, expected);
}

#[test]
fn a_property_file_means_what_it_means_to_ice_where_it_says_nothing_of_a_host() {
    let listen = |text: &str| {
        let text = format!("S.TopicManager.Endpoints=default -p 1:tcp -p 2\n{text}");
        let (configuration, problems) = read_properties(&text);
        assert_eq!(problems, []);
        configuration.hub.listen
    };
    assert_eq!(listen(""), "tcp -p 1 -h \"*\":tcp -p 2 -h \"*\"");
    let ipv4 = "tcp -p 1 -h \"0.0.0.0\":tcp -p 2 -h \"0.0.0.0\"";
    assert_eq!(listen("Ice.IPv6=0\n"), ipv4);
    let encrypted = "ssl -p 1 -h \"*\":tcp -p 2 -h \"*\"";
    assert_eq!(listen("Ice.Default.Protocol=ssl\n"), encrypted);
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp\nS.TopicManager.PublishedEndpoints=default -p 3\n",
    );
    assert_eq!(problems, []);
    let published = configuration.hub.published_endpoints.as_deref();
    assert_eq!(published, Some("tcp -p 3"));
    let (_, problems) =
        read_properties("S.TopicManager.Endpoints=default\nIce.Default.Protocol=bt\n");
    let expected = "Ice.Default.Protocol: expected tcp, ssl, ws or wss, got \"bt\"";
    assert_eq!(problems, [(2, expected.to_owned())]);
}

#[test]
fn certificates_of_a_property_file_are_where_ice_looks_for_them() {
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=ssl -p 1
IceSSL.DefaultDir=/etc/ice
IceSSL.CAs=ca.pem
IceSSL.CertFile=/own/hub.p12
IceSSL.Password=secret
IceSSL.VerifyPeer=1
",
    );
    assert_eq!((problems, told(configuration.warnings)), (vec![], vec![]));
    let mut expected = Certificates::default();
    expected.set_ca(vec!["/etc/ice/ca.pem".to_owned()]);
    expected.set_cert("/own/hub.p12".to_owned());
    expected.set_password("secret".to_owned());
    expected.set_client_certificates(ClientCertificates::Verified);
    // As in Ice, unless it says `CheckCertName`.
    expected.set_any_host(true);
    assert_eq!(configuration.tls, expected);
    let (configuration, _) =
        read_properties("S.TopicManager.Endpoints=ssl -p 1\nIceSSL.CertFile=hub.p12\n");
    let mut expected = Certificates::default();
    expected.set_cert("hub.p12".to_owned());
    expected.set_any_host(true);
    expected.set_client_certificates(ClientCertificates::Required);
    assert_eq!(configuration.tls, expected, "it does not let everybody in");
}

#[test]
fn the_clients_that_icestorm_trusts_may_do_everything_and_others_nothing() {
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=ssl -p 1\nIceSSL.TrustOnly.Server=O=ZeroC; !CN=Mallory\n",
    );
    assert_eq!(problems, []);
    let may = |subject: &str| {
        let mut caller = Caller::anonymous(Place::Unknown);
        caller.certificate = subject.parse().ok();
        let access = &configuration.hub.access;
        Action::ALL.map(|action| access.decide(&caller, action, "t").is_allowed)
    };
    assert_eq!(may("CN=ann,O=ZeroC"), [true; 9]);
    for other in ["CN=Mallory,O=ZeroC", "CN=ann", "nobody"] {
        assert_eq!(may(other), [false; 9], "{other}");
    }
    let (_, problems) =
        read_properties("S.TopicManager.Endpoints=ssl -p 1\nIceSSL.TrustOnly.Server=ZeroC\n");
    assert_eq!(problems.len(), 1);
    // It is for both directions; those whom the hub calls are checked by their CA alone.
    let (both, problems) =
        read_properties("S.TopicManager.Endpoints=ssl -p 1\nIceSSL.TrustOnly=CN=ann\n");
    assert!(problems.is_empty() && !both.hub.access.is_open());
    let warnings = told(both.warnings);
    assert!(
        warnings[0].1.contains("holds for clients alone"),
        "{warnings:?}"
    );
    let (_, problems) = read_properties(
        "S.TopicManager.Endpoints=ssl -p 1\nIceSSL.TrustOnly=CN=ann\nIceSSL.TrustOnly.Server=CN=bob\n",
    );
    assert_eq!(problems.len(), 1, "{problems:?}");
    let (called, problems) =
        read_properties("S.TopicManager.Endpoints=ssl -p 1\nIceSSL.TrustOnly.Client=CN=ann\n");
    assert!(problems.is_empty() && called.hub.access.is_open());
    let warnings = told(called.warnings);
    assert!(
        warnings[0]
            .1
            .contains("TrustOnly.Client: ignored: the hub calls"),
        "{warnings:?}"
    );
}

#[test]
fn what_would_let_more_pass_than_in_ice_is_refused() {
    let (_, problems) = read_properties(
        "S.TopicManager.Endpoints=ssl -p 1
IceSSL.TrustOnly.Server.Publish=CN=me
IceSSL.UsePlatformCAs=1
IceSSL.VerifyPeer=3
",
    );
    let lines: Vec<_> = problems.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4], "{problems:?}");
    assert!(problems[0].1.contains("remove the line"));
    for name in [
        "VerifyDepthMax=2",
        "Ciphers=NONE ECDHE",
        "Protocols=tls1_2",
        "ProtocolVersionMin=tls1_3",
        "ProtocolVersionMax=tls1_2",
    ] {
        let file = format!("S.TopicManager.Endpoints=ssl -p 1\nIceSSL.{name}\n");
        let (configuration, problems) = read_properties(&file);
        assert!(configuration.warnings.is_empty(), "{name}");
        assert_eq!(problems.len(), 1, "{name}");
        assert!(
            problems[0].1.contains("a Floe hub ") && problems[0].1.contains("remove the"),
            "{name}: {problems:?}"
        );
    }
}

#[test]
fn a_hub_that_shall_send_nothing_in_the_clear_is_refused() {
    let of = |value: &str| {
        let text = format!("S.TopicManager.Endpoints=ssl -p 1\nIce.Override.Secure={value}\n");
        let (configuration, problems) = read_properties(&text);
        assert!(configuration.warnings.is_empty(), "{value}");
        problems
    };
    assert_eq!(of("0"), []);
    let problems = of("1");
    assert_eq!(problems.len(), 1, "{problems:?}");
    let expected = "cannot be limited to encrypted connections: remove the line";
    assert!(problems[0].1.contains(expected), "{problems:?}");
}

#[test]
fn properties_of_ice_that_say_how_events_are_sent_count() {
    let (configuration, problems) = read_properties(
        "S.TopicManager.Endpoints=tcp -p 1
Ice.Default.PreferSecure=1
Ice.Default.EndpointSelection=Ordered
Ice.Override.Compress=0
",
    );
    assert_eq!(
        (problems, told(configuration.warnings.clone())),
        (vec![], vec![])
    );
    let settings = &configuration.communicator;
    assert!(settings.prefer_secure);
    assert_eq!(settings.endpoint_selection, EndpointSelection::Ordered);
    assert_eq!(settings.compress_override, Some(false));
    let (another, _) = read_properties("S.TopicManager.Endpoints=tcp -p 1\n");
    let expected = [
        "Ice.Default.EndpointSelection",
        "Ice.Default.PreferSecure",
        "Ice.Override.Compress",
    ];
    assert_eq!(another.fixed_differences(&configuration), expected);
}

#[test]
fn of_other_properties_of_ice_it_is_not_said_that_they_would_mean_nothing() {
    for (property, said) in [
        ("Ice.Default.InvocationTimeout=500", "Send.Timeout"),
        ("Ice.Default.Timeout=500", "10 seconds"),
        ("Ice.Override.ConnectTimeout=500", "10 seconds"),
        ("Ice.Override.CloseTimeout=500", "has no such setting"),
        (
            "Ice.Default.Router=Glacier2/router:tcp -h a -p 1",
            "without a router",
        ),
        ("Ice.Default.SourceAddress=127.0.0.1", "has no such setting"),
        ("Ice.Default.EncodingVersion=1.0", "1.1"),
        ("Ice.SOCKSProxyHost=a", "has no such setting"),
    ] {
        let text = format!("S.TopicManager.Endpoints=tcp -p 1\n{property}\n");
        let (configuration, problems) = read_properties(&text);
        assert_eq!(problems, [], "{property}");
        let [(2, warning)] = &told(configuration.warnings)[..] else {
            panic!("expected one warning of line 2 for {property}");
        };
        assert!(warning.contains(said), "{warning}");
    }
}

#[test]
fn a_line_without_a_value_does_not_show_what_may_be_a_password() {
    let (_, problems) = read_properties(
        "S.TopicManager.Endpoints=ssl -p 1\n IceSSL.Password secret # ours\n=secret\n",
    );
    let without = "expected NAME=VALUE, got \"IceSSL.Password\" and no `=`".to_owned();
    let nameless = "expected NAME=VALUE, got no name in front of `=`".to_owned();
    assert_eq!(problems, [(2, without), (3, nameless)]);
}

#[test]
fn the_file_of_an_icebox_says_where_the_settings_are() {
    let (_, problems) = read_properties(
        "Ice.Admin.Endpoints=tcp -p 9
IceBox.Service.Storm=IceStormService,37:createIceStorm --Ice.Config=config.service
",
    );
    let expected = "IceBox.Service.Storm: this is the file of an IceBox: the settings of its IceStorm are in config.service: \
                    use that";
    assert_eq!(problems, [(2, expected.to_owned())]);
}

#[test]
fn a_locator_of_one_adapter_is_refused_with_what_to_do() {
    let text = "S.TopicManager.Endpoints=tcp -p 1\nS.TopicManager.Locator=G/Locator:tcp -p 2\n";
    let (_, problems) = read_properties(text);
    let told = "S.TopicManager.Locator: a Floe hub has one locator: name it in Ice.Default.Locator, and remove the line";
    assert_eq!(problems, [(2, told.to_owned())]);
}
