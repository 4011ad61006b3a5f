//! Calls between Floe and unmodified Ice 3.7.8 programs, in both directions, in C++ and Python.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
mod contract {
    floe::include_contract!("Interop");
}
mod blocking;
mod client;
mod compression;
mod servant;
mod server;
mod transports;
mod unusual;
