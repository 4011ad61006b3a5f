//! Filters: no request that one refuses reaches a servant, and each other one does.

use std::collections::BTreeSet;

use floe::{Proxy, TypedProxy};
use floe_gateway::GatewaySettings;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use tokio::runtime::Builder;

use crate::world::{BackEnd, NOTHING, World, call, soon};

const IDENTITIES: [&str; 6] = ["a/x", "a/y", "b/x", "b/y", "x", "y"];
const CATEGORIES: [&str; 2] = ["a", "b"];

/// What a client sends.
#[derive(Debug, Clone)]
struct Sent {
    identity: Index,
    /// At which of two servers it says that the object is.
    server: bool,
    is_oneway: bool,
    facet: bool,
}

fn sent() -> impl Strategy<Value = Sent> {
    let parts = (any::<Index>(), any::<bool>(), any::<bool>(), any::<bool>());
    parts.prop_map(|(identity, server, is_oneway, facet)| Sent {
        identity,
        server,
        is_oneway,
        facet,
    })
}

/// Which of the two servers a filter lets clients reach.
#[derive(Debug, Clone, Copy)]
enum Addresses {
    Both,
    AcceptFirst,
    RejectFirst,
}

impl Addresses {
    fn allow(self, is_second: bool) -> bool {
        match self {
            Self::Both => true,
            Self::AcceptFirst => !is_second,
            Self::RejectFirst => is_second,
        }
    }
}

/// Runs a case, and gives what reached a servant and what should have.
async fn run(
    categories: &[&str],
    identities: &[&str],
    addresses: Addresses,
    buffered: bool,
    all: &[Sent],
) -> (
    BTreeSet<(bool, String, String)>,
    BTreeSet<(bool, String, String)>,
) {
    let servers = [BackEnd::start().await, BackEnd::start().await];
    let port = servers[0].adapter.endpoints()[0].port().expect("tcp");
    let change = |settings: &mut GatewaySettings| {
        settings.to_servers.buffered = buffered;
        let filter = &mut settings.filter;
        filter.accept_categories = categories.iter().map(|&text| text.to_owned()).collect();
        filter.accept_identities = identities
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let rule = format!("127.0.0.*:{port}").parse().unwrap();
        match addresses {
            Addresses::Both => {}
            Addresses::AcceptFirst => filter.accept_addresses = vec![rule],
            Addresses::RejectFirst => filter.reject_addresses = vec![rule],
        }
    };
    let world = World::with(change).await;
    let mut expected = BTreeSet::new();
    for (number, sent) in all.iter().enumerate() {
        let identity = *sent.identity.get(&IDENTITIES);
        let object = servers[usize::from(sent.server)].object(identity);
        // A client for each: one whose proxy is refused loses its connection.
        let client = world.client().await;
        // Whatever the answer is, it sends its request.
        let _ = client.routed(&object).await;
        let proxy: Proxy = client.connection.proxy(identity.parse().unwrap());
        let operation = format!("op{number}");
        let proxy = match sent.facet {
            true => proxy.ice_facet("facet"),
            false => proxy,
        };
        if sent.is_oneway {
            let oneway = proxy.ice_oneway();
            let mode = floe::OperationMode::Normal;
            let _ = soon(oneway.invoke(&operation, mode, NOTHING)).await;
            // What comes behind it is answered behind it.
            let _ = call(&proxy, &operation).await;
        } else {
            let _ = call(&proxy, &operation).await;
        }
        let category = identity
            .split_once('/')
            .map_or("", |(category, _)| category);
        let is_open = categories.is_empty() && identities.is_empty();
        let passes = is_open || categories.contains(&category) || identities.contains(&identity);
        if passes && addresses.allow(sent.server) {
            expected.insert((sent.server, identity.to_owned(), operation));
        }
    }
    let mut reached = BTreeSet::new();
    for (is_second, server) in [false, true].into_iter().zip(&servers) {
        let calls = server.calls.list().into_iter();
        reached.extend(calls.map(|(identity, operation)| (is_second, identity, operation)));
    }
    world.shut_down().await;
    for server in servers {
        soon(server.communicator.shutdown()).await;
    }
    (reached, expected)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_request_that_a_filter_refuses_reaches_a_servant(
        categories in subsequence(CATEGORIES.to_vec(), 0..=2),
        identities in subsequence(IDENTITIES.to_vec(), 0..=3),
        addresses in prop::sample::select(vec![
            Addresses::Both, Addresses::AcceptFirst, Addresses::RejectFirst,
        ]),
        buffered in any::<bool>(),
        all in prop::collection::vec(sent(), 1..8),
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (reached, expected) =
            runtime.block_on(run(&categories, &identities, addresses, buffered, &all));
        prop_assert_eq!(reached, expected);
    }
}
