//! Every line over every transport, in both roles.

use floe::Communicator;
use floe_tests::certificates::Certificates;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

use super::caller;
use super::servant::serve;
use super::tls::{self, tls};

/// Those that have connections.
pub(crate) const TRANSPORTS: [&str; 4] = ["tcp", "ssl", "ws", "wss"];

/// Endpoints to listen on: two of each, so that one can be selected; those for datagrams beside those of tcp.
pub(crate) const ENDPOINTS: [&str; 4] = [
    "tcp -h 127.0.0.1 -p 0:tcp -h \"::1\" -p 0:udp -h 127.0.0.1 -p 0:udp -h \"::1\" -p 0",
    "ssl -h 127.0.0.1 -p 0:ssl -h \"::1\" -p 0",
    "ws -h 127.0.0.1 -p 0 -r /objects:ws -h \"::1\" -p 0 -r /objects",
    "wss -h 127.0.0.1 -p 0:wss -h \"::1\" -p 0",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_finds_every_line_at_ice_servers() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        floe_with_servers(&ice, language).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_find_every_line_at_a_floe_server() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        clients_with_floe(&ice, language).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_finds_every_line_at_a_floe_server() {
    let server = Communicator::new();
    let (_adapter, proxy) = serve(&server, ENDPOINTS[0]).await;
    let client = Communicator::with_settings(caller::settings());
    caller::check(&client, &proxy.to_string()).await;
    server.shutdown().await;
}

#[test]
fn ice_clients_find_every_line_at_ice_servers() {
    let Some(ice) = Ice::or_skip() else { return };
    for (server, client) in [
        (Language::Cpp, Language::Python),
        (Language::Python, Language::Cpp),
    ] {
        let (server, proxy) = start(&ice, server, ENDPOINTS[0], &[]);
        succeed(call(&ice, client, &proxy, &[]));
        end(server);
    }
}

pub(crate) async fn floe_with_servers(ice: &Ice, language: Language) {
    let certificates = Certificates::make();
    let options = tls::ice_options(&certificates, "server");
    let endpoints = ENDPOINTS.join(":");
    // One process serves all; each client has the endpoints of one transport.
    let (server, proxy) = start(ice, language, &endpoints, &options);
    for transport in TRANSPORTS {
        let mut settings = caller::settings();
        settings.tls = Some(tls(&certificates, "client"));
        let communicator = Communicator::with_settings(settings);
        caller::check(&communicator, &only(&proxy, transport)).await;
    }
    end(server);
}

pub(crate) async fn clients_with_floe(ice: &Ice, language: Language) {
    let certificates = Certificates::make();
    let options = tls::ice_options(&certificates, "client");
    let mut settings = caller::settings();
    settings.tls = Some(tls(&certificates, "server"));
    for endpoints in ENDPOINTS {
        let communicator = Communicator::with_settings(settings.clone());
        let (_adapter, proxy) = serve(&communicator, endpoints).await;
        let client = call(ice, language, &proxy.to_string(), &options);
        let succeeded = tokio::task::spawn_blocking(|| succeed(client)).await;
        succeeded.unwrap_or_else(|error| panic!("{language:?} over {endpoints}: {error}"));
        communicator.shutdown().await;
    }
}

/// The proxy with the endpoints of one transport; those of tcp have the others with them that need no certificates.
pub(crate) fn only(proxy: &str, transport: &str) -> String {
    let mut parts = proxy.split(':');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let reference: floe::Reference = proxy.parse().expect("a proxy");
    for endpoint in reference.endpoints() {
        let name = endpoint.to_string();
        let name = name.split(' ').next().unwrap_or_default();
        if name == transport || (transport == "tcp" && name == "udp") {
            text.push_str(&format!(":{endpoint}"));
        }
    }
    text
}

pub(crate) fn start(
    ice: &Ice,
    language: Language,
    endpoints: &str,
    options: &[String],
) -> (Peer, String) {
    let mut server = ice.runtime(language);
    server
        .arg("serve")
        .arg(format!("--Server.Endpoints={endpoints}"))
        .args(options);
    let mut server = Peer::start("the Ice server", &mut server);
    let proxy = server.ready();
    (server, proxy)
}

pub(crate) fn end(mut server: Peer) {
    server.close_input();
    server.succeed();
}

pub(crate) fn call(ice: &Ice, language: Language, proxy: &str, options: &[String]) -> Peer {
    let mut client = ice.runtime(language);
    client.args(["call", proxy]).args(options);
    Peer::start("the Ice client", &mut client)
}

pub(crate) fn succeed(client: Peer) {
    let lines = client.succeed();
    let is_ok = matches!(lines.as_slice(), [line] if line.starts_with("ok "));
    assert!(is_ok, "{lines:?}");
}
