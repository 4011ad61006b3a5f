//! Certificates and trust for `ssl` and `wss` endpoints, as arguments.

use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;
use floe::tls::Tls;
pub(crate) use floe_server::{Certificates, FULL_BUILD};

use crate::exit::Failure;

/// Certificates and trust, for every subcommand that connects or listens.
#[derive(Debug, Args)]
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
}

impl From<TlsArguments> for Certificates {
    fn from(arguments: TlsArguments) -> Self {
        let mut certificates = Self::default();
        certificates.ca = arguments.tls_ca;
        certificates.cert = arguments.tls_cert;
        certificates.key = arguments.tls_key;
        certificates.any_host = arguments.tls_any_host;
        certificates
    }
}

/// The arguments, and the content of the files that they name, for all communicators of this process.
static SAID: OnceLock<(Certificates, Option<Tls>)> = OnceLock::new();

/// Loads what the arguments name.
///
/// # Errors
/// Files that cannot be used, and a key without its certificate.
pub(crate) fn load(certificates: Certificates) -> Result<(), Failure> {
    let tls = certificates.clone().tls()?;
    SAID.get_or_init(|| (certificates, tls));
    Ok(())
}

/// Certificates and trust, if the arguments said anything.
pub(crate) fn loaded() -> Option<Tls> {
    SAID.get().and_then(|(_, tls)| tls.clone())
}

/// Returns the arguments.
pub(crate) fn said() -> Certificates {
    let said = SAID.get();
    said.map(|(certificates, _)| certificates.clone())
        .unwrap_or_default()
}
