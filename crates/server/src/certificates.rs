//! Certificates and trust for `ssl` and `wss` endpoints, as files.

use std::fmt;
use std::path::{Path, PathBuf};

use floe::regular_file;
use floe::tls::{ClientCertificates, Tls, TlsIdentity, TlsSettings};

use crate::error::{FULL_BUILD, ServerError};
use crate::notice;

/// The files with certificates and keys, and how certificates of others are checked.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// PEM files with CAs to trust. A server without one asks clients for no certificate.
    pub ca: Vec<PathBuf>,
    /// A PEM file with the certificate chain of this program, or a `.p12` file that also has the key.
    pub cert: Option<PathBuf>,
    /// A PEM file with the key of the certificate, if it is in another file.
    pub key: Option<PathBuf>,
    /// True if a server's certificate is accepted for any host, as Ice does, instead of only the endpoint's host.
    pub any_host: bool,
    /// The password of a `.p12` file, where a file of settings says it; otherwise `FLOE_TLS_PASSWORD` has it.
    password: Option<Password>,
    /// The request for certificates of clients, if a file of settings has it.
    client_certificates: Option<ClientCertificates>,
}

/// A password, which no log shows.
#[derive(Clone, PartialEq, Eq)]
struct Password(String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(_)")
    }
}

impl Certificates {
    /// These, and before them what others say, each by itself: who adds a certificate still trusts the same
    /// CAs, and asks clients for the same. A certificate, its key and its password go together.
    #[must_use]
    pub fn behind(mut self, others: Self) -> Self {
        if !others.ca.is_empty() {
            self.ca = others.ca;
        }
        if others.cert.is_some() || others.key.is_some() {
            self.cert = others.cert;
            self.key = others.key;
            self.password = others.password;
        }
        self.any_host |= others.any_host;
        self.client_certificates = others.client_certificates.or(self.client_certificates);
        self
    }

    /// Takes certificates of CAs from these files.
    pub fn set_ca(&mut self, files: Vec<String>) {
        self.ca = files.into_iter().map(PathBuf::from).collect();
    }

    /// Takes our own certificate from this file.
    pub fn set_cert(&mut self, file: String) {
        self.cert = Some(file.into());
    }

    /// Takes the key of our certificate from this file.
    pub fn set_key(&mut self, file: String) {
        self.key = Some(file.into());
    }

    /// Sets whether a server's certificate is accepted for any host.
    pub fn set_any_host(&mut self, any_host: bool) {
        self.any_host = any_host;
    }

    /// Returns true if a file of settings says a password.
    pub(crate) fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Takes this for the password of a `.p12` file.
    pub fn set_password(&mut self, password: String) {
        self.password = Some(Password(password));
    }

    /// Sets whether clients must show certificates.
    pub fn set_client_certificates(&mut self, asked: ClientCertificates) {
        self.client_certificates = Some(asked);
    }

    /// Reads the files; none if no file is named.
    ///
    /// # Errors
    /// Files that cannot be used, and a key without its certificate.
    pub fn tls(self) -> Result<Option<Tls>, ServerError> {
        if self.ca.is_empty() && self.cert.is_none() && self.key.is_none() {
            return Ok(None);
        }
        if self.cert.is_none() && self.key.is_some() {
            let message = "--tls-key: expected the certificate of the key, too";
            return Err(ServerError::settings(message).with_help("add --tls-cert FILE"));
        }
        let mut settings = TlsSettings::default();
        settings.check_host = !self.any_host;
        match self.client_certificates {
            Some(asked) => settings.client_certificates = asked,
            // A server that trusts nobody asks nobody.
            None if self.ca.is_empty() => {
                settings.client_certificates = ClientCertificates::NotAsked;
            }
            None => {}
        }
        settings.ca_files = self.ca.into_iter().map(Into::into).collect();
        let key = self.key;
        settings.identity = self.cert.map(|certificate| {
            let suffix = certificate.extension().unwrap_or_default();
            if key.is_none() && (suffix == "p12" || suffix == "pfx") {
                warn_of_readers(&certificate);
                let of_environment = || std::env::var("FLOE_TLS_PASSWORD").ok();
                let password = self.password.map(|Password(text)| text);
                let password = password.or_else(of_environment).unwrap_or_default();
                return TlsIdentity::pkcs12(certificate, password);
            }
            let key = key.unwrap_or_else(|| certificate.clone());
            warn_of_readers(&key);
            TlsIdentity::pem(certificate, key)
        });
        let tls = Tls::load(settings);
        tls.map(Some).map_err(|error| {
            let error = ServerError::settings(error);
            match cfg!(feature = "tls") {
                true => error,
                false => error.with_help(FULL_BUILD),
            }
        })
    }
}

/// Warns if others can read a file with a key.
fn warn_of_readers(key: &Path) {
    if std::fs::metadata(key).is_ok_and(|it| regular_file::is_for_others(&it)) {
        let shown = key.display();
        notice::warn(format_args!(
            "warning: {shown} has the key of this program, and other users of this computer can read it: chmod go= {shown}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let mut file = Certificates::default();
        file.set_password("secret".to_owned());
        let shown = format!("{file:?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert!(shown.contains("Password(_)"), "{shown}");
    }

    #[test]
    fn what_the_command_line_says_goes_before_the_file_each_by_itself() {
        let mut file = Certificates::default();
        file.set_ca(vec!["ca.pem".to_owned()]);
        file.set_cert("own.p12".to_owned());
        file.set_password("secret".to_owned());
        file.set_client_certificates(ClientCertificates::Required);
        assert_eq!(file.clone().behind(Certificates::default()), file);
        let mut line = Certificates::default();
        line.set_cert("new.pem".to_owned());
        line.set_key("new.key".to_owned());
        let mut expected = line.clone();
        expected.set_ca(vec!["ca.pem".to_owned()]);
        expected.set_client_certificates(ClientCertificates::Required);
        assert_eq!(file.clone().behind(line), expected);
        let mut line = Certificates::default();
        line.set_ca(vec!["other.pem".to_owned()]);
        let mut expected = file.clone();
        expected.set_ca(vec!["other.pem".to_owned()]);
        assert_eq!(file.behind(line), expected);
    }
}
