//! The conversation with Ice 3.8 for Python, which Debian does not have: `cargo xtask interop-38` provides it.
//!
//! Slice 3.8 has no optional values of class types: with the feature `ice38` they stay unset, and their operation is not asked.

use std::env;

use floe::Communicator;
use floe_tests::ice::{Ice, Language, Version};

use super::pairs::{client, compare_except, end, reference, start_server};
use super::{newer, older};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floe_agrees_with_ice_3_8() {
    let ice = ice();
    for version in [Version::Older, Version::Newer] {
        let expected = reference(&ice, version);
        let (server, proxy) = start_server(&ice, Language::Python, version.other());
        let communicator = Communicator::new();
        let said = without_optional_classes(converse(version, &communicator, &proxy).await);
        compare_except(
            &KNOWN,
            &format!("{version:?} Floe with Ice 3.8"),
            &said,
            &expected,
        );
        end(server);

        let (_adapter, proxy) = serve(version.other(), &communicator).await;
        let said = client(&ice, Language::Python, version, &proxy);
        compare_except(
            &KNOWN,
            &format!("{version:?} Ice 3.8 with Floe"),
            &said,
            &expected,
        );
    }
}

/// The Ice 3.8 of the Python that the environment names.
pub(crate) fn ice() -> Ice {
    let python = env::var_os("FLOE_ICE38_PYTHON");
    let python = python.expect("FLOE_ICE38_PYTHON names a Python that can import Ice 3.8");
    Ice::with_python(python.into())
}

async fn converse(version: Version, communicator: &Communicator, proxy: &str) -> Vec<String> {
    match version {
        Version::Older => older::conversation::converse(communicator, proxy).await,
        Version::Newer => newer::conversation::converse(communicator, proxy).await,
    }
}

async fn serve(version: Version, communicator: &Communicator) -> (floe::Adapter, String) {
    match version {
        Version::Older => older::servant::serve(communicator).await,
        Version::Newer => newer::servant::serve(communicator).await,
    }
}

/// Correct differences from Ice 3.8.
const KNOWN: [&str; 3] = [
    // What no peer could read, Floe does not send.
    "1.1 again compact alone: cannot be encoded",
    "1.1 again compact aloneById: cannot be encoded",
    // Ice 3.8 sends all exceptions sliced; Floe as Ice 3.7 in the format that the contract asks for.
    "1.1 fail compact newer: cannot be decoded",
];

fn without_optional_classes(mut said: Vec<String>) -> Vec<String> {
    said.retain(|line| !line[3..].starts_with(" class "));
    said
}
