//! Tests of the settings of a gateway, in a `floe.toml` and in a property file of Glacier2.

use std::collections::BTreeMap;

use floe::settings::Compression;
use floe::{Identity, Reference};
use floe_gateway::{
    AdminSettings, Batching, CertificateVerifier, ConnectionContext, GatewaySettings,
    PasswordVerifier, UserCategory,
};
use floe_metrics::MetricsView;

use super::*;

/// The settings of a gateway of a text without problems.
fn gateway(read: (Configuration, Vec<(usize, String)>)) -> GatewaySettings {
    assert_eq!(read.1, []);
    read.0.gateway.expect("there is a gateway")
}

fn reference(text: &str) -> Reference {
    text.parse().expect("a proxy")
}

#[test]
fn every_setting_of_a_gateway_arrives() {
    let settings = gateway(read_toml(
        r#"
[gateway]
listen = "ssl -h 127.0.0.1 -p 4064"
published-endpoints = "ssl -h gateway.example -p 4064"
server-listen = "tcp -h 127.0.0.1 -p 4065"
server-published-endpoints = "tcp -h inside.example -p 4065"
instance = "Door"
verifier = "verifier:tcp -h a -p 1"
certificate-verifier = "accept-all"
session-manager = "manager:tcp -h a -p 1"
certificate-session-manager = "manager:tcp -h b -p 1"
session-timeout = "30s"
idle-timeout = "never"
resume-grace = "5s"
session-limit = 7
user-session-limit = 2
address-session-limit = 3
user-request-rate = 100
address-request-rate = 200
application-timeout = "5s"
connection-context = "application"
routing-table = 9
routing-table-bytes = "3 KiB"
memory-bytes = "5 MiB"
server-connection-limit = 11
admin.listen = "tcp -h 127.0.0.1 -p 4066"
admin.instance = "DoorAdmin"
[gateway.filter]
accept-addresses = ["a*:[1-3]", "b"]
reject-addresses = "c"
proxy-bytes = 500
accept-categories = ["x", "y"]
accept-user = "underscored"
accept-identities = "c/n"
accept-adapter-ids = ["A"]
[gateway.to-servers]
forward-context = true
buffered = false
[gateway.to-clients]
sleep-time = "20ms"
batching = "always"
batch-bytes = "1 KiB"
queue-requests = 3
queue-bytes = "2 KiB"
compressions = ["brotli", "bzip2"]
"#,
    ));
    let mut expected = GatewaySettings::new("ssl -h 127.0.0.1 -p 4064");
    expected.client_published_endpoints = Some("ssl -h gateway.example -p 4064".to_owned());
    expected.server_listen = Some("tcp -h 127.0.0.1 -p 4065".to_owned());
    expected.server_published_endpoints = Some("tcp -h inside.example -p 4065".to_owned());
    expected.instance_name = "Door".to_owned();
    let verifier = reference("verifier:tcp -h a -p 1");
    expected.password_verifier = Some(PasswordVerifier::Proxy(verifier));
    expected.certificate_verifier = Some(CertificateVerifier::AcceptAll);
    expected.session_manager = Some(reference("manager:tcp -h a -p 1"));
    expected.certificate_session_manager = Some(reference("manager:tcp -h b -p 1"));
    expected.session_timeout = Some(Duration::from_secs(30));
    expected.idle_timeout = None;
    expected.resume_grace = Some(Duration::from_secs(5));
    expected.session_limit = 7;
    expected.user_session_limit = Some(2);
    expected.address_session_limit = Some(3);
    expected.user_request_rate = Some(100);
    expected.address_request_rate = Some(200);
    expected.routing_table_bytes = 3 * 1024;
    expected.memory_max = 5 * 1024 * 1024;
    expected.server_connection_limit = 11;
    let mut admin = AdminSettings::new("tcp -h 127.0.0.1 -p 4066");
    admin.instance_name = "DoorAdmin".to_owned();
    expected.admin = Some(admin);
    expected.application_timeout = Duration::from_secs(5);
    expected.connection_context = ConnectionContext::Application;
    expected.routing_table_max = 9;
    let filter = &mut expected.filter;
    filter.accept_addresses = ["a*:[1-3]", "b"].map(|rule| rule.parse().unwrap()).into();
    filter.reject_addresses = vec!["c".parse().unwrap()];
    filter.proxy_len_max = Some(500);
    filter.accept_categories = vec!["x".to_owned(), "y".to_owned()];
    filter.accept_user_category = UserCategory::Underscored;
    filter.accept_identities = vec![Identity::with_category("n", "c")];
    filter.accept_adapter_ids = vec!["A".to_owned()];
    expected.to_servers.forward_context = true;
    expected.to_servers.buffered = false;
    expected.to_clients.sleep_time = Duration::from_millis(20);
    expected.to_clients.batching = Batching::Always;
    expected.to_clients.batch_len_max = 1024;
    expected.to_clients.queue_requests = 3;
    expected.to_clients.queue_bytes = 2048;
    expected.to_clients.compressions = [Compression::Brotli, Compression::Bzip2].into();
    assert_eq!(settings, expected);
}

