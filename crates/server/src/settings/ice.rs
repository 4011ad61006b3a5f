//! Properties of Ice's runtime and of its plug-ins that bear on a hub. They mean what they mean there, above all where they
//! are left out: an adapter without a host listens on all interfaces.
//!
//! Source: Ice manual, "Ice Default and Override Properties", "IceSSL Properties".

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use floe::settings::EndpointSelection;
use floe::tls::ClientCertificates;
use floe_access::{Access, TrustOnly};

use super::Configuration;
use super::entry::Problem;
use super::known_properties::{OF_ICE, is_known};
use super::plain_build::parts;
use super::properties::Property;
use crate::values::locator;

/// The properties that only make sense together.
#[derive(Default)]
pub(super) struct Ice {
    host: Option<String>,
    protocol: Option<String>,
    is_ipv4_alone: bool,
    tls_directory: Option<String>,
    tls_ca: Option<String>,
    tls_cert: Option<String>,
    tls_key: Option<String>,
    checks_host: bool,
    client_certificates: Option<ClientCertificates>,
}

impl Ice {
    /// One of them; those that mean nothing here are said to be ignored.
    pub(super) fn apply(
        &mut self,
        property: &Property,
        configuration: &mut Configuration,
    ) -> Result<(), Problem> {
        if !is_known(OF_ICE, &property.name) {
            return ignore(property, configuration);
        }
        let value = || property.value.clone();
        match property.name.as_str() {
            "Ice.Default.Host" => self.host = Some(value()),
            "Ice.Default.Protocol" => self.protocol = Some(protocol(property)?),
            "Ice.Default.Locator" => {
                let named =
                    locator::parse(&property.value).map_err(|wrong| property.note(wrong))?;
                // That of the command line goes before it.
                configuration.communicator.locator.get_or_insert(named);
            }
            "Ice.Default.LocatorCacheTimeout" => {
                let seconds = property.number(-1, "-1 or more seconds")?;
                configuration.communicator.locator_cache_timeout =
                    u64::try_from(seconds).ok().map(Duration::from_secs);
            }
            "Ice.IPv6" => self.is_ipv4_alone = !property.flag()?,
            "Ice.MessageSizeMax" => {
                let kilobytes = property.number(0, "kilobytes")?;
                configuration.communicator.message_size_max = match usize::try_from(kilobytes) {
                    Ok(0) => i32::MAX as usize,
                    Ok(kilobytes) => kilobytes.saturating_mul(1024).min(i32::MAX as usize),
                    Err(_) => i32::MAX as usize,
                };
            }
            "Ice.TCP.RcvSize" => {
                configuration.communicator.tcp_receive_buffer = buffer_size(property)?;
            }
            "Ice.TCP.SndSize" => {
                configuration.communicator.tcp_send_buffer = buffer_size(property)?;
            }
            "Ice.UDP.RcvSize" => {
                configuration.communicator.udp_receive_buffer = buffer_size(property)?;
            }
            "Ice.UDP.SndSize" => {
                configuration.communicator.udp_send_buffer = buffer_size(property)?;
            }
            "IceSSL.DefaultDir" => self.tls_directory = Some(value()),
            "IceSSL.CAs" | "IceSSL.CertAuthFile" => self.tls_ca = Some(value()),
            "IceSSL.CertFile" => self.tls_cert = Some(value()),
            "IceSSL.KeyFile" => self.tls_key = Some(value()),
            "IceSSL.Password" => configuration.tls.set_password(property.value.clone()),
            "IceSSL.CheckCertName" => self.checks_host = property.flag()?,
            "IceSSL.VerifyPeer" => {
                let asked = match property.number(0, "0, 1 or 2")? {
                    0 => ClientCertificates::NotAsked,
                    1 => ClientCertificates::Verified,
                    2 => ClientCertificates::Required,
                    _ => return Err(property.expected("0, 1 or 2")),
                };
                self.client_certificates = Some(asked);
            }
            "IceSSL.TrustOnly" | "IceSSL.TrustOnly.Server" => {
                if !configuration.hub.access.is_open() {
                    return Err(property.note(
                        "expected one of IceSSL.TrustOnly and IceSSL.TrustOnly.Server: write all entries into one",
                    ));
                }
                let trust: Result<TrustOnly, _> = property.value.parse();
                let trust = trust.map_err(|wrong| property.note(wrong))?;
                configuration.hub.access = Arc::new(Access::trusting(trust));
                if property.name == "IceSSL.TrustOnly" {
                    let warning = property.note(format_args!("holds for clients alone: {CALLED}"));
                    configuration.warnings.push(warning);
                }
            }
            "Ice.Override.Secure" => {
                if property.flag()? {
                    return Err(property.note(
                        "a Floe hub cannot be limited to encrypted connections: remove the line, and \
                         let subscribers have ssl or wss endpoints alone, or `-s` in their proxies",
                    ));
                }
            }
            "Ice.Default.PreferSecure" => {
                configuration.communicator.prefer_secure = property.flag()?;
            }
            "Ice.Default.EndpointSelection" => {
                configuration.communicator.endpoint_selection = match property.value.as_str() {
                    "Random" => EndpointSelection::Random,
                    "Ordered" => EndpointSelection::Ordered,
                    _ => return Err(property.expected("Random or Ordered")),
                };
            }
            "Ice.Override.Compress" => {
                configuration.communicator.compress_override = Some(property.flag()?);
            }
            "IceSSL.TrustOnly.Client" => property.ignore(CALLED, configuration),
            "IceSSL.UsePlatformCAs" => {
                if property.flag()? {
                    return Err(property.note(
                        "a Floe hub trusts only the CAs in its settings: name a file with the system's CAs in IceSSL.CAs",
                    ));
                }
            }
            _ => return ignore(property, configuration),
        }
        Ok(())
    }

