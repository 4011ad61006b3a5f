//! Silence and heartbeats: Floe's beside Ice's active connection management (`Ice.ACM.*`), with its clocks set to a second.

use std::time::Duration;

use floe::{Communicator, InvokeError, Settings, TypedProxy};
use floe_tests::certificates::Certificates;
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

use super::contract::runtime::ProbeProxy;
use super::servant::serve;
use super::tls;
use super::transports::{ENDPOINTS, TRANSPORTS, end, only, start};

const TCP: &str = "tcp -h 127.0.0.1 -p 0";

/// Longer than Ice is patient here.
const LONG: Duration = Duration::from_millis(3_000);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_server_that_is_long_in_dispatch_keeps_ice_clients_patient() {
    let Some(ice) = Ice::or_skip() else { return };
    let sleep = format!("--Ping.Sleep={}", LONG.as_millis());
    let options = [
        "--Ice.ACM.Client.Timeout=1",
        "--Ice.ACM.Client.Close=3",
        &sleep,
    ];
    ping_all(&ice, lively(), &options, "pong").await;
    let silent = beating(Duration::ZERO);
    let failed = "failed ConnectionTimeoutException";
    ping_all(&ice, silent, &options, failed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_close_what_is_idle_and_come_back() {
    let Some(ice) = Ice::or_skip() else { return };
    let silent = beating(Duration::ZERO);
    let idle = format!("--Ping.Idle={}", LONG.as_millis());
    let options = [
        "--Ice.ACM.Client.Timeout=1",
        "--Ice.ACM.Client.Close=1",
        &idle,
    ];
    ping_all(&ice, silent, &options, "pong").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_servers_that_are_long_in_dispatch_keep_a_floe_client_patient() {
    let Some(ice) = Ice::or_skip() else { return };
    let certificates = Certificates::make();
    let (mut servers, mut calls) = (Vec::new(), Vec::new());
    for language in Language::ALL {
        for (heartbeat, is_patient) in [(1, true), (0, false)] {
            let mut options = tls::ice_options(&certificates, "server");
            options.push("--Ice.ACM.Server.Timeout=1".to_owned());
            options.push(format!("--Ice.ACM.Server.Heartbeat={heartbeat}"));
            let (server, proxy) = start(&ice, language, &ENDPOINTS.join(":"), &options);
            servers.push(server);
            for transport in TRANSPORTS {
                let mut settings = lively();
                settings.outgoing.idle_timeout = Duration::from_millis(2_000);
                settings.tls = Some(tls::tls(&certificates, "client"));
                let proxy = only(&proxy, transport);
                calls.push(tokio::spawn(async move {
                    let slept = sleep_long(&proxy, settings).await;
                    assert_eq!(
                        slept.is_ok(),
                        is_patient,
                        "{language:?} {transport}: {slept:?}"
                    );
                    if let Err(error) = slept {
                        let error = error.to_string();
                        assert!(error.contains("the peer sent nothing for 2s"), "{error}");
                    }
                }));
            }
        }
    }
    for call in calls {
        call.await.expect("no panic");
    }
    servers.into_iter().for_each(end);
}

async fn sleep_long(proxy: &str, settings: Settings) -> Result<(), InvokeError> {
    let communicator = Communicator::with_settings(settings);
    let probe: ProbeProxy = communicator.proxy(proxy).expect("a proxy");
    let slept = probe.sleep(LONG.as_millis() as i32).await;
    communicator.shutdown().await;
    slept
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_servers_close_what_is_idle_and_a_floe_client_comes_back() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut calls = Vec::new();
    for language in Language::ALL {
        // Gracefully when idle, and forcefully.
        for close in [1, 4] {
            let options = [
                "--Ice.ACM.Server.Timeout=1".to_owned(),
                format!("--Ice.ACM.Server.Close={close}"),
            ];
            let (server, proxy) = start(&ice, language, TCP, &options);
            calls.push(tokio::spawn(async move {
                idle(&proxy).await;
                server
            }));
        }
    }
    for call in calls {
        end(call.await.expect("no panic"));
    }
}

/// A call, a long silence in which the server closes, and another call.
async fn idle(proxy: &str) {
    let communicator = Communicator::with_settings(beating(Duration::ZERO));
    let probe: ProbeProxy = communicator.proxy(proxy).expect("a proxy");
    probe.ice_ping().await.expect("a ping");
    let connection = probe.ice_cached_connection().expect("it is there");
    tokio::time::timeout(4 * LONG, connection.closed())
        .await
        .expect("the server closes it");
    probe.add(1).await.expect("over another connection");
    communicator.shutdown().await;
}

/// Heartbeats more often than the peers are impatient.
fn lively() -> Settings {
    beating(Duration::from_millis(300))
}

fn beating(interval: Duration) -> Settings {
    let mut settings = Settings::default();
    settings.outgoing.heartbeat_interval = interval;
    settings.incoming.heartbeat_interval = interval;
    settings
}

/// Has Ice clients with these options, in each language and over each transport, say what is expected about a Floe server
/// with these settings; all at once.
async fn ping_all(ice: &Ice, mut settings: Settings, options: &[&str], expected: &str) {
    let certificates = Certificates::make();
    settings.tls = Some(tls::tls(&certificates, "server"));
    let communicator = Communicator::with_settings(settings);
    let (_adapter, proxy) = serve(&communicator, &ENDPOINTS.join(":")).await;
    let mut clients = Vec::new();
    for (language, transport) in Language::ALL
        .into_iter()
        .flat_map(|language| TRANSPORTS.map(|transport| (language, transport)))
    {
        let mut client = ice.runtime(language);
        let proxy = only(&proxy.to_string(), transport);
        client.args(["ping", &proxy]).args(options);
        client.args(tls::ice_options(&certificates, "client"));
        let client = Peer::start("the Ice client", &mut client);
        let said = tokio::task::spawn_blocking(|| client.succeed().join("\n"));
        clients.push((language, transport, said));
    }
    for (language, transport, said) in clients {
        let said = said.await.expect("it says how it went");
        assert_eq!(said, expected, "{language:?} over {transport}");
    }
    communicator.shutdown().await;
}
