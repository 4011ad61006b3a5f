//! Unmodified Ice clients and back ends, with a Floe gateway between them and with a real Glacier2: what a client is
//! told is the same, line by line.

mod floe_client;
mod half_open;
#[cfg(feature = "ice38")]
mod ice38;
mod replaced;

use std::fs;

use floe_tests::certificates::Certificates;
use floe_tests::gateway::Router;
use floe_tests::hub::Hub;
use floe_tests::ice::Ice;
use floe_tests::ice::Language::{self, Python};
use floe_tests::{ports, workspace};

/// Holds a conversation through both routers with the same properties, in which `@` is where the back end listens,
/// and gives the lines, which are the same.
fn converse(ice: &Ice, name: &str, properties: &str, options: &[String]) -> Vec<String> {
    converse_in(Python, ice, name, properties, options)
}

/// Converses with a client in this language.
fn converse_in(
    language: Language,
    ice: &Ice,
    name: &str,
    properties: &str,
    options: &[String],
) -> Vec<String> {
    let through = |start: &dyn Fn(&str) -> Router| {
        let (_backend, service) = ice.start_routed();
        let (_, endpoint) = service.split_once(':').expect("it has an endpoint");
        let properties = properties.replace('@', endpoint);
        let router = start(&properties);
        ice.converse(language, name, router.proxy(), &service, options)
    };
    let real = through(&|properties| ice.start_glacier2(properties));
    let ours = through(&Router::start_floe);
    assert_eq!(ours, real, "{name}");
    assert_eq!(
        ours.last().map(String::as_str),
        Some(&*format!("done: {name}"))
    );
    ours
}

/// Where clients connect, and who checks their passwords.
const LOGIN: &str = "Glacier2.Client.Endpoints=tcp -p 0\nGlacier2.PermissionsVerifier=verifier:@\n";

/// Requests are forwarded as they come.
const UNBUFFERED: &str = "Glacier2.Client.Buffered=0\nGlacier2.Server.Buffered=0\n";

fn with_login(properties: &str) -> String {
    format!("{LOGIN}{properties}")
}

fn assert_line(lines: &[String], expected: &str) {
    assert!(
        lines.iter().any(|line| line == expected),
        "expected `{expected}` among {lines:#?}"
    );
}

#[test]
fn sessions_begin_and_end_as_with_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let lines = converse(&ice, "login", LOGIN, &[]);
    assert_line(&lines, "call without: connection lost");
    assert_line(&lines, "call: service /service '' Normal");
}

#[test]
fn requests_pass_as_through_glacier2_buffered_or_not() {
    let Some(ice) = Ice::or_skip() else { return };
    for properties in [LOGIN.to_owned(), with_login(UNBUFFERED)] {
        let lines = converse(&ice, "calls", &properties, &[]);
        assert_line(&lines, "notes: True");
        assert_line(&lines, "forwarded: [7, 9, 10]");
    }
}

#[test]
fn requests_that_ask_for_batches_pass_as_through_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    for properties in [
        "",
        "Glacier2.Client.AlwaysBatch=1\nGlacier2.Client.SleepTime=20\n",
    ] {
        let lines = converse(&ice, "batches", &with_login(properties), &[]);
        assert_line(&lines, "batched: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
    }
}

#[test]
fn back_ends_call_clients_as_through_glacier2_buffered_or_not() {
    let Some(ice) = Ice::or_skip() else { return };
    let batched = "Glacier2.Server.AlwaysBatch=1\nGlacier2.Server.SleepTime=20\n";
    let ways = ["", UNBUFFERED, batched].map(|properties| Language::ALL.map(|it| (it, properties)));
    for (language, properties) in ways.into_iter().flatten() {
        let properties = with_login(properties);
        let lines = converse_in(language, &ice, "callbacks", &properties, &[]);
        for step in [
            "called: 42",
            "failed: refused: by the client",
            "forged: ObjectNotExistException called",
            "plain: True",
            "batch: True",
            "compressed: True",
        ] {
            assert_line(&lines, step);
        }
    }
}

#[test]
fn a_gateway_that_offers_compressions_uses_bzip2_for_ice_clients() {
    let Some(ice) = Ice::or_skip() else { return };
    let (_backend, service) = ice.start_routed();
    let (_, endpoint) = service.split_once(':').expect("it has an endpoint");
    let batched = "Glacier2.Server.AlwaysBatch=1\nGlacier2.Server.SleepTime=20\n";
    let properties = with_login(batched).replace('@', endpoint);
    let router = Router::start_offering(&properties);
    // Compressed requests in both directions: an Ice client that got another compression would lose its connection.
    let options = ["--Ice.Override.Compress=1".to_owned()];
    let lines = ice.converse(Python, "callbacks", router.proxy(), &service, &options);
    assert_line(&lines, "called: 42");
    assert_line(&lines, "compressed: True");
}

#[test]
fn routing_tables_evict_as_those_of_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let properties = with_login("Glacier2.RoutingTable.MaxSize=2\n");
    let lines = converse(&ice, "evictions", &properties, &[]);
    assert_line(&lines, "2 3: made c/3 '' Normal");
}

