//! Certificates and trust for `ssl` and `wss` endpoints.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Args;
use floe::regular_file;
use floe::tls::{ClientCertificates, Tls, TlsIdentity, TlsSettings};

use crate::exit::Failure;
use crate::log;

/// Certificates and trust, for every subcommand that connects or listens.
#[derive(Debug, Default, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Encryption, for ssl and wss endpoints")]
pub(crate) struct TlsArguments {
    /// A PEM file with CAs to trust. Can be repeated. A server without one asks clients for no certificate
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        hide_short_help = true,
        hide_long_help = true
    )]
    tls_ca: Vec<PathBuf>,

    /// A PEM file with this program's certificate chain, or a .p12 file that also has the key;
    /// FLOE_TLS_PASSWORD has its password
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        hide_short_help = true,
        hide_long_help = true
    )]
    tls_cert: Option<PathBuf>,

    /// A PEM file with the key of the certificate, if it is in another file
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        hide_short_help = true,
        hide_long_help = true
    )]
    tls_key: Option<PathBuf>,

    /// Accepts a server's certificate for any host, as Ice does, instead of only the endpoint's host
    #[arg(long, global = true, hide_short_help = true, hide_long_help = true)]
    tls_any_host: bool,

    /// The password of a .p12 file, where a file of settings says it.
    #[arg(skip)]
    password: Option<Password>,

    /// The request for certificates of clients, if a file of settings has it.
    #[arg(skip)]
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

/// How to get what the cargo features of the command add.
pub(crate) const FULL_BUILD: &str = "`cargo install floe-cli --features full` includes it (in the repository: `cargo build --release --features full`)";

/// The arguments, and the content of the files that they name, for all communicators of this process.
static SAID: OnceLock<(TlsArguments, Option<Tls>)> = OnceLock::new();

impl TlsArguments {
    /// Loads what the arguments name.
    ///
    /// # Errors
    /// Files that cannot be used, and a key without its certificate.
    pub(crate) fn load(self) -> Result<(), Failure> {
        let tls = self.clone().tls()?;
        SAID.get_or_init(|| (self, tls));
        Ok(())
    }

    /// These, and before them what others say, each by itself: who adds a certificate still trusts the same
    /// CAs, and asks clients for the same. A certificate, its key and its password go together.
    #[must_use]
    pub(crate) fn behind(mut self, others: Self) -> Self {
        if !others.tls_ca.is_empty() {
            self.tls_ca = others.tls_ca;
        }
        if others.tls_cert.is_some() || others.tls_key.is_some() {
            self.tls_cert = others.tls_cert;
            self.tls_key = others.tls_key;
            self.password = others.password;
        }
        self.tls_any_host |= others.tls_any_host;
        self.client_certificates = others.client_certificates.or(self.client_certificates);
        self
    }

    /// Takes certificates of CAs from these files.
    pub(crate) fn set_ca(&mut self, files: Vec<String>) {
        self.tls_ca = files.into_iter().map(PathBuf::from).collect();
    }

    /// Takes our own certificate from this file.
    pub(crate) fn set_cert(&mut self, file: String) {
        self.tls_cert = Some(file.into());
    }

    /// Takes the key of our certificate from this file.
    pub(crate) fn set_key(&mut self, file: String) {
        self.tls_key = Some(file.into());
    }

    /// Sets whether a server's certificate is accepted for any host.
    pub(crate) fn set_any_host(&mut self, any_host: bool) {
        self.tls_any_host = any_host;
    }

    /// Returns true if a file of settings says a password.
    pub(crate) fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// Takes this for the password of a `.p12` file.
    pub(crate) fn set_password(&mut self, password: String) {
        self.password = Some(Password(password));
    }

    /// Sets whether clients must show certificates.
    pub(crate) fn set_client_certificates(&mut self, asked: ClientCertificates) {
        self.client_certificates = Some(asked);
    }

