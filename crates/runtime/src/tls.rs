//! Certificates and trust, for `ssl` and `wss` endpoints.

pub use crate::transport::tls::{
    ClientCertificates, Tls, TlsError, TlsFile, TlsIdentity, TlsSettings,
};
