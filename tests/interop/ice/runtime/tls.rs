//! Encryption with Ice: who is let in, and who is not.

use std::time::Duration;

use floe::tls::{ClientCertificates, Tls, TlsIdentity, TlsSettings};
use floe::{Communicator, Settings, TypedProxy};
use floe_tests::certificates::Certificates;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

use super::contract::runtime::ProbeProxy;
use super::servant::serve;
use super::transports::{end, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_trusts_ice_servers_as_it_is_told() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        floe_with_servers(&ice, language).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_server_lets_ice_clients_in_as_it_is_told() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        clients_with_floe(&ice, language).await;
    }
}

/// Both ways, and each side verifies the other and its host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_accepts_the_certificates_that_the_floe_command_makes() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::made_by_the_command();
    for language in Language::ALL {
        let options = ice_options(&certificates, "server");
        let (server, proxy) = start(&ice, language, SSL, &options);
        assert_eq!(
            ping(&settings(&certificates, "client"), &proxy).await,
            Ok(())
        );
        end(server);
        let mut options = ice_options(&certificates, "client");
        options.push("--IceSSL.CheckCertName=1".to_owned());
        let answer = ping_of(&ice, language, &settings(&certificates, "server"), &options).await;
        assert_eq!(answer, "pong", "{language:?}");
    }
}

pub(crate) async fn floe_with_servers(ice: &Ice, language: Language) {
    let certificates = Certificates::make();
    let strangers = Certificates::make();
    let good = settings(&certificates, "client");
    let mut nameless = good.clone();
    nameless.identity = None;
    let mut trusting = strangers_trust(&strangers, &certificates);
    trusting.identity = good.identity.clone();
    let mut careless = trusting.clone();
    careless.verify_server = false;
    let mut unhosted = good.clone();
    unhosted.check_host = false;
    let mut packed = good.clone();
    packed.identity = Some(TlsIdentity::pkcs12(certificates.path("client.p12"), "floe"));

    let options = ice_options(&certificates, "server");
    let (server, proxy) = start(ice, language, SSL, &options);
    assert_eq!(ping(&good, &proxy).await, Ok(()));
    assert_eq!(ping(&packed, &proxy).await, Ok(()));
    assert_eq!(ping(&careless, &proxy).await, Ok(()));
    refused(&trusting, &proxy, "signed with another key: is the file in").await;
    // What Ice says of a missing certificate depends on its OpenSSL; it is said while we read.
    let error = ping(&nameless, &proxy).await.expect_err("it is required");
    assert!(
        error.contains("requires a certificate") || error.contains("lost"),
        "{error}"
    );
    end(server);

    let options = ice_options(&certificates, "expired");
    let (server, proxy) = start(ice, language, SSL, &options);
    refused(&good, &proxy, "certificate expired").await;
    end(server);

    let options = ice_options(&certificates, "elsewhere");
    let (server, proxy) = start(ice, language, SSL, &options);
    refused(&good, &proxy, "expected a certificate for 127.0.0.1").await;
    assert_eq!(ping(&unhosted, &proxy).await, Ok(()));
    end(server);
}

pub(crate) async fn clients_with_floe(ice: &Ice, language: Language) {
    let certificates = Certificates::make();
    let strangers = Certificates::make();
    let mut server = settings(&certificates, "server");
    server.identity = Some(TlsIdentity::pkcs12(certificates.path("server.p12"), "floe"));
    let good = ice_options(&certificates, "client");
    let nameless = without_identity(&good);
    let stranger = ice_options(&strangers, "client");
    let expired = ice_options(&certificates, "expired");
    let mut packed = without_identity(&good);
    packed.extend(["--IceSSL.CertFile=client.p12", "--IceSSL.Password=floe"].map(str::to_owned));
    let mut checking = good.clone();
    checking.push("--IceSSL.CheckCertName=1".to_owned());

    for (asks, options, is_let_in) in [
        (ClientCertificates::Required, &good, true),
        (ClientCertificates::Required, &packed, true),
        (ClientCertificates::Required, &checking, true),
        (ClientCertificates::Required, &nameless, false),
        (ClientCertificates::Required, &stranger, false),
        (ClientCertificates::Required, &expired, false),
        (ClientCertificates::Verified, &nameless, true),
        (ClientCertificates::NotAsked, &nameless, true),
    ] {
        server.client_certificates = asks;
        let answer = ping_of(ice, language, &server, options).await;
        assert_eq!(
            answer == "pong",
            is_let_in,
            "{language:?} {asks:?}: {answer}"
        );
    }
    server.client_certificates = ClientCertificates::Required;
    for (identity, options) in [("expired", &good), ("elsewhere", &checking)] {
        server.identity = settings(&certificates, identity).identity;
        let answer = ping_of(ice, language, &server, options).await;
        assert!(
            answer.starts_with("failed "),
            "{language:?} {identity}: {answer}"
        );
    }
}

