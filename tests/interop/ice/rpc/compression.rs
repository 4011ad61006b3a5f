//! Compressed calls, in both directions. What Ice's own protocol trace says of the messages counts.

use floe::settings::Compression;
use floe::{Communicator, Settings};
use floe_tests::ice::{Ice, Language, was_traced};
use floe_tests::peer::Peer;

use super::client::{PeerKind, check_as};
use super::servant::serve;

const COMPRESSED: u8 = 2;
/// Too short to be compressed.
const ACCEPTED: u8 = 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_servers_take_compressed_requests_and_answer_so() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let mut server = ice.peer("server", language);
        server.args(["--Ice.Trace.Protocol=1", "--Ice.Compression.Level=9"]);
        let mut server = Peer::start("the Ice server", &mut server);
        let proxy = server.ready();
        let mut settings = Settings::default();
        settings.compress_override = Some(true);
        settings.compression_level = 3;
        let communicator = Communicator::with_settings(settings);
        check_as(&communicator, &proxy, PeerKind::Ice).await;
        server.close_input();
        let trace = tokio::task::spawn_blocking(|| server.end().errors);
        let trace = trace.await.expect("no panic");
        for what in [
            "received request",
            "received batch request",
            "sending reply",
        ] {
            assert!(was_traced(&trace, what, COMPRESSED), "{language:?}: {what}");
        }
        for what in ["received request", "sending reply"] {
            assert!(was_traced(&trace, what, ACCEPTED), "{language:?}: {what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_compress_requests_and_get_compressed_replies() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let mut settings = Settings::default();
        settings.compression_level = 9;
        let communicator = Communicator::with_settings(settings);
        let (_adapter, proxy) = serve(&communicator).await;
        let options = ["--Ice.Override.Compress=1", "--Ice.Compression.Level=5"];
        let trace = run_client(&ice, language, &proxy.to_string(), &options).await;
        for what in ["sending request", "sending batch request", "received reply"] {
            assert!(was_traced(&trace, what, COMPRESSED), "{language:?}: {what}");
        }
        assert!(
            was_traced(&trace, "received reply", ACCEPTED),
            "{language:?}"
        );
        communicator.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_see_nothing_of_an_offer_but_an_endpoint_to_carry() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let mut settings = Settings::default();
        settings.compressions = Compression::ALL.to_vec();
        let communicator = Communicator::with_settings(settings);
        let (_adapter, proxy) = serve(&communicator).await;
        let text = proxy.to_string();
        assert!(text.contains(":opaque -t 18029 "), "{text}");
        let trace = run_client(&ice, language, &text, &[]).await;
        for what in ["sending request", "received reply"] {
            assert!(was_traced(&trace, what, 0), "{language:?}: {what}");
            assert!(
                !was_traced(&trace, what, COMPRESSED),
                "{language:?}: {what}"
            );
        }
        assert!(!trace.contains("warning"), "{trace}");
        communicator.shutdown().await;
    }
}

/// Runs the client with its own checks; gives its protocol trace.
pub(crate) async fn run_client(
    ice: &Ice,
    language: Language,
    proxy: &str,
    options: &[&str],
) -> String {
    let mut client = ice.peer("client", language);
    client
        .arg(proxy)
        .arg("--Ice.Trace.Protocol=1")
        .args(options);
    let client = Peer::start("the Ice client", &mut client);
    let ended = tokio::task::spawn_blocking(|| client.end());
    let ended = ended.await.expect("no panic");
    let tail: Vec<&str> = ended.errors.lines().rev().take(20).collect();
    assert!(ended.status.success(), "{language:?}: {tail:#?}");
    assert!(
        matches!(ended.lines.as_slice(), [line] if line.starts_with("ok ")),
        "{language:?}: {:?}",
        ended.lines
    );
    ended.errors
}
