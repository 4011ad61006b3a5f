//! The checks of `rpc` over every transport that Ice has, with unmodified Ice programs in both roles.

use floe::tls::{Tls, TlsIdentity, TlsSettings};
use floe::{Communicator, Settings};
use floe_tests::certificates::Certificates;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

use super::client::{PeerKind, check_as};
use super::servant::serve_on;

/// Endpoints to listen on.
const ENDPOINTS: [&str; 4] = [
    "ssl -h 127.0.0.1 -p 0",
    "ws -h 127.0.0.1 -p 0 -r /objects",
    "wss -h 127.0.0.1 -p 0",
    "tcp -h 127.0.0.1 -p 0:udp -h 127.0.0.1 -p 0",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_agrees_with_ice_servers_over_every_transport() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    for (language, endpoint) in all() {
        let mut server = ice.peer("server", language);
        server
            .args(ice_ssl(&certificates, "server"))
            .arg(format!("--Server.Endpoints={endpoint}"));
        let mut server = Peer::start("the Ice server", &mut server);
        let proxy = server.ready();
        let transport = endpoint.split(' ').next().expect("it has a name");
        assert!(proxy.contains(&format!(":{transport} -h")), "{proxy}");
        let communicator = communicator(&certificates, "client");
        check_as(&communicator, &proxy, PeerKind::Ice).await;
        server.close_input();
        server.succeed();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_agree_with_a_floe_server_over_every_transport() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    for (language, endpoint) in all() {
        let communicator = communicator(&certificates, "server");
        let (_adapter, proxy) = serve_on(&communicator, endpoint).await;
        let mut client = ice.peer("client", language);
        client
            .arg(proxy.to_string())
            .args(ice_ssl(&certificates, "client"));
        let client = Peer::start("the Ice client", &mut client);
        let lines = tokio::task::spawn_blocking(|| client.succeed())
            .await
            .expect("no panic");
        assert!(
            matches!(lines.as_slice(), [line] if line.starts_with("ok ")),
            "{language:?} over {endpoint}: {lines:?}"
        );
        communicator.shutdown().await;
    }
}

fn all() -> impl Iterator<Item = (Language, &'static str)> {
    let languages = Language::ALL.into_iter();
    languages.flat_map(|language| ENDPOINTS.map(|endpoint| (language, endpoint)))
}

/// A communicator of Floe that has one of the identities.
fn communicator(certificates: &Certificates, identity: &str) -> Communicator {
    let mut tls = TlsSettings::default();
    tls.ca_files.push(certificates.path("ca.pem").into());
    let files = ["pem", "key"].map(|suffix| certificates.path(&format!("{identity}.{suffix}")));
    let [certificate, key] = files;
    tls.identity = Some(TlsIdentity::pem(certificate, key));
    let mut settings = Settings::default();
    settings.tls = Some(Tls::load(tls).expect("certificates that were just made"));
    Communicator::with_settings(settings)
}

/// The options that give an Ice program one of the identities. Both sides verify each other.
fn ice_ssl(certificates: &Certificates, identity: &str) -> [String; 6] {
    [
        "--Ice.Plugin.IceSSL=IceSSL:createIceSSL".to_owned(),
        format!("--IceSSL.DefaultDir={}", certificates.folder().display()),
        "--IceSSL.CAs=ca.pem".to_owned(),
        format!("--IceSSL.CertFile={identity}.pem"),
        format!("--IceSSL.KeyFile={identity}.key"),
        "--IceSSL.VerifyPeer=2".to_owned(),
    ]
}