#[test]
fn an_application_makes_sessions_and_changes_their_filters_as_with_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let properties = with_login("Glacier2.SessionManager=manager:@\n");
    let lines = converse(&ice, "sessions", &properties, &[]);
    assert_line(&lines, "shut/two: ObjectNotExistException shut/two '' who");
    assert_line(&lines, "ended: SessionNotExistException ");
}

#[test]
fn fixed_filters_let_the_same_pass_as_those_of_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    for (accept_user, passes) in [
        ("0", None),
        ("1", Some("joe/three")),
        ("2", Some("_joe/four")),
    ] {
        let properties = with_login(&format!(
            "Glacier2.Filter.Category.Accept=open also\nGlacier2.Filter.Identity.Accept=shut/named \"a b\"\n\
             Glacier2.Filter.Category.AcceptUser={accept_user}\n"
        ));
        let lines = converse(&ice, "filters", &properties, &[]);
        assert_line(&lines, "shut/two: ObjectNotExistException shut/two '' who");
        if let Some(name) = passes {
            assert_line(&lines, &format!("{name}: service {name} '' Normal"));
        }
    }
}

#[test]
fn a_proxy_to_an_address_that_a_filter_refuses_ends_the_connection_as_with_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    for filter in [
        "Address.Reject=*:[1-3]",
        "Address.Accept=127.0.0.[1-9]:1024-65535",
    ] {
        let properties = with_login(&format!("Glacier2.Filter.{filter}\n"));
        let lines = converse(&ice, "addresses", &properties, &[]);
        assert_line(&lines, "accepted: service /service '' Normal");
        assert_line(&lines, "refused: connection lost");
    }
}

#[test]
fn requests_override_others_that_wait_as_in_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let properties = with_login("Glacier2.Client.SleepTime=200\n");
    let lines = converse(&ice, "overrides", &properties, &[]);
    assert_line(&lines, "fewer: True");
    assert_line(&lines, "the last ones: True");
}

#[test]
fn contexts_go_along_as_with_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    for (connection, keys) in [
        ("0", "keys: ['a']"),
        (
            "1",
            "keys: ['_con.localAddress', '_con.localPort', '_con.remoteAddress', '_con.remotePort', '_con.type', 'a']",
        ),
        ("2", "keys: ['a']"),
    ] {
        let properties = with_login(&format!(
            "Glacier2.AddConnectionContext={connection}\nGlacier2.Client.ForwardContext=1\n"
        ));
        let lines = converse(&ice, "contexts", &properties, &[]);
        assert_line(&lines, keys);
        assert_line(&lines, "verifier is told what the client says of it: False");
        let is_known = match connection {
            "0" => "False",
            _ => "True",
        };
        assert_line(
            &lines,
            &format!("verifier knows the connection: {is_known}"),
        );
    }
}

#[test]
fn a_session_that_is_not_used_ends_as_with_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let lines = converse(
        &ice,
        "expiring",
        &with_login("Glacier2.SessionTimeout=5\n"),
        &[],
    );
    assert_line(&lines, "expired: connection lost");
}

#[test]
fn heartbeats_keep_a_session_as_with_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let properties = with_login("Glacier2.SessionTimeout=5\n");
    let lines = converse(&ice, "kept", &properties, &[]);
    assert_line(&lines, "kept: service /service '' Normal");
}

#[test]
fn a_session_that_the_application_has_lost_ends_as_with_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let properties = with_login("Glacier2.SessionManager=manager:@\n");
    let lines = converse(&ice, "forsaken", &properties, &[]);
    assert_line(&lines, "refreshed: SessionNotExistException ");
    assert_line(&lines, "call: connection lost");
}

#[test]
fn users_of_a_file_get_sessions_as_from_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let file = workspace::target_dir().join(format!("passwords-{}", std::process::id()));
    let hash = "$6$rounds=2000$saltsalt$GBImuhotpiUgeciq/ZS6UaMklAGJMK25wd5Tacv1I0CcSmxHOQQLpmVKYRPIU6LoFrr4iPAAmsqUTjBoZ.Fwr/";
    fs::write(&file, format!("joe {hash}\n")).expect("the target folder can be written");
    let properties = format!(
        "Glacier2.Client.Endpoints=tcp -p 0\nGlacier2.CryptPasswords={}\n",
        file.display()
    );
    let lines = converse(&ice, "passwords", &properties, &[]);
    assert_line(
        &lines,
        "joe wrong: PermissionDeniedException permission denied",
    );
    assert_line(&lines, "call: service /service '' Normal");
    let _ = fs::remove_file(file);
}

#[test]
fn clients_are_told_their_endpoints_as_by_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    for (returns, expected) in [("0", "client proxy: None"), ("1", "client proxy: /dummy")] {
        let properties = with_login(&format!("Glacier2.ReturnClientProxy={returns}\n"));
        let lines = converse(&ice, "client_proxy", &properties, &[]);
        assert_line(&lines, expected);
    }
}

