//! Which proxies may carry secrets: those whose bytes nobody on the way can read.

use std::net::IpAddr;

use floe_wire::reference::{Endpoint, Reference};

use super::Proxy;
use crate::connection::Connection;

impl Proxy {
    /// Returns true if the requests of this proxy are encrypted, or stay on this host. Requests through a router go to the
    /// router.
    pub(super) fn may_carry_secrets(&self) -> bool {
        if let Some(connection) = &self.inner.options.fixed {
            let info = Connection::new(connection.clone()).info();
            let is_encrypted = ["ssl", "wss", "unix"].contains(&info.transport);
            let address = info.remote_address.map(|address| address.ip());
            return is_encrypted || address.is_some_and(is_loopback);
        }
        match self.router() {
            Some(router) => is_private(&router.reference),
            None => is_private(self.reference()),
        }
    }
}

/// Returns true if no endpoint of the reference would send in the clear to another host. A locator may say anything.
fn is_private(reference: &Reference) -> bool {
    if reference.secure {
        return true;
    }
    // Nothing connects to these.
    let usable = |endpoint: &&Endpoint| !matches!(endpoint, Endpoint::Opaque(_));
    let mut endpoints = reference.endpoints().iter().filter(usable).peekable();
    endpoints.peek().is_some() && endpoints.all(is_private_endpoint)
}

fn is_private_endpoint(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Ssl(_) | Endpoint::Wss(_) | Endpoint::Unix(_) => true,
        // A host that is left out is this one.
        other => other.host().is_some_and(|host| {
            host.is_empty() || host == "localhost" || host.parse().is_ok_and(is_loopback)
        }),
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_private_if_each_of_its_endpoints_is() {
        for (reference, expected) in [
            ("x:tcp -h 127.0.0.1 -p 1", true),
            ("x:tcp -h \"::1\" -p 1:ws -h localhost -p 2", true),
            (
                "x:ssl -h hub.example -p 1:wss -h 10.0.0.1 -p 2:unix -f /run/hub",
                true,
            ),
            ("x:ssl -h hub.example -p 1:tcp -h hub.example -p 2", false),
            ("x -s:ssl -h hub.example -p 1:tcp -h hub.example -p 2", true),
            ("x:tcp -h 10.0.0.1 -p 1", false),
            ("x:udp -h 10.0.0.1 -p 1", false),
            ("x:ssl -h a -p 1:opaque -t 99 -v AA", true),
            ("x:opaque -t 99 -v AA", false),
            ("x @ adapter", false),
            ("x", false),
        ] {
            let parsed: Reference = reference.parse().expect(reference);
            assert_eq!(is_private(&parsed), expected, "{reference}");
        }
    }
}
