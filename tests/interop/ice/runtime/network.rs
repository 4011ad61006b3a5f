//! Where objects are found: published endpoints, groups, and Ice's locator. What is compressed on the way.

use std::sync::Arc;

use floe::contracts::ice::{
    AdapterNotFoundError, Locator, LocatorDispatcher, LocatorRegistryProxy, ObjectNotFoundError,
};
use floe::settings::EndpointSelection;
use floe::{Communicator, Current, Identity, InvokeError, Proxy, Settings, TypedProxy};
use floe_tests::ice::{Ice, Language, was_traced};
use floe_tests::peer::Peer;
use floe_tests::ports;

use super::caller::becomes;
use super::contract::runtime::ProbeProxy;
use super::servant::serve;
use super::transports::{end, start};

const TCP: &str = "tcp -h 127.0.0.1 -p 0";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_published_stands_in_proxies_whoever_serves() {
    let Some(ice) = Ice::or_skip() else { return };
    let public = "tcp -h public.example -p 4061";
    for language in Language::ALL {
        let published = format!("--Server.PublishedEndpoints={public}");
        let (server, proxy) = start(&ice, language, TCP, &[published]);
        assert!(proxy.contains(public), "{proxy}");
        end(server);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_datagram_to_a_group_reaches_all_that_joined_whoever_sends() {
    let Some(ice) = Ice::or_skip() else { return };
    let group = format!(
        "udp -h 239.255.38.7 -p {} --interface 127.0.0.1",
        ports::unclaimed()
    );
    let endpoints = format!("{group}:tcp -h 127.0.0.1 -p 0");
    let communicator = Communicator::new();
    let (_adapter, own) = serve(&communicator, &endpoints).await;
    let mut joined = vec![own];
    let mut servers = Vec::new();
    for language in Language::ALL {
        let (server, proxy) = start(&ice, language, &endpoints, &[]);
        joined.push(communicator.proxy(&proxy).expect("a proxy"));
        servers.push(server);
    }
    let all: ProbeProxy = communicator
        .proxy(&format!("probe -d:{group}"))
        .expect("a proxy");
    all.note(b"x").await.expect("sent");
    for member in &joined {
        becomes("a datagram of Floe", 1, async || total(member).await).await;
    }
    for language in Language::ALL {
        let before = total(&joined[0]).await;
        let mut client = ice.runtime(language);
        client.args(["tell", &format!("probe -d:{group}")]);
        let client = Peer::start("the Ice client", &mut client);
        let told = tokio::task::spawn_blocking(|| client.succeed()).await;
        assert_eq!(told.expect("no panic"), ["told"]);
        for member in &joined {
            becomes("a datagram of Ice", before + 1, async || {
                total(member).await
            })
            .await;
        }
    }
    servers.into_iter().for_each(end);
}

async fn total(member: &ProbeProxy) -> i32 {
    member.ice_twoway().total().await.expect("the total")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_at_the_next_endpoint_when_an_ice_server_is_killed() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (mut first, proxy) = start(&ice, language, TCP, &[]);
        let (second, other) = start(&ice, language, TCP, &[]);
        let (_, endpoint) = other.split_once(':').expect("an endpoint");
        let communicator = Communicator::new();
        let probe: ProbeProxy = communicator
            .proxy(&format!("{proxy}:{endpoint}"))
            .expect("a proxy");
        let probe = probe.ice_endpoint_selection(EndpointSelection::Ordered);
        let port = async || probe.linked().await.expect("a link").local_port;
        let before = port().await;
        assert_eq!(port().await, before, "{language:?}");
        let killed = tokio::task::spawn_blocking(move || {
            first.kill();
        });
        killed.await.expect("no panic");
        assert_ne!(port().await, before, "{language:?}");
        communicator.shutdown().await;
        end(second);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_go_on_at_the_next_endpoint_when_a_floe_server_ends() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let servers = [Communicator::new(), Communicator::new()];
        let (first, one) = serve(&servers[0], TCP).await;
        let (second, _other) = serve(&servers[1], TCP).await;
        let proxy = format!("{}:{}", one.as_proxy(), second.endpoints()[0]);
        let mut client = ice.runtime(language);
        client.args(["ping", &proxy, "--Ping.Idle=3000", "--Ping.Sleep=1000"]);
        client.arg("--Ice.Default.EndpointSelection=Ordered");
        let client = Peer::start("the Ice client", &mut client);
        becomes("its first ping", 1, async || first.counts().connections).await;
        servers[0].shutdown().await;
        becomes("its second ping", 1, async || second.counts().connections).await;
        let said = tokio::task::spawn_blocking(|| client.succeed()).await;
        assert_eq!(said.expect("no panic"), ["pong"], "{language:?}");
        servers[1].shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_find_floe_objects_through_a_floe_locator() {
    let Some(ice) = Ice::or_skip() else { return };
    let communicator = Communicator::new();
    let (_adapter, probe) = serve(&communicator, TCP).await;
    let adapter = communicator.adapter(TCP).await.expect("a free port");
    let directory = Arc::new(Directory(probe.as_proxy().clone()));
    let locator = adapter.add("Floe/Locator", LocatorDispatcher::new(directory));
    let option = format!("--Ice.Default.Locator={}", locator.expect("new"));
    adapter.activate();
    for language in Language::ALL {
        for (proxy, expected) in [
            ("probe @ known", "pong"),
            ("probe", "pong"),
            ("probe @ unknown", "failed NotRegisteredException"),
            ("nobody", "failed NotRegisteredException"),
        ] {
            let mut client = ice.runtime(language);
            client.args(["ping", proxy, &option]);
            let client = Peer::start("the Ice client", &mut client);
            let said = tokio::task::spawn_blocking(|| client.succeed()).await;
            assert_eq!(said.expect("no panic"), [expected], "{language:?}: {proxy}");
        }
    }
    communicator.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_finds_ice_objects_through_a_real_icegrid() {
    let Some(ice) = Ice::or_skip() else { return };
    let grid = ice.start_grid();
    let mut settings = Settings::default();
    settings.locator = Some(grid.locator().parse().expect("a proxy"));
    let communicator = Communicator::with_settings(settings);
    for language in Language::ALL {
        let id = format!("Server-{language:?}");
        let options = [
            format!("--Ice.Default.Locator={}", grid.locator()),
            format!("--Server.AdapterId={id}"),
        ];
        // It moves in between: to another port.
        for _ in 0..2 {
            let (server, proxy) = start(&ice, language, TCP, &options);
            assert!(proxy.ends_with(&format!("@ {id}")), "{proxy}");
            let probe: ProbeProxy = communicator.proxy(&proxy).expect("a proxy");
            let data = vec![7; 100];
            assert_eq!(probe.echo(&data).await.expect("an answer"), data);
            end(server);
        }
        let gone: ProbeProxy = communicator.proxy(&format!("probe @ {id}-not")).unwrap();
        let error = gone.echo(&[]).await.expect_err("nobody has registered it");
        let is_unknown = matches!(
            &error,
            InvokeError::NotDispatched(floe::LocalError::NotRegistered { .. })
        );
        assert!(is_unknown, "{error}");
    }
    communicator.shutdown().await;
}

/// Knows one adapter, `known`, and one object, `probe`.
struct Directory(Proxy);

impl Locator for Directory {
    async fn find_object_by_id(
        &self,
        id: Identity,
        _: &Current,
    ) -> Result<Option<Proxy>, ObjectNotFoundError> {
        if id.name == "probe" {
            return Ok(Some(self.0.clone()));
        }
        Err(floe::contracts::ice::ObjectNotFoundException {}.into())
    }

    async fn find_adapter_by_id(
        &self,
        id: String,
        _: &Current,
    ) -> Result<Option<Proxy>, AdapterNotFoundError> {
        if id == "known" {
            return Ok(Some(self.0.ice_identity(Identity::new("dummy"))));
        }
        Err(floe::contracts::ice::AdapterNotFoundException {}.into())
    }

    async fn get_registry(&self, _: &Current) -> Result<Option<LocatorRegistryProxy>, InvokeError> {
        Ok(None)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_is_compressed_as_it_says_and_its_endpoint_otherwise() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        for (endpoint, choice, is_compressed) in [
            (TCP, None, false),
            (TCP, Some(true), true),
            ("tcp -h 127.0.0.1 -p 0 -z", None, true),
            ("tcp -h 127.0.0.1 -p 0 -z", Some(false), false),
        ] {
            let trace = "--Ice.Trace.Protocol=1".to_owned();
            let (mut server, proxy) = start(&ice, language, endpoint, &[trace]);
            let communicator = Communicator::with_settings(Settings::default());
            let mut probe: ProbeProxy = communicator.proxy(&proxy).expect("a proxy");
            if let Some(choice) = choice {
                probe = probe.ice_compress(choice);
            }
            let data = vec![7; 10_000];
            assert_eq!(probe.echo(&data).await.expect("an answer"), data);
            communicator.shutdown().await;
            server.close_input();
            let trace = tokio::task::spawn_blocking(|| server.end().errors).await;
            let trace = trace.expect("no panic");
            for what in ["received request", "sending reply"] {
                let was_compressed = was_traced(&trace, what, 2);
                assert_eq!(
                    was_compressed, is_compressed,
                    "{language:?} {endpoint} {choice:?} {what}"
                );
            }
        }
    }
}
