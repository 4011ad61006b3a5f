//! What a build without the cargo feature `tls` has in place of encryption: a reason.

use std::convert::Infallible;
use std::io;

use super::{TlsError, TlsSettings};
use crate::transport::Stream;

/// What to do about it.
pub(super) const NOT_BUILT: &str =
    "this build has no encryption: build it with the cargo feature `tls`";

/// Certificates and trust of a communicator, loaded. A clone is the same.
///
/// There is none in a build without the cargo feature `tls`.
#[derive(Debug, Clone)]
pub struct Tls {
    never: Infallible,
}

impl Tls {
    /// Fails, because this build has no encryption.
    ///
    /// # Errors
    /// [`TlsError`] always.
    pub fn load(_settings: TlsSettings) -> Result<Self, TlsError> {
        Err(TlsError::not_built())
    }

    /// Reads all files again.
    ///
    /// # Errors
    /// None: there is no such value in this build.
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