#[test]
fn an_unknown_compression_is_refused_with_those_that_exist() {
    let (_, problems) = read_toml(
        "[gateway]\nverifier = \"accept-all\"\n[gateway.to-clients]\ncompressions = \"lzma\"\n",
    );
    let (line, problem) = problems.first().expect("a problem");
    assert_eq!(*line, 4);
    assert!(
        problem.contains("zstd-stream") && problem.contains("lzma"),
        "{problem}"
    );
}

#[test]
fn a_gateway_runs_beside_the_hub_unless_the_file_says_that_there_is_none() {
    let (both, problems) = read_toml("[gateway]\nverifier = \"accept-all\"\n");
    assert_eq!(problems, []);
    assert!(both.has_hub && both.gateway.is_some());
    let (alone, problems) = read_toml("hub = false\n[gateway]\nverifier = \"accept-all\"\n");
    assert_eq!(problems, []);
    assert!(!alone.has_hub && alone.gateway.is_some());
    let (_, problems) = read_toml("hub = false\n");
    assert!(
        problems[0].1.contains("the process would serve nothing"),
        "{problems:?}"
    );
}

#[test]
fn what_makes_no_sense_of_a_gateway_is_told_with_its_line() {
    for (line, expected) in [
        ("liste = \"tcp\"", "did you mean gateway.listen?"),
        (
            "filter.accept-adresses = \"a\"",
            "did you mean gateway.filter.accept-addresses?",
        ),
        (
            "filter.accept-addresses = \"a:b\"",
            "expected a rule such as",
        ),
        ("filter.accept-identities = \"c/\"", "is no identity"),
        ("verifier = \"a b c\"", "is no proxy"),
        ("passwords = \"/nowhere\"", "cannot read /nowhere"),
        (
            "to-servers.batching = \"some\"",
            "expected \"off\" or \"adaptive\" or \"always\"",
        ),
        (
            "session-timeout = 3",
            "expected a time above 0 with its unit",
        ),
    ] {
        let (_, problems) = read_toml(&format!("[gateway]\n{line}\n"));
        assert_eq!(problems.len(), 1, "{line}: {problems:?}");
        assert_eq!(problems[0].0, 2, "{line}");
        assert!(problems[0].1.contains(expected), "{line}: {problems:?}");
    }
}

