//! Certificates for tests, made when they are needed: none is committed, so none expires.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

/// A folder with a CA and two identities that it signed for loopback: `ca.pem`, `server.pem` and
/// `server.key`, `client.pem` and `client.key`. It is removed when this is dropped.
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
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("floe-certificates-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("temporary files can be written");
        let authority = authority();
        let certificates = Self { folder };
        certificates.write("ca.pem", &authority.pem());
        certificates.sign(&authority, "server");
        certificates.sign(&authority, "client");
        certificates
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn sign(&self, authority: &CertifiedIssuer<'static, KeyPair>, name: &str) {
        let hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let mut params = CertificateParams::new(hosts).expect("names and addresses");
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().expect("random numbers");
        let certificate = params.signed_by(&key, authority).expect("a certificate");
        self.write(&format!("{name}.pem"), &certificate.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("temporary files can be written");
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What is left behind is in the folder of temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
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
