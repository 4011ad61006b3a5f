//! Which endpoint and which connection an invocation takes.

use std::collections::HashSet;

use floe::settings::EndpointSelection;
use floe::{Communicator, InvokeError, LocalError, OperationMode, Proxy, TypedProxy};

use crate::echo::{Server, returned, soon};
use crate::transports::{settings, start};

/// Where a proxy's request arrives, by the counters of the servers.
async fn served_by(proxy: &Proxy, servers: &[Server]) -> usize {
    let counts = || servers.iter().map(count).collect::<Vec<_>>();
    let before = counts();
    soon(returned(proxy, "echo", &crate::echo::NOTHING))
        .await
        .unwrap();
    let after = counts();
    let served: Vec<_> = (0..servers.len())
        .filter(|at| after[*at] > before[*at])
        .collect();
    assert_eq!(served.len(), 1, "by one server");
    served[0]
}

fn count(server: &Server) -> usize {
    server
        .echo
        .echo_count
        .load(std::sync::atomic::Ordering::SeqCst)
}

async fn servers(endpoints: &[&str]) -> (Vec<Server>, String) {
    let mut servers = Vec::new();
    for endpoint in endpoints {
        servers.push(start(endpoint).await);
    }
    let endpoints = servers
        .iter()
        .map(|server| server.adapter.endpoints()[0].to_string());
    let text = format!("echo:{}", endpoints.collect::<Vec<_>>().join(":"));
    (servers, text)
}

fn client() -> Communicator {
    Communicator::with_settings(settings())
}

const TCP: &str = "tcp -h 127.0.0.1 -p 0";

#[tokio::test]
async fn random_selection_spreads_clients_and_ordered_selection_does_not() {
    let (servers, text) = servers(&[TCP, TCP]).await;
    let mut random = HashSet::new();
    for _ in 0..40 {
        let proxy: Proxy = client().proxy(&text).unwrap();
        random.insert(served_by(&proxy, &servers).await);
        let ordered = client().proxy::<Proxy>(&text).unwrap();
        let ordered = ordered.ice_endpoint_selection(EndpointSelection::Ordered);
        assert_eq!(served_by(&ordered, &servers).await, 0);
    }
    assert_eq!(random.len(), 2, "one in 2 to the 39th times by chance");
}

