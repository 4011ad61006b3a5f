//! Certificates that are out of their time, for another host, or of nobody we trust: what a caller and
//! a server's log say of them.

use std::sync::OnceLock;

use floe::Settings;
use floe::tls::{Tls, TlsFile, TlsIdentity, TlsSettings};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use crate::log::Log;
use crate::stage::{Face, Server, settings, until};

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Returns the settings with a certificate for loopback, and trust in its issuer.
pub(crate) fn with_tls(mut settings: Settings) -> Settings {
    static TLS: OnceLock<Tls> = OnceLock::new();
    let tls = TLS.get_or_init(|| load(&authority(), |_| ()));
    settings.tls = Some(tls.clone());
    settings
}

fn authority() -> Authority {
    authority_named("Floe faults")
}

fn authority_named(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// One that trusts the authority, and whose certificate is signed by it.
fn load(authority: &Authority, change: impl FnOnce(&mut CertificateParams)) -> Tls {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    change(&mut params);
    let certificate = params.signed_by(&key, authority).unwrap();
    let mut settings = TlsSettings::default();
    let bytes = |text: String| TlsFile::Bytes(text.into_bytes());
    settings.ca_files.push(bytes(authority.pem()));
    let (certificates, key) = (bytes(certificate.pem()), bytes(key.serialize_pem()));
    settings.identity = Some(TlsIdentity::pem(certificates, key));
    Tls::load(settings).unwrap()
}

/// Checks the errors of a caller, over both encrypted transports and with both APIs; and that
/// the server goes on.
fn refusals(client: &Tls, server: &Tls) -> Vec<String> {
    let mut texts = Vec::new();
    for face in Face::both() {
        for transport in ["ssl", "wss"] {
            let mut server_settings = settings();
            server_settings.tls = Some(server.clone());
            let endpoint = format!("{transport} -h 127.0.0.1 -p 0");
            let server = Server::start(&face, server_settings, &endpoint);
            let mut settings = settings();
            settings.tls = Some(client.clone());
            let client = face.communicator(settings);
            let (text, _) = face.failure(&server.proxy(&client), "echo");
            let endpoint = server.adapter.endpoints()[0].to_string();
            // Messages leave out the default timeout.
            let endpoint = endpoint.replace(" -t 60000", "");
            let prefix = format!("cannot connect to \"{endpoint}\": ");
            let reason = text.strip_prefix(&prefix);
            texts.push(reason.unwrap_or_else(|| panic!("{text}")).to_owned());
            until("the handshake is counted", || {
                server.adapter.counts().handshakes_failed > 0
            });
            assert_eq!(server.adapter.counts().connections, 0);
        }
    }
    texts
}

#[test]
fn an_expired_certificate_is_named_with_its_age() {
    let authority = authority();
    let expired = load(&authority, |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    for text in refusals(&load(&authority, |_| ()), &expired) {
        assert!(
            text.starts_with("the peer's certificate expired ")
                && text.ends_with(
                    " days ago (or this machine's clock is wrong): expected one that is valid now"
                ),
            "{text}"
        );
    }
}

#[test]
fn a_certificate_of_the_future_makes_one_think_of_the_clock() {
    let authority = authority();
    let early = load(&authority, |params| {
        params.not_before = date_time_ymd(2200, 1, 1);
        params.not_after = date_time_ymd(2300, 1, 1);
    });
    for text in refusals(&load(&authority, |_| ()), &early) {
        assert!(
            text.starts_with("the peer's certificate becomes valid only in ")
                && text.ends_with(" days (or this machine's clock is wrong)"),
            "{text}"
        );
    }
}

#[test]
fn a_certificate_for_another_host_names_both_hosts_and_the_way_out() {
    let authority = authority();
    let elsewhere = load(&authority, |params| {
        let name = "hub.example".try_into().unwrap();
        params.subject_alt_names = vec![rcgen::SanType::DnsName(name)];
    });
    for text in refusals(&load(&authority, |_| ()), &elsewhere) {
        assert_eq!(
            text,
            "expected a certificate for 127.0.0.1, got one for hub.example: connect to a host that it names, or turn \
             `TlsSettings::check_host` off"
        );
    }
}

#[test]
fn a_certificate_that_is_a_ca_s_own_is_told_from_one_that_a_ca_has_signed() {
    let authority = authority();
    let self_signed = load(&authority, |params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    });
    for text in refusals(&load(&authority, |_| ()), &self_signed) {
        assert!(
            text.starts_with(
                "expected a certificate that a CA has signed, got the certificate of a CA itself, as self-signed ones \
                 often are: sign one with that CA"
            ),
            "{text}"
        );
    }
}

#[test]
fn a_certificate_of_a_stranger_names_the_setting() {
    let stranger = load(&authority_named("stranger"), |_| ());
    for text in refusals(&load(&authority(), |_| ()), &stranger) {
        assert_eq!(
            text,
            "the peer's certificate is signed by a CA that we do not trust: add the CA that signed it to \
             `TlsSettings::ca_files`"
        );
    }
}

#[test]
fn a_certificate_of_a_ca_that_has_a_new_key_is_told_from_one_of_a_stranger() {
    for text in refusals(&load(&authority(), |_| ()), &load(&authority(), |_| ())) {
        assert_eq!(
            text,
            "the peer's certificate names a CA that we trust, but is signed with another key: is the \
             file in `TlsSettings::ca_files` that of an older CA, or of another one of the same name?"
        );
    }
}

#[test]
fn an_expired_certificate_of_a_client_is_one_line_at_the_server_and_an_error_at_the_client() {
    let log = Log::of_all();
    let authority = authority();
    let expired = load(&authority, |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 6, 1);
    });
    Face::each(|face| {
        let mut server_settings = settings();
        server_settings.tls = Some(load(&authority, |_| ()));
        let server = Server::start(face, server_settings, "ssl -h 127.0.0.1 -p 0");
        let mut settings = settings();
        settings.tls = Some(expired.clone());
        settings.outgoing.heartbeat_interval = std::time::Duration::ZERO;
        let client = face.communicator(settings);
        let (text, _) = face.failure(&server.proxy(&client), "echo");
        // With TLS 1.3 the client is through before the server has seen its certificate.
        assert!(
            text.contains("our certificate has expired (TLS alert CertificateExpired)"),
            "{text}"
        );
        until("the handshake is counted", || {
            server.adapter.counts().handshakes_failed == 1
        });
        assert!(
            log.lines_with("the peer's certificate expired ")
                .iter()
                .any(|line| line.starts_with("refused a connection from 127.0.0.1:")),
        );
    });
}
