//! The lines of `runtime` with Ice 3.8 for Python, which Debian does not have: `cargo xtask interop-38` provides it.

use std::env;

use floe_tests::ice::{Ice, Language};

use super::{limits, tls, transports};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_floe_client_finds_every_line_at_an_ice_3_8_server() {
    transports::floe_with_servers(&ice(), Language::Python).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ice_3_8_client_finds_every_line_at_a_floe_server() {
    transports::clients_with_floe(&ice(), Language::Python).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floe_and_ice_3_8_let_in_whom_they_are_told() {
    tls::floe_with_servers(&ice(), Language::Python).await;
    tls::clients_with_floe(&ice(), Language::Python).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adapters_of_floe_and_ice_3_8_are_held_and_have_limits_of_their_own() {
    limits::an_adapter_has_its_own_limit(&ice(), Language::Python).await;
    limits::clients_wait_for_a_held_adapter(&ice(), Language::Python).await;
}

/// The Ice 3.8 of the Python that the environment names.
fn ice() -> Ice {
    let python = env::var_os("FLOE_ICE38_PYTHON");
    let python = python.expect("FLOE_ICE38_PYTHON names a Python that can import Ice 3.8");
    Ice::with_python(python.into())
}