#[test]
fn adapters_and_long_proxies_are_filtered_as_by_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let only = "Glacier2.Filter.AdapterId.Accept=Open\nGlacier2.Filter.ProxySizeMax=150\n";
    let among = "Glacier2.Filter.AdapterId.Accept=Open\nGlacier2.Filter.Category.Accept=open\n";
    for (filters, step) in [
        (only, "long: connection lost"),
        (among, "direct: ObjectNotExistException /service '' who"),
    ] {
        let lines = converse(&ice, "adapters", &with_login(filters), &[]);
        assert_line(&lines, "two @ Shut: ObjectNotExistException /two '' who");
        assert_line(
            &lines,
            "unknown: ObjectNotExistException shut/unknown '' ice_add_proxy",
        );
        assert_line(&lines, step);
    }
}

#[test]
fn a_silent_client_is_dropped_as_by_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let properties = with_login("Glacier2.Client.ACM.Timeout=2\n");
    let lines = converse(&ice, "silent", &properties, &[]);
    assert_line(&lines, "after: connection lost");
}

#[test]
fn a_client_with_a_certificate_gets_a_session_as_from_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let ssl = |identity: &str| {
        let folder = certificates.folder().display();
        format!(
            "IceSSL.DefaultDir={folder}\nIceSSL.CAs=ca.pem\nIceSSL.CertFile={identity}.pem\n\
             IceSSL.KeyFile={identity}.key\nIceSSL.VerifyPeer=2\nIce.Plugin.IceSSL=IceSSL:createIceSSL\n"
        )
    };
    let properties = format!(
        "Glacier2.Client.Endpoints=ssl -p 0\nGlacier2.SSLPermissionsVerifier=certificate-verifier:@\n\
         Glacier2.SSLSessionManager=certificate-manager:@\n{}",
        ssl("server")
    );
    let options: Vec<_> = ssl("client")
        .lines()
        .map(|line| format!("--{line}"))
        .collect();
    let lines = converse(&ice, "certificates", &properties, &options);
    assert_line(&lines, "session: True");
    assert_line(
        &lines,
        "by password: PermissionDeniedException no configured permissions verifier",
    );
}

#[test]
fn metrics_of_sessions_are_those_of_glacier2() {
    let Some(ice) = Ice::or_skip() else { return };
    let through = |start: &dyn Fn(&str) -> Router| {
        let (_backend, service) = ice.start_routed();
        let (_, endpoint) = service.split_once(':').expect("it has an endpoint");
        let admin = format!("tcp -h 127.0.0.1 -p {}", ports::unclaimed());
        let properties = format!(
            "{LOGIN}Ice.Admin.Endpoints={admin}\nIce.Admin.InstanceName=Operator\n\
             IceMX.Metrics.Each.Map.Session.GroupBy=id\nIceMX.Metrics.Sum.Map.Session.GroupBy=none\n\
             IceMX.Metrics.Where.Map.Session.GroupBy=parent|remoteHost|localHost|incoming|adapterName|connectionId\n\
             IceMX.Metrics.Off.GroupBy=id\nIceMX.Metrics.Off.Disabled=1\n"
        );
        let router = start(&properties.replace('@', endpoint));
        let options = [format!("Operator/admin -f Metrics:{admin}")];
        ice.converse(Python, "metrics", router.proxy(), &service, &options)
    };
    let real = through(&|properties| ice.start_glacier2(properties));
    let ours = through(&Router::start_floe);
    assert_eq!(ours, real);
    assert_line(&ours, "done: metrics");
    let called = "SessionMetrics current=1 failures=0 forwardedClient=4 forwardedServer=1 id=joe overriddenClient=0 \
                  overriddenServer=0 queuedClient=0 queuedServer=0 routingTableSize=2 total=1";
    assert_line(&ours, &format!("callback Each 0: {called}"));
}

#[test]
fn a_hub_is_reached_through_both_gateways_and_calls_its_subscribers_back() {
    let Some(ice) = Ice::or_skip() else { return };
    let properties = "Glacier2.Client.Endpoints=tcp -p 0\n\
                      Glacier2.PermissionsVerifier=Glacier2/NullPermissionsVerifier\n";
    for start in [
        &(|| Router::start_floe(properties)) as &dyn Fn() -> Router,
        &(|| ice.start_glacier2(properties)),
    ] {
        let hub = Hub::start(&[]);
        let router = start();
        let lines = ice.converse(Python, "hub", router.proxy(), &hub.manager(), &[]);
        assert_line(&lines, "events: True");
    }
}

#[test]
fn a_gateway_beside_a_hub_lets_clients_reach_it() {
    let Some(ice) = Ice::or_skip() else { return };
    let listen = format!("tcp -h 127.0.0.1 -p {}", ports::unclaimed());
    let router = Router::start_toml(&format!(
        "listen = \"{listen}\"\n[gateway]\nlisten = \"tcp -h 127.0.0.1 -p 0\"\n\
         server-listen = \"tcp -h 127.0.0.1 -p 0\"\nverifier = \"accept-all\"\n"
    ));
    let manager = format!("IceStorm/TopicManager:{listen}");
    let lines = ice.converse(Python, "hub", router.proxy(), &manager, &[]);
    assert_line(&lines, "events: True");
}
