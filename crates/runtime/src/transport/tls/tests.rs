//! Tests of TLS: which peers are trusted, and how a refusal is explained.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use super::{ClientCertificates, Tls, TlsFile, TlsIdentity, TlsSettings};
use crate::transport::tests::{accept_result, connect_with, in_time, listen_with};
use crate::transport::{Accepted, Setup, Stream};

/// A CA for tests.
pub(in crate::transport) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(in crate::transport) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    pub(in crate::transport) fn file(&self) -> TlsFile {
        TlsFile::Bytes(self.0.pem().into_bytes())
    }

    /// Makes a certificate for a host, with its key.
    pub(in crate::transport) fn identity(&self, host: &str) -> TlsIdentity {
        self.identity_with(host, |_| ())
    }

    fn identity_with(
        &self,
        host: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> TlsIdentity {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        TlsIdentity::Pem {
            certificates: TlsFile::Bytes(certificate.pem().into_bytes()),
            key: TlsFile::Bytes(key.serialize_pem().into_bytes()),
        }
    }

    /// Makes settings that trust this CA and hold a certificate signed by it.
    pub(in crate::transport) fn settings(&self, host: &str) -> TlsSettings {
        let mut settings = TlsSettings::default();
        settings.ca_files.push(self.file());
        settings.identity = Some(self.identity(host));
        settings
    }
}

#[test]
fn a_byte_order_mark_in_front_of_a_certificate_or_a_key_is_passed_over() {
    let marked = |file: TlsFile| match file {
        TlsFile::Bytes(bytes) => TlsFile::Bytes([&b"\xef\xbb\xbf"[..], &bytes].concat()),
        other => other,
    };
    let authority = Authority::new("CA");
    let TlsIdentity::Pem { certificates, key } = authority.identity("localhost") else {
        panic!("a test makes PEM");
    };
    let mut settings = TlsSettings::default();
    settings.ca_files.push(marked(authority.file()));
    settings.identity = Some(TlsIdentity::Pem {
        certificates: marked(certificates),
        key: marked(key),
    });
    Tls::load(settings).unwrap();
}

/// A certificate of version 1: one of version 3 without the field of its version. Nobody looks at its signature.
fn of_version_1(pem: &[u8]) -> Vec<u8> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let mut der = CertificateDer::from_pem_slice(pem).unwrap().to_vec();
    // Both sequences around it have a length of two bytes.
    assert_eq!(
        (&der[..2], &der[4..6], &der[8..13]),
        (
            &b"\x30\x82"[..],
            &b"\x30\x82"[..],
            &b"\xa0\x03\x02\x01\x02"[..]
        )
    );
    for at in [2, 6] {
        let len = u16::from_be_bytes([der[at], der[at + 1]]) - 5;
        der[at..at + 2].copy_from_slice(&len.to_be_bytes());
    }
    der.drain(8..13);
    der
}

#[test]
fn a_certificate_of_version_1_is_named_as_one_on_either_side() {
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

    let authority = Authority::new("CA");
    let TlsIdentity::Pem { certificates, key } = authority.identity("localhost") else {
        panic!("a test makes PEM");
    };
    let TlsFile::Bytes(pem) = certificates else {
        panic!("it is in memory");
    };
    let der = CertificateDer::from(of_version_1(&pem));

    let roots = super::config::roots(&[authority.file()]).unwrap();
    let provider = super::config::provider();
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider);
    let verifier = verifier.build().unwrap();
    let host = ServerName::try_from("localhost").unwrap();
    let error = verifier
        .verify_server_cert(&der, &[], &host, &[], UnixTime::now())
        .unwrap_err();
    let text = super::explain::explain(&error, b"").to_string();
    assert!(
        text.contains("has version 1: expected one of version 3"),
        "{text}"
    );
    assert!(text.contains("subjectAltName"), "{text}");

    let key = super::load::private_key(&key).unwrap();
    let error = rustls::Error::InvalidCertificate(rustls::CertificateError::BadEncoding);
    let text = super::TlsError::identity(&(vec![der], key), error).to_string();
    assert!(
        text.contains("has version 1: expected one of version 3"),
        "{text}"
    );
}

