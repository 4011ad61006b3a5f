//! The error for certificates and keys that cannot be used.

use std::fmt;

#[cfg(feature = "tls")]
use super::load::Identity;
#[cfg(feature = "tls")]
use super::own_certificate::{unusable_key, version_complaint};
#[cfg(feature = "tls")]
use super::settings::TlsFile;

/// Certificates or keys cannot be used. The text says why.
#[derive(Clone)]
pub struct TlsError {
    message: String,
}

impl TlsError {
    #[cfg(feature = "tls")]
    pub(super) fn file(file: &TlsFile, expected: &'static str, found: impl fmt::Display) -> Self {
        Self {
            message: format!("{file}: expected {expected}: {found}"),
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn new(error: impl fmt::Display) -> Self {
        Self {
            message: format!("the TLS settings cannot be used: {error}"),
        }
    }

    #[cfg(feature = "tls")]
    pub(super) fn identity((chain, key): &Identity, error: rustls::Error) -> Self {
        let version = chain.first().and_then(|it| version_complaint(it));
        let reason = match (error, version) {
            (rustls::Error::InconsistentKeys(_), _) => {
                "the key is not that of the certificate".to_owned()
            }
            (rustls::Error::InvalidCertificate(_), Some(version)) => version,
            (rustls::Error::General(error), _) => unusable_key(key.secret_der(), &error),
            (other, _) => other.to_string(),
        };
        Self {
            message: format!("the TLS identity cannot be used: {reason}"),
        }
    }

    /// Makes the error of a build without TLS.
    #[cfg(not(feature = "tls"))]
    pub(super) fn not_built() -> Self {
        Self {
            message: super::absent::NOT_BUILT.to_owned(),
        }
    }
}

/// The text of `Display`: `main` prints the error that it returns in this form.
impl fmt::Debug for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TlsError {}
