//! Certificates for tests, made when they are needed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder with a CA, and an identity that it signed for 127.0.0.1; removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Certificates {
    folder: PathBuf,
    /// The file with the certificate of the CA.
    pub(crate) ca: String,
    /// The file with the certificate of the identity, whose subject is `CN=floe test`.
    pub(crate) own: String,
    /// The file with the key of the identity.
    pub(crate) key: String,
}

impl Certificates {
    pub(crate) fn make() -> Self {
        Self::make_with(|_| ())
    }

    /// Makes certificates, of which that of the identity is another one than usual.
    pub(crate) fn make_with(change: impl FnOnce(&mut rcgen::CertificateParams)) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("floe-cli-tls-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("temporary files can be written");
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().expect("random numbers");
        let ca = rcgen::CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let key = rcgen::KeyPair::generate().expect("random numbers");
        let hosts = ["127.0.0.1".to_owned()];
        let mut params = rcgen::CertificateParams::new(hosts).expect("an address");
        let mut subject = rcgen::DistinguishedName::new();
        subject.push(rcgen::DnType::CommonName, "floe test");
        params.distinguished_name = subject;
        change(&mut params);
        let own = params.signed_by(&key, &ca).expect("a certificate");
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).expect("temporary files can be written");
            path.display().to_string()
        };
        Self {
            ca: write("ca.pem", ca.pem()),
            own: write("own.pem", own.pem()),
            key: write("own.key", key.serialize_pem()),
            folder,
        }
    }

    /// The arguments of who shows a certificate and asks for one.
    pub(crate) fn mutual(&self) -> [&str; 6] {
        let [ca, own, key] = [&self.ca, &self.own, &self.key].map(String::as_str);
        ["--tls-ca", ca, "--tls-cert", own, "--tls-key", key]
    }

    /// The arguments of a server that asks its clients for nothing.
    pub(crate) fn server_alone(&self) -> [&str; 4] {
        ["--tls-cert", &self.own, "--tls-key", &self.key]
    }

    /// The arguments of a client without a certificate.
    pub(crate) fn ca_alone(&self) -> [&str; 2] {
        ["--tls-ca", &self.ca]
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // A folder that cannot be removed harms nobody: its name is not used again.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
