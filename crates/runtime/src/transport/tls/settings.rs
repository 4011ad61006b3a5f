//! Settings for certificates and trust.

use std::fmt;
use std::path::{Path, PathBuf};

/// Certificates and trust of a communicator, for `ssl` and `wss` endpoints in both directions.
///
/// ```
/// use floe::tls::{TlsIdentity, TlsSettings};
///
/// let mut settings = TlsSettings::default();
/// settings.ca_files.push("ca.pem".into());
/// settings.identity = Some(TlsIdentity::pem("server.pem", "server.key"));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
#[doc(alias = "IceSSL")]
pub struct TlsSettings {
    /// The identity that this program shows to its peers. A server needs one; a client needs one if the server asks for
    /// it. Default none.
    #[doc(alias = "IceSSL.CertFile")]
    pub identity: Option<TlsIdentity>,
    /// The CAs that may sign the certificates of peers: PEM files with certificates. Default none; the CAs of the
    /// system are not used.
    #[doc(alias = "IceSSL.CAs")]
    pub ca_files: Vec<TlsFile>,
    /// True if a client verifies the server's certificate. Default true. If false, the stream is encrypted, but the
    /// server may be anyone.
    #[doc(alias = "IceSSL.VerifyPeer")]
    pub verify_server: bool,
    /// True if a client checks that the server's certificate names the host of the endpoint. Default true; in Ice,
    /// false.
    #[doc(alias = "IceSSL.CheckCertName")]
    pub check_host: bool,
    /// Says whether a server asks its clients for a certificate. Default [`ClientCertificates::Required`],
    /// as in Ice.
    #[doc(alias = "IceSSL.VerifyPeer")]
    pub client_certificates: ClientCertificates,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            identity: None,
            ca_files: Vec::new(),
            verify_server: true,
            check_host: true,
            client_certificates: ClientCertificates::Required,
        }
    }
}

/// How a server treats the certificates of its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientCertificates {
    /// The server does not ask.
    NotAsked,
    /// A client needs no certificate, but a certificate that it shows is verified.
    Verified,
    /// A client needs a certificate that a trusted CA has signed.
    Required,
}

/// The identity of a program: a certificate, the chain of its signers up to a CA, and its key.
#[derive(Clone)]
#[non_exhaustive]
pub enum TlsIdentity {
    /// PEM files.
    Pem {
        /// The certificate, followed by its signers.
        certificates: TlsFile,
        /// The private key, not encrypted, in PKCS#8, PKCS#1 or SEC1.
        key: TlsFile,
    },
    /// A PKCS#12 file (`.p12`, `.pfx`) with certificates and key. It needs the cargo feature
    /// `pkcs12`.
    Pkcs12 {
        /// The file.
        file: TlsFile,
        /// Its password.
        password: String,
    },
}

impl TlsIdentity {
    /// Makes an identity from PEM files, which may be the same file.
    pub fn pem(certificates: impl Into<TlsFile>, key: impl Into<TlsFile>) -> Self {
        Self::Pem {
            certificates: certificates.into(),
            key: key.into(),
        }
    }

    /// Makes an identity from a PKCS#12 file.
    pub fn pkcs12(file: impl Into<TlsFile>, password: impl Into<String>) -> Self {
        Self::Pkcs12 {
            file: file.into(),
            password: password.into(),
        }
    }
}

/// Leaves out the password.
impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pem { certificates, key } => f
                .debug_struct("Pem")
                .field("certificates", certificates)
                .field("key", key)
                .finish(),
            Self::Pkcs12 { file, .. } => f
                .debug_struct("Pkcs12")
                .field("file", file)
                .finish_non_exhaustive(),
        }
    }
}

/// A file, or its content in memory.
#[derive(Clone)]
#[non_exhaustive]
pub enum TlsFile {
    /// Read by each load and reload.
    Path(PathBuf),
    /// Held in memory.
    Bytes(Vec<u8>),
}

impl From<PathBuf> for TlsFile {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<&Path> for TlsFile {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

impl From<String> for TlsFile {
    fn from(path: String) -> Self {
        Self::Path(path.into())
    }
}

impl From<&str> for TlsFile {
    fn from(path: &str) -> Self {
        Self::Path(path.into())
    }
}

/// Shows the path, not the content.
impl fmt::Debug for TlsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TlsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Bytes(bytes) => write!(f, "({} bytes in memory)", bytes.len()),
        }
    }
}
