//! The token that says who this process is, to hubs that take tokens.

use floe::Communicator;

/// The environment variable with the token. An argument would show it to everyone who lists processes.
const VARIABLE: &str = "FLOE_TOKEN";
/// The key that it has in the context of a request.
const KEY: &str = "floe.token";

/// Shows the token with each request from now on, if there is one: over encrypted connections and on this host alone.
pub(crate) fn show(communicator: &Communicator) {
    let token = std::env::var(VARIABLE).unwrap_or_default();
    let token = token.trim();
    if !token.is_empty() {
        communicator.implicit_context().put_secret(KEY, token);
    }
}