    /// Files with certificates of CAs.
    pub(crate) fn ca(&self) -> &[PathBuf] {
        &self.tls_ca
    }

    /// The file with our own certificate.
    pub(crate) fn cert(&self) -> Option<&PathBuf> {
        self.tls_cert.as_ref()
    }

    /// The file with the key of our certificate.
    pub(crate) fn key(&self) -> Option<&PathBuf> {
        self.tls_key.as_ref()
    }

    /// Returns true if a server's certificate is taken for any host.
    pub(crate) fn any_host(&self) -> bool {
        self.tls_any_host
    }

    /// Returns true if a certificate of our own is named.
    pub(crate) fn has_certificate(&self) -> bool {
        self.tls_cert.is_some()
    }

    /// Reads the files; none if no file is named.
    ///
    /// # Errors
    /// As [`TlsArguments::load`].
    pub(crate) fn tls(self) -> Result<Option<Tls>, Failure> {
        if self.tls_ca.is_empty() && self.tls_cert.is_none() && self.tls_key.is_none() {
            return Ok(None);
        }
        if self.tls_cert.is_none() && self.tls_key.is_some() {
            let message = "--tls-key: expected the certificate of the key, too";
            return Err(Failure::usage(message).help("add --tls-cert FILE"));
        }
        let mut settings = TlsSettings::default();
        settings.check_host = !self.tls_any_host;
        match self.client_certificates {
            Some(asked) => settings.client_certificates = asked,
            // A server that trusts nobody asks nobody.
            None if self.tls_ca.is_empty() => {
                settings.client_certificates = ClientCertificates::NotAsked;
            }
            None => {}
        }
        settings.ca_files = self.tls_ca.into_iter().map(Into::into).collect();
        let key = self.tls_key;
        settings.identity = self.tls_cert.map(|certificate| {
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
            let failure = Failure::usage(error);
            match cfg!(feature = "tls") {
                true => failure,
                false => failure.help(FULL_BUILD),
            }
        })
    }
}

/// Warns if others can read a file with a key.
fn warn_of_readers(key: &Path) {
    if std::fs::metadata(key).is_ok_and(|it| regular_file::is_for_others(&it)) {
        let shown = key.display();
        log::say(format_args!(
            "warning: {shown} has the key of this program, and other users of this computer can read it: chmod go= {shown}"
        ));
    }
}

/// Certificates and trust, if the arguments said anything.
pub(crate) fn loaded() -> Option<Tls> {
    SAID.get().and_then(|(_, tls)| tls.clone())
}

/// Returns the arguments.
pub(crate) fn said() -> TlsArguments {
    let said = SAID.get();
    said.map(|(arguments, _)| arguments.clone())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let mut file = TlsArguments::default();
        file.set_password("secret".to_owned());
        let shown = format!("{file:?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert!(shown.contains("Password(_)"), "{shown}");
    }

    #[test]
    fn what_the_command_line_says_goes_before_the_file_each_by_itself() {
        let mut file = TlsArguments::default();
        file.set_ca(vec!["ca.pem".to_owned()]);
        file.set_cert("own.p12".to_owned());
        file.set_password("secret".to_owned());
        file.set_client_certificates(ClientCertificates::Required);
        assert_eq!(file.clone().behind(TlsArguments::default()), file);
        let mut line = TlsArguments::default();
        line.set_cert("new.pem".to_owned());
        line.set_key("new.key".to_owned());
        let mut expected = line.clone();
        expected.set_ca(vec!["ca.pem".to_owned()]);
        expected.set_client_certificates(ClientCertificates::Required);
        assert_eq!(file.clone().behind(line), expected);
        let mut line = TlsArguments::default();
        line.set_ca(vec!["other.pem".to_owned()]);
        let mut expected = file.clone();
        expected.set_ca(vec!["other.pem".to_owned()]);
        assert_eq!(file.behind(line), expected);
    }
}
