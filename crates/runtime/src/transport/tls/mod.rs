//! TLS over another stream: the transports `ssl` and `wss`.
//!
//! The settings for certificates are part of every build. The cargo feature `tls` adds the implementation. A build
//! without the feature reports that when certificates are loaded or such an endpoint is used.
//!
//! - `settings.rs`: certificates and trust as a program configures them; `error.rs`: why they cannot be used
//! - `encrypt.rs`: streams over rustls
//! - `load.rs`: certificates and keys from files; `config.rs`: their form for rustls
//! - `session.rs`: the two halves of an encrypted stream; `handshake_permits.rs`: how many handshakes compute at a time
//! - `explain.rs`: failures explained; `own_certificate.rs`: what is wrong with our own certificate
//! - `absent.rs`: a build without the feature

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod config;
#[cfg(feature = "tls")]
mod encrypt;
mod error;
#[cfg(feature = "tls")]
mod explain;
#[cfg(feature = "tls")]
mod handshake_permits;
#[cfg(feature = "tls")]
mod load;
#[cfg(feature = "tls")]
mod own_certificate;
#[cfg(feature = "tls")]
mod session;
mod settings;

#[cfg(not(feature = "tls"))]
pub use absent::Tls;
#[cfg(feature = "tls")]
pub use config::Tls;
pub use error::TlsError;
pub use settings::{ClientCertificates, TlsFile, TlsIdentity, TlsSettings};

#[cfg(not(feature = "tls"))]
pub(super) use absent::{check_server, client, server};
#[cfg(feature = "tls")]
pub(super) use encrypt::{check_server, client, server};

#[cfg(all(test, feature = "tls"))]
pub(in crate::transport) mod tests;
