//! The blocking face against Ice, in both roles: the same checks, with threads that read and write.

use floe::Settings;
use floe::blocking::{Communicator, Wait};
use floe_tests::ice::{Ice, Language};

use super::client::{PeerKind, check_as};
use super::compression::run_client;
use super::servant::serve;

/// With compression and without.
fn all_settings() -> [Settings; 2] {
    let mut compressed = Settings::default();
    compressed.compress_override = Some(true);
    [Settings::default(), compressed]
}

#[test]
fn a_client_without_async_agrees_with_ice_servers() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        for settings in all_settings() {
            let (mut server, proxy) = ice.start_server(language);
            let communicator = Communicator::with_settings(settings);
            check_as(communicator.as_async(), &proxy, PeerKind::Ice).wait();
            server.close_input();
            server.succeed();
        }
    }
}

#[test]
fn ice_clients_agree_with_a_server_without_async() {
    let Some(ice) = Ice::or_skip() else { return };
    for language in Language::ALL {
        for options in [&[][..], &["--Ice.Override.Compress=1"]] {
            let communicator = Communicator::new();
            let (_adapter, proxy) = serve(communicator.as_async()).wait();
            run_client(&ice, language, &proxy.to_string(), options).wait();
            communicator.shutdown();
        }
    }
}

#[test]
fn a_client_without_async_agrees_with_a_server_without_async() {
    for settings in all_settings() {
        let server = Communicator::new();
        let (_adapter, proxy) = serve(server.as_async()).wait();
        let client = Communicator::with_settings(settings);
        check_as(client.as_async(), &proxy.to_string(), PeerKind::Floe).wait();
        server.shutdown();
    }
}