    /// Completes what other properties have said.
    pub(super) fn finish(self, configuration: &mut Configuration) {
        let hub = &mut configuration.hub;
        let mut gateway = configuration.gateway.as_mut();
        let own = [
            Some(&mut hub.listen),
            hub.publish_listen.as_mut(),
            hub.admin.as_mut().map(|admin| &mut admin.listen),
        ];
        let of_gateway = gateway.as_mut().map(|gateway| {
            let admin = gateway.admin.as_mut().map(|admin| &mut admin.listen);
            let (client, server) = (&mut gateway.client_listen, &mut gateway.server_listen);
            [Some(client), server.as_mut(), admin]
        });
        let own = own.into_iter().chain(of_gateway.into_iter().flatten());
        let everywhere = if self.is_ipv4_alone { "0.0.0.0" } else { "*" };
        for endpoints in own.flatten() {
            let host = self.host.as_deref().unwrap_or(everywhere);
            *endpoints = completed(endpoints, Some(host), self.protocol.as_deref());
        }
        let published = [
            hub.published_endpoints.as_mut(),
            hub.publish_published_endpoints.as_mut(),
        ];
        let of_gateway = gateway.map(|gateway| {
            [
                gateway.client_published_endpoints.as_mut(),
                gateway.server_published_endpoints.as_mut(),
            ]
        });
        let published = published
            .into_iter()
            .chain(of_gateway.into_iter().flatten());
        for endpoints in published.flatten() {
            *endpoints = completed(endpoints, self.host.as_deref(), self.protocol.as_deref());
        }
        let directory = self.tls_directory.unwrap_or_default();
        let found = |file: String| {
            let path = Path::new(&directory).join(file);
            path.to_string_lossy().into_owned()
        };
        let tls = &mut configuration.tls;
        if let Some(ca) = self.tls_ca {
            tls.set_ca(vec![found(ca)]);
        }
        if let Some(cert) = self.tls_cert {
            tls.set_cert(found(cert));
        }
        if let Some(key) = self.tls_key {
            tls.set_key(found(key));
        }
        tls.set_any_host(!self.checks_host);
        // A server of Ice lets in nobody whom it cannot verify, unless it says otherwise.
        let asked = self
            .client_certificates
            .unwrap_or(ClientCertificates::Required);
        tls.set_client_certificates(asked);
    }
}

/// Says that a property has no effect, or refuses it.
fn ignore(property: &Property, configuration: &mut Configuration) -> Result<(), Problem> {
    if let Some(refusal) = refusal(&property.name) {
        return Err(property.note(refusal));
    }
    property.ignore(ignored_because(&property.name), configuration);
    Ok(())
}

/// Why a property is refused that lets less pass: without it, more would.
fn refusal(name: &str) -> Option<&'static str> {
    let refusals = RESTRICTIONS.iter();
    let mut matching = refusals.filter(|(prefix, _)| name.starts_with(prefix));
    matching.next().map(|(_, refusal)| *refusal)
}