#[tokio::test]
async fn a_proxy_without_a_cached_connection_spreads_its_requests() {
    let (servers, text) = servers(&[TCP, TCP]).await;
    let cached: Proxy = client().proxy(&text).unwrap();
    let first = served_by(&cached, &servers).await;
    let spread = cached.ice_connection_cached(false);
    let mut seen = HashSet::new();
    for _ in 0..40 {
        seen.insert(served_by(&spread, &servers).await);
        assert_eq!(served_by(&cached, &servers).await, first);
    }
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn an_endpoint_that_fails_leaves_the_next() {
    let (servers, text) = servers(&[TCP]).await;
    let text = text.replace("echo:", "echo:tcp -h 127.0.0.1 -p 1:ssl -h 127.0.0.1 -p 1:");
    let proxy: Proxy = client().proxy(&text).unwrap();
    let proxy = proxy.ice_endpoint_selection(EndpointSelection::Ordered);
    assert_eq!(served_by(&proxy, &servers).await, 0);
}

#[tokio::test]
async fn encrypted_endpoints_come_last_or_first_or_alone_as_asked_for() {
    let (servers, text) = servers(&["ssl -h 127.0.0.1 -p 0", TCP]).await;
    for _ in 0..5 {
        let proxy: Proxy = client().proxy(&text).unwrap();
        assert_eq!(served_by(&proxy, &servers).await, 1);
        let proxy: Proxy = client().proxy(&text).unwrap();
        assert_eq!(served_by(&proxy.ice_prefer_secure(true), &servers).await, 0);
        let proxy: Proxy = client().proxy(&text).unwrap();
        assert_eq!(served_by(&proxy.ice_secure(true), &servers).await, 0);
        let proxy: Proxy = client().proxy(&text.replace("echo:", "echo -s:")).unwrap();
        assert_eq!(served_by(&proxy, &servers).await, 0);
    }
    let plain: Proxy = client().proxy("echo -s:tcp -h 127.0.0.1 -p 1").unwrap();
    let error = soon(plain.ice_ping()).await.unwrap_err().to_string();
    assert!(
        error.contains("expected an ssl or wss endpoint, because it says `-s`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_secure_proxy_does_not_borrow_a_plain_connection() {
    let (servers, text) = servers(&["ssl -h 127.0.0.1 -p 0", TCP]).await;
    let plain: Proxy = client().proxy(&text).unwrap();
    assert_eq!(served_by(&plain, &servers).await, 1);
    assert_eq!(served_by(&plain.ice_secure(true), &servers).await, 0);
}

#[tokio::test]
async fn a_secure_proxy_is_fixed_to_encrypted_connections_alone() {
    for (endpoint, is_encrypted) in [
        (TCP, false),
        ("ws -h 127.0.0.1 -p 0", false),
        ("ssl -h 127.0.0.1 -p 0", true),
        ("wss -h 127.0.0.1 -p 0", true),
    ] {
        let (servers, text) = servers(&[endpoint]).await;
        let proxy: Proxy = client().proxy(&text).unwrap();
        assert_eq!(served_by(&proxy, &servers).await, 0);
        let connection = soon(proxy.ice_connection()).await.unwrap().unwrap();
        let fixed = proxy.ice_fixed(&connection);
        for secure in [
            fixed.ice_secure(true),
            proxy.ice_secure(true).ice_fixed(&connection),
        ] {
            assert_eq!(secure.is_connected(), is_encrypted, "{endpoint}");
            if is_encrypted {
                assert_eq!(served_by(&secure, &servers).await, 0);
                continue;
            }
            let before = count(&servers[0]);
            let error = soon(returned(&secure, "echo", &crate::echo::NOTHING));
            let error = error.await.unwrap_err();
            assert!(
                matches!(
                    &error,
                    InvokeError::NotDispatched(LocalError::NoEndpoint { .. })
                ),
                "{error}"
            );
            let oneway = secure.ice_oneway();
            let sent = oneway.invoke("echo", OperationMode::Normal, &crate::echo::NOTHING);
            soon(sent).await.unwrap_err();
            assert_eq!(served_by(&fixed, &servers).await, 0);
            assert_eq!(count(&servers[0]), before + 1, "the plain request alone");
        }
    }
}

#[tokio::test]
async fn proxies_share_a_connection_unless_their_ids_differ() {
    let server = start(TCP).await;
    let client = client();
    let proxy = server.proxy_of(&client, "echo");
    let other = proxy.ice_connection_id("other");
    let mut peers = Vec::new();
    for proxy in [
        &proxy,
        &other,
        &proxy.ice_oneway().ice_twoway(),
        &other.clone(),
    ] {
        let peer = soon(returned(proxy, "peer", &crate::echo::NOTHING))
            .await
            .unwrap();
        peers.push(peer);
    }
    assert_ne!(peers[0], peers[1]);
    assert_eq!(peers[0], peers[2]);
    assert_eq!(peers[1], peers[3]);
    soon(client.shutdown()).await;
}

#[tokio::test]
async fn an_adapter_can_be_published_elsewhere_than_it_listens() {
    let server = start("tcp -h 127.0.0.1 -p 0:tcp -h \"::1\" -p 0").await;
    assert_eq!(server.adapter.endpoints().len(), 2);
    let bound = server.adapter.endpoints()[1].clone();
    let public = format!("{bound}:tcp -h public.example -p 4061 -t 60000");
    server.adapter.publish(&public).unwrap();
    let proxy = server.adapter.proxy("echo".parse().unwrap());
    assert_eq!(proxy.to_string(), format!("echo -t -e 1.1:{public}"));
    assert!(server.adapter.publish("tcp -q").is_err());
    let client = client();
    let proxy = client.proxy_from(proxy.reference().clone());
    let proxy = proxy.ice_endpoint_selection(EndpointSelection::Ordered);
    soon(proxy.ice_ping()).await.unwrap();
}
