//! The services of a runtime besides values, with unmodified Ice programs in both roles, in C++ and Python, over every
//! transport that Ice has: `docs/guides/interop.md` tells which line is tried where.
//!
//! Every client tries the same lines with every server; that Ice's own client and server agree about them is tried, too.

// Generated code is as its contract is.
#[allow(missing_docs, unreachable_pub, dead_code)]
mod contract {
    floe::include_contract!("Runtime");
}
mod caller;
mod connections;
#[cfg(feature = "ice38")]
mod ice38;
mod limits;
mod liveness;
mod network;
mod servant;
mod tls;
mod transports;
