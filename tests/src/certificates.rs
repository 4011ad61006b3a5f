//! Certificates for tests, made when they are needed: none is committed, so none expires.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};

use crate::workspace;

/// A folder with a CA, `ca.pem`, and identities that it signed. It is removed when this is dropped.
///
/// `server`, `client` and `member` are for loopback, and `member` is in a unit of an organisation; so is `expired`, which was
/// valid once; `elsewhere` is for another host. Each is in PEM files, such as `server.pem` and `server.key`, its certificate
/// also in `server.der`, and all in a PKCS#12 file, `server.p12`, with the password `floe`.
#[derive(Debug)]
pub struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes them.
    ///
    /// # Panics
    /// If the folder of temporary files cannot be written.
    pub fn make() -> Self {
        let authority = authority();
        let certificates = Self::empty();
        certificates.write("ca.pem", authority.pem());
        certificates.sign(&authority, "server", params(&LOOPBACK));
        certificates.sign(&authority, "client", params(&LOOPBACK));
        certificates.sign(&authority, "elsewhere", params(&["elsewhere.example"]));
        let mut member = params(&LOOPBACK);
        let subject = &mut member.distinguished_name;
        subject.push(DnType::OrganizationName, "Acme, Inc.");
        subject.push(DnType::OrganizationalUnitName, "Sales");
        certificates.sign(&authority, "member", member);
        let mut expired = params(&LOOPBACK);
        expired.not_before = date_time_ymd(1990, 1, 1);
        expired.not_after = date_time_ymd(2000, 1, 1);
        certificates.sign(&authority, "expired", expired);
        certificates
    }

    /// Has the `floe` command make them, as a user would: `server` and `client` alone, in PEM files.
    ///
    /// # Panics
    /// If the command fails.
    pub fn made_by_the_command() -> Self {
        let certificates = Self::empty();
        let server = [&["server"][..], &LOOPBACK].concat();
        for words in [&["ca"][..], &server, &["client", "client"]] {
            let mut cert = Command::new(workspace::program("floe"));
            let cert = cert.arg("cert").args(words);
            let made = cert.arg("--dir").arg(certificates.folder()).output();
            let made = made.expect("the command was built");
            assert!(made.status.success(), "{words:?}: {made:?}");
        }
        certificates
    }

    fn empty() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("floe-certificates-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("temporary files can be written");
        Self { folder }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn sign(
        &self,
        authority: &CertifiedIssuer<'static, KeyPair>,
        name: &str,
        mut params: CertificateParams,
    ) {
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("random numbers");
        let certificate = params.signed_by(&key, authority).expect("a certificate");
        self.write(&format!("{name}.pem"), certificate.pem());
        self.write(&format!("{name}.der"), certificate.der());
        self.write(&format!("{name}.key"), key.serialize_pem());
        self.write(
            &format!("{name}.p12"),
            pkcs12(&key, [certificate.der(), authority.der()]),
        );
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("temporary files can be written");
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What is left behind is in the folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

fn params(hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let mut params = CertificateParams::new(hosts).expect("names and addresses");
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    params
}

/// A PKCS#12 file with a key, its certificate and the CA's.
fn pkcs12(key: &KeyPair, certificates: [&[u8]; 2]) -> Vec<u8> {
    let certificates = certificates.map(|der| Certificate::from_der(der).expect("a certificate"));
    let key = PrivateKey::from_der(&key.serialize_der()).expect("a key");
    let chain = PrivateKeyChain::new("1", key, certificates);
    let mut store = KeyStore::new();
    store.add_entry("identity", KeyStoreEntry::PrivateKeyChain(chain));
    store.writer("floe").write().expect("a file in memory")
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(DnType::CommonName, "Floe test CA");
    let key = KeyPair::generate().expect("random numbers");
    CertifiedIssuer::self_signed(params, key).expect("a certificate")
}