const RESTRICTIONS: [(&str, &str); 7] = [
    (
        "IceSSL.TrustOnly.",
        "a Floe hub has one set of clients that it trusts: remove the line, or say it in IceSSL.TrustOnly.Server",
    ),
    ("IceSSL.CertVerifier", WHOM),
    ("IceSSL.Revocation", WHOM),
    ("IceSSL.CertificateRevocation", WHOM),
    (
        "IceSSL.VerifyDepthMax",
        "a Floe hub cannot limit the length of a certificate chain: remove the line, or name in \
         IceSSL.CAs only a CA that signs no other",
    ),
    ("IceSSL.Ciphers", HOW),
    // Also ProtocolVersionMin and ProtocolVersionMax.
    ("IceSSL.Protocol", HOW),
];

const CALLED: &str = "the hub calls every subscriber, and the gateway every server, that has a certificate of a CA in IceSSL.CAs; \
                      accept only a CA of your own there";

const WHOM: &str = "a Floe hub cannot refuse peers in this way: remove the line, or accept only \
                    certificates that a CA of your own has signed";

const HOW: &str = "a Floe hub speaks TLS 1.2 and 1.3 with modern ciphers, and cannot be restricted further: remove the \
                   line";

/// The size of a socket's buffer; none leaves it to the system.
fn buffer_size(property: &Property) -> Result<Option<usize>, Problem> {
    let bytes = property.number(0, "bytes, or 0 for the system's size")?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    Ok((bytes > 0).then(|| bytes.min(i32::MAX as usize)))
}

fn protocol(property: &Property) -> Result<String, Problem> {
    match property.value.as_str() {
        protocol @ ("tcp" | "ssl" | "ws" | "wss") => Ok(protocol.to_owned()),
        _ => Err(property.expected("tcp, ssl, ws or wss")),
    }
}

fn ignored_because(name: &str) -> &'static str {
    let is_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match name {
        "Ice.Default.InvocationTimeout" => {
            "here Send.Timeout says how long a subscriber may take to answer"
        }
        "Ice.Default.Timeout" | "Ice.Override.Timeout" | "Ice.Override.ConnectTimeout" => {
            "a Floe hub has no such setting: a connection may take 10 seconds, or less if `-t` of the endpoint says so"
        }
        "Ice.Override.CloseTimeout" => {
            "a Floe hub has no such setting: a connection has a second to close"
        }
        "Ice.Default.Router" => {
            "a Floe hub has no such setting: it connects to subscribers without a router"
        }
        "Ice.Default.SourceAddress" => {
            "a Floe hub has no such setting: the system chooses the address that it connects from"
        }
        "Ice.Default.EncodingVersion" => {
            "a Floe hub has no such setting: events keep the encoding in which they came, and the hub's own proxies say 1.1"
        }
        _ if is_of(&["Ice.ACM."]) => "a floe.toml has [liveness] for that",
        _ if is_of(&["Ice.ThreadPool."]) => {
            "there are no thread pools; --threads says how many threads work"
        }
        _ if is_of(&[
            "Ice.StdErr",
            "Ice.StdOut",
            "Ice.LogFile",
            "Ice.UseSyslog",
            "Ice.Syslog",
        ]) =>
        {
            "a Floe hub logs on standard error: redirect it"
        }
        _ if is_of(&["Ice.Trace.", "Ice.Warn.", "IceSSL.Trace."]) => {
            "use --verbose, or FLOE_LOG=debug"
        }
        _ if is_of(&["Freeze."]) => "it is of an IceStorm before 3.6; what it stored is not read",
        // Not that it would not bear on one: there is a property of Ice for nearly all that a hub does.
        _ if is_of(&["Ice"]) => "a Floe hub has no such setting",
        _ => "it is of another service",
    }
}

/// Endpoints that are at a host.
const OF_A_HOST: [&str; 5] = ["tcp", "ssl", "ws", "wss", "udp"];

/// The endpoints, those that say nothing of a host or leave the protocol open with these.
fn completed(endpoints: &str, host: Option<&str>, protocol: Option<&str>) -> String {
    let parts = parts(endpoints).into_iter();
    let parts = parts.map(|endpoint| {
        let first = endpoint.split_whitespace().next().unwrap_or_default();
        let (first, rest) = match (first, protocol) {
            ("default", protocol) => (protocol.unwrap_or("tcp"), &endpoint["default".len()..]),
            (first, _) => endpoint.split_at(first.len()),
        };
        let has_host = rest.split_whitespace().any(|word| word == "-h");
        match host.filter(|_| OF_A_HOST.contains(&first) && !has_host) {
            Some(host) => format!("{first}{rest} -h \"{host}\""),
            None => format!("{first}{rest}"),
        }
    });
    parts.collect::<Vec<_>>().join(":")
}
