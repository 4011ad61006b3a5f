//! The replacement for encryption in a build without the cargo feature `tls`: every use fails with a reason.

use std::convert::Infallible;
use std::io;

use super::{TlsError, TlsSettings};
use crate::transport::Stream;

/// The reason, and its remedy.
pub(super) const NOT_BUILT: &str =
    "this build has no encryption: build it with the cargo feature `tls`";

/// Loaded certificates and trust of a communicator. Clones share them.
///
/// A build without the cargo feature `tls` cannot make one.
#[derive(Debug, Clone)]
pub struct Tls {
    never: Infallible,
}

impl Tls {
    /// Fails, because this build has no encryption.
    ///
    /// # Errors
    /// Always [`TlsError`].
    pub fn load(_settings: TlsSettings) -> Result<Self, TlsError> {
        Err(TlsError::not_built())
    }

    /// Reads all files again.
    ///
    /// # Errors
    /// Never: this build has no such value.
    pub fn reload(&self) -> Result<(), TlsError> {
        match self.never {}
    }
}

pub(in crate::transport) async fn client(
    _: Stream,
    _host: &str,
    _: Option<&Tls>,
) -> io::Result<Stream> {
    Err(not_built())
}

pub(in crate::transport) async fn server(_: Stream, _: Option<Tls>) -> io::Result<Stream> {
    Err(not_built())
}

pub(in crate::transport) fn check_server(_: Option<&Tls>) -> io::Result<()> {
    Err(not_built())
}

fn not_built() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, NOT_BUILT)
}
