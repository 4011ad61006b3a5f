//! The endpoint where a hub reaches this subscriber: the local address of their connection.

use std::net::IpAddr;

use floe::{ConnectionInfo, TypedProxy};

use crate::endpoint;
use crate::exit::{Exit, Failure};
use crate::tls;

/// The endpoint to listen on for events of the hub at the other end of this connection.
///
/// # Errors
/// The connection is encrypted and leads to another computer, and there is no certificate to serve with.
pub(super) fn endpoint_for(info: &ConnectionInfo) -> Result<String, Failure> {
    let Some(address) = info.local_address else {
        // A socket in the file system: the hub is on this computer.
        return Ok(endpoint::tcp("127.0.0.1", 0));
    };
    let host = host_of(address.ip());
    let endpoint = endpoint::tcp(&host, 0);
    if info.cipher.is_none() || address.ip().is_loopback() {
        return Ok(endpoint);
    }
    match tls::said().cert.is_some() {
        true => Ok(endpoint.replacen("tcp", "ssl", 1)),
        false => Err(Failure::new(
            Exit::Usage,
            "the connection to the hub is encrypted, and events would come back unencrypted",
        )
        .help(format_args!(
            "give --tls-cert and --tls-key to receive them encrypted, or accept it with --listen {host}"
        ))),
    }
}

/// The endpoints of a proxy, for people; none if all are loopback.
pub(super) fn beyond_loopback(proxy: &impl TypedProxy) -> Option<String> {
    let endpoints = proxy.as_proxy().reference().endpoints();
    let is_remote = endpoints.iter().any(|endpoint| {
        let address = endpoint.host().and_then(|host| host.parse::<IpAddr>().ok());
        address.is_some_and(|address| !address.is_loopback())
    });
    let texts = endpoints
        .iter()
        .map(|it| endpoint::readable(&it.to_string()));
    is_remote.then(|| texts.collect::<Vec<_>>().join(":"))
}

/// Why a hub on another computer does not reach a subscriber that listens on loopback alone; `None` if it may.
pub(super) fn out_of_reach(subscriber: &impl TypedProxy, info: &ConnectionInfo) -> Option<String> {
    let hub = info.remote_address.map(|address| address.ip());
    let hub = hub.filter(|hub| !hub.to_canonical().is_loopback())?;
    let endpoints = subscriber.as_proxy().reference().endpoints();
    let mut hosts = endpoints.iter().map(|endpoint| endpoint.host());
    let listens_locally = !endpoints.is_empty() && hosts.all(|host| host.is_some_and(is_loopback));
    let own = info.local_address.map(|address| host_of(address.ip()));
    listens_locally.then(|| {
        format!(
            "the hub at {} cannot deliver events: this subscriber listens on loopback, which only this computer reaches; \
             leave out --listen, or give an address that the hub reaches, such as {}",
            host_of(hub),
            own.unwrap_or_default()
        )
    })
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// An IPv4 address that came in by an IPv6 socket is one all the same.
fn host_of(address: IpAddr) -> String {
    address.to_canonical().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(address: &str, cipher: Option<&str>) -> ConnectionInfo {
        let mut info = ConnectionInfo::default();
        info.local_address = Some(address.parse().expect("an address"));
        info.cipher = cipher.map(str::to_owned);
        info
    }

    #[test]
    fn a_subscriber_listens_where_it_talks_to_the_hub() {
        for (address, expected) in [
            ("10.1.2.3:5000", "tcp -h 10.1.2.3 -p 0"),
            ("127.0.0.1:5000", "tcp -h 127.0.0.1 -p 0"),
            ("[::1]:5000", "tcp -h \"::1\" -p 0"),
            ("[::ffff:10.1.2.3]:5000", "tcp -h 10.1.2.3 -p 0"),
        ] {
            let endpoint = endpoint_for(&info(address, None));
            assert_eq!(endpoint.ok().as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_subscriber_on_loopback_is_out_of_reach_of_a_remote_hub_alone() {
        let communicator = floe::Communicator::new();
        let proxy = |text: &str| -> floe::Proxy { communicator.proxy(text).expect("a proxy") };
        let mut info = info("10.1.2.3:5000", None);
        info.remote_address = Some("10.1.2.4:4061".parse().expect("an address"));
        for host in ["127.0.0.1", "\"::1\"", "localhost"] {
            let warning = out_of_reach(&proxy(&format!("s:tcp -h {host} -p 1")), &info);
            let warning = warning.expect("10.1.2.4 does not reach it");
            assert!(warning.starts_with("the hub at 10.1.2.4 cannot deliver events"));
            assert!(warning.ends_with("such as 10.1.2.3"), "{warning}");
        }
        for reached in [
            "s:tcp -h 10.1.2.3 -p 1",
            "s:tcp -h 127.0.0.1 -p 1:tcp -h example.net -p 1",
            "s",
        ] {
            assert_eq!(out_of_reach(&proxy(reached), &info), None, "{reached}");
        }
        info.remote_address = Some("127.0.0.1:4061".parse().expect("an address"));
        assert_eq!(out_of_reach(&proxy("s:tcp -h 127.0.0.1 -p 1"), &info), None);
    }

    #[test]
    fn events_of_an_encrypted_remote_hub_do_not_come_unencrypted_by_themselves() {
        let refused = endpoint_for(&info("10.1.2.3:5000", Some("TLS13_AES_256_GCM_SHA384")));
        assert_eq!(refused.map_err(|it| it.exit()), Err(Exit::Usage));
        let local = endpoint_for(&info("127.0.0.1:5000", Some("TLS13_AES_256_GCM_SHA384")));
        assert_eq!(local.ok().as_deref(), Some("tcp -h 127.0.0.1 -p 0"));
    }
}
