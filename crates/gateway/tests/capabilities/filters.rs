//! Filters and rules: no request that one refuses reaches a servant, and each other one does.

use std::collections::BTreeSet;
use std::sync::Arc;

use floe::{InvokeError, Proxy, SystemException, TypedProxy};
use floe_access::Access;
use floe_gateway::{GatewaySettings, PasswordVerifier};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use tokio::runtime::Builder;

use crate::world::{BackEnd, NOTHING, World, call, soon};

const IDENTITIES: [&str; 6] = ["a/x", "a/y", "b/x", "b/y", "x", "y"];
const CATEGORIES: [&str; 2] = ["a", "b"];

/// A request that a client sends.
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

/// Rules about the user `joe`, of which the first that applies decides.
#[derive(Debug, Clone)]
struct Rules(Vec<Rule>);

#[derive(Debug, Clone)]
struct Rule {
    allows: bool,
    /// The identity, the category and the operation that it is about, if it is about one alone.
    identity: Option<Index>,
    category: Option<Index>,
    operation: Option<u8>,
    is_about_joe: bool,
}

fn rule() -> impl Strategy<Value = Rule> {
    let parts = (
        any::<bool>(),
        any::<Option<Index>>(),
        any::<Option<Index>>(),
        prop::option::of(0u8..8),
        any::<bool>(),
    );
    parts.prop_map(
        |(allows, identity, category, operation, is_about_joe)| Rule {
            allows,
            identity,
            category,
            operation,
            is_about_joe,
        },
    )
}

impl Rules {
    fn access(&self) -> Arc<Access> {
        let mut text = "[[access.rule]]\nallow = \"login\"\nanyone = true\n".to_owned();
        for rule in &self.0 {
            let verdict = if rule.allows { "allow" } else { "deny" };
            text += &format!("[[access.rule]]\n{verdict} = \"call\"\n");
            if let Some(identity) = rule.identity {
                text += &format!("identities = {:?}\n", identity.get(&IDENTITIES));
            }
            if let Some(category) = rule.category {
                text += &format!("categories = {:?}\n", category.get(&CATEGORIES));
            }
            if let Some(operation) = rule.operation {
                text += &format!("operations = \"op{operation}\"\n");
            }
            text += match rule.is_about_joe {
                true => "users = \"joe\"\n",
                false => "users = \"jane\"\n",
            };
        }
        let settings = floe_access::Settings::parse(&text).expect("rules");
        let no_files = |_: &std::path::Path, _| Err("there are no files".to_owned());
        Access::load(&settings, &no_files).expect("rules").into()
    }

    fn allow(&self, identity: &str, category: &str, number: usize) -> bool {
        let applies = |rule: &&Rule| {
            let is = |wanted: Option<Index>, known: &[&'static str], own: &str| {
                wanted.is_none_or(|wanted| *wanted.get(known) == own)
            };
            rule.is_about_joe
                && is(rule.identity, &IDENTITIES, identity)
                && is(rule.category, &CATEGORIES, category)
                && rule
                    .operation
                    .is_none_or(|wanted| usize::from(wanted) == number)
        };
        self.0.iter().find(applies).is_some_and(|rule| rule.allows)
    }
}

/// Runs a case, and gives what reached a servant and what should have.
async fn run(
    categories: &[&str],
    identities: &[&str],
    addresses: Addresses,
    rules: Option<&Rules>,
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
    let verifier = servers[0].verifier();
    let world = World::with(|settings| {
        settings.password_verifier = Some(PasswordVerifier::Proxy(verifier));
        change(settings);
    })
    .await;
    if let Some(rules) = rules {
        world.gateway.set_access(rules.access(), None);
    }
    let mut expected = BTreeSet::new();
    for (number, sent) in all.iter().enumerate() {
        let identity = *sent.identity.get(&IDENTITIES);
        let object = servers[usize::from(sent.server)].object(identity);
        // A client for each: one whose proxy is refused loses its connection.
        let client = world.client().await;
        // The client sends its request even if this fails.
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
            // This request is answered after the oneway one.
            let _ = call(&proxy, &operation).await;
        } else {
            let _ = call(&proxy, &operation).await;
        }
        let category = identity
            .split_once('/')
            .map_or("", |(category, _)| category);
        let is_open = categories.is_empty() && identities.is_empty();
        let passes = is_open || categories.contains(&category) || identities.contains(&identity);
        let is_allowed = rules.is_none_or(|rules| rules.allow(identity, category, number));
        if passes && is_allowed && addresses.allow(sent.server) {
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

/// Rules about addresses hold for the connection, whatever a name service says and whatever else the proxy offers.
#[tokio::test]
async fn a_rejected_address_is_reached_neither_by_a_name_nor_beside_another_endpoint() {
    let world = World::with(|settings| {
        settings.filter.reject_addresses = vec!["127.0.0.*".parse().unwrap()];
    })
    .await;
    let object = world.back_end.object("object");
    let port = object.reference().endpoints()[0].port().expect("a port");
    let communicator = floe::Communicator::new();
    for endpoints in [
        format!("tcp -h localhost -p {port}"),
        format!("tcp -h 127.0.0.1 -p {port}:tcp -h name.invalid -p {port}"),
    ] {
        let client = world.client().await;
        let named: Proxy = communicator.proxy(&format!("object:{endpoints}")).unwrap();
        let routed = client
            .routed(&named)
            .await
            .expect("no rule matches the proxy");
        let error = call(&routed, "op").await.expect_err(&endpoints).to_string();
        assert!(
            error.contains("ConnectFailedException"),
            "{endpoints}: {error}"
        );
    }
    assert_eq!(world.back_end.calls.operations(), [""; 0]);
    world.shut_down().await;
    soon(communicator.shutdown()).await;
}

/// Its proxy may name an adapter that the filter accepts. Only the routing table knew that.
#[tokio::test]
async fn an_object_that_was_evicted_is_asked_for_again_whatever_the_filter() {
    let world = World::with(|settings| {
        settings.filter.accept_categories = vec!["a".to_owned()];
        settings.filter.accept_adapter_ids = vec!["Open".to_owned()];
    })
    .await;
    let client = world.client().await;
    let evicted: Proxy = client.connection.proxy("b/x".parse().unwrap());
    match call(&evicted, "op").await {
        Err(InvokeError::System(SystemException::ObjectNotExist(failed))) => {
            assert_eq!(failed.operation, "ice_add_proxy");
        }
        other => panic!("expected that it does not exist, got {other:?}"),
    }
    world.shut_down().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_request_that_a_filter_or_a_rule_refuses_reaches_a_servant(
        categories in subsequence(CATEGORIES.to_vec(), 0..=2),
        identities in subsequence(IDENTITIES.to_vec(), 0..=3),
        addresses in prop::sample::select(vec![
            Addresses::Both, Addresses::AcceptFirst, Addresses::RejectFirst,
        ]),
        rules in prop::option::of(prop::collection::vec(rule(), 0..6).prop_map(Rules)),
        buffered in any::<bool>(),
        all in prop::collection::vec(sent(), 1..8),
    ) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (reached, expected) =
            runtime.block_on(run(
                &categories, &identities, addresses, rules.as_ref(), buffered, &all,
            ));
        prop_assert_eq!(reached, expected);
    }
}
