//! Silence and heartbeats: Floe's beside Ice's active connection management (`Ice.ACM.*`), with its clocks set to a second.

use std::time::Duration;

use floe::{Communicator, Settings, TypedProxy};
use floe_tests::ice::{Ice, Language};
use floe_tests::peer::Peer;

use crate::contract::runtime::ProbeProxy;
use crate::servant::serve;
use crate::transports::{end, start};

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
    assert_eq!(ping_all(&ice, lively(), &options).await, ["pong", "pong"]);
    let silent = beating(Duration::ZERO);
    let failed = "failed ConnectionTimeoutException";
    assert_eq!(ping_all(&ice, silent, &options).await, [failed, failed]);
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
    assert_eq!(ping_all(&ice, silent, &options).await, ["pong", "pong"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_servers_that_are_long_in_dispatch_keep_a_floe_client_patient() {
    let Some(ice) = Ice::or_skip() else { return };
    let mut calls = Vec::new();
    for language in Language::ALL {
        for (heartbeat, is_patient) in [(1, true), (0, false)] {
            let options = [
                "--Ice.ACM.Server.Timeout=1".to_owned(),
                format!("--Ice.ACM.Server.Heartbeat={heartbeat}"),
            ];
            let (server, proxy) = start(&ice, language, TCP, &options);
            calls.push(tokio::spawn(async move {
                let mut settings = lively();
                settings.outgoing.idle_timeout = Duration::from_millis(2_000);
                let communicator = Communicator::with_settings(settings);
                let probe: ProbeProxy = communicator.proxy(&proxy).expect("a proxy");
                let slept = probe.sleep(LONG.as_millis() as i32).await;
                assert_eq!(slept.is_ok(), is_patient, "{language:?}: {slept:?}");
                if let Err(error) = slept {
                    let error = error.to_string();
                    assert!(error.contains("the peer sent nothing for 2s"), "{error}");
                }
                communicator.shutdown().await;
                server
            }));
        }
    }
    for call in calls {
        end(call.await.expect("no panic"));
    }
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

/// What Ice clients with these options say about a Floe server with these settings; all at once.
async fn ping_all(ice: &Ice, settings: Settings, options: &[&str]) -> Vec<String> {
    let communicator = Communicator::with_settings(settings);
    let (_adapter, proxy) = serve(&communicator, TCP).await;
    let clients: Vec<_> = Language::ALL
        .into_iter()
        .map(|language| {
            let mut client = ice.runtime(language);
            client.args(["ping", &proxy.to_string()]).args(options);
            let client = Peer::start("the Ice client", &mut client);
            tokio::task::spawn_blocking(|| client.succeed().join("\n"))
        })
        .collect();
    let mut answers = Vec::new();
    for client in clients {
        answers.push(client.await.expect("it says how it went"));
    }
    communicator.shutdown().await;
    answers
}