#[test]
fn a_key_on_a_curve_that_is_not_supported_is_named_with_those_that_are() {
    let authority = Authority::new("CA");
    let TlsIdentity::Pem { certificates, .. } = authority.identity("localhost") else {
        panic!("a test makes PEM");
    };
    let load = |key: &str| {
        let key = format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n");
        let settings = TlsSettings {
            identity: Some(TlsIdentity::Pem {
                certificates: certificates.clone(),
                key: TlsFile::Bytes(key.into_bytes()),
            }),
            ..TlsSettings::default()
        };
        Tls::load(settings).unwrap_err().to_string()
    };
    // The object identifier of P-521, and another one.
    let error = load("MAkGBSuBBAAj");
    assert!(error.contains("curve P-521"), "{error}");
    assert!(
        error.contains("expected ECDSA on P-256 or P-384"),
        "{error}"
    );
    let error = load("MAkGBSuBBAAk");
    assert!(!error.contains("curve P-521"), "{error}");
    assert!(
        error.contains("expected ECDSA on P-256 or P-384"),
        "{error}"
    );
}

fn setup(settings: TlsSettings) -> Setup {
    Setup {
        tls: Some(Tls::load(settings).unwrap()),
        ..Setup::default()
    }
}

/// Connects, and returns the result of each side.
async fn connect_and_accept(
    client: TlsSettings,
    server: TlsSettings,
) -> (Result<Stream, String>, Result<Stream, String>) {
    let (client, server) = (setup(client), setup(server));
    let listening = listen_with("ssl -h 127.0.0.1 -p 0", &server).await.unwrap();
    let (client, server) = tokio::join!(
        connect_with(&listening.published[0], &client),
        accept_result(&listening)
    );
    let text = |error: std::io::Error| error.to_string();
    (client.map_err(text), server.map_err(text))
}

fn refusal(result: Result<Stream, String>) -> String {
    result.err().expect("it is refused")
}

#[tokio::test]
async fn both_sides_verify_each_other() {
    let authority = Authority::new("CA");
    let settings = authority.settings("127.0.0.1");
    let (client, server) = connect_and_accept(settings.clone(), settings).await;
    client.unwrap();
    server.unwrap();
}

