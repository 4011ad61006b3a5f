//! Ice clients against a Floe server. The clients' own checks count.

use floe::Communicator;
use floe_tests::ice::{Ice, Language};

use super::servant::serve;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ice_clients_agree_with_a_floe_server() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        let communicator = Communicator::new();
        let (_adapter, proxy) = serve(&communicator).await;
        let text = proxy.to_string();
        let client = ice.start_client(language, &text);
        let lines = tokio::task::spawn_blocking(|| client.succeed())
            .await
            .expect("no panic");
        assert!(
            matches!(lines.as_slice(), [line] if line.starts_with("ok ")),
            "{language:?}: {lines:?}"
        );
        communicator.shutdown().await;
    }
}
