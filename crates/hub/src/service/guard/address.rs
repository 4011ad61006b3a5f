//! Where a proxy leads: to the hub itself, or to an address that the hub may call for a caller.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use floe::reference::Target;
use floe::{Adapter, Current, Endpoint, Reference};
use floe_access::{Callback, Reach};

/// The reference with those endpoints that a callback permits; none if it permits none of them.
pub(super) fn permitted(
    reference: &Reference,
    callback: Callback<'_>,
    own: &[IpAddr],
) -> Option<Reference> {
    let Target::Direct(endpoints) = &reference.target else {
        return callback
            .permits(Reach::Located, own)
            .then(|| reference.clone());
    };
    let is_permitted =
        |endpoint: &&Endpoint| reach(endpoint).is_some_and(|reach| callback.permits(reach, own));
    let permitted: Vec<_> = endpoints.iter().filter(is_permitted).cloned().collect();
    // Without endpoints, a locator is asked.
    let is_located = endpoints.is_empty() && callback.permits(Reach::Located, own);
    (is_located || !permitted.is_empty()).then(|| Reference {
        target: Target::Direct(permitted),
        ..reference.clone()
    })
}

/// None for an endpoint of an unknown kind, to which nothing is ever sent.
fn reach(endpoint: &Endpoint) -> Option<Reach<'_>> {
    match (endpoint, endpoint.host()) {
        (Endpoint::Unix(_), _) => Some(Reach::Here),
        (_, Some("")) => Some(Reach::Here),
        (_, Some(host)) => Some(host.parse().map_or(Reach::Host(host), Reach::Address)),
        (_, None) => None,
    }
}

/// The addresses of this computer.
pub(super) fn own(current: &Current) -> Vec<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let info = current.connection().map(|connection| connection.info());
    let local = info
        .and_then(|info| info.local_address)
        .map(|local| local.ip());
    let of_interfaces = interfaces.iter().map(if_addrs::Interface::ip);
    of_interfaces.chain(local).collect()
}

/// Returns true if a proxy leads to an object of one of these adapters, by its endpoints or by the adapter's name.
pub(crate) fn is_one_of(adapters: &[&Adapter], reference: &Reference) -> bool {
    let is_of = |adapter: &&Adapter| match &reference.target {
        Target::Direct(endpoints) => endpoints.iter().any(|endpoint| is_own(adapter, endpoint)),
        Target::Indirect { adapter_id } => adapter.is_named(adapter_id),
        Target::WellKnown => false,
    };
    adapters.iter().any(is_of)
}

fn is_own(adapter: &Adapter, endpoint: &Endpoint) -> bool {
    if adapter.published_endpoints().contains(endpoint) {
        return true;
    }
    let is_same = |bound: &Endpoint| {
        let place = |endpoint: &Endpoint| (endpoint.port(), endpoint.is_datagram());
        match (bound, endpoint) {
            (Endpoint::Unix(bound), Endpoint::Unix(other)) => bound.path == other.path,
            (Endpoint::Unix(_), _) | (_, Endpoint::Unix(_)) => false,
            // An adapter that listens at all addresses has those of its interfaces here, and not the loopback ones.
            _ => {
                place(bound) == place(endpoint)
                    && (is_same_host(bound, endpoint)
                        || adapter.listens_everywhere(endpoint) && leads_to_loopback(endpoint))
            }
        }
    };
    adapter.endpoints().iter().any(is_same)
}

fn is_same_host(one: &Endpoint, other: &Endpoint) -> bool {
    let own = addresses(one);
    one.host() == other.host() || addresses(other).iter().any(|address| own.contains(address))
}

/// The addresses of an endpoint, as far as no name service has to be asked.
fn addresses(endpoint: &Endpoint) -> Vec<IpAddr> {
    let host = endpoint.host().unwrap_or_default();
    match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        // A connection to the unspecified address goes to loopback.
        Ok(address) if address.is_unspecified() => LOOPBACK.to_vec(),
        Ok(address) => vec![address],
        Err(_) if leads_to_loopback(endpoint) => LOOPBACK.to_vec(),
        Err(_) => Vec::new(),
    }
}

/// The addresses of `localhost`.
const LOOPBACK: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

fn leads_to_loopback(endpoint: &Endpoint) -> bool {
    match endpoint.host() {
        Some("") => true,
        Some(host) if host.eq_ignore_ascii_case("localhost") => true,
        Some(host) => host.parse().is_ok_and(|address: IpAddr| {
            let address = address.to_canonical();
            address.is_loopback() || address.is_unspecified()
        }),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use floe::{Communicator, Proxy};

    use super::*;

    /// Returns true if the adapter at `listen` takes the endpoint with its port for its own.
    async fn is_own_at(listen: &str, host: &str) -> bool {
        let communicator = Communicator::new();
        let adapter = communicator.adapter(&format!("tcp {listen}")).await;
        let adapter = adapter.expect("it listens");
        let port = adapter.endpoints()[0].port().expect("a port");
        let proxy: Result<Proxy, _> = communicator.proxy(&format!("o:tcp {host} -p {port}"));
        let is_own = is_one_of(&[&adapter], proxy.expect("it is one").reference());
        adapter.destroy().await;
        is_own
    }

    #[tokio::test]
    async fn an_address_is_own_only_if_an_adapter_listens_there() {
        for (listen, host, expected) in [
            ("-h 127.0.0.1", "-h 127.0.0.1", true),
            ("-h 127.0.0.1", "-h localhost", true),
            ("-h 127.0.0.1", "", true),
            ("-h 127.0.0.1", "-h 0.0.0.0", true),
            ("-h 127.0.0.1", "-h 127.0.0.2", false),
            ("-h 127.0.0.2", "-h 127.0.0.1", false),
            ("-h 127.0.0.2", "-h localhost", false),
            ("-h 127.0.0.2", "-h 127.0.0.2", true),
            ("-h *", "-h 127.0.0.2", true),
            ("-h *", "-h localhost", true),
            ("-h 0.0.0.0", "-h 127.0.0.1", true),
        ] {
            assert_eq!(is_own_at(listen, host).await, expected, "{listen}, {host}");
        }
    }
}