const SSL: &str = "ssl -h 127.0.0.1 -p 0";

/// Returns the output of an Ice client that tries to reach a Floe server.
async fn ping_of(
    ice: &Ice,
    language: Language,
    server: &TlsSettings,
    options: &[String],
) -> String {
    let communicator = communicator(server);
    let (_adapter, proxy) = serve(&communicator, SSL).await;
    let mut client = ice.runtime(language);
    client.args(["ping", &proxy.to_string()]).args(options);
    let client = Peer::start("the Ice client", &mut client);
    let lines = tokio::task::spawn_blocking(|| client.succeed()).await;
    communicator.shutdown().await;
    lines.expect("it says how it went").join("\n")
}

async fn refused(settings: &TlsSettings, proxy: &str, reason: &str) {
    let error = ping(settings, proxy).await.expect_err(reason);
    assert!(error.contains(reason), "expected {reason}, got: {error}");
}

/// Checks that a Floe client reaches a server.
async fn ping(settings: &TlsSettings, proxy: &str) -> Result<(), String> {
    let communicator = communicator(settings);
    let probe: ProbeProxy = communicator.proxy(proxy).expect("a proxy");
    let probe = probe.ice_timeout(Some(Duration::from_secs(20)));
    let answer = probe.ice_ping().await.map_err(|error| error.to_string());
    communicator.shutdown().await;
    answer
}

fn communicator(tls: &TlsSettings) -> Communicator {
    let mut settings = Settings::default();
    settings.tls = Some(Tls::load(tls.clone()).expect("certificates that were just made"));
    Communicator::with_settings(settings)
}

/// Certificates and trust of a Floe communicator that has one of the identities.
pub(crate) fn tls(certificates: &Certificates, identity: &str) -> Tls {
    Tls::load(settings(certificates, identity)).expect("certificates that were just made")
}

fn settings(certificates: &Certificates, identity: &str) -> TlsSettings {
    let mut settings = TlsSettings::default();
    settings.ca_files.push(certificates.path("ca.pem").into());
    let files = ["pem", "key"].map(|suffix| certificates.path(&format!("{identity}.{suffix}")));
    let [certificate, key] = files;
    settings.identity = Some(TlsIdentity::pem(certificate, key));
    settings
}

/// An identity that the server knows, and trust in others.
fn strangers_trust(strangers: &Certificates, own: &Certificates) -> TlsSettings {
    let mut settings = settings(own, "client");
    settings.ca_files = vec![strangers.path("ca.pem").into()];
    settings
}

/// The options that give an Ice program one of the identities. Both sides verify each other.
pub(crate) fn ice_options(certificates: &Certificates, identity: &str) -> Vec<String> {
    vec![
        "--Ice.Plugin.IceSSL=IceSSL:createIceSSL".to_owned(),
        format!("--IceSSL.DefaultDir={}", certificates.folder().display()),
        "--IceSSL.CAs=ca.pem".to_owned(),
        format!("--IceSSL.CertFile={identity}.pem"),
        format!("--IceSSL.KeyFile={identity}.key"),
        "--IceSSL.VerifyPeer=2".to_owned(),
    ]
}

fn without_identity(options: &[String]) -> Vec<String> {
    let is_other = |option: &&String| !option.contains("File=");
    options.iter().filter(is_other).cloned().collect()
}
