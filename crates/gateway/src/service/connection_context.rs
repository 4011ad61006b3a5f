//! Information about a client's connection, for servers and applications.
//!
//! Source: Ice manual, "Glacier2.AddConnectionContext".

use base64ct::{Base64, Encoding};
use floe::contracts::glacier2::SslInfo;
use floe::{ConnectionInfo, Context};

const PREFIX: &str = "_con.";

/// Context entries with information about this connection.
pub(super) fn entries(info: &ConnectionInfo) -> Context {
    let mut entries = Context::new();
    let mut add = |key: &str, value: String| {
        entries.insert(format!("{PREFIX}{key}"), value);
    };
    add("type", info.transport.to_owned());
    if let Some(remote) = info.remote_address {
        add("remoteAddress", remote.ip().to_string());
        add("remotePort", remote.port().to_string());
    }
    if let Some(local) = info.local_address {
        add("localAddress", local.ip().to_string());
        add("localPort", local.port().to_string());
    }
    if let Some(cipher) = &info.cipher {
        add("cipher", cipher.clone());
    }
    if let Some(certificate) = info.peer_certificates.first() {
        add("peerCert", pem(certificate));
    }
    entries
}

/// The context without `_con.*` entries, which a client may have forged.
pub(super) fn without_forged(mut context: Context) -> Context {
    context.retain(|key, _| !key.starts_with(PREFIX));
    context
}

/// Information about an encrypted connection, for an application.
pub(super) fn ssl_info(info: &ConnectionInfo) -> SslInfo {
    let host = |address: Option<std::net::SocketAddr>| {
        address.map_or_else(String::new, |address| address.ip().to_string())
    };
    let port = |address: Option<std::net::SocketAddr>| {
        address.map_or(0, |address| i32::from(address.port()))
    };
    SslInfo {
        remote_host: host(info.remote_address),
        remote_port: port(info.remote_address),
        local_host: host(info.local_address),
        local_port: port(info.local_address),
        cipher: info.cipher.clone().unwrap_or_default(),
        certs: info.peer_certificates.iter().map(|der| pem(der)).collect(),
    }
}

/// A certificate as PEM.
fn pem(der: &[u8]) -> String {
    let text = Base64::encode_string(der);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for at in (0..text.len()).step_by(LINE_LEN) {
        pem += &text[at..text.len().min(at + LINE_LEN)];
        pem.push('\n');
    }
    pem += "-----END CERTIFICATE-----\n";
    pem
}

/// Characters in a line of PEM.
const LINE_LEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_says_of_its_connection_is_removed() {
        let context = [("_con.type", "forged"), ("_fwd", "o"), ("_contact", "me")];
        let context = context.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let left = without_forged(context.into_iter().collect());
        assert_eq!(left.into_keys().collect::<Vec<_>>(), ["_contact", "_fwd"]);
    }

    #[test]
    fn a_certificate_is_written_in_lines_of_64_characters() {
        let pem = pem(&[0; 49]);
        let lines: Vec<_> = pem.lines().collect();
        assert_eq!(lines[1], "A".repeat(64));
        assert_eq!(lines[2], "AA==");
        assert_eq!(lines[3], "-----END CERTIFICATE-----");
    }
}