#[tokio::test]
async fn a_server_of_an_unknown_authority_is_refused() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (client, server) =
        connect_and_accept(ours.settings("127.0.0.1"), theirs.settings("127.0.0.1")).await;
    let error = refusal(client);
    assert!(
        error.contains("add the CA that signed it to `TlsSettings::ca_files`"),
        "{error}"
    );
    let error = refusal(server);
    assert!(
        error.contains("does not trust the CA that signed our certificate"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_for_another_host_is_refused_unless_the_host_is_not_checked() {
    let authority = Authority::new("CA");
    let server = authority.settings("elsewhere.example");
    let mut client = authority.settings("client");
    let (refused, _) = connect_and_accept(client.clone(), server.clone()).await;
    let error = refusal(refused);
    let expected = "expected a certificate for 127.0.0.1, got one for";
    assert!(
        error.contains(expected) && error.contains("elsewhere.example"),
        "{error}"
    );
    client.check_host = false;
    connect_and_accept(client.clone(), server).await.0.unwrap();

    // All other checks remain.
    let stranger = Authority::new("stranger").settings("elsewhere.example");
    assert!(
        connect_and_accept(client.clone(), stranger.clone())
            .await
            .0
            .is_err()
    );
    client.verify_server = false;
    let mut open = stranger;
    open.client_certificates = ClientCertificates::NotAsked;
    connect_and_accept(client, open).await.0.unwrap();
}

#[tokio::test]
async fn a_certificate_out_of_its_time_is_refused() {
    let authority = Authority::new("CA");
    for (from, to, expected) in [
        (1990, 2000, "expired"),
        (2200, 2300, "becomes valid only in"),
    ] {
        let mut server = authority.settings("127.0.0.1");
        server.identity = Some(authority.identity_with("127.0.0.1", |params| {
            params.not_before = date_time_ymd(from, 1, 1);
            params.not_after = date_time_ymd(to, 1, 1);
        }));
        let (client, _) = connect_and_accept(authority.settings("client"), server).await;
        let error = refusal(client);
        assert!(
            error.contains(expected) && error.contains(" days"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_client_without_a_certificate_is_refused_where_one_is_required() {
    let authority = Authority::new("CA");
    let mut client = authority.settings("client");
    client.identity = None;
    let (connected, refused) =
        connect_and_accept(client.clone(), authority.settings("127.0.0.1")).await;
    let error = refusal(refused);
    assert!(
        error.contains("the client showed no certificate"),
        "{error}"
    );
    // In TLS 1.3 a client sees the refusal only with the first bytes that it reads.
    let mut stream = connected.unwrap();
    let error = in_time(stream.reader.read_u8())
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("set `TlsSettings::identity`"), "{error}");

    let mut server = authority.settings("127.0.0.1");
    server.client_certificates = ClientCertificates::Verified;
    let (connected, accepted) = connect_and_accept(client.clone(), server.clone()).await;
    connected.unwrap();
    accepted.unwrap();
    client.identity = Some(Authority::new("stranger").identity("client"));
    let error = refusal(connect_and_accept(client, server).await.1);
    assert!(
        error.contains("signed by a CA that we do not trust"),
        "{error}"
    );
}

#[tokio::test]
async fn a_plain_server_is_recognized() {
    let listening = listen_with("tcp -h 127.0.0.1 -p 0", &Setup::default())
        .await
        .unwrap();
    let port = listening.published[0].port().unwrap();
    let plain = async {
        let server = accept_result(&listening).await.unwrap();
        let validate = b"IceP\x01\x00\x01\x00\x03\x00\x0e\x00\x00\x00";
        server.writer.try_write(validate).unwrap();
        server
    };
    let endpoint = format!("ssl -h 127.0.0.1 -p {port}").parse().unwrap();
    let client = setup(Authority::new("CA").settings("client"));
    let (client, _server) = tokio::join!(connect_with(&endpoint, &client), plain);
    let error = client.err().unwrap().to_string();
    assert!(
        error.contains("the Ice protocol without TLS: is its endpoint `tcp`"),
        "{error}"
    );
}

#[tokio::test]
async fn garbage_in_place_of_a_handshake_is_refused() {
    let server = setup(Authority::new("CA").settings("127.0.0.1"));
    let listening = listen_with("ssl -h 127.0.0.1 -p 0", &server).await.unwrap();
    let port = listening.published[0].port().unwrap();
    for (bytes, expected) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "HTTP without TLS"),
        (b"IceP\x01\x00\x01\x00", "the Ice protocol without TLS"),
        (b"\x16\x03\x01\x00\x05hello", "TLS failed"),
        (b"\x16\x03\x01", "in the middle of the TLS handshake"),
        (b"", "in the middle of the TLS handshake"),
    ] {
        let mut client = tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .unwrap();
        client.write_all(bytes).await.unwrap();
        client.shutdown().await.unwrap();
        let error = accept_result(&listening).await.err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn missing_tls_settings_are_reported_before_use() {
    let none = Setup::default();
    let error = listen_with("ssl -h 127.0.0.1 -p 0", &none)
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("set `Settings::tls`"), "{error}");

    let authority = Authority::new("CA");
    let mut settings = authority.settings("127.0.0.1");
    settings.identity = None;
    let error = listen_with("ssl -h 127.0.0.1 -p 0", &setup(settings.clone())).await;
    let error = error.err().unwrap().to_string();
    assert!(error.contains("set `TlsSettings::identity`"), "{error}");

    settings.identity = Some(authority.identity("127.0.0.1"));
    settings.ca_files.clear();
    let error = listen_with("ssl -h 127.0.0.1 -p 0", &setup(settings)).await;
    let error = error.err().unwrap().to_string();
    assert!(
        error.contains("or `client_certificates` to `NotAsked`"),
        "{error}"
    );
}

#[test]
fn errors_name_the_bad_file() {
    let load = |identity| {
        let settings = TlsSettings {
            identity: Some(identity),
            ..TlsSettings::default()
        };
        Tls::load(settings).unwrap_err().to_string()
    };
    let error = load(TlsIdentity::pem("/nowhere/cert.pem", "/nowhere/key.pem"));
    assert!(
        error.starts_with("/nowhere/cert.pem: expected certificates in PEM"),
        "{error}"
    );
    let authority = Authority::new("CA");
    let TlsIdentity::Pem { certificates, .. } = authority.identity("a") else {
        unreachable!()
    };
    let TlsIdentity::Pem { key, .. } = authority.identity("b") else {
        unreachable!()
    };
    let error = load(TlsIdentity::Pem {
        certificates: certificates.clone(),
        key,
    });
    assert!(
        error.contains("the key is not that of the certificate"),
        "{error}"
    );
    let encrypted =
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let error = load(TlsIdentity::Pem {
        certificates,
        key: TlsFile::Bytes(encrypted.to_vec()),
    });
    assert!(error.contains("it is encrypted"), "{error}");
}

#[tokio::test]
async fn a_reload_is_used_by_the_next_connection() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let folder = std::env::temp_dir().join(format!("floe-tls-reload-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name);
    let write = |authority: &Authority| {
        let TlsIdentity::Pem {
            certificates: TlsFile::Bytes(certificate),
            key: TlsFile::Bytes(key),
        } = authority.identity("127.0.0.1")
        else {
            unreachable!()
        };
        std::fs::write(path("cert.pem"), certificate).unwrap();
        std::fs::write(path("key.pem"), key).unwrap();
    };
    write(&old);
    let settings = TlsSettings {
        identity: Some(TlsIdentity::pem(path("cert.pem"), path("key.pem"))),
        client_certificates: ClientCertificates::NotAsked,
        ..TlsSettings::default()
    };
    let tls = Tls::load(settings).unwrap();
    let server = Setup {
        tls: Some(tls.clone()),
        ..Setup::default()
    };
    let listening = listen_with("ssl -h 127.0.0.1 -p 0", &server).await.unwrap();
    let client = setup(new.settings("client"));
    let connect = || async {
        tokio::join!(
            connect_with(&listening.published[0], &client),
            accept_result(&listening)
        )
        .0
    };
    assert!(connect().await.is_err(), "signed by the old authority");
    std::fs::write(path("cert.pem"), "half a fi").unwrap();
    tls.reload().unwrap_err();
    write(&new);
    tls.reload().unwrap();
    connect().await.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(feature = "pkcs12")]
#[tokio::test]
async fn an_identity_can_come_from_a_pkcs12_file() {
    use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain};

    let authority = Authority::new("CA");
    let pem = authority.identity("127.0.0.1");
    let (chain, key) = super::load::identity(&pem).unwrap();
    let certificates =
        [&chain[0], authority.0.der()].map(|der| Certificate::from_der(der).unwrap());
    let key = PrivateKey::from_der(key.secret_der()).unwrap();
    let mut store = KeyStore::new();
    let entry = PrivateKeyChain::new("1", key, certificates);
    store.add_entry("server", KeyStoreEntry::PrivateKeyChain(entry));
    let bytes = store.writer("secret").write().unwrap();

    let mut server = authority.settings("127.0.0.1");
    server.identity = Some(TlsIdentity::Pkcs12 {
        file: TlsFile::Bytes(bytes.clone()),
        password: "secret".to_owned(),
    });
    connect_and_accept(authority.settings("client"), server.clone())
        .await
        .0
        .unwrap();
    server.identity = Some(TlsIdentity::Pkcs12 {
        file: TlsFile::Bytes(bytes),
        password: "wrong".to_owned(),
    });
    let error = Tls::load(server.clone()).unwrap_err().to_string();
    assert!(error.contains("is the password right?"), "{error}");
    let shown = format!("{server:?}");
    assert!(!shown.contains("wrong"), "{shown}");
}

#[tokio::test]
async fn a_slow_handshake_can_be_cancelled() {
    let server = setup(Authority::new("CA").settings("127.0.0.1"));
    let listening = listen_with("ssl -h 127.0.0.1 -p 0", &server).await.unwrap();
    let port = listening.published[0].port().unwrap();
    let _silent = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(50), accept_result(&listening)).await;
    assert!(waited.is_err(), "it waits for the client");
}

/// The first bytes of a client.
fn client_hello(authority: &Authority) -> Vec<u8> {
    let tls = Tls::load(authority.settings("127.0.0.1")).unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let mut client = rustls::ClientConnection::new(tls.client_config().unwrap(), name).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    hello
}

#[tokio::test]
async fn other_tasks_run_between_the_handshakes_of_many_clients() {
    const COUNT: usize = 40;
    let authority = Authority::new("CA");
    let setup = setup(authority.settings("127.0.0.1"));
    let listening = listen_with("ssl -h 127.0.0.1 -p 0", &setup).await.unwrap();
    let address = ("127.0.0.1", listening.published[0].port().unwrap());
    let hello = client_hello(&authority);
    let (mut clients, mut accepted) = (Vec::new(), Vec::new());
    for _ in 0..COUNT {
        let mut client = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut client, &hello).unwrap();
        client.set_nonblocking(true).unwrap();
        clients.push(client);
        match in_time(listening.listeners[0].accept()).await.unwrap() {
            Accepted::Opening { opening, .. } => accepted.push(opening),
            Accepted::Ready(_) => panic!("a handshake comes first"),
        }
    }
    let _openings: JoinSet<_> = accepted.into_iter().collect();
    // Each look counts the handshakes that were answered since the look before.
    let mut answered_together = Vec::new();
    while !clients.is_empty() {
        let before = clients.len();
        clients.retain(|client| client.peek(&mut [0]).is_err());
        answered_together.push(before - clients.len());
        tokio::task::yield_now().await;
    }
    let most = answered_together.iter().max().unwrap();
    assert!(*most <= COUNT / 4, "{answered_together:?}");
}
