//! Limits, of Floe and of Ice: what is longer or more than one side takes, and who goes on all the same.

use std::time::Duration;

use floe::settings::AdapterSettings;
use floe::{Communicator, LocalError, Settings, TypedProxy};
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

use super::caller::becomes;
use super::contract::runtime::ProbeProxy;
use super::servant::{serve, serve_with};
use super::transports::{self, end, start};

const TCP: &str = "tcp -h 127.0.0.1 -p 0";
/// The limit of the side that has one, in bytes, and as Ice says it, in kilobytes.
const TAKEN_MAX: usize = 100 * 1024;
const ICE_TAKES: &str = "--Ice.MessageSizeMax=100";
/// More than that.
const LONG: usize = 2 * TAKEN_MAX;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_longer_than_ice_servers_or_a_floe_client_take_end_a_connection_alone() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let (server, proxy) = start(&ice, language, TCP, &[ICE_TAKES.to_owned()]);
        let error = echo_and_ping(&proxy, Settings::default()).await;
        assert!(is_lost(&error), "{language:?}: {error:?}");
        end(server);
        let (server, proxy) = start(&ice, language, TCP, &[]);
        let mut settings = Settings::default();
        settings.message_size_max = TAKEN_MAX;
        let error = echo_and_ping(&proxy, settings).await.to_string();
        let limit = TAKEN_MAX.to_string();
        assert!(error.contains(&limit), "{language:?}: {error}");
        end(server);
    }
}

fn is_lost(error: &floe::InvokeError) -> bool {
    matches!(
        error,
        floe::InvokeError::PerhapsDispatched(LocalError::ConnectionLost { .. })
    )
}

/// Why a long echo fails; a ping does not, after it.
async fn echo_and_ping(proxy: &str, settings: Settings) -> floe::InvokeError {
    let communicator = Communicator::with_settings(settings);
    let probe: ProbeProxy = communicator.proxy(proxy).expect("a proxy");
    let error = probe
        .echo(&vec![1; LONG])
        .await
        .expect_err("it is too long");
    probe.ice_ping().await.expect("over another connection");
    communicator.shutdown().await;
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_longer_than_a_floe_server_or_ice_clients_take_end_a_connection_alone() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut settings = Settings::default();
    settings.message_size_max = TAKEN_MAX;
    for (settings, option, expected) in [
        (settings, None, "failed ConnectionLostException"),
        (
            Settings::default(),
            Some(ICE_TAKES),
            "failed MemoryLimitException",
        ),
    ] {
        let communicator = Communicator::with_settings(settings);
        let (_adapter, proxy) = serve(&communicator, TCP).await;
        for language in Language::ALL {
            let long = format!("--Ping.Length={LONG}");
            let options: Vec<_> = option.iter().copied().chain([long.as_str()]).collect();
            assert_eq!(ping(&ice, language, &proxy, &options).await, expected);
            assert_eq!(ping(&ice, language, &proxy, &[]).await, "pong");
        }
        communicator.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_adapter_takes_shorter_messages_than_its_communicator() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        an_adapter_has_its_own_limit(&ice, language).await;
    }
}

