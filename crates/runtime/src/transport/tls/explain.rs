//! TLS failures explained: what was expected, what came, and what to do.

use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// Explains a failure. `first` holds the first bytes of the peer until it is known to speak TLS.
pub(super) fn explain(error: &Error, first: &[u8]) -> io::Error {
    let text = match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::AlertReceived(alert) => alert_received(*alert),
        Error::InvalidMessage(_) if !first.is_empty() => not_tls(error, first),
        Error::NoCertificatesPresented => {
            "the client showed no certificate, and this server requires one \
             (`TlsSettings::client_certificates`)"
                .to_owned()
        }
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::SupportedVersionsExtensionRequired
            | PeerIncompatible::Tls12NotOffered,
        ) => format!("expected TLS 1.2 or 1.3: {error}"),
        error => format!("TLS failed: {error}"),
    };
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "the peer's certificate is signed by a CA that we do \
             not trust: add the CA that signed it to `TlsSettings::ca_files`"
            .to_owned(),
        CertificateError::BadSignature => "the peer's certificate names a CA that we trust, but is \
             signed with another key: is the file in `TlsSettings::ca_files` that of an older CA, or of \
             another one of the same name?"
            .to_owned(),
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the peer's certificate expired {} ago (or this machine's clock is wrong): expected \
             one that is valid now",
            in_largest_unit(time.as_secs().saturating_sub(not_after.as_secs()))
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the peer's certificate becomes valid only in {} (or this machine's clock is wrong)",
            in_largest_unit(not_before.as_secs().saturating_sub(time.as_secs()))
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => format!(
            "expected a certificate for {}, got one for {}: connect to a host that it names, or \
             turn `TlsSettings::check_host` off",
            expected.to_str(),
            names(presented)
        ),
        error if format!("{error:?}").contains("CaUsedAsEndEntity") => format!(
            "expected a certificate that a CA has signed, got the certificate of a CA itself, as self-signed ones often are: \
             sign one with that CA ({REMAKE}), or make a self-signed one that is no CA, with \
             `openssl req -x509 -addext basicConstraints=CA:FALSE -addext subjectAltName=DNS:HOST`"
        ),
        error if format!("{error:?}").contains("UnsupportedCertVersion") => format!(
            "the peer's certificate has version 1: expected one of version 3, with extensions: {REMAKE}"
        ),
        error => format!("the peer's certificate cannot be trusted: {error}"),
    }
}

/// How a certificate is made that has what is expected of it.
pub(super) const REMAKE: &str = "make it with `openssl x509 -req -extfile FILE`, where FILE has the line `subjectAltName=DNS:HOST`";

fn alert_received(alert: AlertDescription) -> String {
    let meaning = match alert {
        AlertDescription::CertificateRequired => {
            "it requires a certificate from us: set `TlsSettings::identity`"
        }
        AlertDescription::UnknownCA => "it does not trust the CA that signed our certificate",
        AlertDescription::CertificateExpired => "our certificate has expired",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateUnknown => "it does not accept our certificate",
        AlertDescription::HandshakeFailure => {
            "it accepts none of our algorithms, or requires a certificate from us; if it is a server, its key may be one \
             that is not supported here, such as one on curve P-521: make it on P-256 or P-384, or RSA"
        }
        AlertDescription::ProtocolVersion => "it accepts neither TLS 1.2 nor TLS 1.3",
        AlertDescription::UnrecognisedName => "it does not know the host name that we asked for",
        _ => return format!("the peer refused the connection with the TLS alert {alert:?}"),
    };
    format!("the peer refused the connection: {meaning} (TLS alert {alert:?})")
}

/// Names the protocol that a peer without TLS seems to speak.
fn not_tls(error: &Error, first: &[u8]) -> String {
    let speaks = match first {
        b"IceP" => "the Ice protocol without TLS: is its endpoint `tcp` and not `ssl`?",
        b"GET " => "HTTP without TLS: is its endpoint `ws` and not `wss`?",
        [first, ..] if !(20..=23).contains(first) => "another protocol",
        _ => return format!("TLS failed: {error}"),
    };
    format!("expected TLS, but the peer speaks {speaks}")
}

fn names(presented: &[String]) -> String {
    match presented {
        [] => "no host at all".to_owned(),
        names => names
            .iter()
            .map(|name| bare_name(name))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// Extracts the name from rustls' form `DnsName("hub.example")`.
fn bare_name(name: &str) -> &str {
    let (_, inner) = name.split_once('(').unwrap_or(("", name));
    inner.trim_end_matches(')').trim_matches('"')
}

/// Formats a time in its largest unit.
pub(super) fn in_largest_unit(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{:?}", Duration::from_secs(seconds)),
        120..7_200 => format!("{} minutes", seconds / 60),
        7_200..172_800 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