#[test]
fn a_property_file_of_glacier2_is_read_as_it_is_and_has_no_hub() {
    let read = read_properties(
        "Glacier2.Client.Endpoints=tcp -p 4063
Glacier2.Server.Endpoints=default
Glacier2.InstanceName=Door
Glacier2.PermissionsVerifier=Door/NullPermissionsVerifier
Glacier2.SSLPermissionsVerifier=Door/NullSSLPermissionsVerifier
Glacier2.SessionTimeout=30
Glacier2.Client.ACM.Timeout=0
Glacier2.AddConnectionContext=1
Glacier2.RoutingTable.MaxSize=9
Glacier2.Client.SleepTime=50
Glacier2.Client.AlwaysBatch=1
Glacier2.Server.Buffered=0
Glacier2.Server.ForwardContext=1
Glacier2.ReturnClientProxy=1
Glacier2.Filter.Category.Accept=a b
Glacier2.Filter.Category.AcceptUser=1
Glacier2.Filter.Identity.Accept=\"a b/c\" d
Glacier2.Filter.Address.Reject=*:[1-1023] evil
Glacier2.Filter.ProxySizeMax=200
Glacier2.Client.Trace.Request=1
Ice.Admin.Endpoints=tcp -p 1
IceMX.Metrics.Debug.GroupBy=id
",
    );
    let warnings = told(read.0.warnings.clone());
    let lines: Vec<_> = warnings.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [20], "{warnings:?}");
    assert!(!read.0.has_hub);
    let settings = gateway(read);
    assert_eq!(settings.client_listen, "tcp -p 4063 -h \"*\"");
    assert_eq!(settings.server_listen.as_deref(), Some("tcp -h \"*\""));
    assert_eq!(
        settings.password_verifier,
        Some(PasswordVerifier::AcceptAll)
    );
    assert_eq!(
        settings.certificate_verifier,
        Some(CertificateVerifier::AcceptAll)
    );
    assert_eq!(settings.session_timeout, Some(Duration::from_secs(30)));
    let admin = settings.admin.as_ref().expect("its endpoints are there");
    assert_eq!(admin.listen, "tcp -p 1 -h \"*\"");
    let view = &admin.views["Debug"];
    assert!(
        view.maps.keys().eq(["Session"]) && view.is_enabled,
        "{view:?}"
    );
    assert_eq!(settings.idle_timeout, None);
    assert_eq!(settings.connection_context, ConnectionContext::All);
    assert_eq!(settings.routing_table_max, 9);
    assert_eq!(settings.to_servers.sleep_time, Duration::from_millis(50));
    assert_eq!(settings.to_servers.batching, Batching::Always);
    assert_eq!(settings.to_clients.batching, Batching::Off);
    assert!(!settings.to_clients.buffered && settings.to_clients.forward_context);
    assert!(settings.returns_client_proxy);
    let filter = &settings.filter;
    assert_eq!(filter.accept_categories, ["a", "b"]);
    assert_eq!(filter.accept_user_category, UserCategory::Name);
    let identities = [Identity::with_category("c", "a b"), Identity::new("d")];
    assert_eq!(filter.accept_identities, identities);
    assert_eq!(filter.reject_addresses.len(), 2);
    assert_eq!(filter.proxy_len_max, Some(200));
}

#[test]
fn a_view_of_metrics_has_the_maps_of_each_service_that_gives_metrics() {
    let text = "gateway.listen = \"tcp\"\ngateway.verifier = \"accept-all\"\n\
                [metrics.All]\ngroup = \"id\"\n[metrics.Where]\nsessions = \"remoteHost\"\n";
    let (_, problems) = read_toml(text);
    let unread = "the view \"All\" cannot be read: add admin.listen or gateway.admin.listen";
    assert_eq!(problems, [(4, unread.to_owned())]);
    let (configuration, problems) = read_toml(&format!(
        "{text}[admin]\nlisten = \"tcp\"\n[gateway.admin]\nlisten = \"tcp\"\n"
    ));
    assert_eq!(problems, []);
    let hub = configuration.hub.admin.expect("it listens").views;
    let gateway = configuration.gateway.expect("there is one").admin;
    let gateway = gateway.expect("it listens").views;
    let names = |views: &BTreeMap<String, MetricsView>, view: &str| {
        let maps = views[view].maps.keys().cloned();
        maps.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&hub, "All"), "Subscriber Topic");
    assert_eq!(names(&gateway, "All"), "Session");
    assert_eq!(names(&hub, "Where"), "");
    assert_eq!(names(&gateway, "Where"), "Session");
}

#[test]
fn a_property_of_glacier2_that_would_let_less_pass_is_never_ignored() {
    for (property, expected) in [
        (
            "Glacier2.Filter.Adress.Accept=a",
            "did you mean Glacier2.Filter.Address.Accept?",
        ),
        (
            "Glacier2.Filter.Address.Accept=a:b",
            "expected a rule such as",
        ),
        (
            "Glacier2.Filter.Category.AcceptUser=3",
            "expected 0, 1 or 2",
        ),
        ("Glacier2.CryptPasswords=/nowhere", "cannot read /nowhere"),
        (
            "Glacier2.SessionManager=m -o:tcp -h a -p 1",
            "expected a twoway proxy",
        ),
        ("Glacier2.Nonsense=1", "unknown property"),
    ] {
        let text = format!("Glacier2.Client.Endpoints=tcp -p 1\n{property}\n");
        let (_, problems) = read_properties(&text);
        assert_eq!(problems.len(), 1, "{property}: {problems:?}");
        assert_eq!(problems[0].0, 2, "{property}");
        assert!(problems[0].1.contains(expected), "{problems:?}");
    }
}