pub(crate) async fn an_adapter_has_its_own_limit(ice: &Ice, language: Language) {
    let option = ICE_TAKES.replace("--Ice.", "--Server.");
    let (server, proxy) = start(ice, language, TCP, &[option]);
    let error = echo_and_ping(&proxy, Settings::default()).await;
    assert!(is_lost(&error), "{language:?}: {error:?}");
    end(server);

    let communicator = Communicator::new();
    let mut settings = AdapterSettings::default();
    settings.message_size_max = Some(TAKEN_MAX);
    let (_narrow, narrow) = serve_with(&communicator, TCP, settings).await;
    let (_wide, wide) = serve(&communicator, TCP).await;
    let long = format!("--Ping.Length={LONG}");
    let refused = ping(ice, language, &narrow, &[&long]).await;
    assert_eq!(refused, "failed ConnectionLostException", "{language:?}");
    for (proxy, options) in [(&narrow, &[][..]), (&wide, &[long.as_str()])] {
        assert_eq!(ping(ice, language, proxy, options).await, "pong");
    }
    communicator.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ice_client_too_many_is_refused_and_those_that_are_there_stay() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let mut settings = Settings::default();
        settings.connection_limit = 1;
        let communicator = Communicator::with_settings(settings);
        let (adapter, proxy) = serve(&communicator, TCP).await;
        let mut first = ice.runtime(language);
        first.args(["ping", &proxy.to_string(), "--Ping.Sleep=5000"]);
        let first = Peer::start("the first Ice client", &mut first);
        becomes("the first is there", 1, async || {
            adapter.counts().connections
        })
        .await;
        let said = ping(&ice, language, &proxy, &[]).await;
        assert_eq!(said, "failed ConnectionLostException", "{language:?}");
        assert!(adapter.counts().refused >= 1);
        let said = tokio::task::spawn_blocking(|| first.succeed()).await;
        assert_eq!(said.expect("no panic"), ["pong"], "{language:?}");
        becomes("there is room again", 0, async || {
            adapter.counts().connections
        })
        .await;
        assert_eq!(ping(&ice, language, &proxy, &[]).await, "pong");
        communicator.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_find_every_line_at_a_floe_server_that_dispatches_few_at_once() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut settings = Settings::default();
    // As many as the lines hold back at once, and one that lets them go on.
    settings.dispatch_limit = 5;
    for language in Language::ALL {
        let communicator = Communicator::with_settings(settings.clone());
        let (_adapter, proxy) = serve(&communicator, TCP).await;
        let client = transports::call(&ice, language, &proxy.to_string(), &[]);
        let succeeded = tokio::task::spawn_blocking(|| transports::succeed(client)).await;
        succeeded.unwrap_or_else(|error| panic!("{language:?}: {error}"));
        communicator.shutdown().await;
    }
}

/// Returns the output of `ping` by an Ice client.
async fn ping(ice: &Ice, language: Language, proxy: &ProbeProxy, options: &[&str]) -> String {
    let mut client = ice.runtime(language);
    client.args(["ping", &proxy.to_string()]).args(options);
    let client = Peer::start("the Ice client", &mut client);
    let said = tokio::task::spawn_blocking(|| client.succeed()).await;
    said.expect("no panic").join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_wait_for_a_floe_server_that_is_held() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        clients_wait_for_a_held_adapter(&ice, language).await;
    }
}

/// That the clients of an adapter wait which is held: one that has called already, and one that comes later. That Floe
/// clients wait for Ice is a line of the conversation (`pause`).
pub(crate) async fn clients_wait_for_a_held_adapter(ice: &Ice, language: Language) {
    let communicator = Communicator::new();
    let (adapter, proxy) = serve(&communicator, TCP).await;
    let mut client = ice.runtime(language);
    client.args(["ping", &proxy.to_string(), "--Ping.Paused"]);
    let mut connected = Peer::start("the Ice client that is there", &mut client);
    let connected = tokio::task::spawn_blocking(move || {
        assert_eq!(connected.line(), "paused");
        connected
    });
    let mut connected = connected.await.expect("its first ping is answered");
    adapter.hold();
    connected.close_input();
    let mut client = ice.runtime(language);
    client.args(["ping", &proxy.to_string()]);
    let newcomer = Peer::start("the Ice client that comes later", &mut client);
    let mut both = tokio::task::spawn_blocking(|| {
        let (mut connected, mut newcomer) = (connected, newcomer);
        let early = connected.line_within(HELD).or(newcomer.line_within(HELD));
        assert_eq!(early, None, "nobody is answered");
        (connected, newcomer)
    })
    .await
    .expect("nobody is answered");
    assert_eq!(adapter.counts().connections, 1, "{language:?}");
    adapter.activate();
    let said = tokio::task::spawn_blocking(move || [both.0.line(), both.1.line()]).await;
    assert_eq!(said.expect("no panic"), ["pong", "pong"], "{language:?}");
    communicator.shutdown().await;
}

/// How long clients are watched while the adapter is held.
const HELD: Duration = Duration::from_millis(800);
