//! Encrypted streams over rustls.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection};

use super::{Tls, session};
use crate::transport::Stream;

/// Encrypts a stream to a server. The handshake takes as long as the server likes.
pub(in crate::transport) async fn client(
    stream: Stream,
    host: &str,
    tls: Option<&Tls>,
) -> io::Result<Stream> {
    let tls = required(tls)?;
    let config = tls.client_config().map_err(unusable)?;
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| unusable(format!("expected a host name or address, got \"{host}\"")))?;
    let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
    session::open(stream, connection.into(), tls.handshake_permits()).await
}

/// Encrypts a stream from a client. The handshake takes as long as the client likes.
pub(in crate::transport) async fn server(stream: Stream, tls: Option<Tls>) -> io::Result<Stream> {
    let tls = required(tls.as_ref())?;
    let config = tls.server_config().map_err(unusable)?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    session::open(stream, connection.into(), tls.handshake_permits()).await
}

/// Checks, before the server listens, that it has all that TLS needs.
pub(in crate::transport) fn check_server(tls: Option<&Tls>) -> io::Result<()> {
    required(tls)?.server_config().map(drop).map_err(unusable)
}

fn required(tls: Option<&Tls>) -> io::Result<&Tls> {
    tls.ok_or_else(|| {
        unusable("it needs certificates: set `Settings::tls` of the communicator".to_owned())
    })
}

fn unusable(reason: impl Into<Arc<str>>) -> io::Error {
    let reason: Arc<str> = reason.into();
    io::Error::new(io::ErrorKind::InvalidInput, reason.to_string())
}
